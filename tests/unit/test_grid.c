/* SPDX-License-Identifier: Apache-2.0 */
/* test_grid.c - a link in time slots, against adding up every slot */
#include "lib/base/rng.h"
#include "scheduler/core/solve/grid.h"
#include "tests/unit/test.h"

#define N_JOBS  5
#define SLOT_US 50

/* Five jobs of a few pieces with edges at any microsecond. */
struct pieces {
	struct step_function steps[N_JOBS];
	const struct step_function *pointers[N_JOBS];
	int64_t from_us[N_JOBS][6], level[N_JOBS][6];
};

static void
draw_jobs(struct pieces *p, struct rng *rng, int64_t period_us)
{
	for (size_t j = 0; j < N_JOBS; j++) {
		int64_t own_us = rng_below(rng, 3) ? period_us : period_us / 2;
		int64_t at_us = 0;

		for (size_t i = 0; i < 6; i++) {
			at_us += (int64_t)rng_below(rng, (uint64_t)own_us / 7) + 1;
			p->from_us[j][i] = at_us;
			p->level[j][i] =
				i % 2 ? 0 : 100000 + (int64_t)rng_below(rng, 500000);
		}
		p->steps[j] =
			(struct step_function){ own_us, 6, p->from_us[j], p->level[j] };
		p->pointers[j] = &p->steps[j];
	}
}

/* The excess with job j at 'slot', or without j; all others at their slots. */
static int32_t
walk(const struct grid *grid, size_t j, size_t slot, bool is_there)
{
	int32_t sum = 0;

	for (size_t t = 0; t < grid->n_slots; t++) {
		int32_t total = 0;

		for (size_t k = 0; k < grid->n_jobs; k++) {
			size_t late = k == j ? slot : grid->jobs[k].slot;

			if (k != j || is_there)
				total += grid->jobs[k]
						 .demand[(t + grid->n_slots - late) %
							 grid->n_slots];
		}
		sum += total > grid->capacity ? total - grid->capacity : 0;
	}
	return sum;
}

/* Every place of every job, with and without vector instructions. */
static void
check_lines(struct grid *grid)
{
	for (size_t j = 0; j < grid->n_jobs; j++) {
		int32_t without = walk(grid, j, 0, false);

		grid_lift(grid, j);
		for (size_t first = 0; first < grid->n_slots; first += GRID_SPAN - 7) {
			size_t best = 0;

			grid_line(grid, j, first);
			for (size_t s = 0; s < GRID_SPAN; s++) {
				size_t slot = (first + s) % grid->n_slots;

				assert_int_equal(grid->cost[s],
						 walk(grid, j, slot, true) - without);
				if (grid->cost[s] < grid->cost[best])
					best = s;
			}
			assert_int_equal(grid_cheapest(grid), best);
		}
	}
}

static void
a_line_is_what_a_job_adds_at_each_slot(void **state)
{
	int n_exceeded = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int round = 0; round < 8; round++) {
		size_t n_slots = round % 2 ? 128 : 64;
		int64_t period_us = (int64_t)n_slots * SLOT_US;
		struct pieces pieces;
		struct grid grid;

		draw_jobs(&pieces, &rng, period_us);
		grid_init(&grid, pieces.pointers, N_JOBS, n_slots, period_us, 500000);
		for (size_t j = 0; j < N_JOBS; j++)
			grid_put(&grid, j, false);
		for (size_t j = 0; j < N_JOBS; j++)
			grid_move(&grid, j, rng_below(&rng, n_slots));
		n_exceeded += grid_excess(&grid) > 0;
		assert_int_equal(grid_excess(&grid),
				 walk(&grid, 0, grid.jobs[0].slot, true));
		check_lines(&grid);
		grid.has_avx2 = false;
		for (size_t j = 0; j < N_JOBS; j++)
			grid_move(&grid, j, rng_below(&rng, n_slots));
		check_lines(&grid);
		grid_fini(&grid);
	}
	assert_true(n_exceeded >= 6);
}

static void
slots_have_the_mean_of_the_demand(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	for (int round = 0; round < 20; round++) {
		const int64_t period_us = GRID_SPAN * SLOT_US;
		struct pieces pieces;
		struct grid grid;

		draw_jobs(&pieces, &rng, period_us);
		grid_init(&grid, pieces.pointers, N_JOBS, GRID_SPAN, period_us, 500000);
		for (size_t j = 0; j < N_JOBS; j++) {
			for (int64_t i = 0; i < GRID_SPAN; i++) {
				double mean = 0;

				for (int64_t t = 0; t < SLOT_US; t++)
					mean += (double)step_function_at(
							&pieces.steps[j],
							i * SLOT_US + t) /
						SLOT_US;
				assert_near(grid.jobs[j].demand[i], grid.scale * mean,
					    0.51);
			}
		}
		grid_fini(&grid);
	}
}

static void
jobs_that_repeat_have_fewer_places(void **state)
{
	int64_t from_us[2] = { 0, 10 }, level[2] = { 5, 0 };
	struct step_function whole = { 1200, 2, from_us, level };
	struct step_function half = { 600, 2, from_us, level };
	struct step_function third = { 400, 2, from_us, level };
	const struct step_function *pointers[] = { &whole, &half, &third };
	struct grid grid;

	(void)state;
	grid_init(&grid, pointers, 3, 128, 1200, 8);
	assert_int_equal(grid.jobs[0].n_places, 128);
	assert_int_equal(grid.jobs[1].n_places, 64);
	assert_int_equal(grid.jobs[2].n_places, 128);
	grid_fini(&grid);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_what_a_job_adds_at_each_slot),
		cmocka_unit_test(slots_have_the_mean_of_the_demand),
		cmocka_unit_test(jobs_that_repeat_have_fewer_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
