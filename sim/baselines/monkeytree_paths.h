/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monkeytree_paths.h - MonkeyTree's paths of jobs on a fabric, by edge coloring.
 *
 * Flows between leaves are the edges of a bipartite multigraph, and colors are the
 * uplinks of a leaf, in the order of their spines (solve/edge_coloring.h).  If a leaf
 * sends and receives no more flows than it has uplinks, each has an uplink and a downlink
 * for itself; else they are spread evenly.
 *
 * A flow whose path was chosen before keeps it if that leaves all even.
 *
 * All flows are equal, as published: bytes and times do not count.
 */
#ifndef SIM_BASELINES_MONKEYTREE_PATHS_H
#define SIM_BASELINES_MONKEYTREE_PATHS_H

#include "sim/baselines/baseline.h"

/* Whether the fabric has no more than two tiers of switches. */
bool monkeytree_suits(const struct topo *topo);

/* As baseline_route().  O(flows * paths), and as edge_coloring_find(). */
int monkeytree_choose_paths(struct baseline_job *jobs, size_t n,
			    const struct topo *topo, struct routes *routes);

#endif
