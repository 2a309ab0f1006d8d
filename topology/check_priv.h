/* SPDX-License-Identifier: Apache-2.0 */
/* check_priv.h - the longer checks of topo_check(); for check*.c */
#ifndef TOPOLOGY_CHECK_PRIV_H
#define TOPOLOGY_CHECK_PRIV_H

#include <stddef.h>
#include <stdint.h>

struct topo;
struct topo_faults;
struct routes;

/* Capacity of links that enter a node from below, and that leave it upward. */
struct check_load {
	double down_bps, up_bps;
	uint32_t n_down; /* Links from below. */
};

/* Those of all nodes, without links to scale-up switches, in a new array. */
struct check_load *topo_check_loads(const struct topo *topo);

/* The cables between a node and a switch above it. */
struct check_pair {
	uint32_t lower, upper;
	uint32_t n_cables; /* At least 1. */
};

/* All of them, by lower, then upper, in a new array. */
struct check_pair *topo_check_pairs(const struct topo *topo, size_t *ret_n);

/*
 * Adds TOPO_FAULT_UNREACHABLE for hosts without an up-down path.  The group that
 * reaches most hosts is the reference; each host that it does not reach, or that does
 * not reach it, is one fault, and so is each other pair of groups without a path.
 */
void topo_check_reach(const struct topo *topo, struct routes *routes,
		      struct topo_faults *faults);

/*
 * Adds TOPO_FAULT_PARALLEL for pairs of switches with an unusual number of cables:
 * unlike most other pairs of the lower or of the upper switch, unless the number is
 * usual for the other of the two.  So a leaf with one cable to each spine beside leaves
 * with two is no fault.
 */
void topo_check_parallel(const struct topo *topo, struct topo_faults *faults);

/*
 * Adds TOPO_FAULT_PARALLEL for neighbors in a torus with fewer or more cables between
 * them than most neighbors have, or none.  Nothing for other fabrics.
 */
void topo_check_torus(const struct topo *topo, struct topo_faults *faults);

/*
 * Adds TOPO_FAULT_CROSSED for two cables whose ends were probably swapped.  Looks at the
 * TOPO_FAULT_UNREACHABLE that are there already.
 */
void topo_check_crossed(const struct topo *topo, struct topo_faults *faults);

/*
 * Adds TOPO_FAULT_RATE for links of hosts with another rate than most at the same switch;
 * where these have no common rate, for those with less than half of the rate that most
 * hosts of the fabric have.
 */
void topo_check_rates(const struct topo *topo, struct topo_faults *faults);

/*
 * Adds TOPO_FAULT_UPLINKS for switches with more or less capacity up than most of their
 * tier.  In a fabric of mixed speeds, than most with ports as fast; where these have no
 * common capacity, a switch with the oversubscription of most of the tier is no fault.
 */
void topo_check_uplinks(const struct topo *topo, struct topo_faults *faults);

#endif
