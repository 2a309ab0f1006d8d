/* SPDX-License-Identifier: Apache-2.0 */
/*
 * divide.h - a cluster's cells, and shares of them for virtual clusters.
 *
 * The nodes of a rack that are equal form a cell of the highest level; such cells of
 * equal size form a chain.  A node whose number of GPUs is a power of two, at most 64,
 * is halved again and again (socket, PCIe switch, GPU); any other node consists of its
 * GPUs.
 */
#ifndef POLICIES_HIVED_DIVIDE_H
#define POLICIES_HIVED_DIVIDE_H

#include "policies/hived/cells.h"
#include "policies/view.h"

struct cell_racks {
	uint32_t type, node_gpus; /* Of each node. */
	uint32_t n_nodes;         /* Of each of its largest cells. */
};

struct cell_division {
	VEC(struct cell_racks) chains;
	VEC(uint32_t) chain_of; /* By node. */
};

/*
 * A VC gets as many of the largest cells as its share of the chain's GPUs has room for,
 * then of the next smaller ones, and so on; GPUs that remain belong to none.  'shares'
 * are relative.  The leaf type of a chain is its number.  Fills 'ret_division'.
 */
struct cells *cells_divide(const struct pol_cluster *cluster, const double *shares,
			   uint32_t n_vcs, struct cell_division *ret_division);
void cell_division_fini(struct cell_division *division);

#endif
