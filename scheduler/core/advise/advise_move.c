/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_move.c - moves of jobs of a plan, step by step.
 *
 * moves_search.h offers the best steps by the bound of slowdowns.  Each of the first few
 * is predicted as a plan of its own, with paths and shifts as for any plan, and the one
 * with the best bill is taken if it pays.  So what paths or shifts solve is never moved.
 * Where the effort allows only the least number of runs, only the best step is predicted.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/advise/moves_search.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

struct mover {
	const struct advise_ctx *ctx;
	struct plan *plan;
	struct moves_job *jobs; /* Owned. */
	double *before, *after; /* Owned.  Slowdowns by job. */
	uint32_t *n_workers;    /* Owned.  By job, zero between steps. */
	uint32_t n_allowed;
	bool is_again; /* complete_again() was called. */
};

static void
mover_init(struct mover *mover, struct plan *plan, const struct advise_ctx *ctx)
{
	const struct advise_opts *opts = &ctx->opts;
	size_t n = ctx->workload->n;
	uint32_t n_running = 0;

	*mover = (struct mover){
		.ctx = ctx,
		.plan = plan,
		.jobs = xcalloc(n + 1, sizeof *mover->jobs),
		.before = xcalloc(n + 1, sizeof *mover->before),
		.after = xcalloc(n + 1, sizeof *mover->after),
		.n_workers = xcalloc(n + 1, sizeof *mover->n_workers),
	};
	for (uint32_t j = 0; j < n; j++) {
		const struct work_job *job = &ctx->workload->jobs[j];
		struct moves_job *mj = &mover->jobs[j];

		*mj = moves_job_of(job);
		n_running += !mj->is_waiting;
		/* Paths of its own belong to its hosts. */
		if (!place_hosts(plan->place, j) || job->paths ||
		    (mj->is_waiting && !(opts->levers & ADVISE_PLACE)) ||
		    moves_is_resting(opts->past_moves, opts->n_past_moves, opts->now_s,
				     j))
			mj->is_movable = false;
	}
	mover->n_allowed = moves_allowed(opts->past_moves, opts->n_past_moves,
					 opts->now_s, n_running, opts->moves_per_hour);
}

static void
mover_fini(struct mover *mover)
{
	free(mover->jobs);
	free(mover->before);
	free(mover->after);
	free(mover->n_workers);
}

/* Whether there is more than one place that could change. */
static bool
has_choice(const struct mover *mover)
{
	size_t n_running = 0, n_waiting = 0;

	for (size_t j = 0; j < mover->ctx->workload->n; j++) {
		n_waiting += mover->jobs[j].is_movable && mover->jobs[j].is_waiting;
		n_running += mover->jobs[j].is_movable && !mover->jobs[j].is_waiting;
	}
	return n_waiting > 1 || (n_running > 0 && mover->n_allowed > 0);
}

static bool
is_in(const struct moves_step *step, uint32_t job)
{
	for (uint32_t i = 0; step && i < step->n_jobs; i++)
		if (step->jobs[i] == job)
			return true;
	return false;
}

/*
 * The plan with other hosts for the jobs of the step, if any.  All others begin on their
 * present paths, so that a difference comes from the step.
 */
static int
plan_step(const struct mover *mover, const struct moves_step *step,
	  struct plan *ret_plan)
{
	const struct place *now = mover->plan->place;
	int r = 0;

	plan_begin(ret_plan, mover->ctx);
	for (uint32_t j = 0; j < mover->ctx->workload->n && r == 0; j++)
		if (place_hosts(now, j) && !is_in(step, j))
			r = place_put_as(ret_plan->place, j, now);
	for (uint32_t i = 0; step && i < step->n_jobs && r == 0; i++)
		r = place_put(ret_plan->place, step->jobs[i], step->hosts[i]);
	return r < 0 ? r : plan_complete(ret_plan, mover->ctx);
}

/* The bill of 'next' in place of the plan. */
static void
bill_step(struct mover *mover, const struct moves_step *step, const struct plan *next,
	  struct moves_bill *ret_bill)
{
	size_t n = mover->ctx->workload->n;

	for (uint32_t i = 0; i < step->n_jobs; i++)
		mover->n_workers[step->jobs[i]] = step->n_workers[i];
	for (uint32_t j = 0; j < n; j++) {
		mover->before[j] = plan_slowdown(mover->plan, mover->ctx, j);
		mover->after[j] = plan_slowdown(next, mover->ctx, j);
	}
	moves_bill(mover->jobs, n, mover->before, mover->after, mover->n_workers,
		   ret_bill);
	for (uint32_t i = 0; i < step->n_jobs; i++)
		mover->n_workers[step->jobs[i]] = 0;
}

/* Takes the step: 'next', which is emptied, becomes the plan. */
static void
take_step(struct mover *mover, const struct moves_step *step,
	  const struct moves_bill *bill, struct plan *next)
{
	struct plan *plan = mover->plan;
	struct plan_move *none = next->moves;

	next->moves = plan->moves;
	plan->moves = none;
	plan_fini(plan);
	*plan = *next;
	*next = (struct plan){ 0 };
	for (uint32_t i = 0; i < step->n_jobs; i++) {
		uint32_t job = step->jobs[i], other = TOPO_NONE;
		struct moves_job *mj = &mover->jobs[job];

		mj->is_movable = false;
		if (mj->is_waiting)
			continue;
		mover->n_allowed--;
		if (step->n_jobs > 1)
			other = step->jobs[1 - i];
		plan->moves[job] = (struct plan_move){
			.n_workers = step->n_workers[i],
			.with = other,
			.lost_s = moves_lost_s(mj, step->n_workers[i]),
			.bill = *bill,
		};
	}
}

/*
 * Gives the plan without a move the search for paths and shifts that each plan with one
 * has in addition, lest that counts as the gain of a move.
 */
static int
complete_again(struct mover *mover)
{
	struct plan again;
	int r = plan_step(mover, NULL, &again);

	mover->is_again = true;
	if (r == 0 &&
	    plan_goodput(&again, mover->ctx) >= plan_goodput(mover->plan, mover->ctx) &&
	    !plan_breaks_cap(&again, mover->ctx->reference, mover->ctx)) {
		struct plan swap = *mover->plan;

		*mover->plan = again;
		again = swap;
	}
	plan_fini(&again);
	return r;
}

/* Predicts the steps, and takes the one with the best bill; false: none pays. */
static int
take_best(struct mover *mover, const struct moves_steps *steps, bool *ret_taken)
{
	const struct moves_step *best = NULL;
	struct moves_bill best_bill = { 0 };
	struct plan best_plan = { 0 };
	int r = 0;

	for (size_t i = 0; i < steps->n && r == 0; i++) {
		struct moves_bill bill = { 0 };
		struct plan next;

		r = plan_step(mover, &steps->items[i], &next);
		if (r == 0)
			bill_step(mover, &steps->items[i], &next, &bill);
		if (r < 0 || !bill.pays ||
		    plan_breaks_cap(&next, mover->ctx->reference, mover->ctx) ||
		    (best &&
		     bill.gain - bill.cost <= best_bill.gain - best_bill.cost)) {
			plan_fini(&next);
			continue;
		}
		plan_fini(&best_plan);
		best = &steps->items[i];
		best_bill = bill;
		best_plan = next;
	}
	if (r == 0 && best && !mover->is_again) {
		r = complete_again(mover);
		if (r == 0)
			bill_step(mover, best, &best_plan, &best_bill);
	}
	*ret_taken = r == 0 && best && best_bill.pays;
	if (*ret_taken)
		take_step(mover, best, &best_bill, &best_plan);
	plan_fini(&best_plan);
	return r;
}

int
plan_move_jobs(struct plan *plan, const struct advise_ctx *ctx)
{
	size_t n_predicted = ctx->n_seeds > ADVISE_MIN_SEEDS ? MOVES_PREDICTED : 1;
	struct mover mover;
	bool is_taken = true;
	int r = 0;

	mover_init(&mover, plan, ctx);
	for (int i = 0; i < MOVES_MAX_STEPS && is_taken && has_choice(&mover); i++) {
		const struct moves_opts opts = { .seed = ctx->opts.seed,
						 .n_allowed = mover.n_allowed,
						 .n_max = n_predicted };
		struct moves_steps steps;

		moves_search(plan->place, mover.jobs, &opts, &steps);
		is_taken = steps.n > 0;
		if (is_taken)
			r = take_best(&mover, &steps, &is_taken);
		moves_steps_fini(&steps);
		if (r < 0)
			break;
	}
	mover_fini(&mover);
	return r;
}
