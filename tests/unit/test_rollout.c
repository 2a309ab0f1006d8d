/* SPDX-License-Identifier: Apache-2.0 */
/* test_rollout.c - whether turns pay, and the cost of locked periods */
#include "scheduler/core/control/period_lock.h"
#include "scheduler/core/control/rollout.h"
#include "tests/unit/test.h"

#define MS 1e6

/* n jobs of 'compute' and 'send' ms with 2 % noise, on one link. */
static void
choose(const double (*jobs)[2], size_t n, struct rollout *ret_rollout,
       double *ret_slowdown, double *ret_free)
{
	const struct rollout share = { .patience = INFINITY };
	struct rollout_job players[ROLLOUT_MAX_JOBS];
	double overload[ROLLOUT_MAX_JOBS * ROLLOUT_MAX_JOBS];

	for (size_t i = 0; i < n; i++) {
		players[i] = (struct rollout_job){ .compute_ns = jobs[i][0] * MS,
						   .sd_ns = 0.02 * jobs[i][0] * MS,
						   .send_ns = jobs[i][1] * MS };
		for (size_t j = 0; j < n; j++)
			overload[i * n + j] = i != j;
	}
	rollout_choose(players, n, overload, ret_rollout);
	rollout_play(players, n, overload, ret_rollout, ret_slowdown);
	rollout_play(players, n, overload, &share, ret_free);
}

static void
equal_jobs_take_turns(void **state)
{
	static const double jobs[3][2] = { { 180, 70 }, { 180, 70 }, { 180, 70 } };
	struct rollout rollout;
	double slowdown[3], free[3];

	(void)state;
	choose(jobs, 3, &rollout, slowdown, free);
	for (size_t i = 0; i < 3; i++) {
		assert_true(rollout.takes_turns[i * 3 + (i + 1) % 3]);
		assert_true(slowdown[i] < 1.01);
		assert_true(free[i] > 1.04);
	}
}

static void
nearly_equal_jobs_and_harmonic_ones_take_turns(void **state)
{
	static const double near[2][2] = { { 180, 70 }, { 186, 71 } };
	static const double harmonic[2][2] = { { 60, 40 }, { 140, 60 } };
	struct rollout rollout;
	double slowdown[2], free[2];

	(void)state;
	choose(near, 2, &rollout, slowdown, free);
	assert_true(rollout.takes_turns[1] && rollout.takes_turns[2]);
	assert_true(slowdown[0] + slowdown[1] < free[0] + free[1] - 0.06);
	choose(harmonic, 2, &rollout, slowdown, free);
	assert_true(rollout.takes_turns[1]);
	assert_true(slowdown[0] + slowdown[1] < 2.04);
}

static void
jobs_that_would_always_be_in_the_way_share(void **state)
{
	static const double jobs[2][2] = { { 180, 70 }, { 225, 85 } };
	struct rollout rollout;
	double slowdown[2], free[2];

	(void)state;
	choose(jobs, 2, &rollout, slowdown, free);
	assert_false(rollout.takes_turns[1]);
	/* As at random phases: a share d_a d_b. */
	assert_near(free[0], 1 + 70 / 250.0 * 85 / 310.0, 0.02);
	assert_near(free[1], 1 + 70 / 250.0 * 85 / 310.0, 0.02);
}

static void
nobody_is_made_much_worse_off(void **state)
{
	static const double mixes[][3][2] = {
		{ { 60, 40 }, { 67, 43 }, { 71, 47 } },
		{ { 30, 15 }, { 35, 15 }, { 45, 20 } },
		{ { 60, 20 }, { 90, 30 }, { 200, 20 } },
		{ { 180, 70 }, { 180, 70 }, { 234, 70 } },
	};

	(void)state;
	for (size_t m = 0; m < sizeof mixes / sizeof *mixes; m++) {
		struct rollout rollout;
		double slowdown[3], free[3];

		choose(mixes[m], 3, &rollout, slowdown, free);
		for (size_t i = 0; i < 3; i++)
			assert_true(slowdown[i] <= free[i] + 0.0501);
	}
}

static void
what_meets_nobody_is_not_slowed(void **state)
{
	const struct rollout_job jobs[2] = { { 50 * MS, 0, 30 * MS },
					     { 70 * MS, 0, 40 * MS } };
	const double overload[4] = { 0 };
	struct rollout rollout;
	double slowdown[2];

	(void)state;
	rollout_choose(jobs, 2, overload, &rollout);
	assert_false(rollout.takes_turns[1]);
	rollout_play(jobs, 2, overload, &rollout, slowdown);
	assert_near(slowdown[0], 1, 1e-6);
	assert_near(slowdown[1], 1, 1e-6);
}

/* ------ Locks ------ */

static void
locks_are_multiples_of_one_base(void **state)
{
	const int64_t periods[3] = { 250000, 258000, 505000 };
	const int64_t busy[3] = { 70000, 70000, 70000 };
	int64_t locked[3];
	double cost;

	(void)state;
	cost = period_lock_find(periods, busy, 3, locked);
	assert_int_equal(locked[0], 258000);
	assert_int_equal(locked[1], 258000);
	assert_int_equal(locked[2], 516000);
	assert_near(cost, (8 / 250.0 + 0 + 11 / 505.0) / 3, 1e-6);
	assert_true(cost < period_lock_contention(periods, busy, 3));
}

/* Measured periods are slightly off, and windows need a common divisor. */
static void
locks_of_periods_that_are_nearly_multiples_are_multiples(void **state)
{
	const int64_t periods[3] = { 250000, 250010, 500013 };
	const int64_t busy[3] = { 70000, 70000, 70000 };
	int64_t locked[3];

	(void)state;
	assert_true(period_lock_find(periods, busy, 3, locked) < 1e-4);
	assert_int_equal(locked[0], 250010);
	assert_int_equal(locked[1], 250010);
	assert_int_equal(locked[2], 500020);
}

static void
what_does_not_fit_costs_more_than_contention(void **state)
{
	const int64_t periods[2] = { 100000, 137000 };
	const int64_t busy[2] = { 40000, 50000 };
	const int64_t far[2] = { 100000, 1000000 };
	int64_t locked[2] = { 1, 2 };

	(void)state;
	assert_true(period_lock_find(periods, busy, 2, locked) >
		    period_lock_contention(periods, busy, 2));
	assert_true(locked[0] >= periods[0] && locked[1] >= periods[1]);
	/* Ten is not a small ratio: only stretching the short period would help. */
	assert_true(period_lock_find(far, busy, 2, locked) > 0.5);
	assert_near(period_lock_contention(periods, busy, 2), 0.4 * 50 / 137.0, 1e-9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_jobs_take_turns),
		cmocka_unit_test(nearly_equal_jobs_and_harmonic_ones_take_turns),
		cmocka_unit_test(jobs_that_would_always_be_in_the_way_share),
		cmocka_unit_test(nobody_is_made_much_worse_off),
		cmocka_unit_test(what_meets_nobody_is_not_slowed),
		cmocka_unit_test(locks_are_multiples_of_one_base),
		cmocka_unit_test(
			locks_of_periods_that_are_nearly_multiples_are_multiples),
		cmocka_unit_test(what_does_not_fit_costs_more_than_contention),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
