/* SPDX-License-Identifier: Apache-2.0 */
/* test_same_period.c - which measured periods are taken as one */
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/profile/same_period.h"
#include "tests/unit/test.h"

#define MAX_JOBS 40

static struct profile
measured(int64_t period_us, int64_t error_us)
{
	return (struct profile){ .period_us = period_us, .period_error_us = error_us };
}

static int64_t
of_pair(int64_t a_us, int64_t a_error_us, int64_t b_us, int64_t b_error_us)
{
	struct profile a = measured(a_us, a_error_us), b = measured(b_us, b_error_us);

	assert_int_equal(same_period(&a, &b), same_period(&b, &a));
	return same_period(&a, &b);
}

static void
periods_within_three_errors_are_one(void **state)
{
	(void)state;
	assert_int_equal(of_pair(45013, 5, 45026, 5), 45026);
	assert_int_equal(of_pair(45013, 1, 45026, 5), 45026);
	assert_int_equal(of_pair(45013, 5, 45013, 5), 45013);
	/* 13 us are more than 3 hypot(3, 3) = 12.7. */
	assert_int_equal(of_pair(45013, 3, 45026, 3), 0);
	assert_int_equal(of_pair(45013, 3, 45025, 3), 45025);
}

static void
periods_that_really_differ_are_two(void **state)
{
	(void)state;
	assert_int_equal(of_pair(45013, 1, 45026, 1), 0);
	assert_int_equal(of_pair(100000, 8, 100040, 8), 0);
}

/* However uncertain: 0.05 % drift by half a period in 1,000 iterations. */
static void
far_periods_are_two_whatever_their_errors(void **state)
{
	(void)state;
	assert_int_equal(of_pair(99950, 100000, 100000, 100000), 100000);
	assert_int_equal(of_pair(99949, 100000, 100000, 100000), 0);
	assert_int_equal(of_pair(1, PROFILE_MAX_PERIOD_US, PROFILE_MAX_PERIOD_US,
				 PROFILE_MAX_PERIOD_US),
			 0);
}

static bool
is_unsure(int64_t a_us, int64_t a_error_us, int64_t b_us, int64_t b_error_us)
{
	struct profile a = measured(a_us, a_error_us), b = measured(b_us, b_error_us);

	assert_int_equal(same_period_is_unsure(&a, &b), same_period_is_unsure(&b, &a));
	return same_period_is_unsure(&a, &b);
}

static void
large_errors_leave_it_open_whether_periods_are_one(void **state)
{
	(void)state;
	/* Two runs of one program, over 32 iterations with a jitter of 38 and 30 ms. */
	assert_int_equal(of_pair(270400, 8400, 273600, 6800), 0);
	assert_true(is_unsure(270400, 8400, 273600, 6800));
	/* 3 hypot(1000, 200) = 3059 */
	assert_true(is_unsure(270400, 1000, 273459, 200));
	assert_false(is_unsure(270400, 1000, 273460, 200));
	/* Those that are one, and exact ones. */
	assert_false(is_unsure(45013, 5, 45026, 5));
	assert_false(is_unsure(45013, 5, 45013, 5));
	assert_false(is_unsure(270400, 0, 273600, 8400));
	assert_false(is_unsure(270400, 8400, 273600, 0));
}

static void
a_period_without_an_error_is_exact(void **state)
{
	(void)state;
	assert_int_equal(of_pair(45013, 0, 45026, 0), 0);
	assert_int_equal(of_pair(45013, 0, 45026, 500), 0);
	assert_int_equal(of_pair(45013, 500, 45026, 0), 0);
	assert_int_equal(of_pair(45013, 0, 45013, 0), 45013);
	assert_int_equal(of_pair(45013, 0, 45013, 500), 45013);
}

/* Joins jobs of these periods and errors; compares with 'expected', NULL: unchanged. */
static void
check_join(size_t n, const int64_t (*jobs)[2], const int64_t *expected)
{
	struct profile profiles[MAX_JOBS], *joined;
	const struct profile *list[MAX_JOBS];

	for (size_t turn = 0; turn < n; turn++) {
		for (size_t j = 0; j < n; j++) {
			profiles[j] = measured(jobs[j][0], jobs[j][1]);
			list[(j + turn) % n] = &profiles[j];
		}
		joined = same_period_join(list, n);
		assert_int_equal(joined != NULL, expected != NULL);
		for (size_t j = 0; j < n && joined && expected; j++)
			assert_int_equal(joined[(j + turn) % n].period_us, expected[j]);
		free(joined);
	}
}

static void
jobs_of_one_period_get_the_longest(void **state)
{
	(void)state;
	assert_null(same_period_join(NULL, 0));
	check_join(3, (const int64_t[][2]){ { 45013, 5 }, { 60000, 5 }, { 45026, 5 } },
		   (const int64_t[]){ 45026, 60000, 45026 });
	check_join(2, (const int64_t[][2]){ { 45013, 5 }, { 45013, 5 } }, NULL);
	check_join(2, (const int64_t[][2]){ { 45013, 1 }, { 45026, 1 } }, NULL);
	check_join(2, (const int64_t[][2]){ { 45013, 0 }, { 45026, 9 } }, NULL);
}

/* 20 us apart each: the third is the same as the second, but not as the first. */
static void
a_chain_does_not_drag_along_what_is_far(void **state)
{
	(void)state;
	check_join(3,
		   (const int64_t[][2]){ { 45000, 99 }, { 45020, 99 }, { 45040, 99 } },
		   (const int64_t[]){ 45020, 45020, 45040 });
	/* The one in the middle is well known, the others are not. */
	check_join(3, (const int64_t[][2]){ { 45000, 9 }, { 45011, 1 }, { 45021, 9 } },
		   (const int64_t[]){ 45021, 45021, 45021 });
}

/* What equals a declared period stays with it. */
static void
an_exact_period_is_left_to_its_equals(void **state)
{
	(void)state;
	check_join(3, (const int64_t[][2]){ { 45013, 0 }, { 45013, 9 }, { 45020, 9 } },
		   NULL);
	check_join(4,
		   (const int64_t[][2]){
			   { 45013, 0 }, { 45020, 9 }, { 45013, 9 }, { 45021, 9 } },
		   (const int64_t[]){ 45013, 45021, 45013, 45021 });
}

/* Any two jobs of a group are the same as each other; a group has its longest period. */
static void
groups_of_random_jobs_agree_within(void **state)
{
	struct rng rng;
	unsigned n_joined = 0;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 3000; round++) {
		size_t n = 2 + rng_below(&rng, MAX_JOBS - 1);
		struct profile profiles[MAX_JOBS], *joined;
		const struct profile *list[MAX_JOBS];

		for (size_t j = 0; j < n; j++) {
			profiles[j] = measured(100000 + (int64_t)rng_below(&rng, 500),
					       (int64_t)rng_below(&rng, 30));
			list[j] = &profiles[j];
		}
		joined = same_period_join(list, n);
		n_joined += joined != NULL;
		for (size_t a = 0; a < n && joined; a++) {
			bool is_one = false;

			for (size_t b = 0; b < n; b++) {
				if (joined[a].period_us != joined[b].period_us)
					continue;
				is_one |= joined[a].period_us == list[b]->period_us;
				assert_true(same_period(list[a], list[b]) > 0);
			}
			assert_true(is_one);
		}
		free(joined);
	}
	assert_true(n_joined > 2000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periods_within_three_errors_are_one),
		cmocka_unit_test(periods_that_really_differ_are_two),
		cmocka_unit_test(far_periods_are_two_whatever_their_errors),
		cmocka_unit_test(large_errors_leave_it_open_whether_periods_are_one),
		cmocka_unit_test(a_period_without_an_error_is_exact),
		cmocka_unit_test(jobs_of_one_period_get_the_longest),
		cmocka_unit_test(a_chain_does_not_drag_along_what_is_far),
		cmocka_unit_test(an_exact_period_is_left_to_its_equals),
		cmocka_unit_test(groups_of_random_jobs_agree_within),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
