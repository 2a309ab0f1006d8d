/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady.h - long-run iteration times of jobs that share links.
 *
 * Runs the engine until the joint state repeats (Brent's cycle detection: one state is
 * kept), sampled each time the slowest job begins an iteration.  Everything in between
 * then repeats indefinitely, and the mean is exact.  With jitter, or without repetition
 * within the limits, the result is the mean over iterations that began after the first
 * quarter of the time (or a job's last one), with a standard error from 16 batches of
 * equal time.
 *
 * Pure and deterministic.  The cost is that of the engine for these iterations; memory
 * is 16 bytes per iteration.
 */
#ifndef SIM_CLUSTER_STEADY_H
#define SIM_CLUSTER_STEADY_H

#include "sim/cluster/histogram.h"
#include "sim/cluster/link_subset.h"

struct steady {
	bool is_exact;
	uint64_t n_iterations; /* Simulated, of all jobs. */
	double max_error;      /* Largest standard error over the mean; 0: exact. */
};

/* Measured for a job; takes longer. */
struct steady_seen {
	struct histogram times_ns; /* Owned.  Iteration times. */
	double ecn_packets;        /* Per iteration, estimated (ecn.h). */
};

/*
 * Limits of a run: iterations of the slowest job (by its own period), or of all jobs
 * in the mean, whichever is reached first, but not before the slowest job has done
 * one.  A job that higher priorities leave nothing counts as slowed by as much as the
 * run lasts.
 */
struct steady_limits {
	uint32_t of_slowest, of_each;
};

/*
 * Fills for each job the mean iteration time, and unless NULL the root mean square of
 * its iteration times and what was measured.  Returns 0, or -EINVAL as
 * engine_add_job().
 */
int steady_run(const struct link_subset_job *jobs, size_t n, const struct topo *topo,
	       uint64_t seed, struct steady_limits limits, double *ret_iteration_ns,
	       double *ret_rms_ns, struct steady_seen *ret_seen,
	       struct steady *ret_steady);

#endif
