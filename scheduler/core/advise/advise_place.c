/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_place.c - placement of the waiting jobs of a plan, by each policy.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

/* ---- Order ----------------------------------------------------------------------- */

struct arrival {
	int64_t arrival_ns;
	uint32_t job;
};

static int
compare_arrivals(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->arrival_ns != y->arrival_ns)
		return x->arrival_ns < y->arrival_ns ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

uint32_t *
waiting_jobs(const struct advise_ctx *ctx, size_t *ret_n)
{
	const struct workload *workload = ctx->workload;
	struct arrival *arrivals = xcalloc(workload->n + 1, sizeof *arrivals);
	uint32_t *jobs = xcalloc(workload->n + 1, sizeof *jobs);
	size_t n = 0;

	for (uint32_t j = 0; j < workload->n; j++)
		if (!workload->jobs[j].hosts)
			arrivals[n++] =
				(struct arrival){ workload->jobs[j].arrival_ns, j };
	qsort(arrivals, n, sizeof *arrivals, compare_arrivals);
	for (size_t i = 0; i < n; i++)
		jobs[i] = arrivals[i].job;
	free(arrivals);
	*ret_n = n;
	return jobs;
}

/* ---- Fair ------------------------------------------------------------------------ */

/*
 * Packs one job if it fits.  A job whose hosts cannot reach each other waits, like a
 * job without room.
 */
static void
pack_one(struct plan *plan, const struct advise_ctx *ctx, uint32_t job)
{
	uint32_t *hosts =
		xcalloc(ctx->workload->jobs[job].n_hosts_wanted, sizeof *hosts);
	int r = place_pack(plan->place, job, hosts);

	if (r == 0)
		(void)place_put(plan->place, job, hosts);
	free(hosts);
}

void
place_waiting_packed(struct plan *plan, const struct advise_ctx *ctx)
{
	size_t n;
	uint32_t *jobs = waiting_jobs(ctx, &n);

	for (size_t i = 0; i < n; i++)
		pack_one(plan, ctx, jobs[i]);
	free(jobs);
}

/* ---- By prediction --------------------------------------------------------------- */

/* State while jobs are placed one by one, and the remaining effort. */
struct judge {
	struct plan *plan;
	const struct advise_ctx *ctx;
	double *slowdown; /* Owned.  By job: last prediction, 1 if none. */
	double budget;    /* For this job, in flows. */
};

/*
 * The sum of weight / slowdown over a component, minus the sum without 'job'; a very
 * low value if a job is slowed beyond the cap.
 */
static double
goodput_gained(const struct judge *judge, const struct component *component,
	       const struct prediction *prediction, uint32_t job)
{
	double sum = 0;

	for (size_t i = 0; i < component->n_jobs; i++) {
		uint32_t j = component->jobs[i];
		double weight = judge->ctx->workload->jobs[j].weight;
		double slowdown = prediction_mean(prediction, i);

		sum += weight / slowdown;
		if (slowdown > fmax(judge->ctx->opts.max_slowdown,
				    judge->slowdown[j] * (1 + ADVISE_HARM_FRAC)))
			sum -= PLACE_BEYOND_CAP * weight;
		if (j != job)
			sum -= weight / judge->slowdown[j];
	}
	return sum;
}

static void
apply_shifts(const struct component *component, const struct judge *judge,
	     struct predict_job *jobs)
{
	struct joint_opts opts = { .seed = judge->ctx->opts.seed, .n_restarts = 2 };
	struct component_problem problem;
	struct joint_result *result;

	component_problem_make(component, judge->plan->place, judge->ctx, &problem);
	result = joint_solve(&problem.problem, &opts);
	BUG_ON(!result);
	for (size_t i = 0; i < component->n_jobs; i++) {
		jobs[i].shift_us = result->shift_us[i];
		jobs[i].has_random_phase = false;
		jobs[i].pacing = ENGINE_PACE_GATE;
	}
	joint_result_free(result);
	component_problem_fini(&problem);
}

/*
 * The iterations of a prediction: as many as of those that are kept, or fewer, so that
 * the budget suffices for two places.
 */
static uint32_t
iterations_for(const struct judge *judge, const struct predict_job *jobs, size_t n,
	       uint32_t n_runs)
{
	double most = judge->ctx->n_iterations;
	double cost = 2 * n_runs * predict_cost(jobs, n, judge->ctx->n_iterations);

	if (cost <= judge->budget)
		return judge->ctx->n_iterations;
	return (uint32_t)fmin(
		most, fmax(most * judge->budget / cost, PLACE_JUDGE_ITERATIONS));
}

/*
 * Predicts the job at its present place, unshifted and, if jobs may be shifted, shifted;
 * keeps the better.
 */
static double
judge_here(const struct judge *judge, uint32_t job, struct component *ret_component,
	   struct prediction *ret_prediction, double *ret_cost)
{
	const struct advise_ctx *ctx = judge->ctx;
	struct predict_opts opts = { .seed = ctx->opts.seed,
				     .n_seeds = PLACE_JUDGE_SEEDS };
	struct predict_job *jobs;
	struct prediction shifted;
	double gained, gained_shifted;
	uint32_t n_runs;
	bool is_shifted;

	component_around(judge->plan->place, ctx, job, PLACE_JUDGE_MAX_JOBS,
			 ret_component);
	jobs = component_predict_jobs(ret_component, judge->plan->place, ctx);
	is_shifted = ret_component->n_jobs > 1 && (ctx->opts.levers & ADVISE_TIME);
	n_runs = (is_shifted ? 2 : 1) * PLACE_JUDGE_SEEDS;
	opts.n_iterations = iterations_for(judge, jobs, ret_component->n_jobs, n_runs);
	*ret_cost =
		n_runs * predict_cost(jobs, ret_component->n_jobs, opts.n_iterations);
	predict(jobs, ret_component->n_jobs, ctx->topo, &opts, ret_prediction);
	gained = goodput_gained(judge, ret_component, ret_prediction, job);
	if (is_shifted) {
		apply_shifts(ret_component, judge, jobs);
		predict(jobs, ret_component->n_jobs, ctx->topo, &opts, &shifted);
		gained_shifted = goodput_gained(judge, ret_component, &shifted, job);
		if (gained_shifted > gained) {
			struct prediction swap = *ret_prediction;

			*ret_prediction = shifted;
			shifted = swap;
			gained = gained_shifted;
		}
		prediction_fini(&shifted);
	}
	free(jobs);
	return gained;
}

static void
learn(struct judge *judge, const struct component *component,
      const struct prediction *prediction)
{
	for (size_t i = 0; i < component->n_jobs; i++)
		judge->slowdown[component->jobs[i]] = prediction_mean(prediction, i);
}

/* Places the job on the candidate with the best prediction, if there is one. */
static void
put_best(struct judge *judge, uint32_t job, const struct place_candidates *candidates)
{
	struct component best_component = { 0 };
	struct prediction best_prediction = { 0 };
	double best = 0, spent = 0;
	size_t best_i = SIZE_MAX;

	for (size_t i = 0; i < candidates->n; i++) {
		struct component component;
		struct prediction prediction;
		double cost, gained;

		if (i > 1 && spent + spent / (double)i > judge->budget)
			break;
		if (place_put(judge->plan->place, job, candidates->items[i].hosts) < 0)
			continue;
		gained = judge_here(judge, job, &component, &prediction, &cost);
		place_remove(judge->plan->place, job);
		spent += cost;
		/* Without a clear difference, the bound's ranking stands. */
		if (best_i == SIZE_MAX || gained > best + 1e-6 * fabs(best) + 1e-9) {
			best = gained;
			best_i = i;
			component_fini(&best_component);
			prediction_fini(&best_prediction);
			best_component = component;
			best_prediction = prediction;
		} else {
			component_fini(&component);
			prediction_fini(&prediction);
		}
	}
	if (best_i != SIZE_MAX)
		(void)place_put(judge->plan->place, job,
				candidates->items[best_i].hosts);
	learn(judge, &best_component, &best_prediction);
	component_fini(&best_component);
	prediction_fini(&best_prediction);
}

static void
predicted_one(struct judge *judge, uint32_t job)
{
	const struct advise_ctx *ctx = judge->ctx;
	uint32_t n_hosts = ctx->workload->jobs[job].n_hosts_wanted;
	struct place_candidates candidates;
	size_t n_tries = PLACE_SEARCH_FLOWS / n_hosts;

	if (n_tries > 400)
		n_tries = 400;
	if (n_tries < 20)
		n_tries = 20;
	if (place_search(judge->plan->place, job, ctx->opts.seed, n_tries,
			 ctx->opts.n_candidates, &candidates) < 0)
		return;
	if (candidates.n == 1 || candidates.items[0].loss <= 0)
		(void)place_put(judge->plan->place, job, candidates.items[0].hosts);
	else
		put_best(judge, job, &candidates);
	place_candidates_fini(&candidates);
}

static void
predict_in_order(struct plan *plan, const struct advise_ctx *ctx, const uint32_t *jobs,
		 size_t n)
{
	struct judge judge = {
		.plan = plan,
		.ctx = ctx,
		.slowdown = xcalloc(ctx->workload->n + 1, sizeof(double)),
		.budget = PLACE_JUDGE_FLOWS / (double)(n ? n : 1),
	};

	for (size_t j = 0; j < ctx->workload->n; j++)
		judge.slowdown[j] = 1;
	for (size_t i = 0; i < n; i++)
		predicted_one(&judge, jobs[i]);
	free(judge.slowdown);
}

void
place_waiting_predicted(struct plan *plan, const struct advise_ctx *ctx)
{
	size_t n;
	uint32_t *jobs = waiting_jobs(ctx, &n);

	predict_in_order(plan, ctx, jobs, n);
	free(jobs);
}

static bool
are_all_put(const struct plan *plan, const uint32_t *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!place_hosts(plan->place, jobs[i]))
			return false;
	return true;
}

/*
 * The job placed last has the least choice, so the largest come first, equals in order
 * of arrival.  If not all fit in this order, all are packed in order of arrival, since
 * earlier jobs have priority.
 */
void
place_waiting_largest_first(struct plan *plan, const struct advise_ctx *ctx)
{
	size_t n;
	uint32_t *jobs = waiting_jobs(ctx, &n);
	const struct work_job *all = ctx->workload->jobs;

	/* A stable insertion sort: there are few jobs. */
	for (size_t i = 1; i < n; i++) {
		uint32_t job = jobs[i];
		size_t k = i;

		for (;
		     k > 0 && all[jobs[k - 1]].n_hosts_wanted < all[job].n_hosts_wanted;
		     k--)
			jobs[k] = jobs[k - 1];
		jobs[k] = job;
	}
	predict_in_order(plan, ctx, jobs, n);
	if (!are_all_put(plan, jobs, n)) {
		for (size_t i = 0; i < n; i++)
			if (place_hosts(plan->place, jobs[i]))
				place_remove(plan->place, jobs[i]);
		place_waiting_packed(plan, ctx);
	}
	free(jobs);
}
