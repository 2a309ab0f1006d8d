/* SPDX-License-Identifier: Apache-2.0 */
/* test_cluster.c - random jobs on a cluster: invariants of every policy of the table */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/test.h"

#define N_NODES 6
#define N_JOBS  120
#define NEAR_S  1e-6

static const uint32_t gpus[N_NODES] = { 4, 4, 8, 8, 2, 4 }, zeros[N_NODES];
static const struct pol_cluster cluster = { .n_nodes = N_NODES,
					    .n_racks = 1,
					    .n_types = 1,
					    .n_gpus = gpus,
					    .rack_of = zeros,
					    .type_of = zeros,
					    .n_all_gpus = 30 };

static void
draw_jobs(struct cluster_job *jobs, size_t n, uint64_t seed)
{
	struct rng rng;
	double now_s = 0;

	rng_init(&rng, seed);
	for (size_t i = 0; i < n; i++) {
		/* Some arrive at the same time, some are equal. */
		if (rng_below(&rng, 3))
			now_s += (double)rng_below(&rng, 300);
		jobs[i] = (struct cluster_job){
			.submit_s = now_s,
			.duration_s = (double)(1 + rng_below(&rng, 2000)),
			.n_gpus = 1u << rng_below(&rng, 5),
			.user = (uint32_t)rng_below(&rng, 4),
			.vc = POL_NONE,
			.model = POL_NONE,
			.priority = 2, /* Premium: at full speed. */
			.predicted_s = NAN,
			.iterations = NAN,
			.iteration_s = NAN,
		};
		jobs[i].max_gpus = jobs[i].n_gpus;
	}
}

/* Runs jobs under a policy; each plan is checked. */
static void
run(const struct policy_spec *spec, const struct policy_opts *opts,
    const struct cluster_job *jobs, size_t n, struct cluster_result *ret_results,
    struct cluster_counts *ret_counts)
{
	const struct cluster_work work = { 0 };
	const struct cluster_opts cluster_opts = {
		.cluster = &cluster, .work = &work, .until_s = INFINITY, .check = true
	};
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	assert_int_equal(policy_new(spec, opts, &cluster, &policy, &err), 0);
	assert_int_equal(cluster_run(jobs, n, policy, &cluster_opts, ret_results,
				     ret_counts, &bad),
			 0);
	policy_free(policy);
}

static void
every_policy_serves_every_job_in_full(void **state)
{
	struct cluster_job jobs[N_JOBS];
	struct cluster_result results[N_JOBS];
	struct cluster_counts counts;

	(void)state;
	for (const struct policy_spec *spec = policy_table; spec->name; spec++) {
		for (uint64_t seed = 1; seed <= 5; seed++) {
			draw_jobs(jobs, N_JOBS, seed);
			run(spec, NULL, jobs, N_JOBS, results, &counts);
			for (size_t i = 0; i < N_JOBS; i++) {
				const struct cluster_result *r = &results[i];

				if (!(r->first_s >= jobs[i].submit_s) ||
				    !(r->end_s >=
				      r->first_s + jobs[i].duration_s - NEAR_S) ||
				    fabs(r->executed_s - jobs[i].duration_s) > NEAR_S)
					fail_msg(
						"%s, seed %d: job %zu of %g s began at "
						"%g, ended at %g, ran %g",
						spec->name, (int)seed, i,
						jobs[i].duration_s, r->first_s,
						r->end_s, r->executed_s);
			}
			if (spec->keep == POL_KEEP_ALL)
				assert_int_equal(counts.n_preemptions, 0);
		}
	}
}

static void
the_same_seed_gives_the_same_bytes(void **state)
{
	struct cluster_job jobs[N_JOBS];
	struct cluster_result once[N_JOBS], again[N_JOBS];
	struct cluster_counts counts;

	(void)state;
	draw_jobs(jobs, N_JOBS, 7);
	for (const struct policy_spec *spec = policy_table; spec->name; spec++) {
		memset(once, 0, sizeof once);
		memset(again, 0, sizeof again);
		run(spec, NULL, jobs, N_JOBS, once, &counts);
		run(spec, NULL, jobs, N_JOBS, again, &counts);
		assert_memory_equal(once, again, sizeof once);
	}
}

/* Ends of two jobs that run side by side, the first of 'first_s'. */
static void
run_pair(double first_s, double second_s, double close_ends, double *ret_ends_s)
{
	const struct cluster_work work = { 0 };
	const struct cluster_opts opts = { .cluster = &cluster,
					   .work = &work,
					   .until_s = INFINITY,
					   .close_ends = close_ends };
	struct cluster_job jobs[2] = { 0 };
	struct cluster_result results[2];
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	for (int i = 0; i < 2; i++)
		jobs[i] = (struct cluster_job){ .duration_s = i ? second_s : first_s,
						.n_gpus = 1,
						.max_gpus = 1 };
	assert_int_equal(policy_new(policy_find("fifo"), NULL, &cluster, &policy, &err),
			 0);
	assert_int_equal(cluster_run(jobs, 2, policy, &opts, results, &counts, &bad),
			 0);
	policy_free(policy);
	ret_ends_s[0] = results[0].end_s;
	ret_ends_s[1] = results[1].end_s;
}

static void
close_ends_are_that_of_the_first_job_of_the_plan(void **state)
{
	double ends_s[2];

	(void)state;
	run_pair(1000, 1000 + 5e-7, 1e-9, ends_s);
	assert_true(ends_s[0] == 1000 && ends_s[1] == 1000);
	run_pair(1000 + 5e-7, 1000, 1e-9, ends_s);
	assert_true(ends_s[0] == 1000 + 5e-7 && ends_s[1] == 1000 + 5e-7);
	run_pair(1000, 1000 + 2e-6, 1e-9, ends_s);
	assert_true(ends_s[0] == 1000 && ends_s[1] == 1000 + 2e-6);
	run_pair(1000, 1000 + 5e-7, 0, ends_s);
	assert_true(ends_s[0] == 1000 && ends_s[1] == 1000 + 5e-7);
}

/* On one GPU, shortest first has the best mean for any jobs. */
static void
srtf_is_not_worse_than_others_on_one_gpu(void **state)
{
	static const uint32_t one = 1, zero = 0;
	static const struct pol_cluster tiny = { .n_nodes = 1,
						 .n_racks = 1,
						 .n_types = 1,
						 .n_gpus = &one,
						 .rack_of = &zero,
						 .type_of = &zero,
						 .n_all_gpus = 1 };
	const struct cluster_work work = { 0 };
	const struct cluster_opts opts = {
		.cluster = &tiny, .work = &work, .until_s = INFINITY, .check = true
	};
	struct cluster_job jobs[N_JOBS];
	struct cluster_result results[N_JOBS];
	double best = INFINITY;

	(void)state;
	draw_jobs(jobs, N_JOBS, 3);
	for (size_t i = 0; i < N_JOBS; i++)
		jobs[i].n_gpus = jobs[i].max_gpus = 1;
	for (int pass = 0; pass < 2; pass++) {
		for (const struct policy_spec *spec = policy_table; spec->name;
		     spec++) {
			struct cluster_counts counts;
			struct policy *policy;
			struct err err = { 0 };
			double sum = 0;
			size_t bad;

			if ((strcmp(spec->name, "srtf") == 0) != (pass == 0))
				continue;
			assert_int_equal(policy_new(spec, NULL, &tiny, &policy, &err),
					 0);
			assert_int_equal(cluster_run(jobs, N_JOBS, policy, &opts,
						     results, &counts, &bad),
					 0);
			policy_free(policy);
			for (size_t i = 0; i < N_JOBS; i++)
				sum += results[i].end_s - jobs[i].submit_s;
			if (pass == 0)
				best = sum;
			else if (sum < best - NEAR_S)
				fail_msg("%s: %g s, srtf %g s", spec->name, sum, best);
		}
	}
}

static void
a_job_that_no_place_can_have_is_told(void **state)
{
	const struct cluster_work work = { 0 };
	const struct cluster_opts opts = { .cluster = &cluster,
					   .work = &work,
					   .until_s = INFINITY };
	struct cluster_job jobs[2];
	struct cluster_result results[2];
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad = 9;

	(void)state;
	draw_jobs(jobs, 2, 1);
	jobs[1].n_gpus = 31;
	assert_int_equal(policy_new(policy_find("fifo"), NULL, &cluster, &policy, &err),
			 0);
	assert_int_equal(cluster_run(jobs, 2, policy, &opts, results, &counts, &bad),
			 -EINVAL);
	assert_int_equal(bad, 1);
	policy_free(policy);
}

/* Years of a trace, with a line that has too many zeros. */
static void
a_job_of_too_many_rounds_is_told(void **state)
{
	static const struct {
		const char *policy;
		double until_s;
		int r;
	} cases[] = {
		{ "blox", INFINITY, -ERANGE },
		{ "gandiva-fair", INFINITY, -ERANGE },
		{ "pollux", INFINITY, -ERANGE },
		{ "themis", INFINITY, -ERANGE },
		{ "pollux", 1e5, 0 },
		{ "themis", 1e5, 0 },
		{ "srtf", INFINITY, 0 },
		{ "2d-las", INFINITY, 0 },
	};
	const struct cluster_work work = { 0 };
	struct cluster_job jobs[2];
	struct cluster_result results[2];
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };

	(void)state;
	draw_jobs(jobs, 2, 1);
	jobs[1].duration_s = CLUSTER_MAX_ROUNDS * 1200 * 1.01;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct cluster_opts opts = { .cluster = &cluster,
						   .work = &work,
						   .until_s = cases[i].until_s };
		size_t bad = 9;

		assert_int_equal(policy_new(policy_find(cases[i].policy), NULL,
					    &cluster, &policy, &err),
				 0);
		assert_int_equal(
			cluster_run(jobs, 2, policy, &opts, results, &counts, &bad),
			cases[i].r);
		if (cases[i].r < 0)
			assert_int_equal(bad, 1);
		policy_free(policy);
	}
}

static bool
until_the_third(void *ctx, double share)
{
	unsigned *n_calls = ctx;

	assert_true(share >= 0 && share <= 1);
	return ++*n_calls < 3;
}

static void
a_run_can_be_ended_after_any_event(void **state)
{
	const struct cluster_work work = { 0 };
	unsigned n_calls = 0;
	const struct cluster_opts opts = { .cluster = &cluster,
					   .work = &work,
					   .until_s = INFINITY,
					   .ctx = &n_calls,
					   .go_on = until_the_third };
	struct cluster_job jobs[N_JOBS];
	struct cluster_result results[N_JOBS];
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	(void)state;
	draw_jobs(jobs, N_JOBS, 1);
	assert_int_equal(
		policy_new(policy_find("pollux"), NULL, &cluster, &policy, &err), 0);
	assert_int_equal(
		cluster_run(jobs, N_JOBS, policy, &opts, results, &counts, &bad),
		-ECANCELED);
	assert_int_equal(counts.n_events, 3);
	policy_free(policy);
}

/* A job on a node that goes away is preempted, and runs elsewhere or waits. */
static void
a_node_goes_away_and_comes_back(void **state)
{
	static const uint32_t fours[] = { 4, 4 };
	static const struct cluster_change changes[] = { { 40, 0, true },
							 { 60, 1, true },
							 { 90, 0, false } };
	const struct cluster_job job = {
		.duration_s = 100, .n_gpus = 4, .max_gpus = 4, .predicted_s = NAN
	};
	bool is_away[2] = { false };
	const struct pol_cluster two = { .n_nodes = 2,
					 .n_racks = 1,
					 .n_types = 1,
					 .n_gpus = fours,
					 .rack_of = zeros,
					 .type_of = zeros,
					 .n_all_gpus = 8,
					 .is_away = is_away };
	const struct cluster_work work = { 0 };
	const struct cluster_opts opts = { .cluster = &two,
					   .work = &work,
					   .until_s = INFINITY,
					   .check = true,
					   .changes = changes,
					   .n_changes = 3,
					   .is_away = is_away };
	struct cluster_result result;
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	(void)state;
	assert_int_equal(policy_new(policy_find("fifo"), NULL, &two, &policy, &err), 0);
	assert_int_equal(cluster_run(&job, 1, policy, &opts, &result, &counts, &bad),
			 0);
	policy_free(policy);
	/* On node 0 until 40 s, on node 1 until 60 s, and on node 0 again from 90 s. */
	assert_true(result.end_s == 130 && result.executed_s == 100);
	assert_int_equal(result.n_starts, 3);
	assert_int_equal(result.n_preempted, 2);
	assert_int_equal(counts.n_preemptions, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_policy_serves_every_job_in_full),
		cmocka_unit_test(the_same_seed_gives_the_same_bytes),
		cmocka_unit_test(close_ends_are_that_of_the_first_job_of_the_plan),
		cmocka_unit_test(srtf_is_not_worse_than_others_on_one_gpu),
		cmocka_unit_test(a_job_that_no_place_can_have_is_told),
		cmocka_unit_test(a_job_of_too_many_rounds_is_told),
		cmocka_unit_test(a_run_can_be_ended_after_any_event),
		cmocka_unit_test(a_node_goes_away_and_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
