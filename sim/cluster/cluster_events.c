/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_events.c - what an event brings: jobs end and arrive, nodes go and come. */
#include <math.h>

#include "sim/cluster/cluster_priv.h"

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

/* Since when the job has worked, after the last event; now: it starts. */
static double
worked_from_s(const struct loop *l, uint32_t id)
{
	return fmin(l->view.now_s, fmax(l->advanced_s, l->jobs[id].works_s));
}

/* Work since the last event. */
static double
worked_s(const struct loop *l, uint32_t id)
{
	return l->view.now_s - worked_from_s(l, id);
}

static void
report_worked(const struct loop *l, const struct pol_job *job, double dt_s)
{
	const struct cluster_work *work = l->opts->work;

	if (work->worked && job->n_pieces && dt_s > 0)
		work->worked(work->ctx, job, dt_s);
}

/* Notes the result of a job that has worked for 'worked' since its last advance. */
void
cluster_note_result(struct loop *l, uint32_t id, double end_s, double worked)
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

void
cluster_complete(struct loop *l)
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
		cluster_note_result(l, id, l->view.now_s, worked_s(l, id));
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

void
cluster_arrive(struct loop *l)
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
			.needs = in->needs,
			.measured_model = in->measured_model,
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
void
cluster_advance(struct loop *l)
{
	const struct cluster_work *work = l->opts->work;

	for (size_t i = 0; i < l->running.n; i++) {
		struct pol_job *job = &l->jobs[l->running.items[i]];
		const struct run *run = &l->runs[job->id];
		double dt_s = worked_s(l, job->id);

		report_worked(l, job, dt_s);
		if (work->advance) {
			work->advance(work->ctx, job, run->speed,
				      worked_from_s(l, job->id), l->view.now_s);
		} else {
			job->executed_s += dt_s;
			job->remaining_s -= dt_s * run->speed;
		}
		job->attained_s += dt_s * job->n_held_gpus;
	}
	l->advanced_s = l->view.now_s;
}

void
cluster_preempt(struct loop *l, struct pol_job *job)
{
	stop(l, job->id);
	job->n_preempted++;
	l->counts->n_preemptions++;
	policy_event(l->policy, &l->view, POL_STOPPED, job);
}

static bool
is_on_away_node(const struct loop *l, const struct pol_job *job)
{
	for (uint32_t i = 0; i < job->n_pieces; i++)
		if (l->opts->is_away[job->pieces[i].node])
			return true;
	return false;
}

/* Nodes go away and come back. */
void
cluster_change_nodes(struct loop *l)
{
	const struct cluster_change *changes = l->opts->changes;
	size_t n = 0, n_before = l->n_changed;

	while (l->n_changed < l->opts->n_changes &&
	       changes[l->n_changed].at_s <= l->view.now_s) {
		l->opts->is_away[changes[l->n_changed].node] =
			changes[l->n_changed].is_away;
		l->n_changed++;
	}
	if (l->n_changed == n_before)
		return;
	for (size_t i = 0; i < l->running.n; i++) {
		struct pol_job *job = &l->jobs[l->running.items[i]];

		if (is_on_away_node(l, job))
			cluster_preempt(l, job);
		else
			l->running.items[n++] = job->id;
	}
	l->running.n = n;
}
