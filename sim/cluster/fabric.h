/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric.h - speeds of a cluster's jobs whose messages share a fabric.
 *
 * Node i of the cluster is host i of the fabric.  A job with GPUs on several hosts is
 * its model (scheduler/core/workload/work_model.h): it computes, and its collective
 * sends between its hosts; GPUs of one host do not use the fabric.
 *
 * After each event, jobs that share a link which they could fill together form a
 * component, and the engine runs each changed component:
 *
 *	no jitter     until the joint state repeats, to the nanosecond: iteration times are
 *	              exact, and days of repetition cost nothing
 *	otherwise     (jitter, or periods that do not lock within max_iterations): the mean
 *	              over iterations that began after a quarter of the time; counts report
 *	              how many, and the largest standard error, from 16 batches
 *	over 16 jobs  a window, in which jobs continue where they were (window.h); unless
 *	              shifts are tried, or max_iterations is given
 *
 * Known components (the same jobs on the same hosts) are remembered, up to
 * 'max_remembered'.
 *
 * A job's speed is its isolated iteration time on the same hosts over that with the
 * others.  So the duration_s of a trace is the job's duration at its place without
 * contention: the cost of spreading, and contention when the trace was taken, are in
 * it and not charged again.  Jobs without a known model, and jobs on one host, have
 * speed 1. Jobs that share GPUs (groups) are slowed by that as without a fabric, and
 * by the fabric in addition.
 *
 * Random phases are drawn once per job, from its id and the seed; for a window in
 * which a job is new, from the seed and the number of windows before.  Speeds are
 * those of the steady state from the first second on.  Pure.
 */
#ifndef SIM_CLUSTER_FABRIC_H
#define SIM_CLUSTER_FABRIC_H

#include "scheduler/core/workload/work_model.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/histogram.h"

struct err;
struct fabric;
struct topo;

/* How jobs of components are shifted, and which plan is taken (augment.h). */
enum fabric_augment {
	FABRIC_NONE, /* Random phases, the first plan. */
	/* Its shifts, kept by its agents; none in a loop.  Its Algorithm 2. */
	FABRIC_CASSINI,
	/*
	 * Paths chosen for the flows where the fabric hashes (fabric_paths.h), and
	 * joint shifts at work-conserving gates or random phases, whichever the engine
	 * finds better; random phases above 16 jobs.  Takes the plan with the smallest
	 * sum of GPUs times the mean square of slowdowns; above 16 jobs, the one in
	 * which jobs overlap least (fabric_choose.c).
	 */
	FABRIC_ANTIPHASE,
	/*
	 * CASSINI with agents that delay a job once without corrections: what they do
	 * to jobs with unrelated periods is not published.
	 */
	FABRIC_CASSINI_ONCE,
	FABRIC_DEDICATED, /* No contention: a bound that nothing can beat. */
	FABRIC_SPRAY,     /* As NONE, over all equally short paths at once. */
	/*
	 * As NONE, with paths, priorities, moves and weights as published: see
	 * sim/baselines/baseline.h and fabric_baseline.h.
	 */
	FABRIC_CRUX,
	FABRIC_CRUX_PATHS,
	FABRIC_MONKEYTREE,
	FABRIC_MLTCP,
	FABRIC_MLTCP_TEXT,
};

extern const char *const fabric_augment_names[]; /* "none", ...; ends with NULL. */

struct fabric_opts {
	enum fabric_augment augment;
	/* Of FABRIC_ANTIPHASE, as in struct advise_opts; 0: all but ADVISE_MOVE. */
	unsigned levers;
	double moves_per_hour; /* Share of the running jobs; 0: default (moves.h). */
	double move_cost_s;    /* Time that a moved job loses; 0: default. */
	uint64_t seed;
	double jitter_frac; /* Standard deviation of compute times. */
	/*
	 * Limit for the slowest job of a component, and 8 times that for all in the
	 * mean.  0: 128 and 1024; for n > 8 jobs 8192 / n^2 and 8 times that, but at
	 * least 16; windows above 16 jobs without shifts.
	 */
	uint32_t max_iterations;
	size_t max_remembered; /* Components; 0: 16384. */
	bool measure;          /* For fabric_times(); takes longer. */
	bool may_move;         /* Racks may be kept by fabric_monkeytree.h. */
};

struct fabric_counts {
	uint64_t n_components;     /* Of two or more jobs, with requested speeds. */
	uint64_t n_solved;         /* Of those, new ones. */
	uint64_t n_exact, n_means; /* Runs that repeated; that did not. */
	uint64_t n_shifted;        /* Solved ones with shifts. */
	uint64_t n_loops;          /* CASSINI's, which then have no shifts. */
	uint64_t n_choices;        /* Decisions between several plans. */
	uint64_t n_judged;         /* Plans evaluated in these. */
	uint32_t max_jobs;         /* In a component. */
	double max_error;          /* Largest standard error over the mean. */
	uint64_t n_path_changes;   /* Flows that were given another path. */
	uint64_t n_moves;          /* Of running jobs. */
	uint64_t n_starts_moved;   /* Starts on other nodes than the policy's. */
	double moved_lost_s;       /* By moves of running jobs, in all. */
	uint64_t n_nodes_moved;    /* Nodes that MonkeyTree's moves left. */
	uint64_t n_windows;        /* Runs of a window. */
	double window_error;       /* Root mean square of their errors. */
};

/* All iterations of jobs with a known model, also on one host. */
struct fabric_times {
	struct histogram iteration_s;
	struct histogram slowdown; /* Over the isolated iteration time at its place. */
	double ecn_packets;        /* Marked packets, estimated (engine/ecn.h). */
};

/*
 * 'model_of' has each job's number in 'models', or POL_NONE; all is borrowed.  Returns
 * 0, or -EINVAL with 'err' filled: the cluster has more nodes than the fabric has
 * hosts.
 */
int fabric_new(const struct pol_cluster *cluster, struct topo *topo,
	       const struct work_model *models, const uint32_t *model_of, size_t n_jobs,
	       const struct fabric_opts *opts, struct fabric **ret_fabric,
	       struct err *err);
void fabric_free(struct fabric *fabric); /* Accepts NULL. */

struct cluster_work fabric_work(struct fabric *fabric);
struct fabric_counts fabric_counts(const struct fabric *fabric);
/* Borrowed. */
const struct fabric_times *fabric_times(const struct fabric *fabric);

#endif
