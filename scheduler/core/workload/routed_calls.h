/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routed_calls.h - the flows of a job whose segments have calls.  For routed_job.c.
 *
 * A connection of two hosts, and with it its path, is the same in all segments: the
 * flows of the job are its distinct connections, and a pattern for each call and phase
 * says which of them send how much.
 */
#ifndef SCHEDULER_CORE_WORKLOAD_ROUTED_CALLS_H
#define SCHEDULER_CORE_WORKLOAD_ROUTED_CALLS_H

#include "scheduler/core/workload/workload.h"

/*
 * Fills 'flows', split over rails and connections, and 'patterns' of a zeroed routed
 * job.  Returns as routed_job_make().
 */
int routed_calls_make(const struct work_job *job, const uint32_t *hosts,
		      const struct topo *topo, struct routed_job *routed);

/*
 * After routing: connection c became the flows part_first[c] .. part_first[c + 1] with
 * these weights.  Does nothing without patterns.
 */
void routed_calls_number(struct routed_job *routed, const size_t *part_first,
			 size_t n_connections, const double *weights);
/* The footprint of a job with patterns, see struct routed_job. */
void routed_calls_footprint(const struct routed_job *routed, const struct topo *topo,
			    struct footprint *ret_footprint);
void routed_calls_fini(struct routed_job *routed);

/* Flows of the segment in the engine. */
size_t routed_segment_n_flows(const struct work_job *job,
			      const struct routed_job *routed, size_t segment);

#endif
