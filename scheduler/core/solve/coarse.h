/*
 * coarse.h - many cheap descents on one link, in time slots and 16-bit levels.
 *
 * The excess of a link has very many local minima when it is crowded.  To see
 * many of them fast, the common period is cut into COARSE_SLOTS slots, demands
 * are averaged over each, and jobs are moved by whole slots: then the cost of
 * all positions of a job is a few hundred vector instructions whatever its
 * phases are.  Ruin and recreate as in improve.h runs on that; the best few
 * different solutions are kept for an exact descent from there.
 */
#ifndef SCHEDULER_CORE_SOLVE_COARSE_H
#define SCHEDULER_CORE_SOLVE_COARSE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/rng.h"
#include "scheduler/core/solve/step.h"

#define COARSE_SLOTS     64
#define COARSE_MAX_JOBS  32
#define COARSE_SOLUTIONS 8

struct coarse_solution {
	int32_t cost;                  /* Sum over slots, in coarse levels. */
	uint8_t slot[COARSE_MAX_JOBS]; /* How many slots each job is late. */
};

/*
 * Places 'n_jobs' demands (2 to COARSE_MAX_JOBS), whose common period is
 * 'period_us', under 'capacity'.  Stores the best solutions, best first, and
 * returns how many they are (1 to COARSE_SOLUTIONS).  Stops early at cost 0.
 */
size_t coarse_solve(const struct step *const *steps, size_t n_jobs, int64_t period_us,
		    int64_t capacity, size_t n_rounds, struct rng *rng,
		    struct coarse_solution ret_solutions[COARSE_SOLUTIONS]);

#endif
