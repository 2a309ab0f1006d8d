/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crux_levels.h - Crux's compression of priorities to the few levels of a network.
 *
 * Cao et al., SIGCOMM 2024, section 4.3.  Where two jobs share a link and get the same
 * level, the priority of the higher one is lost; its intensity is the cost.  So levels
 * are a cut of the contention graph (crux.h) with the largest weight of edges between
 * different levels, and no edge may lead to a higher level: max-k-cut of a directed
 * acyclic graph.
 *
 * Levels that respect the edges are consecutive pieces of some topological order.  For
 * one order the best pieces follow from dynamic programming, with C_ji the weight of
 * edges from its first j jobs to those from j + 1 to i:
 *
 *	f(i, k) = max over j < i of f(j, k - 1) + C_ji,    f(i, 1) = 0
 *
 * As published, this is done for random breadth-first topological orders, and the best
 * cut is taken.  That is the best cut of these orders, not always of the graph.
 *
 * Pure; the same seed gives the same levels.
 */
#ifndef SIM_BASELINES_CRUX_LEVELS_H
#define SIM_BASELINES_CRUX_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#include "sim/baselines/crux.h"

#define CRUX_N_LEVELS 8  /* As published: priorities of the network. */
#define CRUX_N_ORDERS 10 /* As published. */

struct crux_levels_opts {
	uint32_t n_levels; /* 0: CRUX_N_LEVELS. */
	uint32_t n_orders; /* 0: CRUX_N_ORDERS. */
	uint64_t seed;
};

/*
 * Stores the level of each job, 0 being the highest; levels in use are consecutive.
 * '*ret_weight' is the weight of the edges cut; it may be NULL.  Returns 0, or -EINVAL
 * for an edge out of range, a weight that is negative or not finite, or a cycle.
 * O(orders * (jobs^2 * levels + edges)).
 */
int crux_levels_find(uint32_t n_jobs, const struct crux_edge *edges, size_t n_edges,
		     const struct crux_levels_opts *opts, uint32_t *ret_levels,
		     double *ret_weight);

/*
 * The dynamic programming for one topological order of the jobs: stores the best levels
 * and returns their weight.  Edges must lead forward in 'order', and 'n_levels' is at
 * least 1.  Exact.
 */
double crux_levels_of_order(uint32_t n_jobs, const struct crux_edge *edges,
			    size_t n_edges, const uint32_t *order, uint32_t n_levels,
			    uint32_t *ret_levels);

#endif
