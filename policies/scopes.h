/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scopes.h - racks, clusters of racks, regions of clusters, and the best place in them.
 *
 * A unit of each level is a number of neighboring racks; the last one may have fewer.  A
 * job is placed in one unit of a level: where it needs the fewest nodes, then where the
 * fewest GPUs are free, then the first.  Then the scope narrows in the same way, level by
 * level, as long as the job needs no more nodes.
 */
#ifndef POLICIES_SCOPES_H
#define POLICIES_SCOPES_H

#include "policies/mechanism.h"

enum scope_level {
	SCOPE_RACK,
	SCOPE_CLUSTER,
	SCOPE_REGION,
	SCOPE_ALL,
	SCOPE_N_LEVELS,
};

/* One unit. */
struct scope {
	enum scope_level level;
	uint32_t unit;
};

struct scopes;

struct scopes *scopes_new(const struct pol_cluster *cluster, uint32_t racks_per_cluster,
			  uint32_t clusters_per_region);
void scopes_free(struct scopes *scopes); /* Accepts NULL. */

uint32_t scopes_count(const struct scopes *scopes, enum scope_level level);
/* By node, its cluster.  Borrowed. */
const uint32_t *scopes_clusters(const struct scopes *scopes);
bool scopes_have_node(const struct scopes *scopes, struct scope scope, uint32_t node);
/* Whether 'inner', of the same level or a lower one, is in 'outer'. */
bool scopes_have_unit(const struct scopes *scopes, struct scope outer,
		      struct scope inner);
/* GPUs of pieces in a scope. */
uint32_t scopes_count_gpus(const struct scopes *scopes, struct scope scope,
			   const struct pol_piece *pieces, uint32_t n);

/* Call this before the others when nodes went away or came back. */
void scopes_update(struct scopes *scopes, const struct pol_cluster *cluster);
/*
 * The lowest level, clusters at least, with a unit in 'outer' that has enough GPUs, free
 * or not; SCOPE_N_LEVELS: 'outer' has too few.
 */
enum scope_level scopes_level(const struct scopes *scopes, struct scope outer,
			      uint32_t n_gpus);
/*
 * Takes GPUs of one unit of the level in 'outer', as struct pol_place does: returns how
 * many pieces, or 0.  Of the nodes in the last scope, those with most free GPUs; the last
 * one by best fit.
 */
uint32_t scopes_place(struct scopes *scopes, struct scope outer, enum scope_level level,
		      uint32_t n_gpus, struct pol_free *free, struct pol_plan *plan);

#endif
