/*
 * window.h - how fast the iterations of many jobs are, from short looks at them.
 *
 * Where tens of jobs meet, their joint state does not repeat in any time worth waiting for,
 * and whoever comes or goes makes another set of them.  So each set is run for a short window
 * only, in which each job goes on from where the window before has left it.  What a job got done
 * is counted to the share of an iteration, so a window may be shorter than an iteration, and
 * the mean over windows is that over all the time that was run.  A job that comes to others
 * begins an iteration; where most are new they are amid one, as if alone up to there.  A job's
 * time of an iteration is taken from the latest windows that show WINDOW_MEMORY of them.
 *
 * One such time is uncertain; that of a job over the windows of its life is much less so, and a
 * mean over many jobs less again.  Deterministic for the windows before.  Costs what the engine
 * does for WINDOW_ITERATIONS a job in the mean, or for WINDOW_OF_NEW times the longest period of
 * the jobs that are new, whichever is more.
 */
#ifndef SIM_CLUSTER_WINDOW_H
#define SIM_CLUSTER_WINDOW_H

#include "sim/cluster/link_subset.h"
#include "sim/cluster/steady.h"

#define WINDOW_ITERATIONS 2 /* Ended in a window, a job in the mean. */
#define WINDOW_OF_NEW     2 /* Periods of the slowest job that is new, at least. */
#define WINDOW_MEMORY     8 /* Iterations. */

/* What windows have shown of a job; all zero: none yet. */
struct window_past {
	bool is_known;
	struct engine_point point; /* Where it is.  Owned. */
	double iterations, ns; /* What it got done, in shares too, and in what time. */
	/* Of those that ended: how many, their times, and the squares of these. */
	double n_ended, sum_ns, sum_ns2;
};

void window_past_fini(struct window_past *past); /* Accepts a zeroed one. */

struct window {
	uint64_t n_iterations; /* Simulated, of all jobs. */
	/*
	 * Of the times told: standard error over the mean, as if iterations were independent
	 * of each other; the root of the mean of the squares over jobs.
	 */
	double error;
};

/*
 * 'pasts' of each job, which are brought up to the end of the window; a job without one begins
 * at its share of 'phases' of an iteration.  Jobs are neither paced nor shifted.  Results are as
 * those of steady_run(), but for a job of which no iteration has ended: one of its mean is what
 * is seen of it.  0, or -EINVAL as engine_add_job() or for a past of another job.
 */
int window_run(const struct link_subset_job *jobs, size_t n, const struct topo *topo,
	       uint64_t seed, const double *phases, struct window_past *const *pasts,
	       double *ret_iteration_ns, double *ret_rms_ns,
	       struct steady_seen *ret_seen, struct window *ret_window);

#endif
