/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - the API of engine.h, and the loop over batches of events. */
#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/engine_internal.h"
#include "lib/base/alloc.h"
#include "lib/base/sort.h"

struct engine *
engine_new(const struct engine_config *config)
{
	struct engine *e = xcalloc(1, sizeof *e);

	fluid_init(&e->fluid, config->capacity_bps, config->n_links,
		   config->measure_links);
	event_queue_init(&e->queue);
	gate_init(&e->gate, config->n_links);
	if (config->measure_links)
		e->measure = measure_new(config->n_links, config->mtu_bytes,
					 config->unmarked);
	e->observer = config->observer;
	e->seed = config->seed;
	return e;
}

void
engine_free(struct engine *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->jobs.n; i++)
		job_free(e->jobs.items[i]);
	vec_free(&e->jobs);
	vec_free(&e->batch);
	measure_free(e->measure);
	gate_fini(&e->gate);
	event_queue_fini(&e->queue);
	fluid_fini(&e->fluid);
	free(e);
}

/* ------ Jobs ------ */

/* Checks a flow, and raises '*ret_alone_ns' to its isolated time. */
static bool
flow_is_sound(const struct engine *e, const struct engine_flow *flow,
	      double *ret_alone_ns)
{
	double cap_bps = flow->cap_bps > 0 ? flow->cap_bps : INFINITY;

	if (!isfinite(flow->bytes) || flow->bytes < 0 || !isfinite(flow->cap_bps) ||
	    flow->cap_bps < 0 || !isfinite(flow->weight) || !(flow->weight > 0))
		return false;
	for (uint32_t i = 0; i < flow->n_links; i++) {
		if (flow->links[i] >= e->fluid.n_links)
			return false;
		cap_bps = min_of(cap_bps, e->fluid.links[flow->links[i]].capacity_bps);
	}
	if (flow->bytes > 0 && flow->n_links && !(cap_bps > 0))
		return false; /* Without capacity the flow would never end. */
	*ret_alone_ns = max_of(*ret_alone_ns, flow->bytes * 8e9 / cap_bps);
	return true;
}

static bool
weights_are_sound(const struct engine_segment *seg)
{
	return !seg->n_steps ||
	       (seg->n_steps <= ENGINE_MAX_STEPS && seg->first_weight > 0 &&
		seg->last_weight > 0 && isfinite(seg->first_weight) &&
		isfinite(seg->last_weight));
}

static bool
job_is_sound(const struct engine *e, const struct engine_job *job)
{
	double longest_ns = 0; /* Of the segment, without contention. */

	if (!job->n_segments || job->arrival_ns < 0 || job->shift_ns < 0 ||
	    job->stop_ns < 0 || job->grid_ns < 0 || !isfinite(job->jitter_frac) ||
	    job->jitter_frac < 0 || !(job->stall_frac >= 0 && job->stall_frac <= 1) ||
	    !isfinite(job->stall_ns) || job->stall_ns < 0 ||
	    !isfinite(job->deadband_frac) || job->deadband_frac < 0 ||
	    (double)job->arrival_ns + (double)job->shift_ns < e->now_ns ||
	    !graph_is_sound(job))
		return false;
	for (uint32_t i = 0; i < job->n_segments; i++) {
		const struct engine_segment *seg = &job->segments[i];
		double isolated_ns = 0;

		if (seg->compute_ns < 0 || seg->flows_offset_ns < 0 ||
		    seg->latency_ns < 0 || !weights_are_sound(seg))
			return false;
		for (uint32_t f = 0; f < seg->n_flows; f++)
			if (!flow_is_sound(e, &seg->flows[f], &isolated_ns))
				return false;
		if (seg->n_flows)
			isolated_ns +=
				(double)seg->flows_offset_ns + (double)seg->latency_ns;
		longest_ns = max_of(longest_ns,
				    max_of(isolated_ns, (double)seg->compute_ns));
	}
	/* Endless iterations of zero length would loop forever. */
	return job->max_iterations || longest_ns > ENGINE_BATCH_NS;
}

int
engine_add_job(struct engine *e, const struct engine_job *spec, uint32_t *ret_job)
{
	uint32_t id = (uint32_t)e->jobs.n;
	struct job *job;

	if (!job_is_sound(e, spec))
		return -EINVAL;
	job = job_new(e, id, spec);
	vec_push(&e->jobs, job);
	for (uint32_t i = 0; i < job->n_segments; i++)
		e->has_steps |= job->segments[i].steps != NULL;
	e->has_graphs |= job->graph != NULL;
	e->fluid.is_stale = true;
	event_queue_reserve(&e->queue, id + 1);
	event_queue_set(&e->queue, id, min_of(job->start_ns, job->stop_ns));
	*ret_job = id;
	return 0;
}

void
engine_job_set_priority(struct engine *e, uint32_t id, uint8_t priority)
{
	job_set_priority(e, e->jobs.items[id], priority);
}

/* Decides again which flows are private, after jobs came or left. */
static void
rebuild(struct engine *e)
{
	/* Flows that the gate counted may become private: their job asks again. */
	for (size_t i = 0; i < e->jobs.n; i++)
		for (uint32_t k = 0; k < job_n_running(e->jobs.items[i]); k++)
			if (job_run(e->jobs.items[i], k)->is_admitted)
				gate_leave(e, job_run(e->jobs.items[i], k));
	if (e->measure)
		measure_flush(e->measure, e);
	fluid_rebuild(&e->fluid);
	if (e->measure)
		measure_rebuild(e->measure, e);
	for (size_t i = 0; i < e->jobs.n; i++)
		job_refresh(e, e->jobs.items[i]);
	engine_end_changes(e);
	gate_rebuild(e);
}

/* ------ The loop ------ */

static uint64_t
advance_job(struct engine *e, uint32_t id)
{
	struct job *job = e->jobs.items[id];
	uint64_t n_events = 0;
	double next_ns = job_advance(e, job, &n_events);

	if (job->state == JOB_LEFT)
		event_queue_remove(&e->queue, id);
	else
		event_queue_set(&e->queue, id, next_ns);
	return n_events;
}

/* Handles all due jobs, in the order of their numbers. */
static uint64_t
handle_due(struct engine *e, double limit_ns)
{
	struct event_queue *q = &e->queue;
	uint64_t n_events = 0;

	if (!event_queue_has_second(q, limit_ns))
		return advance_job(e, q->heap[0].id);
	e->batch.n = 0;
	while (q->heap[0].key_ns <= limit_ns) {
		vec_push(&e->batch, q->heap[0].id);
		event_queue_set(q, q->heap[0].id, INFINITY);
	}
	sort_items(e->batch.items, e->batch.n, sort_by_u32);
	for (size_t i = 0; i < e->batch.n; i++)
		n_events += advance_job(e, e->batch.items[i]);
	return n_events;
}

/* Solves for the rates, and updates the times in the queue. */
static void
settle(struct engine *e)
{
	struct fluid *fl = &e->fluid;

	fluid_solve(fl, e->now_ns);
	for (size_t i = 0; i < fl->changed.n; i++) {
		uint32_t f = fl->changed.items[i];

		event_queue_lower(&e->queue, fl->flows[f].owner,
				  e->has_steps ? job_flow_due_ns(e, f)
					       : fl->finish_ns[f]);
	}
	if (e->has_graphs)
		graph_lower_changed(e);
	if (e->measure)
		measure_batch(e->measure, e);
}

uint64_t
engine_run(struct engine *e, int64_t until_ns)
{
	double until = until_ns == ENGINE_NEVER ? INFINITY : (double)until_ns;
	struct event_queue *q = &e->queue;
	uint64_t n_events = 0;

	e->is_stopping = false;
	/* Priorities were changed between runs. */
	if (!e->fluid.is_stale && fluid_is_pending(&e->fluid))
		settle(e);
	while (!e->is_stopping) {
		double limit_ns;

		if (e->fluid.is_stale) {
			rebuild(e);
			settle(e);
		}
		if (!q->n || q->heap[0].key_ns > until || q->heap[0].key_ns == INFINITY)
			break;
		e->now_ns = max_of(e->now_ns, q->heap[0].key_ns);
		limit_ns = e->now_ns + ENGINE_BATCH_NS;
		do {
			n_events += handle_due(e, limit_ns);
			if (e->gate.is_changed)
				gate_release(e);
		} while (q->n && q->heap[0].key_ns <= limit_ns && !e->is_stopping);
		settle(e);
	}
	if (!e->is_stopping && q->n && until < INFINITY)
		e->now_ns = max_of(e->now_ns, until);
	if (e->measure)
		measure_flush(e->measure, e);
	return n_events;
}

void
engine_stop(struct engine *e)
{
	e->is_stopping = true;
}

/* ------ Results ------ */

double
engine_now_ns(const struct engine *e)
{
	return e->now_ns;
}

uint64_t
engine_flows_finished(const struct engine *e)
{
	return e->n_flows_finished;
}

void
engine_job_stats(const struct engine *e, uint32_t id,
		 struct engine_job_stats *ret_stats)
{
	const struct job *job = e->jobs.items[id];

	*ret_stats = (struct engine_job_stats){ .n_iterations = job->n_iterations,
						.end_ns = job->end_ns,
						.n_corrections = job->n_corrections,
						.waited_ns = job->waited_ns };
	if (e->measure)
		measure_job(e->measure, id, &ret_stats->packets,
			    &ret_stats->ecn_packets);
}

void
engine_link_stats(const struct engine *e, uint32_t link,
		  struct engine_link_stats *ret_stats)
{
	*ret_stats = (struct engine_link_stats){ 0 };
	if (e->measure)
		measure_link(e->measure, link, ret_stats);
}
