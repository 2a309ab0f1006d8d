/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - jobs on a fabric: their traffic and their hosts.
 *
 * A job is a list of segments, as the engine knows them, but with a collective
 * in place of flows: segment traffic is what the busiest interface of the job
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
#include "topology/collective.h"

struct topo;
struct routes;

/* Limits of jobs from outside. */
#define WORK_MAX_JOBS     100000
#define WORK_MAX_SEGMENTS 1024
#define WORK_MAX_JITTER   1.0  /* Standard deviation over the compute time. */
#define WORK_MAX_BYTES    1e15 /* Of one segment. */
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
	int64_t send_offset_ns; /* Traffic starts this long after the segment. */
	double nic_bytes;       /* Sent by the busiest interface; 0: none. */
	double cap_bps;         /* Cap of that interface; 0: none. */
	/* Of its flows, as in engine_segment; 'n_steps' 0: 1. */
	double first_weight, last_weight;
	uint32_t n_steps;
};

struct work_job {
	char *name; /* Owned.  Unique. */
	enum collective collective;
	uint32_t n_hosts_wanted;       /* At least 1. */
	uint32_t *hosts;               /* Owned.  Node ids, n_hosts_wanted of them; NULL
				   * while the job waits. */
	uint32_t slots_per_host;       /* GPUs it takes on each host; at least 1. */
	struct work_segment *segments; /* Owned. */
	size_t n_segments;
	struct profile profile; /* Owned. */
	double jitter_frac;     /* Relative, of each compute time. */
	double weight;          /* In the objective; default GPUs in all. */
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
 * or -EINVAL with a static reason in '*ret_why'.
 */
int work_job_profile_from_segments(struct work_job *job, double line_bps,
				   const char **ret_why);
void work_job_segments_from_profile(struct work_job *job);

/*
 * The jitter_frac that makes iterations vary by the profile's jitter_us, at
 * most WORK_MAX_JITTER.
 */
double work_job_jitter_of_profile(const struct work_job *job);

/* A job with its flows on the fabric's links. */
struct routed_job {
	/*
	 * Per byte sent by the busiest interface.  A flow over several connections, and
	 * a connection that the fabric spreads over several paths, is several flows
	 * here, its parts, of equal bytes.
	 */
	struct collective_flows flows;
	double *weights;      /* Owned.  By flow: 1 over the parts of its connection. */
	uint32_t *path_links; /* Owned.  Paths of the flows, one after another. */
	size_t *path_first;   /* Owned.  Flow i: [first[i], first[i + 1]). */
	/*
	 * Owned.  By flow, as the paths of the job.  NULL on a fabric that does not
	 * hash everywhere: no path can be chosen there.
	 */
	uint32_t *paths;
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
