/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - checks of a fabric for faults, and the capacity of its tiers
 */
#ifndef TOPOLOGY_CHECK_H
#define TOPOLOGY_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "topology/faults.h"

struct topo;
struct routes;

/*
 * Appends the faults of a fabric, ordered by kind and then by node or link.  'routes'
 * belong to the same fabric.  O(nodes + links), and for reachability O(g^2)
 * for g groups of hosts with the same cabling; beyond 20,000 groups only against
 * the largest of them.
 */
void topo_check(const struct topo *topo, struct routes *routes,
		struct topo_faults *faults);

/* The capacity of one tier, without scale-up switches. */
struct topo_tier {
	uint32_t tier;
	uint32_t n_nodes;
	uint32_t n_cables_up; /* Links to higher tiers. */
	double down_bps;      /* Capacity of links that enter from lower tiers. */
	double up_bps;        /* Capacity of links to higher tiers. */
	double least, most;   /* Oversubscription, down / up, of any one switch
				 * that has both; 0 if none has. */
};

/* Fills 'ret_tiers' (room for TOPO_MAX_TIER + 1) by tier; returns how many. */
size_t topo_tiers(const struct topo *topo, struct topo_tier *ret_tiers);

#endif
