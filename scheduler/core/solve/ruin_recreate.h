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
	uint64_t max_work;  /* Limit of 'search->work'. */
	double target;      /* Stop at or below this cost. */
	bool accepts_equal; /* Keep a round that neither gains nor loses. */
};

/*
 * Reinserts the 'n' jobs, all absent, in that order, each at its best place given those
 * before it.
 */
void ruin_recreate_insert(struct search *search, const uint32_t *jobs, size_t n);

/*
 * Lowers the cost of the given links, except those that are off, by rounds; returns the
 * new cost, which is never higher.
 */
double ruin_recreate_links(struct search *search, const uint32_t *links, size_t n_links,
			   const struct ruin_recreate_opts *opts, struct rng *rng);

#endif
