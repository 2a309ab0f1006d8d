/*
 * improve.h - out of local minima: ruin and recreate.
 *
 * A descent ends where no job can gain by moving alone.  From there, a round
 * takes two or three jobs off a link that is still exceeded, puts them back one
 * by one (the first at one of its best local minima, the others at their best),
 * and descends again from there.  What does not pay is taken back.  Ruin and recreate: Schrimpf et al.,
 * J. Comput. Phys. 159 (2000); the round costs only what it touches.
 */
#ifndef SCHEDULER_CORE_SOLVE_IMPROVE_H
#define SCHEDULER_CORE_SOLVE_IMPROVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/rng.h"
#include "scheduler/core/solve/search.h"

struct improve_opts {
	size_t n_rounds;
	uint64_t max_work;  /* Stop when 'search->work' is there. */
	double target;      /* Stop at or below this cost. */
	bool accepts_equal; /* Keep a round that neither gains nor loses. */
};

/*
 * Puts the 'n' jobs, all absent, back in that order, each where it is best
 * given those before it.
 */
void improve_insert(struct search *search, const uint32_t *jobs, size_t n);

/*
 * Lowers the cost of the given links, all that are not off, by rounds; returns
 * what it is then.  The cost never rises.
 */
double improve_links(struct search *search, const uint32_t *links, size_t n_links,
		     const struct improve_opts *opts, struct rng *rng);

#endif
