/* SPDX-License-Identifier: Apache-2.0 */
/*
 * configs.h - configurations of jobs on clusters with types of GPUs: which numbers of
 * GPUs of one type, and on which nodes.
 *
 * A configuration is a power of two of GPUs on one node, a whole node, or several whole
 * nodes (Sia, SOSP 2023, section 3.2).  If node sizes are powers of two, any set of such
 * configurations that fits by number of GPUs can be placed on as few nodes as each needs.
 */
#ifndef POLICIES_CONFIGS_H
#define POLICIES_CONFIGS_H

#include "lib/base/vec.h"
#include "policies/mechanism.h"

struct config {
	uint32_t type, n_nodes, n_gpus;
};

/* A place under construction: on one node, or in pieces. */
struct config_place {
	bool is_placed;
	uint32_t node; /* POL_NONE: in pieces. */
	size_t first_piece;
	uint32_t n_pieces;
};

/* Of a cluster; members other than 'all', 'n_gpus' and 'node_gpus' are private. */
struct configs {
	VEC(struct config) all;  /* By type, then by GPUs, ascending. */
	VEC(uint32_t) n_gpus;    /* By type, that may be used now. */
	VEC(uint32_t) node_gpus; /* By type: those of its largest node. */
	VEC(uint32_t) n_free;    /* By node. */
	VEC(uint32_t) n_evicted; /* By node: GPUs of jobs that could be moved. */
	VEC(uint32_t) order;     /* Of wants: most GPUs first. */
	VEC(struct config_place) places; /* By want. */
	VEC(struct pol_piece) pieces;
};

void configs_init(struct configs *configs, const struct pol_cluster *cluster);
/* Sets n_gpus to the GPUs that may be used now: nodes go away and come back. */
void configs_count(struct configs *configs, const struct pol_cluster *cluster);
void configs_fini(struct configs *configs); /* Accepts a zeroed one. */

/* n_gpus GPUs of a type, on as few nodes as possible. */
struct config configs_of(const struct configs *configs, uint32_t type, uint32_t n_gpus);
/* What the job has now; n_gpus 0: nothing. Its type is that of its first node. */
struct config configs_now(const struct pol_cluster *cluster, const struct pol_job *job);

/*
 * Places jobs, each on one type, and grants them the places in the order of 'wants',
 * whose GPUs fit by number.  A job that has as many GPUs of the type stays, unless it
 * must make room: on one node, it is moved if a job with more GPUs finds no whole nodes,
 * or no node with enough GPUs.  Others are placed by descending GPUs: on whole free
 * nodes, the rest on the node with the fewest free GPUs that suffice.  If all that
 * fails, on any nodes.
 */
void configs_place(struct configs *configs, const struct pol_view *view,
		   const struct pol_want *wants, uint32_t n, struct pol_plan *plan);

#endif
