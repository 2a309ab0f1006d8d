/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collisions.h - the flows that meet on a link, and paths with room for them
 *
 * Jobs meet on a link between switches because hashing sends flows of both there.  This
 * lists these flows, with the paths that each could take instead.  Flows are those of
 * traffic_map.h: a ring over the hosts of a job. Where path_watch.h has inferred the
 * path of a flow, that is its path; the others start from an assumed source port and take
 * the path of the hash of topology/route.h, so for these the list is as good as these
 * assumptions.
 *
 * Another path has room for a flow if on each of its links that the flow does not use
 * now, the highest rate of the window and the job's highest rate on the present link
 * together are within the capacity.  A link without known traffic is taken to be idle.
 *
 * Pure.  O(flows of the jobs * paths).
 */
#ifndef SCHEDULER_LIVE_COLLISIONS_H
#define SCHEDULER_LIVE_COLLISIONS_H

#include <stddef.h>
#include <stdint.h>

struct contention;
struct contention_link;
struct flow_paths;
struct live;
struct routes;
struct topo;

/* Paths of a flow that are looked at. */
#define COLLISIONS_MAX_PATHS 256

struct collision_flow {
	uint32_t job;                 /* live_job_name(). */
	uint32_t source, destination; /* Hosts of the fabric. */
	uint32_t via;                 /* routes_top_switch() of its path. */
	uint32_t n_paths;             /* Equally short ones; 1: there is no other. */
	uint16_t port;                /* Assumed source port; 0: path inferred. */
	double margin; /* Of the inference (flow_paths.h); 0: path assumed. */
	/* The path with most room; TOPO_NONE and 0: there is none. */
	uint32_t room_via;
	uint16_t room_port; /* That takes it by the hash; 0: unknown, or inferred. */
};

struct collisions {
	struct collision_flow *flows; /* Owned.  By job, as on the link. */
	size_t n;
};

/*
 * Finds the flows of the jobs on 'link', which is one of 'found'.  'paths' (or NULL) are
 * those with which it was found.  None if it is not
 * between switches, has fewer than two jobs, or if a tier of the fabric does not hash.
 * Release with collisions_fini().
 */
void collisions_find(const struct live *live, struct topo *topo, struct routes *routes,
		     const struct flow_paths *paths, const struct contention *found,
		     const struct contention_link *link,
		     struct collisions *ret_collisions);
void collisions_fini(struct collisions *collisions); /* Accepts a zeroed one. */

#endif
