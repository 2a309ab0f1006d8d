/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_rates.c - speeds of running jobs, and when they end. */
#include <math.h>

#include "sim/cluster/cluster_priv.h"

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
	return job->n_ranks > 1 ? least / job->n_ranks : least;
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

/* The first of the ends that is close to 'end_s', or 'end_s' itself, now one of them. */
static double
join_end(struct loop *l, double end_s)
{
	for (size_t i = 0; i < l->ends_s.n; i++) {
		double other_s = l->ends_s.items[i];

		if (fabs(end_s - other_s) <= l->opts->close_ends * fmax(end_s, other_s))
			return other_s;
	}
	vec_push(&l->ends_s, end_s);
	return end_s;
}

static void
join_ends(struct loop *l)
{
	l->ends_s.n = 0;
	for (size_t i = 0; i < l->plan->grants.n; i++) {
		struct run *run = &l->runs[l->plan->grants.items[i].job];

		if (run->end_s < INFINITY) /* It has not ended since the plan. */
			run->end_s = join_end(l, run->end_s);
	}
}

/* Predicts the end of each running job at its present speed. */
void
cluster_predict_ends(struct loop *l)
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

		run->end_s = fmax(l->view.now_s, job->works_s) +
			     job->remaining_s / run->speed;
	}
	if (l->opts->close_ends > 0 && l->plan)
		join_ends(l);
}
