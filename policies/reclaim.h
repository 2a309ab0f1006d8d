/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reclaim.h - which lent servers to return, by the least cost of preemption (Lyra,
 * EuroSys 2023).
 *
 * A job that would keep fewer than its n_gpus is stopped; an elastic one with more
 * loses GPUs only.  The cost of a server is the sum over the jobs that its return would
 * stop of 1 / (servers of that job).  Servers are returned one by one, the cheapest
 * first, of equal ones the last; jobs that are stopped no longer count.
 */
#ifndef POLICIES_RECLAIM_H
#define POLICIES_RECLAIM_H

#include "lib/base/vec.h"
#include "policies/view.h"

/* Memory kept from call to call; starts zeroed. */
struct reclaim {
	VEC(uint32_t) n_left; /* By job of the view: GPUs that it keeps. */
	VEC(double) costs;    /* By node. */
};

void reclaim_fini(struct reclaim *reclaim); /* Accepts a zeroed one. */
/*
 * Returns 'n' of the servers from 'first' on that are lent: clears 'is_lent', by node.
 * Returns how many jobs that stops.  O(n (pieces + nodes)).
 */
uint32_t reclaim_servers(struct reclaim *reclaim, const struct pol_view *view,
			 uint32_t first, uint32_t n, bool *is_lent);

#endif
