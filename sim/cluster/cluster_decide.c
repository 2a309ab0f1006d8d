/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_decide.c - the plan that is taken, and jobs that start, move and stop by it. */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/sort.h"
#include "sim/cluster/cluster_priv.h"

/* Chosen: the search ends after this many new places in a row without such a gain. */
#define SEARCH_FAILURES 32
#define SEARCH_GAIN     1e-3

static bool
is_as_it_was(const struct loop *l, const struct pol_grant *grant)
{
	const struct run *run = &l->runs[grant->job];

	return run->pieces.n == grant->n_pieces &&
	       memcmp(run->pieces.items, l->plan->pieces.items + grant->first_piece,
		      grant->n_pieces * sizeof *run->pieces.items) == 0;
}

/* What it costs to run a job as granted, while it runs elsewhere or waits. */
static double
cost_s(const struct loop *l, const struct pol_job *job, const struct pol_grant *grant)
{
	if (isnan(job->first_s))
		return 0;
	if (!job->n_pieces)
		return l->costs.restart_s;
	return job->n_held_gpus == grant->n_gpus ? l->costs.migrate_s
						 : l->costs.resize_s;
}

/* Starts a job, or moves it, which makes it lose 'lost_s' or the policy's cost. */
static void
start(struct loop *l, const struct pol_grant *grant, double lost_s)
{
	struct pol_job *job = &l->jobs[grant->job];
	struct run *run = &l->runs[grant->job];
	bool is_new = isnan(job->first_s);
	double cost = lost_s > 0 ? lost_s : cost_s(l, job, grant);

	run->pieces.n = 0;
	for (uint32_t i = 0; i < grant->n_pieces; i++)
		vec_push(&run->pieces, l->plan->pieces.items[grant->first_piece + i]);
	job->works_s = l->view.now_s + cost;
	job->pieces = run->pieces.items;
	job->n_pieces = grant->n_pieces;
	job->n_held_gpus = grant->n_gpus;
	/* A move is not the policy's: a lease goes on. */
	if (!(lost_s > 0))
		job->since_s = l->view.now_s;
	if (is_new)
		job->first_s = l->view.now_s;
	job->n_starts++;
}

static void
list_running(struct loop *l)
{
	l->running.n = 0;
	for (size_t i = 0; i < l->plan->grants.n; i++)
		vec_push(&l->running, l->plan->grants.items[i].job);
	sort_items(l->running.items, l->running.n, sort_by_u32);
}

static void
take(struct loop *l)
{
	l->mark++;
	for (size_t i = 0; i < l->plan->grants.n; i++)
		l->runs[l->plan->grants.items[i].job].mark = l->mark;
	for (size_t i = 0; i < l->running.n; i++) {
		struct pol_job *job = &l->jobs[l->running.items[i]];

		if (l->runs[job->id].mark != l->mark)
			cluster_preempt(l, job);
	}
	for (size_t i = 0; i < l->plan->grants.n; i++) {
		const struct pol_grant *grant = &l->plan->grants.items[i];
		struct pol_job *job = &l->jobs[grant->job];
		bool ran = job->n_pieces > 0;

		job->group = grant->group;
		job->is_opportunistic = grant->n_owners > 0;
		job->given = grant->given;
		job->n_ranks = grant->n_ranks;
		l->runs[grant->job].first_owner = grant->first_owner;
		l->runs[grant->job].n_owners = grant->n_owners;
		if (is_as_it_was(l, grant))
			continue;
		l->counts->n_migrations += ran;
		start(l, grant, l->lost_s.n ? l->lost_s.items[i] : 0);
		if (!ran)
			policy_event(l->policy, &l->view, POL_STARTED, job);
	}
	list_running(l);
}

/*
 * Places the jobs of the chosen plan anew one by one while that costs less; the plan
 * with the result is taken if it is better by the augmentation's own choice, too.
 */
static uint32_t
search(struct loop *l, uint32_t chosen)
{
	const struct augment *augment = &l->opts->work->augment;
	struct pol_plan plans[2] = { l->plans[chosen] }, spare = { 0 };
	double best =
		augment->judge(augment->ctx, &l->view, &l->plans[chosen], INFINITY);
	uint32_t failed = 0;
	bool is_found = false;

	while (best > 0 && failed < SEARCH_FAILURES &&
	       policy_vary(l->policy, &l->view, is_found ? &plans[1] : &plans[0],
			   &spare)) {
		double limit = best * (1 - SEARCH_GAIN), cost;

		failed++;
		cost = augment->judge(augment->ctx, &l->view, &spare, limit);
		if (cost < limit) {
			struct pol_plan old = plans[1];

			plans[1] = spare;
			spare = old;
			best = cost;
			failed = 0;
			is_found = true;
		}
	}
	if (is_found && augment->choose(augment->ctx, &l->view, plans, 2) == 1) {
		uint32_t to = chosen ? chosen : 1;

		pol_plan_fini(&l->plans[to]);
		l->plans[to] = plans[1];
		plans[1] = (struct pol_plan){ 0 };
		chosen = to;
	}
	pol_plan_fini(&plans[1]);
	pol_plan_fini(&spare);
	return chosen;
}

static void
move(struct loop *l, struct pol_plan *plan)
{
	const struct cluster_work *work = l->opts->work;

	l->lost_s.n = 0;
	if (!work->move || !policy_keeps_places(l->policy))
		return;
	for (size_t i = 0; i < plan->grants.n; i++)
		vec_push(&l->lost_s, 0);
	work->move(work->ctx, &l->view, plan, l->lost_s.items);
	BUG_ON(l->opts->check && pol_plan_why_not(plan, &l->view));
}

static void
check_plans(const struct loop *l, uint32_t n)
{
	for (uint32_t i = 0; l->opts->check && i < n; i++) {
		const char *why = pol_plan_why_not(&l->plans[i], &l->view);

		if (why)
			BUG("a plan with %s", why);
	}
}

static void
choose(struct loop *l)
{
	const struct cluster_work *work = l->opts->work;
	const struct augment *augment = &work->augment;
	uint32_t n = policy_decide(l->policy, &l->view, l->plans,
				   augment->choose ? AUGMENT_MAX_PLANS : 1);
	uint32_t chosen = 0;

	check_plans(l, n);
	if (n > 1)
		chosen = augment->choose(augment->ctx, &l->view, l->plans, n);
	if (n > 1 && augment->judge)
		chosen = search(l, chosen);
	l->plan = &l->plans[chosen];
	l->counts->n_augmented += chosen > 0;
	move(l, &l->plans[chosen]);
}

/* Stops jobs as the caller wants, whatever the policy. */
static void
interrupt(struct loop *l)
{
	size_t n = 0;

	for (size_t i = 0; l->opts->interrupt && i < l->running.n; i++) {
		struct pol_job *job = &l->jobs[l->running.items[i]];

		if (l->opts->interrupt(l->opts->ctx, &l->view, job))
			cluster_preempt(l, job);
		else
			l->running.items[n++] = job->id;
	}
	if (l->opts->interrupt)
		l->running.n = n;
}

void
cluster_decide(struct loop *l)
{
	interrupt(l);
	if (policy_is_due(l->policy, &l->view)) {
		choose(l);
		l->counts->n_decisions++;
		take(l);
		policy_taken(l->policy, &l->view, l->plan);
		if (l->opts->on_plan)
			l->opts->on_plan(l->opts->ctx, &l->view, l->plan);
	}
	cluster_predict_ends(l);
}
