/* SPDX-License-Identifier: Apache-2.0 */
/* test_starve.c - promotion of jobs that starve in later queues (order_queues.c) */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "sim/cluster/cluster.h"
#include "tests/unit/test.h"

#define MAX_JOBS 40

static const uint32_t gpus[2] = { 4, 4 }, zeros[2];
static const struct pol_cluster one = { .n_nodes = 1,
					.n_racks = 1,
					.n_types = 1,
					.n_gpus = gpus,
					.rack_of = zeros,
					.type_of = zeros,
					.n_all_gpus = 4 };
static const struct pol_cluster two = { .n_nodes = 2,
					.n_racks = 1,
					.n_types = 1,
					.n_gpus = gpus,
					.rack_of = zeros,
					.type_of = zeros,
					.n_all_gpus = 8 };

/* The observed values of a run. */
struct seen {
	struct cluster_result results[MAX_JOBS];
	struct cluster_counts counts;
	double decided_s; /* The time, and */
	bool has_decided; /* whether a decision was made then. */
};

static void
on_plan(void *ctx, const struct pol_view *view, const struct pol_plan *plan)
{
	struct seen *seen = ctx;

	(void)plan;
	seen->has_decided |= view->now_s == seen->decided_s;
}

static void
run(const struct pol_cluster *cluster, const char *name, const char *const *sets,
    size_t n_sets, const struct cluster_job *jobs, size_t n, struct seen *seen)
{
	const struct cluster_work work = { 0 };
	const struct cluster_opts opts = { .cluster = cluster,
					   .work = &work,
					   .until_s = INFINITY,
					   .check = true,
					   .ctx = seen,
					   .on_plan = on_plan };
	const struct policy_opts policy_opts = { .seed = 1,
						 .sets = sets,
						 .n_sets = n_sets,
						 .round_s = NAN,
						 .restart_s = NAN };
	struct policy *policy;
	struct err err = { 0 };
	size_t bad;

	assert_int_equal(
		policy_new(policy_find(name), &policy_opts, cluster, &policy, &err), 0);
	assert_int_equal(
		cluster_run(jobs, n, policy, &opts, seen->results, &seen->counts, &bad),
		0);
	policy_free(policy);
}

static struct cluster_job
job(double submit_s, double duration_s, uint32_t n_gpus)
{
	return (struct cluster_job){ .submit_s = submit_s,
				     .duration_s = duration_s,
				     .n_gpus = n_gpus,
				     .max_gpus = n_gpus,
				     .predicted_s = NAN,
				     .iterations = NAN,
				     .iteration_s = NAN };
}

/*
 * The first job runs for 40 s, and is in the last queue from 30 s on.  Then come five
 * jobs of 9 s, which never leave the first queue, one after the other until 85 s.  With
 * a knob of 0.75 the first job moves to the tail of the first queue after waiting for
 * 30 s: at 70 s, while the fourth of them runs and nothing else happens.  Two more jobs
 * come at 'late_s'.
 */
static struct seen
starve(const char *promote, double late_s)
{
	const char *const sets[] = { "las.limit0=10", "las.limit1=30", promote };
	struct seen seen = { .decided_s = 70 };
	struct cluster_job jobs[8] = { job(0, 100, 4) };

	for (size_t i = 1; i < 8; i++)
		jobs[i] = job(i < 6 ? 40 : late_s, 9, 4);
	run(&one, "las", sets, promote ? 3 : 2, jobs, 8, &seen);
	return seen;
}

static void
who_waited_too_long_goes_back_to_the_first_queue_just_then(void **state)
{
	struct seen seen = starve(NULL, nextafter(70, 71));

	(void)state;
	/* Without promotion, all new jobs are served first. */
	assert_false(seen.has_decided);
	assert_near(seen.results[6].first_s, 85, 0);
	assert_near(seen.results[7].first_s, 94, 0);
	assert_int_equal(seen.results[0].n_preempted, 1);
	/* It is before jobs that come a moment later. */
	seen = starve("las.promote=0.75", nextafter(70, 71));
	assert_true(seen.has_decided);
	assert_near(seen.results[5].first_s, 76, 0);
	/* It runs from 85 s until the limit of the first queue. */
	assert_near(seen.results[6].first_s, 95, 0);
	assert_near(seen.results[7].first_s, 104, 0);
	assert_int_equal(seen.results[0].n_preempted, 2);
	assert_near(seen.results[0].end_s, 163, 0);
	/* Jobs that arrive at the same time are handled first. */
	seen = starve("las.promote=0.75", 70);
	assert_near(seen.results[6].first_s, 85, 0);
	/* The knob is too high. */
	seen = starve("las.promote=2", nextafter(70, 71));
	assert_near(seen.results[6].first_s, 85, 0);
}

/*
 * 12 jobs on two nodes of four GPUs: the results of Tiresias's simulator (959f9b0,
 * "dlas-gpu-2" and "dlas-gpu", placement "count").
 */
static const struct row {
	double submit_s, duration_s;
	uint32_t n_gpus;
	double first_s, end_s; /* With a knob of 2. */
	uint32_t n_preempted;
	double plain_first_s, plain_end_s; /* Without promotion. */
	uint32_t n_plain_preempted;
} rows[] = {
	{ 60, 700, 8, 60, 2723, 1, 60, 9103, 1 },
	{ 360, 6000, 8, 728, 27560, 10, 728, 19346, 2 },
	{ 360, 50, 8, 1260, 1310, 0, 1260, 1310, 0 },
	{ 1260, 700, 4, 1310, 2010, 0, 1310, 2010, 0 },
	{ 1320, 6000, 8, 2010, 26789, 9, 2010, 23885, 2 },
	{ 2220, 700, 4, 2723, 3423, 0, 2652, 3352, 0 },
	{ 2280, 700, 8, 3423, 7935, 1, 3352, 10937, 1 },
	{ 3180, 50, 8, 4380, 4430, 0, 3870, 3920, 0 },
	{ 3180, 50, 2, 3180, 3230, 0, 3180, 3230, 0 },
	{ 3480, 3000, 2, 4430, 12037, 2, 3920, 7681, 1 },
	{ 4380, 6000, 8, 6930, 27810, 9, 6701, 28320, 2 },
	{ 5280, 6000, 4, 5280, 25804, 6, 5280, 14711, 2 },
};

#define N_ROWS (sizeof rows / sizeof *rows)

static void
it_is_as_in_the_simulator_of_tiresias(void **state)
{
	static const char *const sets[] = { "2d-las.quantum_rounding=1",
					    "2d-las.promote=2" };
	struct cluster_job jobs[N_ROWS];
	struct seen plain = { 0 }, seen = { 0 };

	(void)state;
	for (size_t i = 0; i < N_ROWS; i++)
		jobs[i] = job(rows[i].submit_s, rows[i].duration_s, rows[i].n_gpus);
	run(&two, "2d-las", sets, 1, jobs, N_ROWS, &plain);
	run(&two, "2d-las", sets, 2, jobs, N_ROWS, &seen);
	for (size_t i = 0; i < N_ROWS; i++) {
		assert_near(seen.results[i].first_s, rows[i].first_s, 0);
		assert_near(seen.results[i].end_s, rows[i].end_s, 0);
		assert_int_equal(seen.results[i].n_preempted, rows[i].n_preempted);
		assert_near(plain.results[i].first_s, rows[i].plain_first_s, 0);
		assert_near(plain.results[i].end_s, rows[i].plain_end_s, 0);
		assert_int_equal(plain.results[i].n_preempted,
				 rows[i].n_plain_preempted);
	}
}

/*
 * Times that are not exact in floating point, knobs down to the least allowed, and
 * rounds, in which a job is promoted later than its wake-up: the jobs end after few
 * events.  Each job is stopped at most once per 'limit0' of its service.
 */
static void
there_is_no_end_to_no_loop(void **state)
{
	static const struct {
		const char *policy, *sets[3];
		double most_s; /* Longest job. */
	} tries[] = {
		{ "las", { "las.limit0=1", "las.limit1=1.1", "las.promote=1" }, 100 },
		{ "las",
		  { "las.limit0=3.3", "las.limit1=1e3", "las.promote=0.31" },
		  100 },
		{ "2d-las",
		  { "2d-las.limit0=10.1", "2d-las.limit1=11", "2d-las.promote=0.1" },
		  100 },
		{ "2d-las",
		  { "2d-las.limit0=7", "2d-las.quantum_rounding=2",
		    "2d-las.promote=0.7" },
		  100 },
		{ "2d-gittins",
		  { "2d-gittins.limit0=9", "2d-gittins.limit1=9",
		    "2d-gittins.promote=0.3" },
		  100 },
		{ "tiresias-rounds",
		  { "2d-las.limit0=600", "2d-las.limit1=900", "2d-las.promote=0.5" },
		  3000 },
	};
	struct cluster_job jobs[MAX_JOBS];
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (size_t k = 0; k < sizeof tries / sizeof *tries; k++) {
		struct seen seen = { 0 };
		double now_s = 1e6, sum_s = 0;

		for (size_t i = 0; i < MAX_JOBS; i++) {
			now_s += rng_uniform(&rng) * 30;
			jobs[i] = job(now_s, 1e-3 + rng_uniform(&rng) * tries[k].most_s,
				      1u << rng_below(&rng, 4));
			sum_s += jobs[i].duration_s;
		}
		run(&two, tries[k].policy, tries[k].sets, 3, jobs, MAX_JOBS, &seen);
		for (size_t i = 0; i < MAX_JOBS; i++)
			assert_true(seen.results[i].end_s < INFINITY);
		assert_true(seen.counts.n_preemptions > MAX_JOBS);
		/* Of 10 GPU s on 8 GPUs, 1.25 s each. */
		assert_in_range(seen.counts.n_events, MAX_JOBS, 10 * sum_s);
	}
}

static void
what_would_not_end_is_refused(void **state)
{
	static const char *const none[] = { "2d-las.limit0=0", "2d-las.promote=4" };
	static const char *const little[] = { "2d-las.limit0=10",
					      "2d-las.promote=0.09" };
	static const char *const negative[] = { "2d-las.promote=-1",
						"2d-las.limit0=9" };
	static const char *const fine[] = { "2d-las.limit0=0", "2d-las.promote=0" };
	static const char *const *const tries[] = { none, little, negative, fine };
	struct policy_opts opts = { .n_sets = 2, .round_s = NAN, .restart_s = NAN };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct policy *policy = NULL;
		struct err err = { 0 };
		int r;

		opts.sets = tries[i];
		r = policy_new(policy_find("2d-las"), &opts, &two, &policy, &err);
		assert_int_equal(r, i < 3 ? -EINVAL : 0);
		if (i < 2)
			assert_non_null(strstr(err.text, "would be preempted"));
		if (i == 2)
			assert_non_null(strstr(err.text, "expected 0 to"));
		policy_free(policy);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			who_waited_too_long_goes_back_to_the_first_queue_just_then),
		cmocka_unit_test(it_is_as_in_the_simulator_of_tiresias),
		cmocka_unit_test(there_is_no_end_to_no_loop),
		cmocka_unit_test(what_would_not_end_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
