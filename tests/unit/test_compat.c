/* SPDX-License-Identifier: Apache-2.0 */
/* test_compat.c - scores, reasons, and the bound on the gain of shifts */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/advise/compat.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/joint.h"
#include "tests/unit/test.h"

#define C_BPS 50e9

struct bursts {
	struct profile_phase phases[3];
	struct profile profiles[3];
	struct compat_job jobs[3];
};

static void
set_job(struct bursts *b, size_t j, int64_t period_us, int64_t from_us, int64_t up_us,
	double rate_bps)
{
	b->phases[j] = (struct profile_phase){ from_us, up_us, rate_bps };
	b->profiles[j] = (struct profile){ .period_us = period_us,
					   .n_phases = 1,
					   .phases = &b->phases[j] };
	b->jobs[j] = (struct compat_job){ &b->profiles[j], 1 };
}

static enum reason
reason_of_pair(int64_t period1_us, int64_t up1_us, int64_t period2_us, int64_t up2_us,
	       double rate_bps)
{
	struct compat compat;
	enum reason reason;
	struct bursts b;

	set_job(&b, 0, period1_us, 0, up1_us, rate_bps);
	set_job(&b, 1, period2_us, 0, up2_us, rate_bps);
	assert_int_equal(compat_solve(b.jobs, 2, C_BPS, COMPAT_EXACT, 1, &compat), 0);
	reason = compat.reason;
	compat_fini(&compat);
	return reason;
}

static void
each_case_has_its_reason(void **state)
{
	enum reason (*of)(int64_t, int64_t, int64_t, int64_t, double) = reason_of_pair;

	(void)state;
	assert_int_equal(of(100000, 90000, 100000, 90000, C_BPS / 2), REASON_FITS);
	assert_int_equal(of(100000, 50000, 100000, 50000, C_BPS), REASON_INTERLEAVED);
	assert_int_equal(of(100000, 60000, 100000, 60000, C_BPS), REASON_REDUCED);
	assert_int_equal(of(100000, 100000, 100000, 50000, C_BPS), REASON_NO_ROOM);
	assert_int_equal(of(101000, 40000, 103000, 40000, C_BPS),
			 REASON_PERIODS_UNRELATED);
}

/* Two jobs of 20 ms bursts, whose periods were measured with these errors. */
static void
check_measured(int64_t error_us, enum reason reason, double score)
{
	struct compat compat;
	struct bursts b;

	set_job(&b, 0, 45013, 0, 20000, C_BPS);
	set_job(&b, 1, 45026, 0, 20000, C_BPS);
	b.profiles[0].period_error_us = b.profiles[1].period_error_us = error_us;
	assert_int_equal(compat_solve(b.jobs, 2, C_BPS, COMPAT_EXACT, 1, &compat), 0);
	assert_string_equal(reason_name(compat.reason), reason_name(reason));
	assert_near(compat.score, score, 1e-3);
	assert_int_equal(compat.has_joined, reason == REASON_INTERLEAVED);
	assert_int_equal(b.profiles[0].period_us, 45013);
	compat_fini(&compat);
}

static void
periods_measured_apart_are_one_within_their_errors(void **state)
{
	double chance = 1 - 20.0 / 45.013 * 20.0 / 45.026;

	(void)state;
	check_measured(5, REASON_INTERLEAVED, 1);
	check_measured(1, REASON_PERIODS_UNRELATED, chance);
	check_measured(0, REASON_PERIODS_UNRELATED, chance);
}

/* Over few iterations: 1.2 % apart, with errors of 3 %. */
static void
periods_that_are_equal_within_large_errors_are_not_called_unrelated(void **state)
{
	struct compat compat;
	struct bursts b;

	(void)state;
	set_job(&b, 0, 270400, 0, 120000, C_BPS);
	set_job(&b, 1, 273600, 0, 120000, C_BPS);
	b.profiles[0].period_error_us = 8400;
	b.profiles[1].period_error_us = 6800;
	assert_int_equal(compat_solve(b.jobs, 2, C_BPS, COMPAT_EXACT, 1, &compat), 0);
	assert_string_equal(reason_name(compat.reason), "periods-within-error");
	assert_false(compat.has_joined);
	compat_fini(&compat);
	b.profiles[0].period_error_us = 500;
	b.profiles[1].period_error_us = 500;
	assert_int_equal(compat_solve(b.jobs, 2, C_BPS, COMPAT_EXACT, 1, &compat), 0);
	assert_string_equal(reason_name(compat.reason), "periods-unrelated");
	compat_fini(&compat);
}

static void
two_half_busy_jobs_take_turns_with_either_solver(void **state)
{
	struct compat compat;
	struct bursts b;

	(void)state;
	set_job(&b, 0, 72000, 0, 24000, C_BPS);
	set_job(&b, 1, 72000, 0, 24000, C_BPS);
	assert_int_equal(compat_solve(b.jobs, 2, C_BPS, COMPAT_EXACT, 1, &compat), 0);
	assert_near(compat.score_before, 1 - 1.0 / 3, 1e-9);
	assert_near(compat.score_chance, 1 - 1.0 / 9, 1e-9);
	assert_near(compat.score, 1, 1e-9);
	assert_near(compat.excess_before_bps, C_BPS / 3, 1);
	/* 24 to 48 ms apart are equivalent: the middle, and 12 ms to either side. */
	assert_int_equal(llabs(compat.shift_us[1] - compat.shift_us[0]), 36000);
	assert_int_equal(compat.slack_us[1], 12000);
	assert_true(isnan(compat.grid_score));
	/* TV / T = 2 C / 72 ms, g = 72 ms. */
	assert_near(compat.bound_frac, 0.5, 1e-9);
	assert_near(compat.job_bound_frac[0], 0.5, 1e-9);
	compat_fini(&compat);

	assert_int_equal(compat_solve(b.jobs, 2, C_BPS, COMPAT_CASSINI, 1, &compat), 0);
	assert_near(compat.score, 1, 1e-9);
	assert_near(compat.grid_score, 1, 1e-9);
	assert_int_equal(compat.shift_us[1], 24000); /* The first optimum: no slack. */
	assert_int_equal(compat.slack_us[1], 0);
	assert_false(compat.is_degenerate);
	compat_fini(&compat);
	compat_fini(&compat);

	set_job(&b, 1, 73000, 0, 24000, C_BPS);
	assert_int_equal(compat_solve(b.jobs, 2, C_BPS, COMPAT_CASSINI, 1, &compat), 0);
	assert_false(compat.is_degenerate); /* 72 copies of one: 5 degrees. */
	compat_fini(&compat);
	set_job(&b, 0, 79000, 0, 24000, C_BPS);
	assert_int_equal(compat_solve(b.jobs, 2, C_BPS, COMPAT_CASSINI, 1, &compat), 0);
	assert_true(compat.is_degenerate);
	assert_int_equal(compat.shift_us[1], 0);
	compat_fini(&compat);
}

/* The link's excess at the given shifts, by joint_excess(). */
static double
excess_at(const struct bursts *b, size_t n, const int64_t *shift_us)
{
	const struct profile *profiles[3] = { &b->profiles[0], &b->profiles[1],
					      &b->profiles[2] };
	const struct joint_load loads[3] = { { 0, b->jobs[0].factor },
					     { 1, b->jobs[1].factor },
					     { 2, b->jobs[2].factor } };
	const struct joint_link link = { .n_loads = (uint32_t)n,
					 .capacity_bps = C_BPS,
					 .weight = 1 };
	const struct joint_problem problem = { n, profiles, 1, &link, loads };
	double excess_bps;

	joint_excess(&problem, shift_us, &excess_bps);
	return excess_bps;
}

/*
 * Small periods, so that all shifts can be tried: their mean is the score at random
 * phases, and none is better than that by more than the bound.
 */
static void
no_shifts_beat_chance_by_more_than_the_bound(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 60; round++) {
		size_t n = 2 + rng_below(&rng, 2);
		double sum = 0, least = INFINITY;
		int64_t shift_us[3] = { 0 };
		struct compat compat;
		struct bursts b;
		size_t n_tried = 0;

		for (size_t j = 0; j < 3; j++) {
			int64_t period_us = 2 + (int64_t)rng_below(&rng, 11);
			int64_t up_us =
				1 + (int64_t)rng_below(&rng, (uint64_t)period_us);

			set_job(&b, j, period_us, 0, up_us,
				(0.3 + rng_uniform(&rng)) * C_BPS);
			b.jobs[j].factor = 0.5 + rng_uniform(&rng);
		}
		assert_int_equal(
			compat_solve(b.jobs, n, C_BPS, COMPAT_EXACT, 1, &compat), 0);
		for (;; n_tried++) {
			double excess_bps = excess_at(&b, n, shift_us);
			size_t j = 0;

			least = excess_bps < least ? excess_bps : least;
			sum += excess_bps;
			while (j < n && ++shift_us[j] == b.profiles[j].period_us)
				shift_us[j++] = 0;
			if (j == n)
				break;
		}
		assert_near(sum / (double)(n_tried + 1), compat.excess_chance_bps,
			    1e-9 * C_BPS);
		assert_true(least >= compat.excess_chance_bps -
					     compat.bound_frac * C_BPS - 1e-9 * C_BPS);
		assert_near(compat.excess_bps, least, 1e-9 * C_BPS);
		compat_fini(&compat);
	}
}

static void
a_jobs_own_bound_holds_with_the_others_in_place(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 6);
	for (int round = 0; round < 200; round++) {
		int64_t shift_us[3];
		double sum = 0, least = INFINITY;
		struct compat compat;
		struct bursts b;

		for (size_t j = 0; j < 3; j++) {
			int64_t period_us = 2 + (int64_t)rng_below(&rng, 19);
			int64_t up_us =
				1 + (int64_t)rng_below(&rng, (uint64_t)period_us);

			set_job(&b, j, period_us, 0, up_us,
				(0.3 + rng_uniform(&rng)) * C_BPS);
			shift_us[j] = (int64_t)rng_below(&rng, (uint64_t)period_us);
		}
		assert_int_equal(
			compat_solve(b.jobs, 3, C_BPS, COMPAT_EXACT, 1, &compat), 0);
		for (shift_us[2] = 0; shift_us[2] < b.profiles[2].period_us;
		     shift_us[2]++) {
			double excess_bps = excess_at(&b, 3, shift_us);

			least = excess_bps < least ? excess_bps : least;
			sum += excess_bps;
		}
		assert_true(sum / (double)b.profiles[2].period_us - least <=
			    (compat.job_bound_frac[2] + 1e-9) * C_BPS);
		compat_fini(&compat);
	}
}

static void
a_capacity_or_factor_of_nothing_is_refused(void **state)
{
	struct compat compat;
	struct bursts b;

	(void)state;
	set_job(&b, 0, 1000, 0, 500, C_BPS);
	set_job(&b, 1, 1000, 0, 500, C_BPS);
	for (int s = 0; s < N_COMPAT_SOLVERS; s++) {
		enum compat_solver solver = (enum compat_solver)s;

		assert_int_equal(compat_solve(b.jobs, 2, 0, solver, 1, &compat),
				 -EINVAL);
		b.jobs[1].factor = 0;
		assert_int_equal(compat_solve(b.jobs, 2, C_BPS, solver, 1, &compat),
				 -EINVAL);
		b.jobs[1].factor = 1;
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_case_has_its_reason),
		cmocka_unit_test(periods_measured_apart_are_one_within_their_errors),
		cmocka_unit_test(
			periods_that_are_equal_within_large_errors_are_not_called_unrelated),
		cmocka_unit_test(two_half_busy_jobs_take_turns_with_either_solver),
		cmocka_unit_test(no_shifts_beat_chance_by_more_than_the_bound),
		cmocka_unit_test(a_jobs_own_bound_holds_with_the_others_in_place),
		cmocka_unit_test(a_capacity_or_factor_of_nothing_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
