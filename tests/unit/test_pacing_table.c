/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pacing_table.c - the cost of each pacing for two jobs on one link with 2 %
 * jitter
 *
 * The choice of pacing rests on these fluid tables (equal periods; ratios in [1, 1.1];
 * ratios in [1, 4]):
 *
 *	fair sharing     1.163  1.161  1.160
 *	CASSINI's grid   1.073  1.592  1.589
 *	turns at a gate  1.001  1.025  1.173
 */
#include "lib/base/rng.h"
#include "tests/unit/sim_lab.h"
#include "tests/unit/test.h"

#define N_DRAWS 40
#define DUTY    0.4

enum shift {
	SHIFT_CHANCE,
	SHIFT_HALF
};

/* Mean iteration time, from the start of the first to the end of the last one. */
static double
iteration_ns(const struct lab *lab, uint32_t job)
{
	double first_ns = -1, last_ns = 0;
	uint64_t n = 0;

	for (size_t i = 0; i < lab->iterations.n; i++) {
		const struct lab_iteration *it = &lab->iterations.items[i];

		if (it->job != job)
			continue;
		if (n++ == 0)
			first_ns = it->start_ns;
		last_ns = it->end_ns;
	}
	assert_true(n > 30);
	return (last_ns - first_ns) / (double)n;
}

/* A pair of jobs, the second with a period of 1 to 'max_ratio' of the first's. */
static double
pair_slowdown(uint64_t seed, double max_ratio, enum engine_pacing pacing,
	      enum shift shift)
{
	double period_ns[2] = { 100 * MS, 0 };
	struct lab lab;
	struct engine_config config = lab_config(&lab, ONE_LINK, 1);
	struct rng rng;

	rng_init(&rng, seed);
	period_ns[1] = period_ns[0] * (1 + (max_ratio - 1) * rng_uniform(&rng));
	config.seed = seed;
	lab_open(&lab, &config);
	for (uint32_t j = 0; j < 2; j++) {
		double duty = DUTY * (0.9 + 0.2 * rng_uniform(&rng));
		double phase = shift == SHIFT_HALF ? 0.5 : rng_uniform(&rng);
		struct lab_job job;

		lab_job_init(&job, (int64_t)(period_ns[j] * (1 - duty)), PATH, 1,
			     period_ns[j] * duty * 50 / 8);
		job.job.jitter_frac = 0.02;
		job.job.pacing = pacing;
		job.job.grid_ns = (int64_t)period_ns[j];
		job.job.shift_ns = j == 0 ? 0 : (int64_t)(phase * period_ns[j]);
		lab_add(&lab, &job);
	}
	engine_run(lab.engine, 30000LL * MS);
	period_ns[0] = iteration_ns(&lab, 0) / period_ns[0];
	period_ns[1] = iteration_ns(&lab, 1) / period_ns[1];
	lab_close(&lab);
	return (period_ns[0] + period_ns[1]) / 2;
}

static double
slowdown(double max_ratio, enum engine_pacing pacing, enum shift shift)
{
	double sum = 0;

	for (uint64_t seed = 1; seed <= N_DRAWS; seed++)
		sum += pair_slowdown(seed, max_ratio, pacing, shift);
	return sum / N_DRAWS;
}

static void
fair_sharing_costs_what_it_should_at_any_ratio(void **state)
{
	(void)state;
	assert_near(slowdown(1, ENGINE_PACE_FREE, SHIFT_CHANCE), 1.163, 0.025);
	assert_near(slowdown(1.1, ENGINE_PACE_FREE, SHIFT_CHANCE), 1.161, 0.025);
	assert_near(slowdown(4, ENGINE_PACE_FREE, SHIFT_CHANCE), 1.160, 0.025);
}

static void
a_shift_that_nothing_corrects_decays_under_jitter(void **state)
{
	double once;

	(void)state;
	once = slowdown(1, ENGINE_PACE_FREE, SHIFT_HALF);
	assert_true(once > 1.05);
	assert_true(once < slowdown(1, ENGINE_PACE_FREE, SHIFT_CHANCE));
}

/* Better than sharing for equal periods, far worse for others. */
static void
a_rigid_grid_helps_equal_periods_alone(void **state)
{
	(void)state;
	assert_true(slowdown(1, ENGINE_PACE_REALIGN, SHIFT_HALF) < 1.073);
	assert_near(slowdown(1.1, ENGINE_PACE_REALIGN, SHIFT_HALF), 1.592, 0.05);
	assert_near(slowdown(4, ENGINE_PACE_REALIGN, SHIFT_HALF), 1.589, 0.05);
}

static void
turns_at_the_gate_are_nearly_free_for_like_periods(void **state)
{
	(void)state;
	assert_near(slowdown(1, ENGINE_PACE_GATE, SHIFT_CHANCE), 1.001, 0.003);
	assert_near(slowdown(1.1, ENGINE_PACE_GATE, SHIFT_CHANCE), 1.025, 0.008);
	assert_near(slowdown(4, ENGINE_PACE_GATE, SHIFT_CHANCE), 1.173, 0.03);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fair_sharing_costs_what_it_should_at_any_ratio),
		cmocka_unit_test(a_shift_that_nothing_corrects_decays_under_jitter),
		cmocka_unit_test(a_rigid_grid_helps_equal_periods_alone),
		cmocka_unit_test(turns_at_the_gate_are_nearly_free_for_like_periods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
