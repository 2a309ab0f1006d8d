/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.h - iteration times of many jobs that share links, from short windows.
 *
 * With tens of jobs the joint state does not repeat in reasonable time, and each
 * arrival or end makes another set of jobs.  So each set is run for a short window, in
 * which each job continues from the state of the last window.  Progress counts in
 * fractions of an iteration, so a window may be shorter than an iteration, and the
 * mean over windows is the mean over all simulated time.  A job that joins others
 * begins an iteration; if most jobs are new, each is in the middle of one, as if
 * isolated until then.  A job's iteration time comes from its latest windows, up to
 * WINDOW_MEMORY iterations.
 *
 * One such time is uncertain; the mean over a job's windows is much less so, and a
 * mean over jobs even less.  Deterministic given the windows before.  The cost is that
 * of the engine for WINDOW_ITERATIONS per job in the mean, or for WINDOW_OF_NEW times
 * the longest period of new jobs, whichever is more.
 */
#ifndef SIM_CLUSTER_WINDOW_H
#define SIM_CLUSTER_WINDOW_H

#include "sim/cluster/link_subset.h"
#include "sim/cluster/steady.h"

#define WINDOW_ITERATIONS 2 /* Ended in a window, a job in the mean. */
#define WINDOW_OF_NEW     2 /* Least periods of the slowest new job. */
#define WINDOW_MEMORY     8 /* Iterations. */

/* Results of a job's windows; all zero: no window yet. */
struct window_past {
	bool is_known;
	struct engine_point point; /* Its state.  Owned. */
	double iterations, ns; /* Work done, with fractions, and the time it took. */
	/* Ended iterations: number, sum of times, sum of squares. */
	double n_ended, sum_ns, sum_ns2;
};

void window_past_fini(struct window_past *past); /* Accepts a zeroed one. */

struct window {
	uint64_t n_iterations; /* Simulated, of all jobs. */
	/*
	 * Standard error over the mean, as if iterations were independent: the root
	 * mean square over jobs.
	 */
	double error;
};

/*
 * Runs a window and updates 'pasts' of each job; a job without a past begins at the
 * fraction 'phases' of an iteration.  Jobs are neither paced nor shifted.  Results are
 * as those of steady_run(); a job without an ended iteration is measured as one of its
 * mean.  Returns 0, or -EINVAL as engine_add_job() or for a past of another job.
 */
int window_run(const struct link_subset_job *jobs, size_t n, const struct topo *topo,
	       uint64_t seed, const double *phases, struct window_past *const *pasts,
	       double *ret_iteration_ns, double *ret_rms_ns,
	       struct steady_seen *ret_seen, struct window *ret_window);

#endif
