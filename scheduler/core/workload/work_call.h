/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work_call.h - the collective operation of a segment, over groups of the job's ranks.
 *
 * Rank r of a job is on its host number r / slots_per_host, in the order of its hosts.
 * topology/rank_groups.h numbers the ranks of groups, topology/collective_phases.h
 * makes the flows.
 */
#ifndef SCHEDULER_CORE_WORKLOAD_WORK_CALL_H
#define SCHEDULER_CORE_WORKLOAD_WORK_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/collective_phases.h"
#include "topology/rank_groups.h"

struct topo;
struct work_job;

/* What a call goes over, besides an enum rank_group. */
enum {
	WORK_OVER_HOSTS = N_RANK_GROUPS, /* The job's hosts, ordered by leaf. */
	WORK_OVER_PAIR,                  /* Rank 'from' to rank 'to'. */
	WORK_OVER_RANGE,                 /* Ranks 'from' to 'to', each 'step'-th. */
};

/* Segments of all jobs after work_calls_expand(). */
#define WORK_MAX_PHASES 4000000

struct work_call {
	enum collective_op op;
	enum collective_algorithm algorithm;
	unsigned over;
	uint32_t from, to;
	uint32_t step; /* Divides to - from; above 0 with WORK_OVER_RANGE only. */
};

bool work_call_is_same(const struct work_call *a, const struct work_call *b);
/* Whether a segment of the job has a call. */
bool work_job_has_calls(const struct work_job *job);

/* Ranks of each of its groups. */
size_t work_call_n_ranks(const struct work_job *job, const struct work_call *call);

/*
 * Makes the phases of a call for a message of one byte, on 'hosts'
 * (job->n_hosts_wanted of them).  Returns as collective_phases_make().
 */
int work_call_phases(const struct work_job *job, const struct work_call *call,
		     const uint32_t *hosts, const struct topo *topo,
		     struct collective_phases *ret_phases);

/*
 * Replaces segments with a call by one segment for each of its phases that has flows,
 * or by its computing; nic_bytes, which was the size of the message, becomes what the
 * busiest interface sends, and the offset includes the latency of the steps.  Call it
 * once.  Returns 0, or as work_call_phases() with the number of the segment that
 * failed; -E2BIG also for more than 'max_segments'.
 */
int work_calls_expand(struct work_job *job, const uint32_t *hosts,
		      const struct topo *topo, size_t max_segments,
		      size_t *ret_segment);

#endif
