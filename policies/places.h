/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h - the placements, and their shared functions.
 */
#ifndef POLICIES_PLACES_H
#define POLICIES_PLACES_H

#include "policies/mechanism.h"

/* place_count.c: any free GPUs, by node number; only their number matters. */
extern const struct pol_place place_count;
/*
 * place_whole.c: the first node with room; a job larger than a node gets whole empty
 * nodes, and the rest on the first other node with room ("yarn").
 */
extern const struct pol_place place_whole;
/*
 * place_best_fit.c: the node that is left with the fewest free GPUs; else one rack,
 * with the fewest nodes; else the nodes with most room.  May wait for fewer nodes.
 */
extern const struct pol_place place_best_fit;
/* Its state, for use within another mechanism.  'waits': it waits for fewer nodes. */
void *place_best_fit_new(const struct pol_cluster *cluster, bool waits);
void place_best_fit_free(void *state); /* Accepts NULL. */
/* place_spread.c: the node with most free GPUs, repeatedly. */
extern const struct pol_place place_spread;
/* place_random.c: random nodes. */
extern const struct pol_place place_random;
/* place_mapa.c: the GPUs of a server whose links suit the job best (MAPA). */
extern const struct pol_place place_mapa;
/* place_skew.c: best fit for jobs of skewed models; count for others. */
extern const struct pol_place place_skew;

/* table.c: a placement by its name, or NULL; all of them, ended by NULL. */
const struct pol_place *place_find(const char *name);
extern const struct pol_place *const place_all[];

/* All GPUs of nodes that are not away are free; borrows 'ret_n_free', [n_nodes]. */
struct pol_free place_empty(const struct pol_cluster *cluster, uint32_t *ret_n_free);

/* Places what a job requested, on GPUs of any type. */
static inline struct pol_want
place_want(const struct pol_job *job)
{
	return (struct pol_want){ .job = job->id,
				  .n_gpus = job->n_gpus,
				  .type = POL_NONE,
				  .n_held = job->n_held_gpus };
}

/*
 * Takes the pieces that a job holds, if all of them are free.  Returns how many; 0: it
 * holds none, or some are not free, and nothing is taken.
 */
uint32_t place_keep(const struct pol_job *job, struct pol_free *free,
		    struct pol_plan *plan);
/* Whether the memory of GPUs and nodes, of any type, suffices for both on the same GPUs. */
bool place_may_share(const struct pol_cluster *cluster, const struct pol_job *a,
		     const struct pol_job *b);
/* Frees pieces that were taken. */
void place_give_back(struct pol_free *free, const struct pol_piece *pieces, uint32_t n);
/* For placements: takes GPUs of a node as the next piece. */
void place_take(struct pol_free *free, struct pol_plan *plan, uint32_t node,
		uint32_t n_gpus);
/* The same for a piece that may name its GPUs. */
void place_take_named(struct pol_free *free, struct pol_plan *plan,
		      struct pol_piece piece);
/* By node, the GPUs that the plan's pieces name; fills ret_busy, [n_nodes]. */
void place_busy(const struct pol_plan *plan, uint32_t n_nodes, uint64_t *ret_busy);
/* Sorts a few pieces by node. */
void place_sort(struct pol_piece *pieces, uint32_t n);

#endif
