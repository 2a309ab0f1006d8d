/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_plan_muri.c - jobs that interleave on the same GPUs: cycle times, and a cluster
 */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "policies/stages.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/test.h"

#define N_NODES 4
#define N_JOBS  150
#define NEAR    1e-9

static struct pol_job
job(double load_s, double gpu_s, double network_s)
{
	return (struct pol_job){ .iteration_s = load_s + gpu_s + network_s,
				 .stage_s = { load_s, gpu_s, network_s } };
}

static void
jobs_that_fit_take_hardly_longer_together(void **state)
{
	/* One job loads while the other one computes, and vice versa. */
	const struct pol_job a = job(1, 1, 0), b = job(1, 0.5, 0.5), c = job(1, 3, 1);
	const struct pol_job *ab[] = { &a, &b }, *ac[] = { &a, &c };
	const struct pol_job *mates[] = { &b };

	(void)state;
	assert_true(fabs(stages_cycle_s(ab, 1) - 2 * 1.015) < NEAR);
	assert_true(fabs(stages_cycle_s(ab, 2) - 2 * 1.33 / 1.015) < NEAR);
	/* 4 s of the longer stage; then it loads while the other job computes. */
	assert_true(fabs(stages_cycle_s(ac, 2) - 5 * 1.33 / 1.015) < NEAR);
	assert_true(stages_speed(NULL, &a, 1, 1, 0, NULL, 0) == 1);
	assert_true(fabs(stages_speed(NULL, &a, 1, 1, 0, mates, 1) -
			 1.015 * 1.015 / 1.33) < NEAR);
}

static void
no_order_is_better_than_the_one_taken(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int i = 0; i < 500; i++) {
		struct pol_job jobs[4];
		const struct pol_job *order[4], *swapped[4];
		double sum_s = 0;
		uint32_t n = 2 + (uint32_t)rng_below(&rng, 3);

		for (uint32_t k = 0; k < n; k++) {
			jobs[k] = job(rng_uniform(&rng), rng_uniform(&rng),
				      rng_uniform(&rng));
			order[k] = swapped[n - 1 - k] = &jobs[k];
			sum_s += jobs[k].iteration_s;
		}
		/* Order does not matter; two jobs never take longer than one by one. */
		assert_true(stages_cycle_s(order, n) == stages_cycle_s(swapped, n));
		assert_true(n > 2 ||
			    stages_cycle_s(order, n) <= sum_s * 1.33 / 1.015 + NEAR);
	}
}

static void
what_is_not_known_is_shared_equally(void **state)
{
	const struct pol_job a = job(1, 1, 1), b = job(NAN, NAN, NAN);
	const struct pol_job *two[] = { &a, &b };

	(void)state;
	assert_false(stages_are_known(&b));
	assert_true(stages_speed(NULL, &b, 1, 1, 0, two, 1) == 0.5);
	assert_true(stages_speed(NULL, &a, 1, 1, 0, two, 2) == 1.0 / 3);
}

static void
draw_jobs(struct cluster_job *jobs)
{
	struct rng rng;
	double now_s = 0;

	rng_init(&rng, 12);
	for (size_t i = 0; i < N_JOBS; i++) {
		double stage_s[3], sum_s = 0;

		for (int k = 0; k < 3; k++)
			sum_s += stage_s[k] = 0.02 + rng_uniform(&rng);
		now_s += (double)rng_below(&rng, 100);
		jobs[i] = (struct cluster_job){
			.submit_s = now_s,
			.duration_s = (double)(100 + rng_below(&rng, 2000)),
			.n_gpus = 1u << rng_below(&rng, 5),
			.user = POL_NONE,
			.vc = POL_NONE,
			.model = POL_NONE,
			.predicted_s = NAN,
			.iterations = NAN,
			.iteration_s = sum_s,
			.stage_s = { stage_s[0], stage_s[1], stage_s[2] },
		};
		jobs[i].max_gpus = jobs[i].n_gpus;
	}
}

struct seen {
	uint32_t n_groups, n_most;
};

static void
on_plan(void *ctx, const struct pol_view *view, const struct pol_plan *plan)
{
	struct seen *seen = ctx;

	(void)view;
	for (size_t i = 0; i < plan->grants.n; i++) {
		uint32_t n = 0;

		for (size_t k = 0; k < plan->grants.n; k++)
			n += plan->grants.items[k].group == plan->grants.items[i].job;
		seen->n_groups += n > 1;
		seen->n_most = n > seen->n_most ? n : seen->n_most;
	}
}

/* Returns the mean completion time; all plans are checked. */
static double
run(const char *name, const char *set, const struct cluster_job *jobs,
    struct seen *ret_seen)
{
	static const uint32_t gpus[N_NODES] = { 8, 8, 8, 8 }, zeros[N_NODES];
	static const struct pol_cluster cluster = { .n_nodes = N_NODES,
						    .n_racks = 1,
						    .n_types = 1,
						    .n_gpus = gpus,
						    .rack_of = zeros,
						    .type_of = zeros,
						    .n_all_gpus = 32 };
	const struct cluster_work work = { 0 };
	const struct cluster_opts opts = { .cluster = &cluster,
					   .work = &work,
					   .until_s = INFINITY,
					   .check = true,
					   .ctx = ret_seen,
					   .on_plan = on_plan };
	const struct policy_opts policy_opts = { .seed = 1,
						 .sets = &set,
						 .n_sets = set ? 1 : 0,
						 .round_s = NAN,
						 .restart_s = NAN };
	struct cluster_result results[N_JOBS];
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	double sum_s = 0;
	size_t bad;

	*ret_seen = (struct seen){ 0 };
	assert_int_equal(
		policy_new(policy_find(name), &policy_opts, &cluster, &policy, &err),
		0);
	assert_int_equal(
		cluster_run(jobs, N_JOBS, policy, &opts, results, &counts, &bad), 0);
	policy_free(policy);
	for (size_t i = 0; i < N_JOBS; i++) {
		assert_true(results[i].end_s >=
			    results[i].first_s + jobs[i].duration_s - 1e-6);
		sum_s += results[i].end_s - jobs[i].submit_s;
	}
	return sum_s / N_JOBS;
}

static void
taking_turns_is_better_than_waiting(void **state)
{
	struct cluster_job jobs[N_JOBS];
	struct seen seen;
	double isolated_s;

	(void)state;
	draw_jobs(jobs);
	isolated_s = run("srsf", NULL, jobs, &seen);
	assert_int_equal(seen.n_groups, 0);
	assert_true(run("muri-s", NULL, jobs, &seen) < isolated_s);
	assert_true(seen.n_groups > 0);
	assert_true(seen.n_most <= 4);
	run("muri-s", "muri.max_jobs=2", jobs, &seen);
	assert_int_equal(seen.n_most, 2);
	run("muri-l", NULL, jobs, &seen);
	assert_true(seen.n_groups > 0);
}

/* With only pairs that beat one of them alone; with none, it is slower. */
static void
pairs_that_pay_share(void **state)
{
	struct cluster_job jobs[N_JOBS];
	struct seen seen;
	double packed_s;

	(void)state;
	draw_jobs(jobs);
	packed_s = run("gandiva", NULL, jobs, &seen);
	assert_true(seen.n_groups > 0);
	assert_int_equal(seen.n_most, 2);
	for (size_t i = 0; i < N_JOBS; i++)
		jobs[i].iteration_s = NAN;
	assert_true(run("gandiva", NULL, jobs, &seen) > packed_s);
	assert_int_equal(seen.n_groups, 0);
}

/* Jobs of a whole node; returns when the first and the second one begin. */
static void
begin_s(const char *set, double *ret_first_s, double *ret_second_s)
{
	static const uint32_t gpus[] = { 8 }, zeros[1];
	static const struct pol_cluster cluster = { .n_nodes = 1,
						    .n_racks = 1,
						    .n_types = 1,
						    .n_gpus = gpus,
						    .rack_of = zeros,
						    .type_of = zeros,
						    .n_all_gpus = 8 };
	const struct cluster_work work = { 0 };
	const struct cluster_opts opts = {
		.cluster = &cluster, .work = &work, .until_s = INFINITY, .check = true
	};
	const struct policy_opts policy_opts = {
		.sets = &set, .n_sets = 1, .round_s = NAN, .restart_s = NAN
	};
	struct cluster_job jobs[3];
	struct cluster_result results[3];
	struct cluster_counts counts;
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	for (uint32_t i = 0; i < 3; i++)
		jobs[i] = (struct cluster_job){ .submit_s = i == 2 ? 10 : 0,
						.duration_s = 100 - 30 * i,
						.n_gpus = 8,
						.max_gpus = 8,
						.predicted_s = i ? NAN : 5,
						.iteration_s = NAN };
	assert_int_equal(policy_new(policy_find("muri-s"), &policy_opts, &cluster,
				    &policy, &err),
			 0);
	assert_int_equal(cluster_run(jobs, 3, policy, &opts, results, &counts, &bad),
			 0);
	*ret_first_s = results[0].first_s;
	*ret_second_s = results[1].first_s;
	policy_free(policy);
}

static void
what_was_predicted_counts_until_a_job_begins(void **state)
{
	double first_s, second_s;

	(void)state;
	/* 100 s, 70 s, and from 10 s on 40 s. */
	begin_s("muri.use_requested_duration=0", &first_s, &second_s);
	assert_near(second_s, 0, 0);
	assert_near(first_s, 110, 1e-9);
	/* The first job claims 5 s; after 10 s it has 90 s left. */
	begin_s("muri.use_requested_duration=1", &first_s, &second_s);
	assert_near(first_s, 0, 0);
	assert_near(second_s, 50, 1e-9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_that_fit_take_hardly_longer_together),
		cmocka_unit_test(no_order_is_better_than_the_one_taken),
		cmocka_unit_test(what_is_not_known_is_shared_equally),
		cmocka_unit_test(taking_turns_is_better_than_waiting),
		cmocka_unit_test(pairs_that_pay_share),
		cmocka_unit_test(what_was_predicted_counts_until_a_job_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
