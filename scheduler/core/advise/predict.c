/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/predict.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "lib/base/vec.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

/* The observer's state of one job. */
struct seen {
	double first_end_ns, last_end_ns; /* Of iterations after the warm-up. */
	uint64_t n;                       /* Ends after the warm-up. */
	double any_end_ns;                /* The last end, warm-up included. */
	uint64_t n_any;
};

struct watch {
	struct seen *seen;
	double warm_up_ns;
};

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct watch *watch = ctx;
	struct seen *seen = &watch->seen[job];

	(void)start_ns;
	seen->any_end_ns = end_ns;
	seen->n_any = iteration + 1;
	if (end_ns < watch->warm_up_ns)
		return;
	if (seen->n == 0)
		seen->first_end_ns = end_ns;
	seen->last_end_ns = end_ns;
	seen->n++;
}

/* The links of the jobs under dense numbers, so that the engine stays small. */
struct dense {
	struct routed_job *routed; /* Shallow copies with own path_links; one a job. */
	double *capacity_bps;      /* Owned.  By dense link. */
	uint32_t n_links;
};

static void
dense_init(struct dense *dense, const struct predict_job *jobs, size_t n,
	   const struct topo *topo)
{
	uint32_t *number = xcalloc(topo_n_links(topo) + 1, sizeof *number);
	VEC(double) capacities = VEC_EMPTY;

	dense->routed = xcalloc(n + 1, sizeof *dense->routed);
	for (size_t j = 0; j < n; j++) {
		const struct routed_job *routed = jobs[j].routed;
		size_t n_hops =
			routed->flows.n ? routed->path_first[routed->flows.n] : 0;

		dense->routed[j] = *routed;
		dense->routed[j].path_links = xcalloc(n_hops + 1, sizeof(uint32_t));
		for (size_t i = 0; i < n_hops; i++) {
			uint32_t link = routed->path_links[i];

			if (number[link] == 0) {
				vec_push(&capacities,
					 topo_link(topo, link)->capacity_bps);
				number[link] = (uint32_t)capacities.n;
			}
			dense->routed[j].path_links[i] = number[link] - 1;
		}
	}
	free(number);
	dense->capacity_bps = capacities.items;
	dense->n_links = (uint32_t)capacities.n;
}

static void
dense_fini(struct dense *dense, size_t n)
{
	for (size_t j = 0; j < n; j++)
		free(dense->routed[j].path_links);
	free(dense->routed);
	free(dense->capacity_bps);
}

/*
 * The duration of a run: 'n_iterations' of the longest period, but limited so that jobs
 * with short periods do not dominate, see PREDICT_MAX_SPREAD.
 */
static double
horizon_ns(const struct predict_job *jobs, size_t n, uint32_t n_iterations)
{
	double longest_us = 0, per_us = 0, limit_us, horizon_us;

	for (size_t j = 0; j < n; j++) {
		double period_us = (double)jobs[j].job->profile.period_us;

		if (period_us > longest_us)
			longest_us = period_us;
		per_us += 1 / period_us;
	}
	if (!(per_us > 0))
		return 0;
	limit_us = PREDICT_MAX_SPREAD * (double)n_iterations * (double)n / per_us;
	horizon_us = fmin((double)n_iterations * longest_us, limit_us);
	return 1e3 * fmax(horizon_us,
			  fmin(PREDICT_MIN_ITERATIONS * longest_us, 64 * limit_us));
}

double
predict_cost(const struct predict_job *jobs, size_t n, uint32_t n_iterations)
{
	double end_ns = horizon_ns(jobs, n, n_iterations), cost = 0;

	for (size_t j = 0; j < n; j++) {
		double n_runs = end_ns / (1e3 * (double)jobs[j].job->profile.period_us);

		cost += n_runs *
			(double)(1 + jobs[j].routed->flows.n *
					     (jobs[j].job->profile.n_phases + 1));
	}
	return cost;
}

/* Slowdown of one job in one run. */
static double
slowdown_of(const struct seen *seen, const struct predict_job *job, double end_ns)
{
	double period_ns = 1e3 * (double)job->job->profile.period_us;
	double iteration_ns;

	if (seen->n >= 2)
		iteration_ns = (seen->last_end_ns - seen->first_end_ns) /
			       (double)(seen->n - 1);
	else if (seen->n_any >= 1)
		iteration_ns = seen->any_end_ns / (double)seen->n_any;
	else
		iteration_ns = end_ns;
	return iteration_ns / period_ns;
}

static bool
takes_time(const struct predict_job *job)
{
	for (size_t i = 0; i < job->job->n_segments; i++) {
		const struct work_segment *s = &job->job->segments[i];

		if (s->compute_ns > 0 || (s->nic_bytes > 0 && job->routed->flows.n))
			return true;
	}
	return false;
}

/* One run; job j's slowdown goes to slowdown[j * stride]. */
static void
run_once(const struct predict_job *jobs, size_t n, const struct dense *dense,
	 uint64_t seed, double end_ns, double *slowdown, size_t stride)
{
	struct seen *seen = xcalloc(n + 1, sizeof *seen);
	struct watch watch = { .seen = seen };
	struct engine_config config = {
		.capacity_bps = dense->capacity_bps,
		.n_links = dense->n_links,
		.seed = seed,
		.observer = { .ctx = &watch, .on_iteration = on_iteration },
	};
	struct engine *engine = engine_new(&config);
	uint32_t *ids = xcalloc(n + 1, sizeof *ids);
	double latest_ns = 0;

	for (size_t j = 0; j < n; j++) {
		struct work_job job = *jobs[j].job;
		int64_t shift_ns = jobs[j].shift_us * 1000;
		struct rng rng;

		rng_init_stream(&rng, seed, j);
		if (jobs[j].has_random_phase)
			shift_ns = (int64_t)rng_below(
				&rng, (uint64_t)job.profile.period_us * 1000);
		latest_ns = fmax(latest_ns, (double)shift_ns);
		job.arrival_ns = 0;
		job.stop_ns = ENGINE_NEVER;
		job.max_iterations = 0;
		ids[j] = UINT32_MAX;
		if (takes_time(&jobs[j]) &&
		    routed_job_add(&job, &dense->routed[j], engine, shift_ns,
				   jobs[j].pacing, &ids[j]) < 0)
			ids[j] = UINT32_MAX;
	}
	end_ns += latest_ns;
	watch.warm_up_ns = latest_ns + PREDICT_WARM_UP_FRAC * (end_ns - latest_ns);
	engine_run(engine, (int64_t)end_ns);
	for (size_t j = 0; j < n; j++)
		slowdown[j * stride] =
			ids[j] == UINT32_MAX
				? 1
				: slowdown_of(&seen[ids[j]], &jobs[j], end_ns);
	engine_free(engine);
	free(ids);
	free(seen);
}

void
predict(const struct predict_job *jobs, size_t n, const struct topo *topo,
	const struct predict_opts *opts, struct prediction *ret_prediction)
{
	double end_ns = horizon_ns(jobs, n, opts->n_iterations);
	struct dense dense;

	*ret_prediction = (struct prediction){
		.n_jobs = n,
		.n_seeds = opts->n_seeds,
		.slowdown = xcalloc(n * opts->n_seeds + 1, sizeof(double)),
	};
	dense_init(&dense, jobs, n, topo);
	for (uint32_t s = 0; s < opts->n_seeds; s++)
		run_once(jobs, n, &dense, rng_mix(opts->seed + s), end_ns,
			 ret_prediction->slowdown + s, opts->n_seeds);
	dense_fini(&dense, n);
}

void
prediction_fini(struct prediction *prediction)
{
	free(prediction->slowdown);
	*prediction = (struct prediction){ 0 };
}

double
prediction_mean(const struct prediction *prediction, size_t job)
{
	double sum = 0;

	for (size_t s = 0; s < prediction->n_seeds; s++)
		sum += prediction->slowdown[job * prediction->n_seeds + s];
	return sum / (double)prediction->n_seeds;
}

double
prediction_noise(const double *slowdown, size_t n_jobs, size_t n_seeds)
{
	double variances = 0, squares = 0;

	for (size_t j = 0; j < n_jobs; j++) {
		const double *runs = slowdown + j * n_seeds;
		double sd = stats_sd(runs, n_seeds);
		double above = stats_mean(runs, n_seeds) - 1;

		variances += sd * sd;
		squares += above * above;
	}
	return squares > 0 ? sqrt(variances / squares / (double)n_seeds) : 0;
}
