/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_path.h - the paths of a job's flows, as advice names them.
 *
 * A routed job has a path's number for each flow (workload.h).  Users and hosts need the
 * switch that tells the path from the others, and a source port that hashing sends
 * there.  Pure.
 */
#ifndef SCHEDULER_CORE_ADVISE_ADVICE_PATH_H
#define SCHEDULER_CORE_ADVISE_ADVICE_PATH_H

#include <stdint.h>

struct routed_job;
struct routes;
struct topo;

/* The path of one flow. */
struct advice_path {
	uint32_t source, destination; /* Hosts. */
	uint32_t via;    /* The first switch of its highest tier; TOPO_NONE: none. */
	uint32_t number; /* See routes_numbered_path(); WORK_HASHED: left to hashing. */
	uint16_t port;   /* A source port that hashing sends there; 0: none found. */
};

/*
 * Returns the paths of all flows, routed->flows.n of them, to be freed with free(); or
 * NULL if all are left to hashing.  'first_port' is that of flow 0.  Tries
 * ADVISE_MAX_PORTS ports for a flow at most, and about as many as it has paths.
 */
struct advice_path *advice_paths_make(const struct routed_job *routed,
				      uint16_t first_port, const struct topo *topo,
				      struct routes *routes);

#endif
