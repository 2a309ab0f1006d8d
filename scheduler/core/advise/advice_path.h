/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_path.h - the paths of a job's flows, as advice names them.
 *
 * A routed job has a path's number for each flow (workload.h).  Users and hosts need the
 * switch that tells the path from the others, and a source port that hashing sends
 * there.  What a flow would meet on its hashed path is for the caller to add.  Pure.
 */
#ifndef SCHEDULER_CORE_ADVISE_ADVICE_PATH_H
#define SCHEDULER_CORE_ADVISE_ADVICE_PATH_H

#include <stddef.h>
#include <stdint.h>

struct routed_job;
struct routes;
struct work_job;

/* The path of one flow. */
struct advice_path {
	uint32_t source, destination; /* Hosts. */
	uint32_t via;    /* The first switch of its highest tier; TOPO_NONE: none. */
	uint32_t number; /* See routes_numbered_path(); WORK_HASHED: left to hashing. */
	/*
	 * A source port that hashing sends there; 0: none found.  The connections of a
	 * flow have different ones.
	 */
	uint16_t port;
	/* What it leaves: only where it is chosen and the job stays in place. */
	uint32_t hashed_via;   /* As 'via', of the hashed path; TOPO_NONE: unknown. */
	uint32_t hashed_link;  /* The worst link there; TOPO_NONE: none is contended. */
	uint32_t *hashed_jobs; /* Owned.  The other jobs on it without advice. */
	size_t n_hashed_jobs;
};

/*
 * Returns the paths of all flows, routed->flows.n of them, to be freed with
 * advice_paths_free(); or NULL if all are left to hashing.  What they leave is unknown.
 * Tries ADVISE_MAX_PORTS ports for a flow at most, and in the mean as many as it has
 * paths.
 */
struct advice_path *advice_paths_make(const struct routed_job *routed,
				      const struct work_job *job,
				      struct routes *routes);
void advice_paths_free(struct advice_path *paths, size_t n); /* Accepts NULL. */

#endif
