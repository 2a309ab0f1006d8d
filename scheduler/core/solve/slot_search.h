/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot_search.h - many cheap descents on one link, on a grid of time slots.
 *
 * The excess of a link has very many local minima when it is crowded.  To see
 * many of them fast, jobs are moved on a grid (grid.h) of a few slots: ruin and
 * recreate as in ruin_recreate.h, thousands of rounds.  The best few dozen different
 * solutions are then moved to a fine grid and descend there, each job within a
 * slot or two of where it was.  The best of these start an exact descent.
 */
#ifndef SCHEDULER_CORE_SOLVE_SLOT_SEARCH_H
#define SCHEDULER_CORE_SOLVE_SLOT_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/rng.h"
#include "scheduler/core/solve/grid.h"

/* Slots of the period in a solution. */
#define SLOT_SEARCH_SLOTS     2048
#define SLOT_SEARCH_MAX_JOBS  32
#define SLOT_SEARCH_SOLUTIONS 4

struct slot_solution {
	int32_t cost;                        /* Sum over slots, in the grid's levels. */
	double excess;                       /* Its mean, in units of the demands. */
	uint16_t slot[SLOT_SEARCH_MAX_JOBS]; /* Delay of each job in slots. */
};

/*
 * Places 'n_jobs' demands (2 to SLOT_SEARCH_MAX_JOBS) with the common period
 * 'period_us' under 'capacity'.  Stores the best solutions, best first, and returns
 * their number (1 to SLOT_SEARCH_SOLUTIONS).  Evaluates about 'max_work' pulses (see
 * grid.h); stops early at cost 0.
 */
size_t slot_search_solve(const struct step_function *const *steps, size_t n_jobs,
			 int64_t period_us, int64_t capacity, uint64_t max_work,
			 struct rng *rng,
			 struct slot_solution ret_solutions[SLOT_SEARCH_SOLUTIONS]);

#endif
