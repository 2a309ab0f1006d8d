/* SPDX-License-Identifier: Apache-2.0 */
/* test_link.c - the jobs of one link against all other positions */
#include "scheduler/core/solve/joint.h"
#include "scheduler/core/solve/pair.h"
#include "scheduler/core/solve/slot_search.h"
#include "tests/unit/joint_fixture.h"
#include "tests/unit/test.h"

static struct joint_result *
solve(const struct fixture *f)
{
	struct joint_result *result = joint_solve(&f->problem, NULL);

	assert_non_null(result);
	return result;
}

static void
two_jobs_are_as_good_as_the_exact_pair(void **state)
{
	static const int64_t periods_us[] = { 20000, 30000, 40000, 60000 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int round = 0; round < 1000; round++) {
		struct pair_optimum best;
		struct joint_result *result;
		struct fixture f;
		struct pair_job a = { &f.profiles[0], 1 }, b = { &f.profiles[1], 0.75 };

		fixture_init(&f);
		for (int j = 0; j < 2; j++)
			fixture_add_random(&f, &rng, periods_us[rng_below(&rng, 4)], 4,
					   0.5, FIXTURE_C);
		fixture_add_link(&f);
		fixture_add_load(&f, 0, a.factor);
		fixture_add_load(&f, 1, b.factor);
		result = solve(&f);
		assert_int_equal(pair_optimize(&a, &b, FIXTURE_C, &best), 0);
		assert_near(result->excess_after_bps[0], best.min_excess_bps,
			    1e-9 * FIXTURE_C);
		assert_int_equal(result->shift_us[0], 0);
		if (best.mean_excess_bps > best.min_excess_bps + 1e-3 * FIXTURE_C)
			assert_int_equal(result->slack_us[1], best.slack_us);
		joint_result_free(result);
	}
}

/* The optimum over all whole positions of up to three jobs with short periods. */
static double
best_of_all_positions(const struct fixture *f)
{
	int64_t shift_us[3] = { 0 };
	int64_t t1 = f->profiles[1].period_us, t2 = f->profiles[2].period_us;
	double best = INFINITY;

	for (shift_us[1] = 0; shift_us[1] < t1; shift_us[1]++)
		for (shift_us[2] = 0; shift_us[2] < t2; shift_us[2]++)
			best = fmin(best, fixture_walk(f, 0, shift_us));
	return best;
}

static void
three_jobs_are_placed_as_well_as_at_any_position(void **state)
{
	static const int64_t periods_us[] = { 8, 12, 16, 24 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	for (int round = 0; round < 300; round++) {
		struct joint_result *result;
		struct fixture f;

		fixture_init(&f);
		fixture_add_link(&f);
		for (uint32_t j = 0; j < 3; j++) {
			fixture_add_random(&f, &rng, periods_us[rng_below(&rng, 4)], 2,
					   0.4, FIXTURE_C);
			fixture_add_load(&f, j, 1);
		}
		result = solve(&f);
		assert_near(result->excess_after_bps[0],
			    fixture_walk(&f, 0, result->shift_us), 1e-9 * FIXTURE_C);
		assert_near(result->excess_after_bps[0], best_of_all_positions(&f),
			    2e-9 * FIXTURE_C);
		joint_result_free(result);
	}
}

/* The edges of a job over one period. */
static size_t
list_edges(const struct profile *profile, int64_t *edge_us)
{
	size_t n = 0;

	for (size_t i = 0; i < profile->n_phases; i++) {
		edge_us[n++] = profile->phases[i].start_us;
		edge_us[n++] =
			profile->phases[i].start_us + profile->phases[i].duration_us;
	}
	return n;
}

/*
 * The least excess over all vertices at which edges of two of the three pairs of jobs
 * coincide.  'meet' has the two pairs, as (fixed, moved).
 */
static double
best_vertex(const struct fixture *f, const int meet[2][2], int64_t period_us)
{
	int64_t shift_us[3] = { 0 }, e[3][2 * FIXTURE_MAX_PHASES];
	double best = INFINITY;
	size_t n[3];

	for (int j = 0; j < 3; j++)
		n[j] = list_edges(&f->profiles[j], e[j]);
	for (size_t i = 0; i < n[meet[0][0]] * n[meet[0][1]]; i++) {
		int fixed = meet[0][0], moved = meet[0][1];

		shift_us[moved] = (shift_us[fixed] + e[fixed][i % n[fixed]] -
				   e[moved][i / n[fixed]] + 2 * period_us) %
				  period_us;
		for (size_t k = 0; k < n[meet[1][0]] * n[meet[1][1]]; k++) {
			int fixed2 = meet[1][0], moved2 = meet[1][1];
			double excess_bps;

			shift_us[moved2] =
				(shift_us[fixed2] + e[fixed2][k % n[fixed2]] -
				 e[moved2][k / n[fixed2]] + 2 * period_us) %
				period_us;
			joint_excess(&f->problem, shift_us, &excess_bps);
			best = fmin(best, excess_bps);
		}
	}
	return best;
}

static void
three_jobs_are_at_the_best_of_all_vertices(void **state)
{
	/* Job 0 stays: 1 and 2 move to 0; or 1 to 0 and 2 to 1; or the reverse. */
	static const int meets[3][2][2] = { { { 0, 1 }, { 0, 2 } },
					    { { 0, 1 }, { 1, 2 } },
					    { { 0, 2 }, { 2, 1 } } };
	struct rng rng;
	int n_exceeded = 0;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 60; round++) {
		struct joint_result *result;
		double best = INFINITY;
		struct fixture f;

		fixture_init(&f);
		fixture_add_link(&f);
		for (uint32_t j = 0; j < 3; j++) {
			fixture_add_random(&f, &rng, 250000, 3, 0.5, FIXTURE_C);
			fixture_add_load(&f, j, 1);
		}
		for (int i = 0; i < 3; i++)
			best = fmin(best, best_vertex(&f, meets[i], 250000));
		result = solve(&f);
		assert_near(result->excess_after_bps[0], best, 2e-9 * FIXTURE_C);
		n_exceeded += best > 1e-3 * FIXTURE_C;
		joint_result_free(result);
	}
	assert_true(n_exceeded > 20);
}

/* Equal on/off jobs are back to back if and only if they fit. */
static void
equal_jobs_stand_back_to_back_iff_they_fit(void **state)
{
	(void)state;
	for (uint32_t k = 2; k <= 10; k++) {
		for (int64_t spare_us = -100; spare_us <= 1000; spare_us += 1100) {
			int64_t up_us = (100000 - spare_us * k) / k;
			struct joint_result *result;
			struct fixture f;

			fixture_init(&f);
			fixture_add_link(&f);
			for (uint32_t j = 0; j < k; j++) {
				fixture_add_on_off(&f, 100000, 5, up_us, FIXTURE_C);
				fixture_add_load(&f, j, 1);
			}
			result = solve(&f);
			if (spare_us > 0) {
				assert_true(result->excess_after_bps[0] == 0);
				/* The spare time is spread roughly evenly. */
				for (uint32_t j = 0; j < k; j++)
					assert_in_range(result->slack_us[j],
							spare_us * 4 / 5,
							spare_us * 5 / 4);
			} else {
				double over = (double)(k * up_us - 100000) / 100000;

				assert_near(result->excess_after_bps[0] / FIXTURE_C,
					    over, 1e-9);
			}
			joint_result_free(result);
		}
	}
}

/* Eight jobs of 'n_phases' each that nearly fill one link. */
static void
fill_link(struct fixture *f, struct rng *rng, size_t n_phases, bool is_harmonic)
{
	fixture_init(f);
	fixture_add_link(f);
	for (uint32_t j = 0; j < 8; j++) {
		int64_t period_us = is_harmonic && j % 2 ? 120000 : 240000;

		fixture_add_random(f, rng, period_us, n_phases, 0.25, FIXTURE_C);
		fixture_add_load(f, j, 0.8);
	}
}

/*
 * The score 1 - E/C is within a hundredth of a search eight times as long from another
 * seed, for jobs of few and many phases, and of equal and harmonic periods.
 */
static void
eight_jobs_come_within_a_hundredth_of_a_long_search(void **state)
{
	static const size_t n_phases[] = { 1, 2, 3, 6, 12 };
	double sum = 0, exceeded = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (int round = 0; round < 10; round++) {
		struct joint_opts opts = { .seed = 1 };
		struct joint_result *quick, *thorough;
		struct fixture f;
		double gap;

		fill_link(&f, &rng, n_phases[round % 5], round >= 5);
		quick = joint_solve(&f.problem, &opts);
		opts.seed = 2;
		opts.n_restarts = 64;
		thorough = joint_solve(&f.problem, &opts);
		assert_true(quick->objective_after <= quick->objective_before);
		gap = (quick->objective_after - thorough->objective_after) /
		      (1 - thorough->objective_after);
		assert_true(gap < 0.01);
		sum += fmax(0, gap);
		exceeded += thorough->objective_after > 1e-3;
		joint_result_free(quick);
		joint_result_free(thorough);
	}
	assert_true(sum / 10 < 0.003);
	/* The comparison is only meaningful if some links are exceeded. */
	assert_true(exceeded >= 8);
}

/* With edges only at its slots, the coarse search is exact. */
static void
coarse_costs_are_excesses(void **state)
{
	const int64_t slot_us = 100, period_us = SLOT_SEARCH_SLOTS * slot_us;
	int n_exceeded = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 20; round++) {
		struct slot_solution solutions[SLOT_SEARCH_SOLUTIONS];
		const struct step_function *pointers[6];
		struct step_function steps[6];
		int64_t from_us[6][2], level[6][2], shift_us[6];
		struct fixture f;
		size_t n;

		fixture_init(&f);
		fixture_add_link(&f);
		for (uint32_t j = 0; j < 6; j++) {
			int64_t up = 200 + (int64_t)rng_below(&rng, 400);
			int64_t own = rng_below(&rng, 2) ? period_us : period_us / 2;

			level[j][0] = 500 + 10 * (int64_t)rng_below(&rng, 20);
			level[j][1] = 0;
			from_us[j][0] = 0;
			from_us[j][1] = up * slot_us;
			steps[j] =
				(struct step_function){ own, 2, from_us[j], level[j] };
			pointers[j] = &steps[j];
			fixture_add_on_off(&f, own, 0, up * slot_us,
					   (double)level[j][0] * 1e8);
			fixture_add_load(&f, j, 1);
		}
		n = slot_search_solve(pointers, 6, period_us, 1000, 100000, &rng,
				      solutions);
		assert_in_range(n, 1, SLOT_SEARCH_SOLUTIONS);
		for (size_t k = 0; k < n; k++) {
			double excess_bps;

			for (int j = 0; j < 6; j++)
				shift_us[j] = solutions[k].slot[j] * slot_us;
			joint_excess(&f.problem, shift_us, &excess_bps);
			/* Levels are rounded to about a hundredth. */
			assert_near(solutions[k].excess, excess_bps / 1e8, 20);
			if (k > 0)
				assert_true(solutions[k].cost >= solutions[k - 1].cost);
		}
		n_exceeded += solutions[0].excess > 50;
	}
	assert_true(n_exceeded > 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_jobs_are_as_good_as_the_exact_pair),
		cmocka_unit_test(three_jobs_are_placed_as_well_as_at_any_position),
		cmocka_unit_test(three_jobs_are_at_the_best_of_all_vertices),
		cmocka_unit_test(equal_jobs_stand_back_to_back_iff_they_fit),
		cmocka_unit_test(eight_jobs_come_within_a_hundredth_of_a_long_search),
		cmocka_unit_test(coarse_costs_are_excesses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
