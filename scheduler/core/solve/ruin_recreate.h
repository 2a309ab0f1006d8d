/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ruin_recreate.h - escape from local minima by ruin and recreate.
 *
 * A descent ends where no job can gain by moving alone.  From there, a round
 * takes two or three jobs off a link that is still exceeded, puts them back one
 * by one (the first at one of its best local minima, the others at their best),
 * and descends again from there.  A round that does not pay is undone.
 * Source: Schrimpf et al., J. Comput. Phys. 159 (2000).  A round costs only what it
 * touches.
 */
#ifndef SCHEDULER_CORE_SOLVE_RUIN_RECREATE_H
#define SCHEDULER_CORE_SOLVE_RUIN_RECREATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/rng.h"
#include "scheduler/core/solve/search.h"

struct ruin_recreate_opts {
	size_t n_rounds;
	uint64_t max_work;  /* Stop when 'search->work' is there. */
	double target;      /* Stop at or below this cost. */
	bool accepts_equal; /* Keep a round that neither gains nor loses. */
};

/*
 * Puts the 'n' jobs, all absent, back in that order, each where it is best
 * given those before it.
 */
void ruin_recreate_insert(struct search *search, const uint32_t *jobs, size_t n);

/*
 * Lowers the cost of the given links, all that are not off, by rounds; returns
 * what it is then.  The cost never rises.
 */
double ruin_recreate_links(struct search *search, const uint32_t *links, size_t n_links,
			   const struct ruin_recreate_opts *opts, struct rng *rng);

#endif
