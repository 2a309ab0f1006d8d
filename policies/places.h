/*
 * places.h - the placements that there are.
 */
#ifndef POLICIES_PLACES_H
#define POLICIES_PLACES_H

#include "policies/mechanism.h"

/* place_count.c: any free GPUs, by number of the node; only their number counts. */
extern const struct pol_place place_count;
/*
 * place_whole.c: the first node with room; who is larger than a node has whole empty
 * nodes, and the rest on the first other one with room ("yarn").
 */
extern const struct pol_place place_whole;
/*
 * place_best_fit.c: the node that is left with the least; else one rack, with the fewest
 * nodes; else the roomiest nodes.  May wait for as few nodes as can be.
 */
extern const struct pol_place place_best_fit;
/* place_spread.c: the node with most free GPUs, again and again. */
extern const struct pol_place place_spread;
/* place_random.c: nodes that are drawn. */
extern const struct pol_place place_random;
/* place_skew.c: best fit for jobs whose model is mostly one tensor; count for others. */
extern const struct pol_place place_skew;

/* By its name, or NULL; all of them, ended by NULL. */
const struct pol_place *place_find(const char *name);
extern const struct pol_place *const place_all[];

/* All GPUs are free; ret_n_free, [n_nodes], is what it counts by: borrowed. */
struct pol_free place_empty(const struct pol_cluster *cluster, uint32_t *ret_n_free);
/* For placements: takes GPUs of a node as the next piece. */
void place_take(struct pol_free *free, struct pol_plan *plan, uint32_t node,
		uint32_t n_gpus);
/* Few pieces, that were taken in another order, into that of their nodes. */
void place_sort(struct pol_piece *pieces, uint32_t n);

#endif
