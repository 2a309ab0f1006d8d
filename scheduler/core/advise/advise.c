/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/advise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/words.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/workload/workload.h"
#include "topology/route.h"

const char *const advise_policy_names[N_ADVISE_POLICIES + 1] = { "fair", "cassini",
								 "antiphase", NULL };

/* In the order of their bits. */
static const char *const lever_names[] = { "place", "path", "time", "move", NULL };

int
advise_levers_read(const char *text, unsigned *ret_levers, struct err *err)
{
	unsigned levers = 0;
	bool is_more = true;

	while (is_more) {
		size_t length = strcspn(text, ",");
		char *word = xstrndup(text, length);
		int index = words_index(word, lever_names);

		if (index < 0) {
			err_set(err, NULL, 0, 0,
				"there is no lever '%.40s'; expected a list of place, "
				"path, time and move",
				word);
			err_suggest(err, word, lever_names);
			free(word);
			return -EINVAL;
		}
		free(word);
		levers |= 1u << index;
		is_more = text[length] == ',';
		text += length + 1;
	}
	*ret_levers = levers;
	return 0;
}

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

/* One way to place the waiting jobs and to route all. */
struct attempt {
	void (*place)(struct plan *plan, const struct advise_ctx *ctx);
	enum place_paths paths;
	unsigned levers; /* That it needs. */
	bool is_costly;
};

/* The first is the baseline. */
static const struct attempt attempts[] = {
	{ place_waiting_packed, PLACE_HASHED, 0, false },
	{ place_waiting_packed, PLACE_CHOSEN, ADVISE_PATH, false },
	{ place_waiting_predicted, PLACE_HASHED, ADVISE_PLACE, false },
	{ place_waiting_predicted, PLACE_CHOSEN, ADVISE_PLACE | ADVISE_PATH, false },
	{ place_waiting_largest_first, PLACE_HASHED, ADVISE_PLACE, true },
	{ place_waiting_largest_first, PLACE_CHOSEN, ADVISE_PLACE | ADVISE_PATH, true },
	{ place_waiting_cassini, PLACE_HASHED, ADVISE_PLACE, true },
};

#define N_ATTEMPTS (sizeof attempts / sizeof *attempts)

/*
 * CASSINI scores every link of the cluster for each place of each waiting job, so its
 * cost grows with waiting jobs x jobs; beyond this (about a second) its places are not
 * tried.  Nor are then a second order, and places with hashed paths where paths can be
 * chosen: they help only as other starts of a greedy search.
 */
#define MAX_WORK 2000

static bool
is_tried(const struct attempt *attempt, const struct advise_ctx *ctx)
{
	size_t waiting = n_waiting(ctx->workload);
	bool is_more =
		attempt->paths == PLACE_HASHED && (ctx->opts.levers & ADVISE_PATH);

	if (attempt == &attempts[0])
		return true;
	if ((attempt->levers & ctx->opts.levers) != attempt->levers)
		return false;
	if ((attempt->levers & ADVISE_PLACE) && waiting == 0)
		return false;
	return !(attempt->is_costly || is_more) ||
	       waiting * ctx->workload->n <= MAX_WORK;
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

int
plan_complete(struct plan *plan, const struct advise_ctx *ctx)
{
	int r = place_improve_paths(plan->place, ctx->opts.seed);

	if (r < 0)
		return r;
	if (ctx->opts.levers & ADVISE_TIME) {
		shift_by_prediction(plan, ctx);
		return 0;
	}
	plan_find_components(plan, ctx, TIE_EXCEEDABLE);
	plan_predict(plan, ctx);
	return 0;
}

/* Whether predictions are so expensive that only the best plan is shifted. */
static bool
is_shifted_last(const struct advise_ctx *ctx)
{
	return ctx->n_seeds == ADVISE_MIN_SEEDS && (ctx->opts.levers & ADVISE_TIME);
}

/*
 * Shifts the best of plans[], which are without shifts, and the first, which is the
 * baseline, if it can become the best that way.  Returns the best.
 */
static size_t
shift_best(struct plan *plans, size_t best, const struct advise_ctx *judging,
	   const struct advise_ctx *ctx)
{
	bool is_close = plan_goodput(&plans[0], ctx) >=
			plan_goodput(&plans[best], ctx) * (1 - ADVISE_HOPELESS_FRAC);

	if (best > 0)
		shift_predicted(&plans[best], judging);
	if (!is_close)
		return best;
	shift_predicted(&plans[0], ctx);
	return is_better_plan(&plans[best], &plans[0], ctx) ? best : 0;
}

/*
 * Shifts the jobs at the packed places, at the places of best prediction in two orders,
 * and at CASSINI's, and takes the best outcome.  So the advice is never predicted to be
 * worse than no advice, nor, where its places are tried, than CASSINI's places with the
 * same shifting: placing jobs one by one is greedy.  Then jobs move from there.
 *
 * In large workloads only the best of these is shifted.
 */
static int
plan_antiphase(const struct plan *before, struct plan *plan,
	       const struct advise_ctx *ctx)
{
	struct plan plans[N_ATTEMPTS] = { 0 };
	struct advise_ctx judging = *ctx;
	size_t best = 0;
	int r = 0;

	if (is_shifted_last(ctx))
		judging.opts.levers &= ~(unsigned)ADVISE_TIME;
	for (size_t i = 0; i < N_ATTEMPTS && r == 0; i++) {
		bool is_new = true;

		if (!is_tried(&attempts[i], ctx))
			continue;
		judging.paths = attempts[i].paths;
		r = plan_init(&plans[i], &judging);
		if (r < 0)
			break;
		attempts[i].place(&plans[i], &judging);
		for (size_t k = 0; k < i; k++)
			is_new &= !plans[k].place ||
				  attempts[k].paths != attempts[i].paths ||
				  !are_places_same(&plans[i], &plans[k], ctx);
		if (!is_new)
			continue;
		if (i == 0 && !(judging.opts.levers & ADVISE_TIME))
			plan_predict_as(&plans[i], before, &judging);
		else
			r = plan_complete(&plans[i], &judging);
		judging.reference = &plans[0];
		if (r < 0 || i == 0 || !is_better_plan(&plans[i], &plans[best], ctx))
			continue;
		r = plan_repair(&plans[i], &judging);
		if (r == 0 && !plan_breaks_cap(&plans[i], &plans[0], ctx) &&
		    is_better_plan(&plans[i], &plans[best], ctx))
			best = i;
	}
	if (r == 0 && (ctx->opts.levers & ADVISE_MOVE)) {
		judging.paths = attempts[best].paths;
		r = plan_move_jobs(&plans[best], &judging);
	}
	if (r == 0 && is_shifted_last(ctx))
		best = shift_best(plans, best, &judging, ctx);
	if (r == 0) {
		*plan = plans[best];
		plans[best] = (struct plan){ 0 };
	}
	for (size_t i = 0; i < N_ATTEMPTS; i++)
		plan_fini(&plans[i]);
	return r;
}

int
advise(const struct workload *workload, struct topo *topo, struct routes *routes,
       const struct advise_opts *opts, struct advice_set **ret_set)
{
	struct advise_ctx ctx = {
		.workload = workload,
		.topo = topo,
		.routes = routes,
		.opts = *opts,
		.n_seeds = 1,
		.n_iterations = 1,
		.paths = PLACE_HASHED,
	};
	struct plan before = { 0 }, plan = { 0 };
	int r;

	if (ctx.opts.levers == 0)
		ctx.opts.levers = ADVISE_ALL_LEVERS;
	if (!routes_all_hash(routes))
		ctx.opts.levers &= ~(unsigned)ADVISE_PATH;
	ctx.is_shifting =
		ctx.opts.policy == ADVISE_CASSINI || (ctx.opts.levers & ADVISE_TIME);
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
	if (!(ctx.opts.moves_per_hour > 0))
		ctx.opts.moves_per_hour = MOVES_SHARE_PER_HOUR;
	r = plan_before(&before, &ctx);
	if (r < 0)
		goto out;
	if (ctx.opts.policy == ADVISE_CASSINI)
		r = plan_cassini(&plan, &ctx);
	else if (ctx.opts.policy == ADVISE_ANTIPHASE)
		r = plan_antiphase(&before, &plan, &ctx);
	if (r == 0)
		*ret_set = advice_from(&before,
				       ctx.opts.policy == ADVISE_FAIR ? &before : &plan,
				       &ctx);
out:
	plan_fini(&plan);
	plan_fini(&before);
	return r;
}
