/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_colors.h - paths of flows between racks by edge coloring
 *
 * Where each host sends one flow and receives one, as in rings, and a fabric is not
 * oversubscribed, there are always paths on which no two flows meet (Clos networks are
 * rearrangeable), and an edge coloring finds them (solve/edge_coloring.h): at each
 * switch the uplink of a flow is that of its color, and so is the downlink by which it
 * comes back.  Tier by tier from the leaves on, the switches where flows are then are
 * the vertices of the next coloring.  With more flows than uplinks, each gets an equal
 * number, up to one.
 *
 * Loads, profiles and flows that are not given do not count, so this is a start for
 * paths.h.  Paths that go up and down over other tiers on both sides, and cables that
 * only some switches of a tier have, are matched as well as possible.
 *
 * Pure and deterministic.
 */
#ifndef SCHEDULER_CORE_PATHS_PATH_COLORS_H
#define SCHEDULER_CORE_PATHS_PATH_COLORS_H

#include <stddef.h>
#include <stdint.h>

struct routes;
struct topo;

struct path_colors_flow {
	uint32_t source, destination; /* As for routes_numbered_path(), */
	uint16_t port;                /* as this. */
	uint32_t n_paths;             /* At least 1. */
	/*
	 * Borrowed.  Its present path, which it keeps where that suits the coloring.
	 */
	const uint32_t *links;
	size_t n_links;
	uint32_t
		number; /* Result: of its path; PATH_COLORS_PRESENT: the present one. */
};

#define PATH_COLORS_PRESENT UINT32_MAX
/* Flows with more paths keep their present ones. */
#define PATH_COLORS_MAX_PATHS 256

/*
 * Numbers the paths of flows[n].  O(flows * paths) routes for each tier, and
 * edge_coloring_find().
 */
void path_colors_find(const struct topo *topo, struct routes *routes,
		      struct path_colors_flow *flows, size_t n);

#endif
