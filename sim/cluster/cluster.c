/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - the loop over events. */
#include "sim/cluster/cluster.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/sort.h"
#include "policies/stages.h"

/* Chosen: the search ends after so many jobs placed anew that gained less than this. */
#define SEARCH_FAILURES 32
#define SEARCH_GAIN     1e-3

/* The loop's state of a job, beyond what policies see. */
struct run {
	double speed;   /* Work per second, once it works. */
	double works_s; /* End of its start. */
	double end_s;   /* At the present speed; INFINITY: it does not run. */
	VEC(struct pol_piece) pieces;
	uint64_t mark;                  /* The last plan that has it. */
	uint32_t next_mate;             /* Ring of the jobs on the same GPUs. */
	uint32_t first_owner, n_owners; /* Of the last plan. */
};

struct loop {
	const struct cluster_job *input;
	size_t n, n_arrived, n_done;
	struct policy *policy;
	double restart_s;
	const struct cluster_opts *opts;
	struct pol_view view;
	struct pol_job *jobs; /* By id. */
	struct run *runs;
	VEC(uint32_t) ids;                 /* Submitted and not done; ascending. */
	VEC(uint32_t) running;             /* Jobs with GPUs; events scan only these. */
	VEC(uint32_t) done;                /* Ended at this event. */
	VEC(double) speeds;                /* By position in 'ids'. */
	VEC(const struct pol_job *) mates; /* Of one job. */
	VEC(double) lost_s;                /* By grant, by a move; empty: none. */
	struct pol_plan plans[AUGMENT_MAX_PLANS];
	const struct pol_plan *plan; /* The plan taken. */
	struct cluster_result *results;
	struct cluster_counts *counts;
	double advanced_s; /* Time of the last event. */
	uint64_t mark;
};

/* ---- Events ---------------------------------------------------------------------- */

static void
refresh_view(struct loop *l)
{
	l->view.ids = l->ids.items;
	l->view.n_jobs = (uint32_t)l->ids.n;
}

static void
stop(struct loop *l, uint32_t id)
{
	struct pol_job *job = &l->jobs[id];
	struct run *run = &l->runs[id];

	run->pieces.n = 0;
	run->end_s = INFINITY;
	job->pieces = NULL;
	job->n_pieces = job->n_held_gpus = 0;
	job->group = id;
	job->is_opportunistic = false;
	job->since_s = l->view.now_s;
}

/* Work since the last event. */
static double
worked_s(const struct loop *l, uint32_t id)
{
	return fmax(0, l->view.now_s - fmax(l->advanced_s, l->runs[id].works_s));
}

static void
report_worked(const struct loop *l, const struct pol_job *job, double dt_s)
{
	const struct cluster_work *work = l->opts->work;

	if (work->worked && job->n_pieces && dt_s > 0)
		work->worked(work->ctx, job, dt_s);
}

/* Notes the result of a job that has worked for 'worked' since its last advance. */
static void
note_result(struct loop *l, uint32_t id, double end_s, double worked)
{
	const struct pol_job *job = &l->jobs[id];

	l->results[id] = (struct cluster_result){
		.first_s = job->first_s,
		.end_s = end_s,
		.executed_s = job->executed_s + worked,
		.attained_s = job->attained_s + worked * job->n_held_gpus,
		.n_starts = job->n_starts,
		.n_preempted = job->n_preempted,
	};
}

/* Removes ended jobs from 'ids'; both ascend. */
static void
forget(struct loop *l, const uint32_t *done, size_t n_done)
{
	size_t n = 0, k = 0;

	for (size_t i = 0; i < l->ids.n; i++) {
		if (k < n_done && l->ids.items[i] == done[k])
			k++;
		else
			l->ids.items[n++] = l->ids.items[i];
	}
	l->ids.n = n;
	refresh_view(l);
}

static void
complete(struct loop *l)
{
	size_t n = 0;

	l->done.n = 0;
	for (size_t i = 0; i < l->running.n; i++) {
		uint32_t id = l->running.items[i];
		struct pol_job *job = &l->jobs[id];

		if (l->runs[id].end_s > l->view.now_s) {
			l->running.items[n++] = id;
			continue;
		}
		note_result(l, id, l->view.now_s, worked_s(l, id));
		report_worked(l, job, worked_s(l, id));
		stop(l, id);
		vec_free(&l->runs[id].pieces);
		l->n_done++;
		vec_push(&l->done, id);
		policy_event(l->policy, &l->view, POL_DONE, job);
	}
	l->running.n = n;
	if (l->done.n)
		forget(l, l->done.items, l->done.n);
}

static void
arrive(struct loop *l)
{
	while (l->n_arrived < l->n &&
	       l->input[l->n_arrived].submit_s <= l->view.now_s) {
		const struct cluster_job *in = &l->input[l->n_arrived];
		uint32_t id = (uint32_t)l->n_arrived++;

		l->jobs[id] = (struct pol_job){
			.id = id,
			.submit_s = in->submit_s,
			.n_gpus = in->n_gpus,
			.max_gpus = in->max_gpus,
			.user = in->user,
			.vc = in->vc,
			.model = in->model,
			.priority = in->priority,
			.duration_s = in->duration_s,
			.predicted_s = in->predicted_s,
			.iteration_s = in->iteration_s,
			.stage_s = { in->stage_s[0], in->stage_s[1], in->stage_s[2] },
			.skew = in->skew,
			.remaining_s = in->duration_s,
			.first_s = NAN,
			.since_s = l->view.now_s,
			.group = id,
		};
		l->runs[id].end_s = INFINITY;
		vec_push(&l->ids, id);
		refresh_view(l);
		policy_event(l->policy, &l->view, POL_ARRIVED, &l->jobs[id]);
	}
}

/* Advances running jobs to the current event. */
static void
advance(struct loop *l)
{
	const struct cluster_work *work = l->opts->work;

	for (size_t i = 0; i < l->running.n; i++) {
		struct pol_job *job = &l->jobs[l->running.items[i]];
		const struct run *run = &l->runs[job->id];
		double dt_s = worked_s(l, job->id);

		report_worked(l, job, dt_s);
		if (work->advance) {
			work->advance(work->ctx, job, run->speed, dt_s);
		} else {
			job->executed_s += dt_s;
			job->remaining_s -= dt_s * run->speed;
		}
		job->attained_s += dt_s * job->n_held_gpus;
	}
	l->advanced_s = l->view.now_s;
}

/* ---- Decisions ------------------------------------------------------------------- */

static bool
is_as_it_was(const struct loop *l, const struct pol_grant *grant)
{
	const struct run *run = &l->runs[grant->job];

	return run->pieces.n == grant->n_pieces &&
	       memcmp(run->pieces.items, l->plan->pieces.items + grant->first_piece,
		      grant->n_pieces * sizeof *run->pieces.items) == 0;
}

/* Starts a job, or moves it, which makes it lose 'lost_s'. */
static void
start(struct loop *l, const struct pol_grant *grant, double lost_s)
{
	struct pol_job *job = &l->jobs[grant->job];
	struct run *run = &l->runs[grant->job];
	bool is_new = isnan(job->first_s);

	run->pieces.n = 0;
	for (uint32_t i = 0; i < grant->n_pieces; i++)
		vec_push(&run->pieces, l->plan->pieces.items[grant->first_piece + i]);
	if (lost_s > 0)
		run->works_s = l->view.now_s + lost_s;
	else
		run->works_s = l->view.now_s + (is_new ? 0 : l->restart_s);
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

		if (l->runs[job->id].mark == l->mark)
			continue;
		stop(l, job->id);
		job->n_preempted++;
		l->counts->n_preemptions++;
		policy_event(l->policy, &l->view, POL_STOPPED, job);
	}
	for (size_t i = 0; i < l->plan->grants.n; i++) {
		const struct pol_grant *grant = &l->plan->grants.items[i];
		struct pol_job *job = &l->jobs[grant->job];
		bool ran = job->n_pieces > 0;

		job->group = grant->group;
		job->is_opportunistic = grant->n_owners > 0;
		job->cpus = grant->cpus;
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

static void
link_mates(struct loop *l)
{
	for (size_t i = 0; i < l->running.n; i++) {
		const struct pol_job *job = &l->jobs[l->running.items[i]];

		l->runs[job->id].next_mate = job->id;
		l->runs[job->group].next_mate = job->group;
	}
	for (size_t i = 0; i < l->running.n; i++) {
		const struct pol_job *job = &l->jobs[l->running.items[i]];

		if (job->group == job->id)
			continue;
		l->runs[job->id].next_mate = l->runs[job->group].next_mate;
		l->runs[job->group].next_mate = job->id;
	}
}

/* The owners of its GPUs, each once; some may have ended. */
static void
add_owners(struct loop *l, const struct run *run)
{
	for (uint32_t i = 0; i < run->n_owners; i++) {
		uint32_t id = l->plan->owners.items[run->first_owner + i].job;
		bool is_new = l->jobs[id].n_pieces > 0;

		for (size_t k = 0; is_new && k < l->mates.n; k++)
			is_new = l->mates.items[k]->id != id;
		if (is_new)
			vec_push(&l->mates, &l->jobs[id]);
	}
}

/* Speed without contention, with the jobs that share its GPUs. */
static double
speed_of(struct loop *l, const struct pol_job *job)
{
	const struct pol_speed *speed = &l->view.speed;
	double least = INFINITY;
	uint32_t last = 0;

	l->mates.n = 0;
	if (job->is_opportunistic)
		add_owners(l, &l->runs[job->id]);
	/* The first job of the group may have ended. */
	for (uint32_t id = l->runs[job->id].next_mate; id != job->id;
	     id = l->runs[id].next_mate)
		if (l->jobs[id].n_pieces)
			vec_push(&l->mates, &l->jobs[id]);
	for (uint32_t i = 0; i < job->n_pieces; i++) {
		uint32_t type = l->view.cluster->type_of[job->pieces[i].node];

		/* A gang is as fast as the slowest of its types. */
		if (i && type == last)
			continue;
		last = type;
		least = fmin(least, speed->speed(speed->ctx, job, job->n_held_gpus,
						 job->n_pieces, type, l->mates.items,
						 (uint32_t)l->mates.n));
	}
	return least;
}

/* Requests the speeds with contention. */
static void
ask_rates(struct loop *l)
{
	const struct cluster_work *work = l->opts->work;
	size_t at = 0;

	vec_reserve(&l->speeds, l->ids.n);
	for (size_t i = 0; i < l->ids.n; i++) {
		bool runs =
			at < l->running.n && l->running.items[at] == l->ids.items[i];

		l->speeds.items[i] = runs ? l->runs[l->ids.items[i]].speed : 0;
		at += runs;
	}
	work->rates(work->ctx, &l->view, l->speeds.items);
	for (size_t i = at = 0; at < l->running.n; i++)
		if (l->running.items[at] == l->ids.items[i])
			l->runs[l->running.items[at++]].speed = l->speeds.items[i];
}

/* Predicts the end of each running job at its present speed. */
static void
predict_ends(struct loop *l)
{
	link_mates(l);
	for (size_t i = 0; i < l->running.n; i++) {
		uint32_t id = l->running.items[i];

		l->runs[id].speed = speed_of(l, &l->jobs[id]);
	}
	if (l->opts->work->rates)
		ask_rates(l);
	for (size_t i = 0; i < l->running.n; i++) {
		const struct pol_job *job = &l->jobs[l->running.items[i]];
		struct run *run = &l->runs[job->id];

		run->end_s = fmax(l->view.now_s, run->works_s) +
			     job->remaining_s / run->speed;
	}
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

		BUG_ON(why);
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

static void
decide(struct loop *l)
{
	if (policy_is_due(l->policy, &l->view)) {
		choose(l);
		l->counts->n_decisions++;
		take(l);
		policy_taken(l->policy, &l->view, l->plan);
		if (l->opts->on_plan)
			l->opts->on_plan(l->opts->ctx, &l->view, l->plan);
	}
	predict_ends(l);
}

static double
next_s(struct loop *l)
{
	double next = policy_wakeup_s(l->policy, &l->view);

	if (l->n_arrived < l->n)
		next = fmin(next, l->input[l->n_arrived].submit_s);
	for (size_t i = 0; i < l->running.n; i++)
		next = fmin(next, l->runs[l->running.items[i]].end_s);
	return next;
}

static int
run(struct loop *l)
{
	while (l->n_done < l->n) {
		double now_s = next_s(l);

		if (!(now_s < INFINITY))
			break;
		if (now_s > l->opts->until_s) {
			l->view.now_s = l->opts->until_s;
			advance(l);
			break;
		}
		l->view.now_s = now_s;
		complete(l);
		arrive(l);
		advance(l);
		decide(l);
		l->counts->n_events++;
		if (l->opts->go_on &&
		    !l->opts->go_on(l->opts->ctx, (double)l->n_done / (double)l->n))
			return -ECANCELED;
	}
	return 0;
}

/* 0, -EINVAL or -ERANGE, as cluster_run(). */
static int
check_job(const struct policy *policy, const struct cluster_job *job, double until_s)
{
	double most_s = CLUSTER_MAX_ROUNDS * policy_round_s(policy);

	if (job->n_gpus > policy_max_gpus(policy) || !job->n_gpus)
		return -EINVAL;
	return fmin(job->duration_s, until_s - job->submit_s) > most_s ? -ERANGE : 0;
}

int
cluster_run(const struct cluster_job *jobs, size_t n, struct policy *policy,
	    const struct cluster_opts *opts, struct cluster_result *ret_results,
	    struct cluster_counts *ret_counts, size_t *ret_bad)
{
	struct loop l = {
		.input = jobs,
		.n = n,
		.policy = policy,
		.restart_s = policy_restart_s(policy),
		.opts = opts,
		.jobs = xcalloc(n + 1, sizeof *l.jobs),
		.runs = xcalloc(n + 1, sizeof *l.runs),
		.results = ret_results,
		.counts = ret_counts,
	};
	int r = 0;

	*ret_counts = (struct cluster_counts){ 0 };
	l.view = (struct pol_view){ .cluster = opts->cluster,
				    .jobs = l.jobs,
				    .n_ids = (uint32_t)n,
				    .speed = opts->work->speed,
				    .report = opts->work->report };
	if (!l.view.speed.speed)
		l.view.speed.speed = stages_speed;
	for (size_t i = 0; r == 0 && i < n; i++) {
		ret_results[i] =
			(struct cluster_result){ .first_s = NAN, .end_s = NAN };
		*ret_bad = i;
		r = check_job(policy, &jobs[i], opts->until_s);
	}
	if (r == 0)
		r = run(&l);
	for (size_t i = 0; i < l.ids.n; i++)
		note_result(&l, l.ids.items[i], NAN, 0);
	for (size_t i = 0; i < n; i++)
		vec_free(&l.runs[i].pieces);
	vec_free(&l.ids);
	vec_free(&l.running);
	vec_free(&l.done);
	vec_free(&l.speeds);
	vec_free(&l.mates);
	vec_free(&l.lost_s);
	for (size_t i = 0; i < AUGMENT_MAX_PLANS; i++)
		pol_plan_fini(&l.plans[i]);
	free(l.jobs);
	free(l.runs);
	return r;
}
