/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - jobs on a fabric: their traffic and their hosts.
 *
 * A job is a list of segments, as the engine knows them, which follow each other or
 * overlap, but with a collective in place of flows: segment traffic is what the busiest interface of the job
 * sends, and topology/collective.h turns that into flows once the job has
 * hosts.  A job without hosts is waiting to be placed.
 *
 * A job's isolated profile follows from its segments, and segments follow from a
 * profile: each phase sends its bytes capped at its rate, the gaps compute.  A job
 * always has both.
 *
 * Pure.  The reader for jobs and scenario files is workload_ini.h.
 */
#ifndef SCHEDULER_CORE_WORKLOAD_WORKLOAD_H
#define SCHEDULER_CORE_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/joint.h"
#include "scheduler/core/workload/work_call.h"
#include "scheduler/core/workload/work_needs.h"
#include "topology/collective.h"

struct topo;
struct routes;

/* Limits of jobs from outside. */
#define WORK_MAX_JOBS     100000
#define WORK_MAX_SEGMENTS 1024
#define WORK_MAX_JITTER   1.0 /* Standard deviation over the compute time. */
#define WORK_MAX_STALL_NS INT64_C(60000000000) /* Mean stall. */
#define WORK_MAX_BYTES    1e15                 /* Of one segment. */
/*
 * Parts of a flow over tiers that spray: one for each path, or this many of its paths,
 * evenly chosen.  Chosen: leaf-spines have fewer; each part costs the engine a flow.
 */
#define WORK_MAX_PARTS       64
#define WORK_MAX_ALL_TO_ALL  2048 /* Hosts, as the flows are its square. */
#define WORK_MAX_CONNECTIONS 64   /* To a peer. */

/* In place of a path's number: the path that hashing takes. */
#define WORK_HASHED UINT32_MAX

struct work_segment {
	int64_t compute_ns;     /* 0: none. */
	int64_t send_offset_ns; /* Traffic is due this long after the segment's start, */
	int64_t latency_ns;     /* and bytes flow this long after that. */
	double nic_bytes;       /* Sent by the busiest interface; 0: none. */
	double cap_bps;         /* Cap of that interface; 0: none. */
	/* Of its flows, as in engine_segment; 'n_steps' 0: 1. */
	double first_weight, last_weight;
	uint32_t n_steps;
	/*
	 * What it runs; the job's 'collective' if 'call.op' is COLLECTIVE_OP_NONE.
	 * After work_calls_expand() a segment is one phase of it, and 'continues' if
	 * the segment before it is an earlier one.
	 */
	struct work_call call;
	uint32_t phase;
	bool continues;
	bool from_start; /* Waits for no other segment: see work_needs.h. */
};

/* From the segment's start until bytes flow, without contention and jitter. */
static inline double
work_segment_wait_ns(const struct work_segment *segment)
{
	return (double)segment->send_offset_ns + (double)segment->latency_ns;
}

struct work_job {
	char *name; /* Owned.  Unique. */
	enum collective collective;
	struct rank_layout ranks;      /* All 0: no groups. */
	int64_t latency_ns;            /* Of each step of a collective. */
	uint32_t n_hosts_wanted;       /* At least 1. */
	uint32_t *hosts;               /* Owned.  Node ids, n_hosts_wanted of them; NULL
				   * while the job waits. */
	uint32_t slots_per_host;       /* GPUs it takes on each host; at least 1. */
	struct work_segment *segments; /* Owned. */
	size_t n_segments;
	struct work_need *needs; /* Owned.  Ascending by segment: see work_needs.h. */
	size_t n_needs;
	struct profile profile;      /* Owned. */
	double jitter_frac;          /* Relative, of each compute time. */
	double stall_frac, stall_ns; /* As in engine_job; 0: none. */
	double weight;               /* In the objective; default GPUs in all. */
	int64_t arrival_ns, stop_ns, shift_ns;
	uint64_t max_iterations; /* 0: unlimited. */
	uint16_t first_port;     /* Source port of its first flow, for ECMP. */
	uint8_t priority;        /* Of its flows, as in engine_job. */
	/*
	 * Connections to each peer, which share a flow's bytes equally; the flow ends
	 * with the last.  0: one.
	 */
	uint32_t n_connections;
	/*
	 * Owned.  [n_paths], by connection, those of flow 0 first: the number of its
	 * path (routes_numbered_path()) or WORK_HASHED.  NULL: all hashed.
	 */
	uint32_t *paths;
	size_t n_paths;
	/* Whether a running job may be moved, and the time that it loses by that; moves.h. */
	bool is_movable, has_move_cost;
	int64_t move_cost_ns;
	/* Remaining time, known or predicted, and time run so far; 0: unknown. */
	int64_t left_ns, ran_ns;
};

struct workload {
	struct work_job *jobs; /* Owned. */
	size_t n;
};

void workload_fini(struct workload *workload); /* Accepts a zeroed one. */
void work_job_fini(struct work_job *job);      /* Accepts a zeroed one. */
void work_job_copy(const struct work_job *job, struct work_job *ret_copy);

/*
 * Fills one from the other; 'line_bps' is the rate of an uncapped interface.  Returns 0
 * or -EINVAL with a static reason in '*ret_why'.  If segments overlap, the profile is
 * that of iteration_traffic.h, coarser if it had more phases than profiles may have.
 */
int work_job_profile_from_segments(struct work_job *job, double line_bps,
				   const char **ret_why);
void work_job_segments_from_profile(struct work_job *job);

/*
 * The jitter_frac that makes iterations vary by the profile's jitter_us, at
 * most WORK_MAX_JITTER.
 */
double work_job_jitter_of_profile(const struct work_job *job);

/* The flows of some segments of a routed job. */
struct routed_pattern {
	struct work_call call; /* Of these segments, as the next. */
	uint32_t phase;
	uint32_t *flows; /* Owned.  Numbers of flows. */
	double *shares;  /* Owned.  Of each flow: per byte of the busiest interface. */
	size_t n;
};

/* A job with its flows on the fabric's links. */
struct routed_job {
	/*
	 * Per byte sent by the busiest interface.  A flow over several connections, and
	 * a connection that the fabric spreads over several paths, is several flows
	 * here, its parts, of equal bytes.  With 'patterns', no two connections have
	 * the same hosts and number, and bytes are those of an iteration, per byte
	 * sent by the busiest interface of each segment.
	 */
	struct collective_flows flows;
	/* Owned.  By call and phase of a segment; NULL: all segments send all flows. */
	struct routed_pattern *patterns;
	size_t n_patterns;
	double *peaks; /* Owned.  By flow: its largest share of any pattern; or NULL. */
	double *weights;      /* Owned.  By flow: 1 over the parts of its connection. */
	uint32_t *path_links; /* Owned.  Paths of the flows, one after another. */
	size_t *path_first;   /* Owned.  Flow i: [first[i], first[i + 1]). */
	/*
	 * Owned.  By flow, as the paths of the job.  NULL on a fabric that does not
	 * hash everywhere: no path can be chosen there.
	 */
	uint32_t *paths;
	/* With 'patterns', factors are the largest of any: a bound of the load. */
	struct footprint footprint;
};

/*
 * Routes 'job' on 'hosts' (job->n_hosts_wanted of them).  Returns 0, -EHOSTUNREACH, or
 * -E2BIG for too many flows, -EINVAL for a repeated host, for paths that are not as many as the job's connections,
 * or for paths on a fabric that does not hash everywhere.  Release with
 * routed_job_fini().  On one host there are no flows: the traffic stays within the host
 * and takes no time.
 */
int routed_job_make(const struct work_job *job, const uint32_t *hosts,
		    const struct topo *topo, struct routes *routes,
		    struct routed_job *ret_routed);
void routed_job_fini(struct routed_job *routed);

/* The pattern of a segment of the job; NULL: it sends all flows.  Borrowed. */
const struct routed_pattern *routed_job_pattern(const struct work_job *job,
						const struct routed_job *routed,
						size_t segment);
/*
 * The number of a flow that routed_job_add() gave the engine, which counts the flows of
 * all segments.  O(segments).
 */
uint32_t routed_job_flow(const struct work_job *job, const struct routed_job *routed,
			 uint32_t engine_flow);
/* What a flow puts on its links at most, per byte of the busiest interface. */
double routed_job_flow_factor(const struct routed_job *routed, size_t flow);
/* The links that one segment loads, with factors of its own bytes. */
void routed_job_segment_footprint(const struct work_job *job,
				  const struct routed_job *routed, size_t segment,
				  const struct topo *topo,
				  struct footprint *ret_footprint);

/* Makes the footprint again after paths and their links have changed. */
void routed_job_refresh(struct routed_job *routed, const struct topo *topo);

/*
 * Adds a routed job to an engine with the given shift and pacing; grid_ns is its
 * profile's period.  Returns as engine_add_job(), and -EINVAL for a job whose
 * iteration would take no time.
 */
int routed_job_add(const struct work_job *job, const struct routed_job *routed,
		   struct engine *engine, int64_t shift_ns, enum engine_pacing pacing,
		   uint32_t *ret_id);

/* A joint problem and its memory.  Jobs are numbered as in the workload. */
struct work_problem {
	struct joint_problem problem;    /* Points to the arrays below. */
	const struct profile **profiles; /* Owned array of borrowed profiles. */
	struct joint_link *links;        /* Owned.  Id: topology link. */
	struct joint_load *loads;        /* Owned. */
};

/*
 * The links that carry at least two jobs.  routed[j] may be NULL for a job that
 * is not placed.  Borrows the workload's profiles.
 */
void work_problem_make(const struct workload *workload,
		       const struct routed_job *const *routed, const struct topo *topo,
		       struct work_problem *ret_problem);
void work_problem_fini(struct work_problem *problem);

#endif
