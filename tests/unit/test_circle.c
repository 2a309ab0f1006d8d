/* SPDX-License-Identifier: Apache-2.0 */
/* test_circle.c - the unified circle: CASSINI's Table 1, its examples, its limits */
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/cassini/circle.h"
#include "scheduler/core/profile/profile.h"
#include "tests/unit/test.h"

#define C_BPS 50e9

/* A job that sends at one rate for 'up_us', beginning at 'from_us'. */
struct on_off {
	struct profile_phase phase;
	struct profile profile;
};

static void
on_off_init(struct on_off *job, int64_t period_us, int64_t from_us, int64_t up_us,
	    double rate_bps)
{
	job->phase = (struct profile_phase){ from_us, up_us, rate_bps };
	job->profile = (struct profile){ .period_us = period_us,
					 .n_phases = 1,
					 .phases = &job->phase };
}

/* The circle of 'n' such jobs, each with factor 1. */
static void
lay(struct circle *circle, struct on_off *jobs, size_t n)
{
	struct circle_job list[16];

	for (size_t j = 0; j < n; j++)
		list[j] = (struct circle_job){ &jobs[j].profile, 1 };
	circle_init(circle, list, n, C_BPS);
}

/* The rate of 'profile' at time 't' / 72 ms, from the definition. */
static double
rate_at_tick(const struct profile *profile, int64_t t)
{
	int64_t period = profile->period_us / 1000 * CIRCLE_TICKS_PER_MS;

	t = ((t % period) + period) % period;
	for (size_t i = 0; i < profile->n_phases; i++) {
		const struct profile_phase *phase = &profile->phases[i];

		if (t * 1000 >= phase->start_us * CIRCLE_TICKS_PER_MS &&
		    t * 1000 < (phase->start_us + phase->duration_us) *
				       CIRCLE_TICKS_PER_MS)
			return phase->rate_bps;
	}
	return 0;
}

/*
 * Table 1 computed in time instead of angle: 72 instants of the common period, with job
 * j delayed by turns[j] / 72 of it.
 */
static double
naive_score(const struct on_off *jobs, size_t n, int64_t period_ms,
	    const unsigned *turns)
{
	double excess = 0;

	for (int64_t i = 0; i < CIRCLE_N_ANGLES; i++) {
		double sum = 0;

		for (size_t j = 0; j < n; j++)
			sum += rate_at_tick(&jobs[j].profile,
					    (i - turns[j]) * period_ms);
		excess += sum > C_BPS ? sum - C_BPS : 0;
	}
	return 1 - excess / (CIRCLE_N_ANGLES * C_BPS);
}

static void
the_papers_40_and_60_ms_jobs_fit_after_30_degrees(void **state)
{
	struct on_off jobs[2];
	struct circle circle;
	unsigned turns[2];

	(void)state;
	on_off_init(&jobs[0], 40000, 0, 10000, C_BPS);
	on_off_init(&jobs[1], 60000, 0, 10000, C_BPS);
	lay(&circle, jobs, 2);

	assert_int_equal(circle.period_ms, 120);
	assert_int_equal(circle.rings[0].copies, 3);
	assert_int_equal(circle.rings[1].copies, 2);
	assert_int_equal(circle.rings[0].n_turns, 24 + 1); /* 120 degrees. */
	assert_int_equal(circle.rings[1].n_turns, 36 + 1); /* 180 degrees. */

	/* Both send from 0 to 10 ms of 120: 30 degrees, 6 of 72 angles. */
	assert_near(circle_score(&circle, (unsigned[]){ 0, 0 }), 1 - 6.0 / 72, 1e-15);
	assert_near(circle_solve(&circle, 1, 0, turns), 1, 0);
	assert_int_equal(turns[0], 0);
	assert_int_equal(turns[1], 6);
	assert_int_equal(circle_shift_ticks(&circle.rings[1], turns[1]),
			 10 * CIRCLE_TICKS_PER_MS);
	assert_int_equal(circle_ticks_to_us(10 * CIRCLE_TICKS_PER_MS, 60000), 10000);
	circle_fini(&circle);
}

static void
a_job_of_three_iterations_is_laid_out_three_times(void **state)
{
	struct on_off jobs[2];
	struct circle circle;

	(void)state;
	on_off_init(&jobs[0], 40000, 20000, 10000, 1e9);
	on_off_init(&jobs[1], 120000, 0, 1, 1e9);
	lay(&circle, jobs, 2);
	assert_int_equal(circle.period_ms, 120);
	assert_int_equal(circle.rings[0].copies, 3);
	assert_int_equal(circle.rings[1].copies, 1);

	/* 120 degrees a copy, active from 60 to 90: angles 12 to 17 of 24. */
	for (unsigned i = 0; i < CIRCLE_N_ANGLES; i++)
		assert_near(circle.rings[0].demand_bps[i],
			    i % 24 >= 12 && i % 24 < 18 ? 1e9 : 0, 0);
	circle_fini(&circle);
}

static void
rings_and_scores_match_the_definition_in_time(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int round = 0; round < 2000; round++) {
		size_t n = 1 + rng_below(&rng, 4);
		struct circle circle;
		struct on_off jobs[4];
		unsigned turns[4];

		for (size_t j = 0; j < n; j++) {
			int64_t period_us = 1000 * (1 + (int64_t)rng_below(&rng, 40));
			int64_t from_us = (int64_t)rng_below(&rng, (uint64_t)period_us);
			int64_t up_us =
				1 + (int64_t)rng_below(&rng,
						       (uint64_t)(period_us - from_us));

			on_off_init(&jobs[j], period_us, from_us, up_us,
				    rng_uniform(&rng) * C_BPS);
			turns[j] = (unsigned)rng_below(&rng, 80);
		}
		lay(&circle, jobs, n);
		for (size_t j = 0; j < n; j++) {
			assert_int_equal(
				circle.period_ms % circle.rings[j].iteration_ms, 0);
			for (int64_t i = 0; i < CIRCLE_N_ANGLES; i++)
				assert_near(circle.rings[j].demand_bps[i],
					    rate_at_tick(&jobs[j].profile,
							 i * circle.period_ms),
					    0);
			/* Equation 5. */
			assert_int_equal(circle_shift_ticks(&circle.rings[j], turns[j]),
					 turns[j] * circle.period_ms %
						 (circle.rings[j].iteration_ms *
						  CIRCLE_TICKS_PER_MS));
		}
		assert_near(circle_score(&circle, turns),
			    naive_score(jobs, n, circle.period_ms, turns), 1e-12);
		circle_fini(&circle);
	}
}

static void
two_and_three_jobs_get_the_first_best_of_all_rotations(void **state)
{
	static const int64_t periods_us[] = { 20000, 30000, 40000, 60000 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 20; round++) {
		size_t n = 2 + (size_t)(round % 2);
		struct on_off jobs[3];
		struct circle circle;
		unsigned turns[3], best_turns[3] = { 0 };
		double best = -INFINITY;
		size_t fixed = 0;

		for (size_t j = 0; j < n; j++) {
			int64_t period_us = periods_us[rng_below(&rng, 4)];

			on_off_init(&jobs[j], period_us,
				    (int64_t)rng_below(&rng, (uint64_t)period_us / 2),
				    period_us / 3, (0.3 + rng_uniform(&rng)) * C_BPS);
		}
		lay(&circle, jobs, n);
		for (size_t j = 1; j < n; j++)
			if (circle.rings[j].copies > circle.rings[fixed].copies)
				fixed = j;

		/* Every rotation in the closed range of Table 1. */
		memset(turns, 0, sizeof turns);
		for (;;) {
			double score = naive_score(jobs, n, circle.period_ms, turns);
			size_t j = n;

			if (score > best + 1e-12) {
				best = score;
				memcpy(best_turns, turns, sizeof turns);
			}
			while (j-- > 0) {
				if (j == fixed)
					continue;
				if (++turns[j] * circle.rings[j].copies <=
				    CIRCLE_N_ANGLES)
					break;
				turns[j] = 0;
			}
			if (j == SIZE_MAX)
				break;
		}
		assert_near(circle_solve(&circle, 1, 0, turns), best, 1e-12);
		assert_memory_equal(turns, best_turns, n * sizeof *turns);
		circle_fini(&circle);
	}
}

static void
equal_periods_that_fit_side_by_side_score_one(void **state)
{
	struct on_off jobs[3];
	struct circle circle;
	unsigned turns[3];

	(void)state;
	for (size_t j = 0; j < 3; j++)
		on_off_init(&jobs[j], 255000, 0, 85000, C_BPS);
	lay(&circle, jobs, 3);
	assert_int_equal(circle.period_ms, 255);
	assert_near(circle_score(&circle, (unsigned[]){ 0, 0, 0 }), 1 - 2.0 / 3, 1e-12);
	assert_near(circle_solve(&circle, 1, 0, turns), 1, 0);
	assert_int_equal(turns[0], 0);
	assert_int_equal(turns[1], 24);
	assert_int_equal(turns[2], 48);
	circle_fini(&circle);
}

static void
coprime_periods_leave_nothing_to_rotate(void **state)
{
	struct on_off jobs[2];
	struct circle circle;
	unsigned turns[2] = { 9, 9 };
	double score;

	(void)state;
	on_off_init(&jobs[0], 101000, 0, 30000, C_BPS);
	on_off_init(&jobs[1], 103000, 0, 30000, C_BPS);
	lay(&circle, jobs, 2);
	assert_int_equal(circle.period_ms, 10403);
	assert_int_equal(circle.rings[0].copies, 103);
	assert_int_equal(circle.rings[1].copies, 101);
	assert_int_equal(circle.rings[0].n_turns, 1);
	assert_int_equal(circle.rings[1].n_turns, 1);
	assert_true(circle.is_degenerate);

	score = circle_solve(&circle, 1, 8, turns);
	assert_int_equal(turns[0], 0);
	assert_int_equal(turns[1], 0);
	assert_near(score, naive_score(jobs, 2, 10403, turns), 1e-12);
	assert_int_equal(circle_shift_ticks(&circle.rings[1], 0), 0);
	circle_fini(&circle);
}

static void
a_job_of_more_than_72_copies_is_held_and_the_other_turned(void **state)
{
	struct on_off jobs[2];
	struct circle circle;
	unsigned turns[2];

	(void)state;
	on_off_init(&jobs[0], 160000, 0, 1000, C_BPS);
	on_off_init(&jobs[1], 2000, 0, 1000, C_BPS);
	lay(&circle, jobs, 2);
	assert_int_equal(circle.rings[0].n_turns, 73);
	assert_int_equal(circle.rings[1].n_turns, 1);
	assert_false(circle.is_degenerate);
	circle_solve(&circle, 1, 0, turns);
	assert_int_equal(turns[1], 0);
	circle_fini(&circle);
}

static void
a_common_period_beyond_64_bits_is_still_sampled_exactly(void **state)
{
	/* The largest primes below 3,600,000. */
	static const int64_t primes[] = { 3599969, 3599963, 3599941, 3599933, 3599929 };
	struct on_off jobs[5];
	struct circle circle;
	unsigned turns[5];

	(void)state;
	for (size_t j = 0; j < 5; j++)
		on_off_init(&jobs[j], primes[j] * 1000, 0, primes[j] * 400, C_BPS / 4);
	lay(&circle, jobs, 5);
	assert_int_equal(circle.period_ms, INT64_MAX);
	assert_true(circle.is_degenerate);
	for (size_t j = 0; j < 5; j++) {
		uint64_t copies = 1;

		/* If the five are coprime, r_j is the product of the others. */
		for (size_t k = 0; k < 5; k++)
			if (k != j)
				copies = copies * (uint64_t)(primes[k] % 72) % 72;
		assert_int_equal(circle.rings[j].copies_mod, copies);
		assert_int_equal(circle.rings[j].copies, INT64_MAX);
	}
	assert_true(circle_solve(&circle, 1, 3, turns) <= 1);
	for (size_t j = 0; j < 5; j++)
		assert_int_equal(turns[j], 0);
	circle_fini(&circle);
}

static void
the_score_is_not_clamped_at_zero(void **state)
{
	struct on_off jobs[4];
	struct circle circle;
	unsigned turns[4];

	(void)state;
	for (size_t j = 0; j < 4; j++)
		on_off_init(&jobs[j], 10000, 0, 10000, C_BPS);
	lay(&circle, jobs, 2); /* 2 C everywhere: mean excess C. */
	assert_near(circle_solve(&circle, 1, 0, turns), 0, 1e-12);
	circle_fini(&circle);
	lay(&circle, jobs, 4); /* 4 C everywhere: mean excess 3 C. */
	assert_near(circle_solve(&circle, 1, 2, turns), -2, 1e-12);
	circle_fini(&circle);
}

static void
score_is_one_less_the_mean_excess_share(void **state)
{
	struct on_off jobs[2];
	struct circle circle;

	(void)state;
	/* 0.8 C for half the time and 0.7 C always: 0.5 C above C, half the time. */
	on_off_init(&jobs[0], 72000, 0, 36000, 0.8 * C_BPS);
	on_off_init(&jobs[1], 72000, 0, 72000, 0.7 * C_BPS);
	lay(&circle, jobs, 2);
	assert_near(circle_score(&circle, (unsigned[]){ 0, 0 }), 0.75, 1e-12);
	assert_near(circle_score(&circle, (unsigned[]){ 17, 30 }), 0.75, 1e-12);
	circle_fini(&circle);
}

static void
a_factor_scales_what_a_job_puts_on_the_link(void **state)
{
	struct on_off job;
	struct circle circle;

	(void)state;
	on_off_init(&job, 10000, 0, 5000, 1e9);
	circle_init(&circle, &(struct circle_job){ &job.profile, 2.5 }, 1, C_BPS);
	assert_near(circle.rings[0].demand_bps[0], 2.5e9, 0);
	assert_near(circle.rings[0].demand_bps[36], 0, 0);
	circle_fini(&circle);
}

static void
periods_are_rounded_to_milliseconds_and_angles_kept(void **state)
{
	struct on_off jobs[3];
	struct circle circle;

	(void)state;
	on_off_init(&jobs[0], 100300, 0, 50150, 1e9);
	on_off_init(&jobs[1], 99700, 0, 49850, 1e9);
	on_off_init(&jobs[2], 300, 0, 150, 1e9);
	lay(&circle, jobs, 3);
	assert_int_equal(circle.rings[0].iteration_ms, 100);
	assert_int_equal(circle.rings[1].iteration_ms, 100);
	assert_int_equal(circle.rings[2].iteration_ms, 1);
	for (unsigned i = 0; i < CIRCLE_N_ANGLES; i++)
		assert_near(circle.rings[0].demand_bps[i], i < 36 ? 1e9 : 0, 0);

	/* Half a rounded iteration is half a real one. */
	assert_int_equal(
		circle_ticks_to_us(circle_shift_ticks(&circle.rings[0], 36), 100300),
		50150);
	assert_int_equal(circle_period_ticks(100300), 100 * CIRCLE_TICKS_PER_MS);
	circle_fini(&circle);
}

static void
eight_jobs_are_packed_by_coordinate_search_for_any_seed_alike(void **state)
{
	struct on_off jobs[8];
	struct circle circle;
	unsigned turns[8], again[8];

	(void)state;
	for (size_t j = 0; j < 8; j++)
		on_off_init(&jobs[j], 72000, 0, 9000, C_BPS);
	lay(&circle, jobs, 8);
	assert_near(circle_solve(&circle, 5, 8, turns), 1, 0);
	assert_near(circle_score(&circle, turns), 1, 0);
	circle_fini(&circle);

	/* Too much to fit: restarts matter, and the seed decides. */
	for (size_t j = 0; j < 8; j++)
		on_off_init(&jobs[j], 72000, 0, 7000 + 2000 * (int64_t)j,
			    C_BPS * (0.4 + 0.07 * (double)j));
	lay(&circle, jobs, 8);
	assert_true(circle_solve(&circle, 5, 8, turns) >=
		    circle_score(&circle, (unsigned[8]){ 0 }));
	circle_solve(&circle, 5, 8, again);
	assert_memory_equal(turns, again, sizeof turns);
	circle_fini(&circle);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_papers_40_and_60_ms_jobs_fit_after_30_degrees),
		cmocka_unit_test(a_job_of_three_iterations_is_laid_out_three_times),
		cmocka_unit_test(rings_and_scores_match_the_definition_in_time),
		cmocka_unit_test(
			two_and_three_jobs_get_the_first_best_of_all_rotations),
		cmocka_unit_test(equal_periods_that_fit_side_by_side_score_one),
		cmocka_unit_test(coprime_periods_leave_nothing_to_rotate),
		cmocka_unit_test(
			a_job_of_more_than_72_copies_is_held_and_the_other_turned),
		cmocka_unit_test(
			a_common_period_beyond_64_bits_is_still_sampled_exactly),
		cmocka_unit_test(the_score_is_not_clamped_at_zero),
		cmocka_unit_test(score_is_one_less_the_mean_excess_share),
		cmocka_unit_test(a_factor_scales_what_a_job_puts_on_the_link),
		cmocka_unit_test(periods_are_rounded_to_milliseconds_and_angles_kept),
		cmocka_unit_test(
			eight_jobs_are_packed_by_coordinate_search_for_any_seed_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
