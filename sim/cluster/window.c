/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster/window.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

/*
 * Mean iterations per job after which the window ends even if new jobs have not been
 * seen long enough.
 */
#define MOST_ITERATIONS 256

/* A job in this window. */
struct view {
	uint32_t n_ended;
	double began,
		done; /* In iterations: its progress at the begin, and its progress in the window. */
	double sum_ns, sum_ns2;
	struct histogram times_ns; /* If measured. */
};

struct run {
	struct engine *engine;
	struct view *views;
	size_t n;
	int64_t new_ns; /* Least length of the window, for new jobs. */
	uint64_t n_all;
	bool is_measured;
};

void
window_past_fini(struct window_past *past)
{
	engine_point_fini(&past->point);
	*past = (struct window_past){ 0 };
}

static bool
is_enough(const struct run *run, double now_ns)
{
	uint64_t n_each =
		now_ns < (double)run->new_ns ? MOST_ITERATIONS : WINDOW_ITERATIONS;

	return run->n_all >= n_each * run->n;
}

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct run *run = ctx;
	struct view *view = &run->views[job];
	double took_ns = end_ns - start_ns;

	(void)iteration;
	view->sum_ns += took_ns;
	view->sum_ns2 += took_ns * took_ns;
	if (run->is_measured)
		histogram_add(&view->times_ns, took_ns, 1);
	view->n_ended++;
	run->n_all++;
	if (is_enough(run, end_ns))
		engine_stop(run->engine);
}

/*
 * Begins the job's iteration if it joins others.  If most jobs are new, each is in the
 * middle of one, so that they do not begin together.
 */
static int
begin(struct run *run, const struct link_subset_job *jobs, const double *phases,
      struct window_past *const *pasts)
{
	size_t n_new = 0;
	int64_t slowest_us = 0; /* Of new jobs. */
	bool are_amid;
	int r = 0;

	for (size_t j = 0; j < run->n; j++)
		n_new += !pasts[j]->is_known;
	are_amid = 2 * n_new > run->n;
	for (uint32_t j = 0; r == 0 && j < run->n; j++) {
		struct engine_point amid = { 0 };

		if (!pasts[j]->is_known && are_amid)
			engine_point_amid(run->engine, j, phases[j], &amid);
		r = engine_job_resume(run->engine, j,
				      pasts[j]->is_known ? &pasts[j]->point : &amid);
		engine_point_fini(&amid);
		run->views[j].began = engine_job_progress(run->engine, j);
		if (!pasts[j]->is_known && jobs[j].job->profile.period_us > slowest_us)
			slowest_us = jobs[j].job->profile.period_us;
	}
	run->new_ns = WINDOW_OF_NEW * 1000 * slowest_us;
	return r;
}

/* Adds the window to a job's past; older windows fade. */
static void
remember(const struct run *run, uint32_t j, struct window_past *past)
{
	struct view *view = &run->views[j];
	double room, kept = 0;

	view->done = engine_job_progress(run->engine, j) - view->began;
	room = fmax(0, WINDOW_MEMORY - view->done);
	if (past->iterations > 0)
		kept = fmin(1, room / past->iterations);
	past->is_known = true;
	past->iterations = kept * past->iterations + view->done;
	past->ns = kept * past->ns + engine_now_ns(run->engine);
	past->n_ended = kept * past->n_ended + view->n_ended;
	past->sum_ns = kept * past->sum_ns + view->sum_ns;
	past->sum_ns2 = kept * past->sum_ns2 + view->sum_ns2;
	engine_point_fini(&past->point);
	engine_job_point(run->engine, j, &past->point);
}

/*
 * Iteration time.  Without progress the isolated one, since with jitter a job may compute
 * for longer than a short window, or all windows, since higher priorities may leave
 * nothing.
 */
static double
time_of(const struct window_past *past, const struct work_job *job)
{
	return past->iterations > 0
		       ? past->ns / past->iterations
		       : fmax(past->ns, 1e3 * (double)job->profile.period_us);
}

/* Mean square of ended iterations over their squared mean; 1: none ended. */
static double
unevenness(const struct window_past *past)
{
	return past->sum_ns > 0 ? fmax(1, past->sum_ns2 * past->n_ended /
						  (past->sum_ns * past->sum_ns))
				: 1;
}

/*
 * Marks are those of the window's time: a job with a flow that gets nothing makes no
 * progress, while its other flows are marked.
 */
static void
see(const struct run *run, uint32_t j, double iteration_ns, struct steady_seen *ret)
{
	struct view *view = &run->views[j];
	double now_ns = engine_now_ns(run->engine);
	struct engine_job_stats stats;
	double share;

	if (!view->n_ended)
		histogram_add(&view->times_ns, iteration_ns, 1);
	share = now_ns > 0 ? histogram_mean(&view->times_ns) / now_ns : 0;
	engine_job_stats(run->engine, j, &stats);
	*ret = (struct steady_seen){
		.times_ns = view->times_ns,
		.ecn_packets = stats.ecn_packets * share,
	};
}

int
window_run(const struct link_subset_job *jobs, size_t n, const struct topo *topo,
	   uint64_t seed, const double *phases, struct window_past *const *pasts,
	   double *ret_iteration_ns, double *ret_rms_ns, struct steady_seen *ret_seen,
	   struct window *ret_window)
{
	struct run run = { .n = n, .is_measured = ret_seen != NULL };
	const struct engine_config config = {
		.seed = seed,
		.measure_links = ret_seen != NULL,
		.observer = { .ctx = &run, .on_iteration = on_iteration }
	};
	double error2 = 0;
	int r = link_subset_engine(jobs, n, topo, &config, &run.engine);

	if (r < 0)
		return r;
	run.views = xcalloc(n + 1, sizeof *run.views);
	r = begin(&run, jobs, phases, pasts);
	if (r == 0)
		engine_run(run.engine, run.new_ns);
	if (r == 0 && !is_enough(&run, engine_now_ns(run.engine)))
		engine_run(run.engine, ENGINE_NEVER);
	for (uint32_t j = 0; r == 0 && j < n; j++) {
		struct window_past *past = pasts[j];
		double uneven;

		remember(&run, j, past);
		uneven = unevenness(past);
		ret_iteration_ns[j] = time_of(past, jobs[j].job);
		ret_rms_ns[j] = ret_iteration_ns[j] * sqrt(uneven);
		error2 += (uneven - 1) / fmax(1, past->n_ended) / (double)n;
		if (ret_seen)
			see(&run, j, ret_iteration_ns[j], &ret_seen[j]);
	}
	*ret_window =
		(struct window){ .n_iterations = run.n_all, .error = sqrt(error2) };
	engine_free(run.engine);
	free(run.views);
	return r;
}
