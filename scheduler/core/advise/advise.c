/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/workload/workload.h"

const char *const advise_policy_names[N_ADVISE_POLICIES + 1] = { "fair", "cassini",
								 "antiphase", NULL };

static double
cost_of(const struct plan *plan, const struct advise_ctx *ctx, uint32_t n_iterations)
{
	double cost = 0;

	for (size_t i = 0; i < plan->components.n; i++) {
		const struct component *c = &plan->components.items[i];
		struct predict_job *jobs = component_predict_jobs(c, plan->place, ctx);

		cost += predict_cost(jobs, c->n_jobs, n_iterations);
		free(jobs);
	}
	return cost;
}

/*
 * Sets the numbers of runs and iterations that the budget allows.  It counts flows and
 * reads no clock, so that the same input gives the same result everywhere.
 */
static void
set_effort(struct advise_ctx *ctx, const struct plan *before)
{
	double per_run = ctx->opts.effort_flows / ADVISE_PREDICTIONS / ADVISE_MIN_SEEDS;
	double n_iterations = (double)ADVISE_LONGER * ctx->opts.n_iterations;
	double cost = cost_of(before, ctx, (uint32_t)n_iterations);

	if (cost > per_run)
		n_iterations = fmax(n_iterations * per_run / cost,
				    fmin(20, ctx->opts.n_iterations));
	ctx->n_iterations = (uint32_t)n_iterations;
	cost = cost_of(before, ctx, ctx->n_iterations);
	ctx->n_seeds = ADVISE_MIN_SEEDS;
	while (ctx->n_seeds < ADVISE_SEEDS &&
	       cost * (ctx->n_seeds + 1) * ADVISE_PREDICTIONS <= ctx->opts.effort_flows)
		ctx->n_seeds++;
}

/* The plan without antiphase. */
static int
plan_before(struct plan *plan, struct advise_ctx *ctx)
{
	int r = plan_init(plan, ctx);

	if (r < 0)
		return r;
	place_waiting_packed(plan, ctx);
	plan_find_components(plan, ctx, TIE_EXCEEDABLE);
	set_effort(ctx, plan);
	plan_find_components(plan, ctx, TIE_EXCEEDABLE);
	plan_predict(plan, ctx);
	return 0;
}

static int
plan_cassini(struct plan *plan, const struct advise_ctx *ctx)
{
	int r = plan_init(plan, ctx);

	if (r < 0)
		return r;
	place_waiting_cassini(plan, ctx);
	shift_by_cassini(plan, ctx);
	return 0;
}

/* True if a plan slows a job beyond the cap, and 'base' does not. */
static bool
breaks_cap(const struct plan *plan, const struct plan *base,
	   const struct advise_ctx *ctx)
{
	for (uint32_t j = 0; j < ctx->workload->n; j++) {
		double after = plan_slowdown(plan, ctx, j);

		if (after > plan_limit(ctx, plan_slowdown(base, ctx, j)))
			return true;
	}
	return false;
}

static size_t
n_contended_jobs(const struct plan *plan)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->components.n; i++)
		n += plan->components.items[i].n_jobs;
	return n;
}

/* More goodput, or equal goodput with fewer jobs to be acted on. */
static bool
is_better_plan(const struct plan *a, const struct plan *b, const struct advise_ctx *ctx)
{
	double goodput = plan_goodput(b, ctx);

	if (n_contended_jobs(a) < n_contended_jobs(b))
		return plan_goodput(a, ctx) >= goodput;
	return plan_goodput(a, ctx) > goodput * (1 + ADVISE_WORTH_FRAC);
}

static size_t
n_waiting(const struct workload *workload)
{
	size_t n = 0;

	for (size_t j = 0; j < workload->n; j++)
		n += !workload->jobs[j].hosts;
	return n;
}

/*
 * Placements of the waiting jobs: the first is the baseline, the last is tried only if
 * its cost is bounded.
 */
static void (*const placers[])(struct plan *plan, const struct advise_ctx *ctx) = {
	place_waiting_packed,
	place_waiting_predicted,
	place_waiting_largest_first,
	place_waiting_cassini,
};

#define N_PLACERS (sizeof placers / sizeof *placers)

/*
 * CASSINI scores every link of the cluster for each place of each waiting job, so its
 * cost grows with waiting jobs x jobs; beyond this (about a second) its places are not
 * tried.
 */
#define CASSINI_MAX_WORK 2000

/* Number of placers to try. */
static size_t
n_placers(const struct workload *workload)
{
	size_t waiting = n_waiting(workload);

	if (waiting == 0)
		return 1;
	return waiting * workload->n <= CASSINI_MAX_WORK ? N_PLACERS : N_PLACERS - 1;
}

/* Whether all jobs are in the same places. */
static bool
are_places_same(const struct plan *a, const struct plan *b,
		const struct advise_ctx *ctx)
{
	for (uint32_t j = 0; j < ctx->workload->n; j++) {
		const uint32_t *x = place_hosts(a->place, j);
		const uint32_t *y = place_hosts(b->place, j);
		uint32_t n_hosts = ctx->workload->jobs[j].n_hosts_wanted;

		if (!x != !y || (x && memcmp(x, y, n_hosts * sizeof *x)))
			return false;
	}
	return true;
}

/*
 * Shifts the jobs at the packed places, at the places of best prediction in two orders,
 * and at CASSINI's, and takes the best outcome.  So the advice is never predicted to be
 * worse than no advice, nor, where its places are tried, than CASSINI's places with the
 * same shifting: placing jobs one by one is greedy.
 */
static int
plan_antiphase(struct plan *plan, const struct advise_ctx *ctx)
{
	size_t n = n_placers(ctx->workload), best = 0;
	struct plan plans[N_PLACERS] = { 0 };
	struct advise_ctx judging = *ctx;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_new = true;

		r = plan_init(&plans[i], ctx);
		if (r < 0)
			break;
		placers[i](&plans[i], ctx);
		for (size_t k = 0; k < i; k++)
			is_new &= !are_places_same(&plans[i], &plans[k], ctx);
		if (!is_new)
			continue;
		shift_by_prediction(&plans[i], &judging);
		judging.reference = &plans[0];
		if (i > 0 && !breaks_cap(&plans[i], &plans[0], ctx) &&
		    is_better_plan(&plans[i], &plans[best], ctx))
			best = i;
	}
	if (r == 0) {
		*plan = plans[best];
		plans[best] = (struct plan){ 0 };
	}
	for (size_t i = 0; i < N_PLACERS; i++)
		plan_fini(&plans[i]);
	return r;
}

int
advise(const struct workload *workload, struct topo *topo, struct routes *routes,
       const struct advise_opts *opts, struct advice_set **ret_set)
{
	struct advise_ctx ctx = { workload, topo, routes, *opts, 1, 1, NULL };
	struct plan before = { 0 }, plan = { 0 };
	int r;

	if (!(ctx.opts.max_slowdown > 0))
		ctx.opts.max_slowdown = ADVISE_MAX_SLOWDOWN;
	if (ctx.opts.n_candidates == 0)
		ctx.opts.n_candidates = ADVISE_CANDIDATES;
	if (ctx.opts.n_iterations == 0)
		ctx.opts.n_iterations = ADVISE_ITERATIONS;
	if (ctx.opts.n_restarts == 0)
		ctx.opts.n_restarts = ADVISE_RESTARTS;
	if (!(ctx.opts.effort_flows > 0))
		ctx.opts.effort_flows = ADVISE_EFFORT_FLOWS;
	r = plan_before(&before, &ctx);
	if (r < 0)
		goto out;
	if (ctx.opts.policy == ADVISE_CASSINI)
		r = plan_cassini(&plan, &ctx);
	else if (ctx.opts.policy == ADVISE_ANTIPHASE)
		r = plan_antiphase(&plan, &ctx);
	if (r == 0)
		*ret_set = advice_from(&before,
				       ctx.opts.policy == ADVISE_FAIR ? &before : &plan,
				       &ctx);
out:
	plan_fini(&plan);
	plan_fini(&before);
	return r;
}
