/*
 * steady.h - how long the iterations of some jobs take together, in the long run.
 *
 * Runs the engine until the joint state is what it was before (Brent's way to find a cycle:
 * one state is kept), seen each time the slowest job begins an iteration: then what lies
 * between repeats for ever, and the mean is exact.  Under jitter, or if it has not repeated
 * after 'max_iterations' of the slowest job, or 8 times as many iterations a job of all, it
 * is the mean over what came after the first quarter, with its standard error from 16
 * batches.  Pure and deterministic.
 */
#ifndef SIM_CLUSTER_STEADY_H
#define SIM_CLUSTER_STEADY_H

#include "scheduler/core/workload/workload.h"
#include "sim/cluster/spread.h"

struct steady_job {
	const struct work_job *job; /* Borrowed, as the next. */
	const struct laid_job *laid;
	int64_t shift_ns;
	enum engine_pacing pacing;
};

struct steady {
	bool is_exact;
	uint64_t n_iterations; /* Simulated, of all jobs. */
	double max_error; /* Standard error over the mean, the largest; 0: exact. */
};

/* Of a job; costs time. */
struct steady_seen {
	struct spread times_ns; /* Owned.  Of its iterations. */
	double ecn_packets;     /* An iteration, by estimate (ecn.h). */
};

/*
 * 'ret_iteration_ns' has room for each job, as 'ret_rms_ns' and 'ret_seen' have, if they are
 * not NULL: the mean of the times of its iterations, and the root of the mean of their
 * squares, which is the more above it, the less equal they are.  0, or -EINVAL as
 * engine_add_job().
 */
int steady_run(const struct steady_job *jobs, size_t n, const struct topo *topo,
	       uint64_t seed, uint32_t max_iterations, double *ret_iteration_ns,
	       double *ret_rms_ns, struct steady_seen *ret_seen,
	       struct steady *ret_steady);

#endif
