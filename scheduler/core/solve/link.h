/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - the best shifts of the jobs of one link.
 *
 * Two jobs: one exact line search is the optimum.  Three jobs: an optimum lies
 * on a vertex of the arrangement of lines on which an edge of one job meets an
 * edge of another (the excess is linear between them), and each vertex is on
 * a line of job 2 against job 1 or of job 3 against job 1.  So for every meeting
 * of 2 with 1 the best 3 is searched, and for every meeting of 3 with 1 the best
 * 2: O(n^2) line searches, exact.
 *
 * More jobs, or three with too many meetings: the best of many solutions in slots
 * (slot_search.h, if the jobs have one short common period) after an exact descent
 * from each, then rounds of ruin and recreate (ruin_recreate.h) from there, within a
 * budget of work.  Ends early at the lower bound max(0, mean demand - C).
 */
#ifndef SCHEDULER_CORE_SOLVE_LINK_H
#define SCHEDULER_CORE_SOLVE_LINK_H

#include <stddef.h>

#include "lib/base/rng.h"
#include "scheduler/core/solve/search.h"

/* Limit of bends evaluated in one exact search of three jobs. */
#define LINK_MAX_WORK 4000000
/*
 * One unit of effort: pulses of the coarse search (grid.h) and bends of the exact one
 * after it (search.h).  Eight units take about 4 ms.
 */
#define LINK_SLOT_WORK 250000
#define LINK_WORK      4000
/* Bends that the first exact descent may always evaluate. */
#define LINK_DESCENT_WORK 50000

/*
 * Moves the jobs of link 'l' to its best shifts.  All other links must be off, all its
 * jobs movable.  'effort' scales the budget for more than three jobs.
 */
void link_solve(struct search *search, uint32_t l, size_t effort, struct rng *rng);

#endif
