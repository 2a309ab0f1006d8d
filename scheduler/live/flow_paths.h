/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_paths.h - a table of what was inferred about the paths of running jobs' flows
 *
 * path_watch.h fills it; traffic_map.h and collisions.h use known paths instead of
 * assumed ones.  Pure data.
 */
#ifndef SCHEDULER_LIVE_FLOW_PATHS_H
#define SCHEDULER_LIVE_FLOW_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "scheduler/core/paths/path_inference.h"

struct flow_path {
	uint32_t job;                 /* live_job_name(). */
	uint32_t source, destination; /* Hosts of the fabric. */
	uint32_t rail;                /* Of the job's rails; 0 if there is one. */
	uint32_t n_paths;             /* Equally short ones. */
	enum path_inference_reason reason;
	double margin;           /* As in struct path_inference_answer. */
	uint32_t bin_ms, n_bins; /* The series that it rests on; 0: none. */
	uint32_t path;           /* Number of its path (topology/route.h), if known; */
	uint32_t first, n_links; /* the path in 'links', or 0. */
};

/* Zeroed, it is empty. */
struct flow_paths {
	VEC(struct flow_path) flows; /* By job, source, destination and rail. */
	VEC(uint32_t) links;         /* Of the fabric. */
};

/* Sorts the flows, once all are added. */
void flow_paths_sort(struct flow_paths *paths);
void flow_paths_fini(struct flow_paths *paths); /* Accepts a zeroed one. */

/* The flow, or NULL; accepts NULL.  O(log flows). */
const struct flow_path *flow_paths_find(const struct flow_paths *paths, uint32_t job,
					uint32_t source, uint32_t destination,
					uint32_t rail);
/*
 * The links of its path, '*ret_n' of them, source first, if the path was inferred from
 * counters; else NULL.
 */
const uint32_t *flow_paths_links(const struct flow_paths *paths, uint32_t job,
				 uint32_t source, uint32_t destination, uint32_t rail,
				 size_t *ret_n);

#endif
