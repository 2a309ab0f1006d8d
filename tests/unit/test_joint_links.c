/* SPDX-License-Identifier: Apache-2.0 */
/* test_joint_links.c - links that seem to form a loop but do not */
#include "scheduler/core/solve/joint.h"
#include "tests/unit/joint_fixture.h"
#include "tests/unit/test.h"

static void
links_that_cannot_be_exceeded_leave_jobs_free(void **state)
{
	struct joint_result *result;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	for (uint32_t j = 0; j < 3; j++)
		fixture_add_on_off(&f, 1000, 0, 900, FIXTURE_C / 3);
	for (int l = 0; l < 2; l++) {
		fixture_add_link(&f);
		for (uint32_t j = 0; j < 3; j++)
			fixture_add_load(&f, j, 1);
	}
	result = fixture_solve(&f, NULL);
	assert_false(result->has_loop);
	assert_true(result->objective_after == 0);
	for (int j = 0; j < 3; j++) {
		assert_int_equal(result->method[j], JOINT_FREE);
		assert_int_equal(result->shift_us[j], 0);
		assert_int_equal(result->slack_us[j], 500);
	}
	joint_result_free(result);
}

/* Both directions of a cable carry the same jobs: one constraint, and no loop. */
static void
twin_links_are_one_and_no_loop(void **state)
{
	struct joint_result *one, *twins;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	for (uint32_t j = 0; j < 3; j++)
		fixture_add_on_off(&f, 120000, 0, 50000, FIXTURE_C);
	for (int l = 0; l < 2; l++) {
		fixture_add_link(&f);
		for (uint32_t j = 0; j < 3; j++)
			fixture_add_load(&f, j, l + 1);
		f.links[l].capacity_bps *= l + 1;
	}
	twins = fixture_solve(&f, NULL);
	f.problem.n_links = 1;
	one = fixture_solve(&f, NULL);
	assert_false(twins->has_loop);
	assert_near(one->objective_after, 0.25, 1e-9);
	assert_near(twins->objective_after, 2 * one->objective_after, 1e-9);
	for (int j = 0; j < 3; j++)
		assert_int_equal(twins->method[j], JOINT_TREE);
	joint_result_free(one);
	joint_result_free(twins);
}

/* Two of three jobs share a second link, on which they have more room. */
static void
a_link_within_another_is_no_loop_if_all_fit(void **state)
{
	struct rng rng;
	int n_loops = 0, n_trees = 0;

	(void)state;
	rng_init(&rng, 10);
	for (int round = 0; round < 60; round++) {
		int64_t shift_us[3] = { 0 };
		struct joint_result *result;
		double best = INFINITY;
		struct fixture f;

		fixture_init(&f);
		for (uint32_t j = 0; j < 3; j++)
			fixture_add_on_off(&f, 24, 0, 4 + (int64_t)rng_below(&rng, 8),
					   FIXTURE_C);
		fixture_add_link(&f);
		for (uint32_t j = 0; j < 3; j++)
			fixture_add_load(&f, j, 1);
		fixture_add_link(&f);
		fixture_add_load(&f, 0, 0.9);
		fixture_add_load(&f, 1, 0.8);
		for (shift_us[1] = 0; shift_us[1] < 24; shift_us[1]++)
			for (shift_us[2] = 0; shift_us[2] < 24; shift_us[2]++)
				best = fmin(best, fixture_objective(&f, shift_us));
		result = fixture_solve(&f, NULL);
		assert_near(result->objective_after, best, 1e-8);
		if (result->objective_after < 1e-9) {
			assert_false(result->has_loop);
			n_trees++;
		}
		n_loops += result->has_loop;
		joint_result_free(result);
	}
	assert_true(n_trees > 10);
	assert_true(n_loops > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_that_cannot_be_exceeded_leave_jobs_free),
		cmocka_unit_test(twin_links_are_one_and_no_loop),
		cmocka_unit_test(a_link_within_another_is_no_loop_if_all_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
