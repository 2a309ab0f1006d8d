/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic_map.h - map from the series of the live state to links of the fabric.
 *
 * It lists, for each link, the series that add up to its traffic.  For contention.h and
 * job_profiler.h.  Pure.
 */
#ifndef SCHEDULER_LIVE_TRAFFIC_MAP_H
#define SCHEDULER_LIVE_TRAFFIC_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct flow_paths;
struct live;
struct routes;
struct topo;

/* The share of a series that goes over a link, as traffic of 'job'. */
struct traffic_map_part {
	uint32_t link; /* Of the fabric; plain: 2 * interface + direction. */
	uint32_t job;  /* TELE_LINK: the link's total; TELE_OTHER. */
	uint32_t series;
	bool is_measured;
	bool is_assumed; /* Computed on a path chosen by hash from several. */
	double share;
};

struct traffic_map {
	VEC(struct traffic_map_part) parts; /* By link. */
	uint32_t n_unattached, n_unplaced;
	uint32_t first_unattached; /* An interface, if n_unattached > 0. */
};

/*
 * Finds the parts of all links, in steps of about a millisecond, as there may be very
 * many. Without a fabric 'topo' and 'routes' are NULL. 'paths' (or NULL) has known paths
 * of flows; the others take the paths of 'routes'. Between steps frames may come,
 * but do not call live_forget() or replace the fabric.
 */
struct traffic_map_finder;

struct traffic_map_finder *traffic_map_begin(const struct live *live, struct topo *topo,
					     struct routes *routes,
					     const struct flow_paths *paths);
bool traffic_map_step(struct traffic_map_finder *finder); /* True: all are found. */
/* Moves the map out and ends the finder; NULL: only ends it. */
void traffic_map_end(struct traffic_map_finder *finder, struct traffic_map *ret_map);
void traffic_map_fini(struct traffic_map *map);

/*
 * Keeps, of the n parts of one link, one per measured quantity, by job and series.
 * Returns how many.
 */
size_t traffic_map_thin(const struct live *live, struct traffic_map_part *parts,
			size_t n);

/* Traffic of the series, to look up the hosts of many jobs. */
struct traffic_map_traffic;

/* In steps, as traffic_map_step(): true at the end. */
struct traffic_map_traffic *traffic_map_traffic_begin(const struct live *live);
bool traffic_map_traffic_step(struct traffic_map_traffic *traffic);
void traffic_map_traffic_free(struct traffic_map_traffic *traffic); /* Accepts NULL. */

/*
 * The hosts of the fabric with traffic of the job, in ascending order of node, in a new
 * array of '*ret_n'.  Free with free().
 */
uint32_t *traffic_map_job_hosts(const struct live *live, const struct topo *topo,
				const struct traffic_map_traffic *traffic, uint32_t job,
				size_t *ret_n);

/* The series of a job, '*ret_n' of them; borrowed. */
const uint32_t *traffic_map_job_series(const struct traffic_map_traffic *traffic,
				       uint32_t job, size_t *ret_n);

/*
 * The source port assumed for the first flow of each job; new array [jobs]. In steps,
 * as traffic_map_step().
 */
struct traffic_map_ports;

struct traffic_map_ports *traffic_map_ports_begin(const struct live *live);
bool traffic_map_ports_step(struct traffic_map_ports *ports);
/* Moves the ports out and ends the numbering; accepts NULL. */
uint16_t *traffic_map_ports_end(struct traffic_map_ports *ports);

#endif
