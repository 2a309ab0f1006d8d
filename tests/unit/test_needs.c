/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_needs.c - sums of resources against capacities, and the least number of GPUs
 * that holds a job's memory
 */
#include <math.h>
#include <string.h>

#include "policies/places.h"
#include "sim/replay/replay_cluster.h"
#include "tests/unit/cluster_lab.h"
#include "tests/unit/policy_lab.h"
#include "tests/unit/test.h"

static const struct needs gpu_of_32[] = { { { 0, 64, 32, 0 } } };

/* Two jobs of one GPU each with these needs, on the same GPU or beside each other. */
static const char *
why_not(const struct needs *a, const struct needs *b, bool share)
{
	struct pol_job jobs[] = {
		{ .id = 0, .n_gpus = 1, .max_gpus = 1, .needs = *a },
		{ .id = 1, .n_gpus = 1, .max_gpus = 1, .needs = *b }
	};
	static const uint32_t ids[] = { 0, 1 }, one_gpu[] = { 2 };
	struct pol_cluster cluster = lab_cluster_of(one_gpu, 1);
	const struct pol_view view = {
		.cluster = &cluster, .ids = ids, .n_jobs = 2, .jobs = jobs, .n_ids = 2
	};
	struct pol_plan plan = { 0 };
	const char *why;

	cluster.capacity = gpu_of_32;
	vec_push(&plan.pieces, ((struct pol_piece){ 0, 1, 0 }));
	pol_plan_grant(&plan, 0, 1, 0, 0);
	if (!share)
		vec_push(&plan.pieces, ((struct pol_piece){ 0, 1, 0 }));
	pol_plan_grant(&plan, 1, 1, share ? 0 : 1, share ? 0 : 1);
	plan.grants.items[1].n_pieces = 1;
	why = pol_plan_why_not(&plan, &view);
	assert_true(!share || place_may_share(&cluster, &jobs[0], &jobs[1]) == !why ||
		    a->of[NEED_GPU_SHARE] > 0);
	pol_plan_fini(&plan);
	return why;
}

static void
a_plan_gives_no_memory_or_time_twice(void **state)
{
	const struct needs none = { 0 }, half = { { 0, 64, 16, 0.5 } },
			   more = { { 0, 64, 16.1, 0.4 } },
			   roomy = { { 0, 100, 0, 0 } }, busy = { { 0, 0, 0, 0.6 } };

	(void)state;
	assert_null(why_not(&none, &half, true));
	assert_null(why_not(&half, &half, true));
	assert_string_equal(why_not(&half, &more, true),
			    "memory or time of a GPU given twice");
	assert_string_equal(why_not(&half, &busy, true),
			    "memory or time of a GPU given twice");
	/* GPUs beside each other share the memory of their node: 128 GiB. */
	assert_null(why_not(&more, &half, false));
	assert_string_equal(why_not(&roomy, &half, false),
			    "memory of a node given twice");
}

static void
the_least_number_of_gpus_holds_all_of_the_memory(void **state)
{
	static const struct {
		double memory;
		uint32_t n_gpus, n_least;
	} cases[] = { { 0, 8, 1 },  { 32, 8, 8 }, { 16, 8, 4 },
		      { 17, 8, 5 }, { 48, 2, 3 }, { 8, 1, 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct needs needs = { { 0, 0, cases[i].memory, 0 } },
				   unknown = { 0 };

		assert_int_equal(
			needs_least_gpus(&needs, cases[i].n_gpus, &gpu_of_32[0]),
			cases[i].n_least);
		assert_int_equal(needs_least_gpus(&needs, cases[i].n_gpus, &unknown),
				 1);
	}
}

static void
a_memory_factor_changes_the_number_of_gpus(void **state)
{
	static const struct {
		double factor;
		uint32_t n_gpus;
		double memory; /* On each. */
	} cases[] = { { 1, 5, 30.4 }, { 0.5, 4, 19 }, { 2, 10, 30.4 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cluster_job job = cluster_lab_job(0, 1, 4);
		struct joblist list = { .n = 1, .jobs = &job };
		struct replay_cluster cluster;
		struct err err = { 0 };

		job.needs.of[NEED_GPU_MEMORY] = 38;
		assert_int_equal(replay_cluster_parse("2x8", &cluster, &err), 0);
		assert_int_equal(replay_cluster_set_memory(&cluster, "32/64", &err), 0);
		assert_int_equal(replay_cluster_fit(&cluster, cases[i].factor, &list),
				 cases[i].n_gpus > 4);
		assert_int_equal(job.n_gpus, cases[i].n_gpus);
		assert_near(job.needs.of[NEED_GPU_MEMORY], cases[i].memory, 1e-9);
		replay_cluster_fini(&cluster);
	}
}

static void
memory_is_read_by_type(void **state)
{
	static const char *const wrong[] = { "",     "x",    "-1",      "80/",
					     "80/x", "80,",  "1,2,3",   "0",
					     "1e9",  "8 /9", "80/128/", "nan" };
	struct replay_cluster cluster;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(replay_cluster_parse("1x2:a,1x2:b", &cluster, &err), 0);
	assert_int_equal(replay_cluster_set_memory(&cluster, "80,16.5/128", &err), 0);
	assert_near(cluster.cluster.capacity[0].of[NEED_GPU_MEMORY], 80, 0);
	assert_near(cluster.cluster.capacity[0].of[NEED_MEMORY], 0, 0);
	assert_near(cluster.cluster.capacity[1].of[NEED_GPU_MEMORY], 16.5, 0);
	assert_near(cluster.cluster.capacity[1].of[NEED_MEMORY], 128, 0);
	replay_cluster_fini(&cluster);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_int_equal(replay_cluster_parse("1x2:a,1x2:b", &cluster, &err),
				 0);
		assert_true(replay_cluster_set_memory(&cluster, wrong[i], &err) < 0);
		replay_cluster_fini(&cluster);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_gives_no_memory_or_time_twice),
		cmocka_unit_test(the_least_number_of_gpus_holds_all_of_the_memory),
		cmocka_unit_test(a_memory_factor_changes_the_number_of_gpus),
		cmocka_unit_test(memory_is_read_by_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
