/*
 * coarse.h - many cheap descents on one link, in time slots.
 *
 * The excess of a link has very many local minima when it is crowded.  To see
 * many of them fast, jobs are moved on a grid (grid.h) of a few slots: ruin and
 * recreate as in improve.h, thousands of rounds.  The best few dozen different
 * solutions are then moved to a fine grid and descend there, each job within a
 * slot or two of where it was.  The best of these are for an exact descent.
 */
#ifndef SCHEDULER_CORE_SOLVE_COARSE_H
#define SCHEDULER_CORE_SOLVE_COARSE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/rng.h"
#include "scheduler/core/solve/grid.h"

/* The period's slots in a solution. */
#define COARSE_SLOTS     2048
#define COARSE_MAX_JOBS  32
#define COARSE_SOLUTIONS 4

struct coarse_solution {
	int32_t cost;                   /* Sum over slots, in the grid's levels. */
	double excess;                  /* Its mean, in the unit of the demands. */
	uint16_t slot[COARSE_MAX_JOBS]; /* How many slots each job is late. */
};

/*
 * Places 'n_jobs' demands (2 to COARSE_MAX_JOBS), whose common period is
 * 'period_us', under 'capacity'.  Stores the best solutions, best first, and
 * returns how many they are (1 to COARSE_SOLUTIONS).  The search looks at
 * 'max_work' pulses (see grid.h) or a few more; it stops early at cost 0.
 */
size_t coarse_solve(const struct step *const *steps, size_t n_jobs, int64_t period_us,
		    int64_t capacity, uint64_t max_work, struct rng *rng,
		    struct coarse_solution ret_solutions[COARSE_SOLUTIONS]);

#endif
