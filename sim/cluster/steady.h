/*
 * steady.h - how long the iterations of some jobs take together, in the long run.
 *
 * Runs the engine until the joint state is what it was before (Brent's way to find a cycle:
 * one state is kept), seen each time the slowest job begins an iteration: then what lies
 * between repeats for ever, and the mean is exact.  Under jitter, or if it has not repeated
 * within the limits, it is the mean over the iterations that began after the first quarter of
 * the time (or a job's last one, if none of its did), with its standard error from 16 batches
 * of equal time.  Pure and deterministic.  Costs what the engine does for as many iterations;
 * memory grows with their number, 16 bytes each.
 */
#ifndef SIM_CLUSTER_STEADY_H
#define SIM_CLUSTER_STEADY_H

#include "sim/cluster/histogram.h"
#include "sim/cluster/link_subset.h"

struct steady {
	bool is_exact;
	uint64_t n_iterations; /* Simulated, of all jobs. */
	double max_error; /* Standard error over the mean, the largest; 0: exact. */
};

/* Of a job; costs time. */
struct steady_seen {
	struct histogram times_ns; /* Owned.  Of its iterations. */
	double ecn_packets;        /* An iteration, by estimate (ecn.h). */
};

/*
 * A run ends after so many iterations of the slowest job (by its own period), or so many of
 * all jobs, in the mean over jobs, but not before the slowest has had one.
 */
struct steady_limits {
	uint32_t of_slowest, of_each;
};

/*
 * 'ret_iteration_ns' has room for each job, as 'ret_rms_ns' and 'ret_seen' have, if they are
 * not NULL: the mean of the times of its iterations, and the root of the mean of their
 * squares, which is the more above it, the less equal they are.  0, or -EINVAL as
 * engine_add_job().
 */
int steady_run(const struct link_subset_job *jobs, size_t n, const struct topo *topo,
	       uint64_t seed, struct steady_limits limits, double *ret_iteration_ns,
	       double *ret_rms_ns, struct steady_seen *ret_seen,
	       struct steady *ret_steady);

#endif
