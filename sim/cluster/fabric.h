/*
 * fabric.h - how fast the jobs of a cluster are while their messages share a fabric.
 *
 * Node i of the cluster is host i of the fabric.  A job with GPUs on several hosts is its
 * model (scheduler/core/workload/work_model.h): it computes, and its collective sends over the
 * hosts that it has; GPUs of one host reach each other without the fabric.
 *
 * After each event jobs that meet on a link which all of them together could fill are a
 * component, and the engine runs each component that has changed until it repeats itself:
 *
 *	without jitter  until the joint state is again what it was, to the nanosecond; what
 *	                lies between repeats for ever, so that the time of an iteration is
 *	                exact, and days of it cost nothing
 *	otherwise       (jitter, or periods that do not lock within max_iterations): the
 *	                mean over what begins after a quarter of the time; counts tell how
 *	                many, and the largest standard error of such a mean, from 16
 *	                batches
 *	more than 16    for a window only, in which jobs go on from where they were
 *	                (window.h); unless shifts are tried, or max_iterations are given
 *
 * A component that has been seen before (the same jobs on the same hosts) is remembered, the
 * last 'max_remembered' of them.
 *
 * A job's speed is the time of an iteration alone on the same hosts over that with the
 * others, so a trace's duration_s is taken as what the job takes where it is placed with
 * nobody in its way: what spreading costs by itself, and what contention there was when the
 * trace was taken, is in it already and is not charged again.  Jobs whose model is not known,
 * and those on one host, have speed 1.
 *
 * Jobs that share their GPUs (groups) are slowed by that as without a fabric, and by the fabric
 * on top of it.
 *
 * Where phases are left to chance, a job's is drawn once, by its id and the seed; for a window
 * in which it is new, by the seed and the number of windows before.  Rates are
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

/* What is made of components, and which of several plans is taken (augment.h). */
enum fabric_augment {
	FABRIC_NONE, /* Phases left to chance, the first plan. */
	/* Its shifts, kept by its agents; none where there is a loop.  Its Algorithm 2. */
	FABRIC_CASSINI,
	/*
	 * Joint shifts at work-conserving gates, or chance: what the engine says is the
	 * better of the two; chance where more than 16 jobs meet.  The plan with the smallest
	 * sum of GPUs times the mean square of slowdowns; where more than 16 meet the one
	 * in which jobs overlap least (fabric_choose.c).
	 */
	FABRIC_ANTIPHASE,
	/*
	 * CASSINI, whose agents delay a job once and do not put it back: what they do to
	 * jobs whose periods do not agree is not published.
	 */
	FABRIC_CASSINI_ONCE,
	FABRIC_DEDICATED, /* Nobody meets anybody: what no other can be better than. */
};

extern const char *const fabric_augment_names[]; /* "none", ...; ends with NULL. */

struct fabric_opts {
	enum fabric_augment augment;
	uint64_t seed;
	double jitter_frac; /* Of each compute time; standard deviation. */
	/*
	 * Of the slowest job of a component, and 8 times as many of all in the mean.  0: 128
	 * and 1024; of n jobs above 8 8192 / n^2 and 8 times that, but 16 of each at least;
	 * windows where more than 16 meet that are not shifted.
	 */
	uint32_t max_iterations;
	size_t max_remembered; /* Components; 0: 16384. */
	bool measure;          /* fabric_times(); costs time. */
};

struct fabric_counts {
	uint64_t n_components;     /* Of two jobs or more, that rates were wanted of. */
	uint64_t n_solved;         /* Of those, not remembered. */
	uint64_t n_exact, n_means; /* Runs that repeated; that did not. */
	uint64_t n_shifted;        /* Solved ones that were given shifts. */
	uint64_t n_loops;          /* CASSINI's, without shifts. */
	uint64_t n_choices;        /* Decisions with several plans. */
	uint64_t n_judged;         /* Plans that were looked at, for those. */
	uint32_t max_jobs;         /* Of a component. */
	double max_error;          /* Standard error of a mean, over the mean. */
	uint64_t n_windows;        /* Runs in which jobs go on from where they were. */
	double window_error;       /* Of those: the root of the mean of its square. */
};

/* Of all iterations of all jobs whose model is known; those on one host, too. */
struct fabric_times {
	struct histogram iteration_s;
	struct histogram slowdown; /* Over an iteration of the job alone where it is. */
	double ecn_packets;        /* Marked, by estimate (engine/ecn.h). */
};

/*
 * 'model_of' has the number in 'models' of each of 'n_jobs' jobs, POL_NONE for none; all is
 * borrowed.  0, or -EINVAL with 'err' filled: the cluster has more nodes than the fabric
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
