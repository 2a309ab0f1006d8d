/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_skew.c - placement by skew (place_skew.c): which jobs are consolidated, and that
 * Tiresias without skewed jobs is 2d-las
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "policies/places.h"
#include "tests/unit/cluster_lab.h"
#include "tests/unit/test.h"

#define N_NODES 4
#define N_JOBS  60

static const uint32_t gpus[N_NODES] = { 4, 8, 4, 8 }, zeros[N_NODES];
static const struct pol_cluster cluster = { .n_nodes = N_NODES,
					    .n_racks = 1,
					    .n_types = 1,
					    .n_gpus = gpus,
					    .rack_of = zeros,
					    .type_of = zeros,
					    .n_all_gpus = 24 };

/* The place of a job with this skew, as "0:1 3:2"; "" if it waits. */
static const char *
place(double limit, double waits, double skew, const uint32_t *n_left, uint32_t n_gpus)
{
	static char text[64];
	const double values[] = { limit, waits };
	const struct pol_job job = { .n_gpus = n_gpus, .skew = skew };
	const struct pol_view view = { .cluster = &cluster, .jobs = &job };
	const struct pol_want want = { .n_gpus = n_gpus };
	uint32_t n_free[N_NODES], n, sum = 0;
	struct pol_free all = { .n_free = n_free };
	struct pol_plan plan = { 0 };
	void *state = xcalloc(1, place_skew.module.state_size);
	size_t at = 0;

	memcpy(n_free, n_left, sizeof n_free);
	for (uint32_t i = 0; i < N_NODES; i++)
		all.n_all += n_free[i];
	place_skew.module.init(state, values, &cluster, NULL);
	n = place_skew.place(state, &view, &want, &all, &plan);
	assert_int_equal(n, plan.pieces.n);
	assert_int_equal(place_skew.is_bound(state, &job), skew > limit);
	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_piece *piece = &plan.pieces.items[i];

		at += (size_t)snprintf(text + at, sizeof text - at, "%s%u:%u",
				       i ? " " : "", piece->node, piece->n_gpus);
		sum += piece->n_gpus;
	}
	assert_int_equal(sum, n ? n_gpus : 0);
	place_skew.module.fini(state);
	pol_plan_fini(&plan);
	free(state);
	return text;
}

static void
the_skewed_are_on_few_nodes_and_others_anywhere(void **state)
{
	static const uint32_t left[] = { 3, 1, 4, 6 }, torn[] = { 3, 2, 3, 2 };

	(void)state;
	assert_string_equal(place(0.5, 1, 0.7, left, 4), "2:4");
	assert_string_equal(place(0.5, 1, 0.3, left, 4), "0:3 1:1");
	/* Only above the limit is a job skewed; an unknown skew is not. */
	assert_string_equal(place(0.5, 1, 0.5, left, 4), "0:3 1:1");
	assert_string_equal(place(0.2, 1, 0.3, left, 4), "2:4");
	assert_string_equal(place(0, 1, 0, left, 4), "0:3 1:1");
	assert_string_equal(place(1, 1, 1, left, 4), "0:3 1:1");
	/* On two nodes if the empty cluster needs two; else it waits, if told to. */
	assert_string_equal(place(0.5, 1, 0.7, left, 10), "2:4 3:6");
	assert_string_equal(place(0.5, 1, 0.7, torn, 4), "");
	assert_string_equal(place(0.5, 0, 0.7, torn, 4), "0:3 1:1");
	assert_string_equal(place(0.5, 1, 0.3, torn, 4), "0:3 1:1");
	assert_string_equal(place(0.5, 0, 0.7, torn, 11), "");
}

/* ---- Tiresias -------------------------------------------------------------------- */

static struct cluster_job
job(double submit_s, double duration_s, uint32_t n_gpus, double skew)
{
	return (struct cluster_job){ .submit_s = submit_s,
				     .duration_s = duration_s,
				     .n_gpus = n_gpus,
				     .max_gpus = n_gpus,
				     .predicted_s = NAN,
				     .skew = skew };
}

static void
where_nobody_is_skewed_tiresias_is_2d_las(void **state)
{
	struct cluster_job jobs[N_JOBS];
	struct cluster_result theirs[N_JOBS], ours[N_JOBS];
	bool differs = false;
	struct rng rng;

	(void)state;
	rng_init(&rng, 8);
	for (size_t i = 0; i < N_JOBS; i++)
		jobs[i] = job((double)i * 100, (double)(1 + rng_below(&rng, 3000)),
			      1u << rng_below(&rng, 5), i % 2 ? 0 : 0.4);
	cluster_lab_run(&cluster, "2d-las", NULL, jobs, N_JOBS, theirs);
	cluster_lab_run(&cluster, "tiresias", NULL, jobs, N_JOBS, ours);
	for (size_t i = 0; i < N_JOBS; i++) {
		assert_near(ours[i].first_s, theirs[i].first_s, 0);
		assert_near(ours[i].end_s, theirs[i].end_s, 0);
		assert_int_equal(ours[i].n_preempted, theirs[i].n_preempted);
	}
	/* With skewed jobs the results differ. */
	for (size_t i = 0; i < N_JOBS; i++)
		jobs[i].skew = i % 2 ? 0 : 0.7;
	cluster_lab_run(&cluster, "tiresias", NULL, jobs, N_JOBS, ours);
	for (size_t i = 0; i < N_JOBS; i++)
		differs |= ours[i].end_s != theirs[i].end_s;
	assert_true(differs);
}

/* Four jobs have 3 of 4, 3 of 4, 6 of 8 and 6 of 8: 6 are left, at most 2 per node. */
static void
one_that_waits_for_a_node_is_passed(void **state)
{
	struct cluster_job jobs[] = { job(0, 100, 3, 0.7), job(0, 90, 3, 0.7),
				      job(0, 80, 6, 0.7),  job(0, 70, 6, 0.7),
				      job(1, 50, 5, 0.7),  job(2, 10, 5, 0) };
	struct cluster_result results[6];

	(void)state;
	cluster_lab_run(&cluster, "tiresias", NULL, jobs, 6, results);
	assert_near(results[4].first_s, 70, 0);
	assert_near(results[5].first_s, 2, 0);
	jobs[4].skew = 0;
	cluster_lab_run(&cluster, "tiresias", NULL, jobs, 6, results);
	assert_near(results[4].first_s, 1, 0);
	assert_near(results[5].first_s, 51, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_skewed_are_on_few_nodes_and_others_anywhere),
		cmocka_unit_test(where_nobody_is_skewed_tiresias_is_2d_las),
		cmocka_unit_test(one_that_waits_for_a_node_is_passed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
