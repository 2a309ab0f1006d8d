/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_monkeytree.h - MonkeyTree's moves of a cluster's jobs.
 *
 * Jobs move in the plan of a policy if the load of a leaf is above lambda, the number of
 * uplinks of a leaf (sim/baselines/monkeytree.h).  Workers are whole nodes: jobs that hold
 * only whole nodes, and share none, move among these and the free ones; other jobs stay
 * and do not count.  Nothing moves if no plan is found that restores the bound.
 *
 * What a move costs is up to the caller: the baseline charges MONKEYTREE_MOVE_S a node
 * (fabric_choose.c), antiphase makes a bill first (fabric_heal.h).
 */
#ifndef SIM_CLUSTER_FABRIC_MONKEYTREE_H
#define SIM_CLUSTER_FABRIC_MONKEYTREE_H

#include <stdint.h>

#include "policies/plan.h"

struct fabric_monkeytree;
struct topo;

/*
 * 'hosts' has the host of each node.  Borrows both and 'cluster'.  NULL: no job can move,
 * as nodes differ, or a host is on no leaf.  Free with fabric_monkeytree_free().
 */
struct fabric_monkeytree *fabric_monkeytree_new(const struct pol_cluster *cluster,
						const struct topo *topo,
						const uint32_t *hosts);
void fabric_monkeytree_free(struct fabric_monkeytree *moves); /* Accepts NULL. */

/*
 * Moves jobs of 'plan', and stores by grant how many nodes it leaves where it runs: 0 for
 * a job that the plan starts, or places anew.  Returns the number of nodes that all jobs
 * leave; 0: the plan is as before.
 */
uint32_t fabric_monkeytree_move(struct fabric_monkeytree *moves,
				const struct pol_view *view, struct pol_plan *plan,
				uint32_t *ret_n_left);

#endif
