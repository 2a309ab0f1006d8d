/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iteration_traffic.h - what a job sends in an isolated iteration, by time, also where
 * its segments overlap.
 *
 * The engine runs one iteration without jitter over one link, the job's busiest
 * interface, which its segments share.  Rates are those of that interface.
 *
 * Pure.
 */
#ifndef SCHEDULER_CORE_WORKLOAD_ITERATION_TRAFFIC_H
#define SCHEDULER_CORE_WORKLOAD_ITERATION_TRAFFIC_H

#include <stddef.h>

struct work_job;

struct traffic_piece {
	double start_ns, end_ns;
	double rate_bps; /* Above 0. */
};

struct iteration_traffic {
	double iteration_ns;
	struct traffic_piece *pieces; /* Owned.  In order of time, disjoint. */
	size_t n_pieces;
	double *send_ns; /* Owned.  By segment: when it begins to send; -1: never. */
};

/*
 * 'line_bps' is the rate of an uncapped interface.  Returns 0, or -EINVAL if the engine
 * does not take the job.  O(segments * segments that overlap).
 */
int iteration_traffic_make(const struct work_job *job, double line_bps,
			   struct iteration_traffic *ret_traffic);
void iteration_traffic_fini(struct iteration_traffic *traffic);

/*
 * Merges pieces until there are at most 'n_most' (at least 1): those with the shortest
 * pauses between them, and short ones with what precedes them.  Bytes are kept, and
 * pieces are then at least a microsecond long or have a pause of that before and after.
 */
void iteration_traffic_coarsen(struct iteration_traffic *traffic, size_t n_most);

#endif
