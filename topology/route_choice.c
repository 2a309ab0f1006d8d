/* SPDX-License-Identifier: Apache-2.0 */
/* route_choice.c - what a switch chooses: by the hash of a flow, or by a path's number. */
#include "lib/base/rng.h"
#include "topology/route.h"
#include "topology/route_priv.h"

uint64_t
route_choose(const struct routes *r, uint32_t v, struct route_choice *choice,
	     uint64_t n)
{
	uint64_t index = choice->number % n;

	if (!choice->is_numbered || !route_hashes(r, v))
		return rng_mix(choice->hash + ((uint64_t)choice->port << 32) +
			       r->switches[v]) %
		       n;
	choice->number /= n;
	choice->n_paths = choice->n_paths > ROUTE_MAX_PATHS / n ? ROUTE_MAX_PATHS
								: choice->n_paths * n;
	return index;
}
