/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_monkeytree.h - MonkeyTree's moves of a cluster's jobs.
 *
 * Jobs move in the plan of a policy if the load of a leaf is above lambda, the number of
 * uplinks of a leaf (sim/baselines/monkeytree.h).  Workers are whole nodes: jobs that hold
 * only whole nodes, and share none, move among these and the free ones; other jobs stay
 * and do not count.  Nothing moves if no plan is found that restores the bound.
 *
 * A job that runs stands still for MONKEYTREE_MOVE_S for each of its nodes that moves,
 * instead of the policy's restart; a job that the plan starts waits for nothing.
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
 * Moves jobs of 'plan', and sets lost_s[grant] of those that run; see
 * cluster_work.move.  Returns the number of nodes that jobs leave.
 */
uint32_t fabric_monkeytree_move(struct fabric_monkeytree *moves,
				const struct pol_view *view, struct pol_plan *plan,
				double *lost_s);

#endif
