/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/slot_search.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/alloc.h"

/* Slots of the search and of a first polish, and the solutions that each keeps. */
#define SEARCH_SLOTS 128
#define POLISH_SLOTS 512
#define N_SEARCHED   64
#define N_POLISHED   8
#define MAX_RUINED   3
/* Local minima from which the first job of a round draws. */
#define N_CHOICES 6
/* Rounds per job without a gain before a restart. */
#define MAX_STALE 3
/* Position of a job in a line around it. */
#define MIDDLE (GRID_SPAN / 2)

/* The best different solutions so far, best first. */
struct elite {
	size_t n, max;
	struct slot_solution solutions[N_SEARCHED];
};

/* The search on one grid. */
struct slot_search {
	struct grid grid;
	uint16_t line[SEARCH_SLOTS]; /* Of one job, at all its places. */
	size_t n_places;             /* In 'line'. */
};

/* Fills the line of a placed job, and returns its best place. */
static size_t
make_line(struct slot_search *coarse, size_t j)
{
	struct grid *grid = &coarse->grid;
	size_t best = 0;

	coarse->n_places = grid->jobs[j].n_places;
	grid_lift(grid, j);
	for (size_t first = 0; first < coarse->n_places; first += GRID_SPAN) {
		size_t here;

		grid_line(grid, j, first);
		here = grid_cheapest(grid);
		memcpy(coarse->line + first, grid->cost, sizeof grid->cost);
		if (grid->cost[here] < coarse->line[best])
			best = first + here;
	}
	return best;
}

/* One of the best few local minima of the last line. */
static size_t
some_good_place(const struct slot_search *coarse, struct rng *rng)
{
	const uint16_t *line = coarse->line;
	size_t choice[N_CHOICES + 1], n = 0, n_places = coarse->n_places;

	for (size_t s = 0; s < n_places; s++) {
		uint16_t before = line[s > 0 ? s - 1 : n_places - 1];
		uint16_t after = line[s + 1 < n_places ? s + 1 : 0];
		size_t k;

		if ((n == N_CHOICES && line[s] >= line[choice[n - 1]]) ||
		    line[s] >= before || line[s] > after)
			continue;
		for (k = n; k > 0 && line[choice[k - 1]] > line[s]; k--)
			choice[k] = choice[k - 1];
		choice[k] = s;
		n += n < N_CHOICES;
	}
	if (n == 0) /* Flat. */
		return (size_t)rng_below(rng, n_places);
	return choice[rng_below(rng, n)];
}

/* Moves jobs one by one until none gains; returns the cost. */
static int32_t
descend(struct slot_search *coarse, int32_t cost)
{
	struct grid *grid = &coarse->grid;
	size_t n_idle = 0;

	for (size_t j = 0; n_idle < grid->n_jobs;
	     j = j + 1 < grid->n_jobs ? j + 1 : 0) {
		size_t slot = grid->jobs[j].slot, best = make_line(coarse, j);

		n_idle++;
		if (coarse->line[best] >= coarse->line[slot])
			continue;
		cost += coarse->line[best] - coarse->line[slot];
		grid_move(grid, j, best);
		n_idle = 1;
	}
	return cost;
}

/* The same on any grid, with moves of at most half a span. */
static int32_t
descend_nearby(struct grid *grid, int32_t cost)
{
	const size_t n = grid->n_slots;
	size_t n_idle = 0;

	for (size_t j = 0; n_idle < grid->n_jobs;
	     j = j + 1 < grid->n_jobs ? j + 1 : 0) {
		size_t first = (grid->jobs[j].slot + n - MIDDLE) % n, best;

		grid_lift(grid, j);
		grid_line(grid, j, first);
		best = grid_cheapest(grid);
		n_idle++;
		if (grid->cost[best] >= grid->cost[MIDDLE])
			continue;
		cost += grid->cost[best] - grid->cost[MIDDLE];
		grid_move(grid, j, (first + best) % n);
		n_idle = 1;
	}
	return cost;
}

/* Inserts a job at its cheapest place; returns that cost. */
static int32_t
insert(struct slot_search *coarse, size_t j, struct rng *rng, bool is_drawn)
{
	size_t place;

	grid_put(&coarse->grid, j, false);
	place = make_line(coarse, j);
	if (is_drawn)
		place = some_good_place(coarse, rng);
	grid_move(&coarse->grid, j, place);
	return coarse->line[place];
}

/* Removes some jobs and reinserts them; returns the cost. */
static int32_t
ruin_and_recreate(struct slot_search *coarse, struct rng *rng)
{
	struct grid *grid = &coarse->grid;
	size_t n = MAX_RUINED - 1 + rng_below(rng, 2), jobs[SLOT_SEARCH_MAX_JOBS];
	int32_t cost;

	if (n > grid->n_jobs)
		n = grid->n_jobs;
	for (size_t j = 0; j < grid->n_jobs; j++)
		jobs[j] = j;
	for (size_t i = 0; i < n; i++) {
		size_t k = i + rng_below(rng, grid->n_jobs - i), j = jobs[k];

		jobs[k] = jobs[i];
		jobs[i] = j;
		grid_put(grid, j, true);
	}
	cost = grid_excess(grid);
	for (size_t i = 0; i < n; i++)
		cost += insert(coarse, jobs[i], rng, i == 0);
	return cost;
}

static void
take_slots(const struct grid *grid, uint16_t *slot)
{
	for (size_t j = 0; j < grid->n_jobs; j++)
		slot[j] = grid->jobs[j].slot;
}

/* Moves all jobs, which are placed; each slot counts 'factor'. */
static void
give_slots(struct grid *grid, const uint16_t *slot, size_t factor)
{
	for (size_t j = 0; j < grid->n_jobs; j++)
		if (slot[j] * factor != grid->jobs[j].slot)
			grid_move(grid, j, slot[j] * factor);
}

/* Whether all jobs are delayed alike against 'slot'. */
static bool
is_same(const struct grid *grid, const uint16_t *slot)
{
	size_t by = grid->jobs[0].slot + grid->n_slots - slot[0];

	for (size_t j = 1; j < grid->n_jobs; j++)
		if ((slot[j] + by - grid->jobs[j].slot) % grid->n_slots != 0)
			return false;
	return true;
}

/* Keeps a solution among the best, once. */
static void
keep(struct elite *elite, const struct grid *grid, int32_t cost)
{
	struct slot_solution *at = elite->solutions;
	size_t k;

	if (elite->n == elite->max && cost >= at[elite->n - 1].cost)
		return;
	for (size_t i = 0; i < elite->n; i++)
		if (at[i].cost == cost && is_same(grid, at[i].slot))
			return;
	k = elite->n < elite->max ? elite->n++ : elite->n - 1;
	for (; k > 0 && at[k - 1].cost > cost; k--)
		at[k] = at[k - 1];
	at[k].cost = cost;
	take_slots(grid, at[k].slot);
}

/* Rounds from one start, until they gain no more. */
static void
search_from(struct slot_search *coarse, int32_t cost, uint64_t max_work,
	    struct rng *rng, struct elite *elite)
{
	struct grid *grid = &coarse->grid;
	uint16_t slot[SLOT_SEARCH_MAX_JOBS];
	size_t n_stale = 0;

	keep(elite, grid, cost);
	while (grid->work < max_work && cost > 0 &&
	       n_stale < MAX_STALE * grid->n_jobs) {
		int32_t now;

		take_slots(grid, slot);
		now = ruin_and_recreate(coarse, rng);
		if (now == cost && is_same(grid, slot)) { /* All jobs went back. */
			n_stale++;
			continue;
		}
		now = descend(coarse, now);
		keep(elite, grid, now);
		n_stale = now < cost ? 0 : n_stale + 1;
		if (now <= cost)
			cost = now;
		else
			give_slots(grid, slot, 1);
	}
}

/* Rounds from several starts: first from jobs inserted in order. */
static void
search(struct slot_search *coarse, uint64_t max_work, struct rng *rng,
       struct elite *elite)
{
	struct grid *grid = &coarse->grid;
	uint16_t slot[SLOT_SEARCH_MAX_JOBS];
	int32_t cost = 0;

	for (size_t j = 0; j < grid->n_jobs; j++)
		cost += insert(coarse, j, rng, false);
	search_from(coarse, descend(coarse, cost), max_work, rng, elite);
	while (grid->work < max_work && elite->solutions[0].cost > 0) {
		for (size_t j = 0; j < grid->n_jobs; j++)
			slot[j] = (uint16_t)rng_below(rng, grid->jobs[j].n_places);
		give_slots(grid, slot, 1);
		search_from(coarse, descend(coarse, grid_excess(grid)), max_work, rng,
			    elite);
	}
}

/* Moves solutions to a finer grid, and keeps the best 'max' there. */
static void
polish(struct grid *grid, size_t max, size_t factor, struct elite *elite)
{
	struct elite from = *elite;

	elite->n = 0;
	elite->max = max;
	for (size_t j = 0; j < grid->n_jobs; j++)
		grid_put(grid, j, false);
	for (size_t i = 0; i < from.n; i++) {
		give_slots(grid, from.solutions[i].slot, factor);
		keep(elite, grid, descend_nearby(grid, grid_excess(grid)));
	}
}

size_t
slot_search_solve(const struct step_function *const *steps, size_t n_jobs,
		  int64_t period_us, int64_t capacity, uint64_t max_work,
		  struct rng *rng,
		  struct slot_solution ret_solutions[SLOT_SEARCH_SOLUTIONS])
{
	struct elite elite = { .max = N_SEARCHED };
	struct slot_search coarse;
	struct grid *grid = &coarse.grid;

	BUG_ON(n_jobs < 1 || n_jobs > SLOT_SEARCH_MAX_JOBS);
	grid_init(grid, steps, n_jobs, SEARCH_SLOTS, period_us, capacity);
	search(&coarse, max_work, rng, &elite);
	grid_fini(grid);
	grid_init(grid, steps, n_jobs, POLISH_SLOTS, period_us, capacity);
	polish(grid, N_POLISHED, POLISH_SLOTS / SEARCH_SLOTS, &elite);
	grid_fini(grid);
	grid_init(grid, steps, n_jobs, SLOT_SEARCH_SLOTS, period_us, capacity);
	polish(grid, SLOT_SEARCH_SOLUTIONS, SLOT_SEARCH_SLOTS / POLISH_SLOTS, &elite);
	for (size_t i = 0; i < elite.n; i++) {
		ret_solutions[i] = elite.solutions[i];
		ret_solutions[i].excess = (double)elite.solutions[i].cost /
					  (grid->scale * SLOT_SEARCH_SLOTS);
	}
	grid_fini(grid);
	return elite.n;
}
