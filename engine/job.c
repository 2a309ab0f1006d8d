/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c - a training job: computes, sends, repeats.
 *
 * A segment ends when its computing, its shared flows (in the fluid) and its
 * private flows (which take as long as they take, see fluid.h) have all ended.
 */
#include <stdlib.h>

#include "engine/engine_internal.h"
#include "lib/base/alloc.h"

/* CASSINI: an agent corrects a drift of more than 5 % of the iteration time. */
#define DEADBAND_FRAC 0.05

static void
copy_segment(struct engine *e, struct job *job, uint32_t i,
	     const struct engine_segment *spec, uint8_t priority)
{
	struct segment *seg = &job->segments[i];

	seg->compute_ns = (double)spec->compute_ns;
	seg->offset_ns = (double)spec->flows_offset_ns;
	seg->first_flow = e->fluid.n_flows;
	seg->n_flows = spec->n_flows;
	seg->first_weight = spec->first_weight;
	seg->last_weight = spec->last_weight;
	seg->n_steps = spec->n_steps;
	if (spec->n_steps && spec->n_flows)
		seg->steps = xcalloc(spec->n_flows, sizeof *seg->steps);
	if ((e->observer.flow_weight || seg->steps) && spec->n_flows)
		seg->flow_weights = xcalloc(spec->n_flows, sizeof *seg->flow_weights);
	for (uint32_t f = 0; f < spec->n_flows; f++) {
		const struct engine_flow *flow = &spec->flows[f];
		uint32_t id = fluid_add_flow(&e->fluid, job->id, i, flow->links,
					     flow->n_links, flow->bytes, flow->cap_bps,
					     flow->weight);

		fluid_set_priority(&e->fluid, id, priority);
		if (seg->flow_weights)
			seg->flow_weights[f] = flow->weight;
	}
}

struct job *
job_new(struct engine *e, uint32_t id, const struct engine_job *spec)
{
	struct job *job = xcalloc(1, sizeof *job);

	job->id = id;
	job->n_segments = spec->n_segments;
	job->segments = xcalloc(spec->n_segments, sizeof *job->segments);
	for (uint32_t i = 0; i < spec->n_segments; i++)
		copy_segment(e, job, i, &spec->segments[i], spec->priority);
	job->base_ns = (double)spec->arrival_ns + (double)spec->shift_ns;
	job->start_ns = job->base_ns;
	job->stop_ns = spec->stop_ns == ENGINE_NEVER ? INFINITY : (double)spec->stop_ns;
	job->max_iterations = spec->max_iterations;
	job->jitter_frac = spec->jitter_frac;
	rng_init_stream(&job->rng, e->seed, id);
	job->pacing = spec->pacing;
	job->grid_ns = (double)spec->grid_ns;
	job->deadband_ns = job->grid_ns * (spec->deadband_frac > 0 ? spec->deadband_frac
								   : DEADBAND_FRAC);
	job->end_ns = -1;
	job->weight_factor = 1;
	return job;
}

/* Releases the point that the job resumed from. */
static void
forget_point(struct job *job)
{
	free(job->left);
	job->left = NULL;
	if (job->from)
		engine_point_fini(job->from);
	free(job->from);
	job->from = NULL;
}

void
job_free(struct job *job)
{
	if (!job)
		return;
	for (uint32_t i = 0; job->segments && i < job->n_segments; i++) {
		free(job->segments[i].flow_weights);
		free(job->segments[i].steps);
	}
	free(job->segments);
	vec_free(&job->gate_links);
	forget_point(job);
	free(job);
}

/* ------ The parts of a segment ------ */

/* How long its private flows take. */
static double
private_ns(const struct engine *e, const struct job *job)
{
	const struct segment *seg = &job->segments[job->segment];
	double longest_ns = 0;

	if (!job->left)
		return seg->private_ns;
	for (uint32_t i = 0; i < seg->n_flows; i++)
		if (fluid_is_private(&e->fluid, seg->first_flow + i))
			longest_ns = max_of(longest_ns, job_flow_ns(e, job, i));
	return longest_ns;
}

/* The weight that a flow of the segment has in its step. */
static double
step_weight(const struct job *job, const struct segment *seg, uint32_t i)
{
	double weight = seg->flow_weights[i] * job->weight_factor;

	if (!seg->steps)
		return weight;
	return weight *
	       (seg->first_weight + (seg->last_weight - seg->first_weight) *
					    (seg->steps[i] + 0.5) / seg->n_steps);
}

/* Sets the step and the weight of a flow that starts with this share to send. */
static void
set_weight(struct engine *e, const struct job *job, struct segment *seg, uint32_t i,
	   double left)
{
	/* A flow at the end of a step is in the next one. */
	double step = floor((1 - left) * seg->n_steps + 1e-9);

	if (seg->steps)
		seg->steps[i] = step < seg->n_steps ? (uint32_t)step : seg->n_steps - 1;
	if (seg->flow_weights)
		fluid_set_weight(&e->fluid, seg->first_flow + i,
				 step_weight(job, seg, i));
}

static void
start_flows(struct engine *e, struct job *job)
{
	struct segment *seg = &job->segments[job->segment];
	struct fluid *fl = &e->fluid;
	double factor = 1;

	job->is_sent = true;
	job->is_admitted = false;
	job->send_ns = e->now_ns;
	job->private_end_ns = e->now_ns + private_ns(e, job);
	if (e->observer.flow_weight)
		factor = e->observer.flow_weight(e->observer.ctx, job->id,
						 job->n_iterations, job->segment);
	BUG_ON(!(factor > 0));
	job->weight_factor = factor;
	if (!seg->n_shared)
		return;
	for (uint32_t i = 0; i < seg->n_flows; i++) {
		uint32_t f = seg->first_flow + i;

		if (fluid_is_private(fl, f) || fl->specs[f].work == 0)
			continue;
		set_weight(e, job, seg, i, job->left ? job->left[i] : 1);
		if (!job->left)
			fluid_start(fl, f, e->now_ns);
		else if (job->left[i] > 0)
			fluid_start_midway(fl, f, e->now_ns + job_flow_ns(e, job, i));
		else
			continue;
		job->n_left++;
	}
}

static void
begin_segment(struct engine *e, struct job *job, uint32_t segment)
{
	const struct segment *seg = &job->segments[segment];
	double compute_ns = seg->compute_ns, offset_ns = seg->offset_ns;

	/* Flows that start during computing keep their relative place in it. */
	if (job->jitter_frac > 0 && compute_ns > 0) {
		double factor = max_of(0, 1 + job->jitter_frac * rng_normal(&job->rng));

		offset_ns = min_of(offset_ns, compute_ns) * factor +
			    max_of(offset_ns - compute_ns, 0);
		compute_ns *= factor;
	}
	job->state = JOB_RUNNING;
	job->segment = segment;
	job->compute_end_ns = e->now_ns + compute_ns;
	job->send_ns = e->now_ns + offset_ns;
	job->is_sent = !seg->n_flows;
	job->is_told = !seg->n_flows || !e->observer.on_flows;
	job->is_steered = false;
	job->private_end_ns = 0;
	/* Private flows are never delayed, so they need no events. */
	if (seg->n_flows && !seg->n_shared && job->is_told &&
	    !e->observer.flow_weight && job->pacing != ENGINE_PACE_STEER) {
		job->is_sent = true;
		job->private_end_ns = job->send_ns + seg->private_ns;
	}
}

/* Resumes at the point from another engine. */
static void
resume(struct engine *e, struct job *job)
{
	struct engine_point *from = job->from;

	begin_segment(e, job, from->segment);
	job->start_ns = e->now_ns - from->since_ns;
	job->compute_end_ns = e->now_ns + from->compute_ns;
	job->send_ns = e->now_ns + from->send_ns;
	job->is_sent = !from->n_flows;
	job->private_end_ns = 0;
	job->left = from->left;
	from->left = NULL;
	engine_point_fini(from);
	free(from);
	job->from = NULL;
}

static inline void
end_flow(struct engine *e, struct job *job, uint32_t f)
{
	if (e->measure)
		measure_flow_end(e->measure, e, f);
	if (job->pacing == ENGINE_PACE_GATE)
		gate_flow_end(e, f);
	fluid_stop(&e->fluid, f);
	job->n_left--;
}

double
job_flow_due_ns(const struct engine *e, uint32_t f)
{
	const struct fluid_flow *flow = &e->fluid.flows[f];
	const struct job *job = e->jobs.items[flow->owner];
	const struct segment *seg = &job->segments[job->segment];
	uint32_t step;

	if (!seg->steps || !flow->is_active || !(flow->rate_bps > 0))
		return e->fluid.finish_ns[f];
	step = seg->steps[f - seg->first_flow] + 1;
	return e->fluid.finish_ns[f] - (double)(seg->n_steps - step) / seg->n_steps *
					       e->fluid.specs[f].work / flow->rate_bps;
}

/* Begins the next step of those flows that are due; returns when the next one is. */
static double
step_flows(struct engine *e, struct segment *seg, const struct job *job)
{
	double limit_ns = e->now_ns + ENGINE_BATCH_NS, next_ns = INFINITY;

	for (uint32_t i = 0; i < seg->n_flows; i++) {
		uint32_t f = seg->first_flow + i, before = seg->steps[i];

		if (!e->fluid.flows[f].is_active)
			continue;
		while (seg->steps[i] + 1 < seg->n_steps &&
		       job_flow_due_ns(e, f) <= limit_ns)
			seg->steps[i]++;
		next_ns = min_of(next_ns, job_flow_due_ns(e, f));
		if (seg->steps[i] != before)
			fluid_set_weight(&e->fluid, f, step_weight(job, seg, i));
	}
	return next_ns;
}

/* Ends those flows that are due; returns when the next one is. */
static double
reap_flows(struct engine *e, struct job *job)
{
	const struct segment *seg = &job->segments[job->segment];
	double limit_ns = e->now_ns + ENGINE_BATCH_NS, next_ns = INFINITY;
	const double *finish_ns = e->fluid.finish_ns + seg->first_flow;

	for (uint32_t i = 0; i < seg->n_flows; i++) {
		if (finish_ns[i] > limit_ns)
			next_ns = min_of(finish_ns[i], next_ns);
		else
			end_flow(e, job, seg->first_flow + i);
	}
	return next_ns;
}

static void
leave(struct engine *e, struct job *job)
{
	const struct segment *seg = &job->segments[job->segment];

	for (uint32_t i = 0; job->n_left && i < seg->n_flows; i++) {
		uint32_t f = seg->first_flow + i;

		if (e->fluid.flows[f].is_active)
			end_flow(e, job, f);
	}
	if (job->is_gated || job->is_admitted)
		gate_leave(e, job);
	for (uint32_t i = 0; i < job->n_segments; i++)
		for (uint32_t f = 0; f < job->segments[i].n_flows; f++)
			fluid_retire(&e->fluid, job->segments[i].first_flow + f);
	job->state = JOB_LEFT;
	job->end_ns = e->now_ns;
}

/*
 * CASSINI's agent: an iteration that begins more than the deadband off its
 * grid waits for the next point of the grid.
 */
static double
realigned_ns(struct job *job, double start_ns)
{
	double off_ns, early_ns;

	if (job->pacing != ENGINE_PACE_REALIGN || job->grid_ns <= 0)
		return start_ns;
	off_ns = fmod(start_ns - job->base_ns, job->grid_ns);
	early_ns = job->grid_ns - off_ns;
	if (off_ns <= job->deadband_ns || early_ns <= job->deadband_ns)
		return start_ns;
	job->n_corrections++;
	job->waited_ns += early_ns;
	return start_ns + early_ns;
}

static void
end_segment(struct engine *e, struct job *job)
{
	double began_ns = job->start_ns;

	e->n_flows_finished += job->segments[job->segment].n_flows;
	free(job->left);
	job->left = NULL;
	if (job->segment + 1 < job->n_segments) {
		begin_segment(e, job, job->segment + 1);
		return;
	}
	if (e->observer.on_iteration)
		e->observer.on_iteration(e->observer.ctx, job->id, job->n_iterations,
					 began_ns, e->now_ns);
	job->n_iterations++;
	if (job->max_iterations && job->n_iterations >= job->max_iterations) {
		leave(e, job);
		return;
	}
	job->state = JOB_WAITING;
	job->start_ns = realigned_ns(job, e->now_ns);
}

/* ------ What is due ------ */

/* True if the segment's flows, which are due, must wait on, until 'send_ns'. */
static bool
is_steered_to_wait(struct engine *e, struct job *job)
{
	double wait_ns;

	if (job->pacing != ENGINE_PACE_STEER || !e->observer.wait_ns)
		return false;
	wait_ns = e->observer.wait_ns(e->observer.ctx, job->id, job->n_iterations,
				      job->segment, e->now_ns);
	if (!(wait_ns > ENGINE_BATCH_NS))
		return false;
	job->n_corrections += !job->is_steered;
	job->is_steered = true;
	job->waited_ns += wait_ns;
	job->send_ns = e->now_ns + wait_ns;
	return true;
}

/* Goes on with a segment; returns when to ask again, -1: it has ended. */
static double
advance_segment(struct engine *e, struct job *job, uint64_t *n_events)
{
	double limit_ns = e->now_ns + ENGINE_BATCH_NS, next_ns = INFINITY;

	if (job->is_gated)
		return INFINITY;
	if (!job->is_sent) {
		const struct segment *seg = &job->segments[job->segment];

		if (job->send_ns > limit_ns)
			return job->send_ns;
		++*n_events;
		if (is_steered_to_wait(e, job))
			return job->send_ns;
		if (job->pacing == ENGINE_PACE_GATE && seg->n_shared &&
		    !job->is_admitted && !gate_ask(e, job))
			return INFINITY;
		start_flows(e, job);
	}
	if (job->n_left) {
		uint32_t n_left = job->n_left;

		next_ns = reap_flows(e, job);
		*n_events += n_left - job->n_left;
		if (job->n_left && job->segments[job->segment].steps)
			return step_flows(e, &job->segments[job->segment], job);
		if (job->n_left)
			return next_ns;
	}
	if (job->private_end_ns > limit_ns &&
	    (!job->is_told || job->private_end_ns >= job->compute_end_ns))
		return job->private_end_ns;
	if (!job->is_told) {
		job->is_told = true;
		e->observer.on_flows(e->observer.ctx, job->id, job->segment,
				     job->send_ns, e->now_ns);
	}
	if (job->compute_end_ns > limit_ns)
		return job->compute_end_ns;
	return -1;
}

double
job_advance(struct engine *e, struct job *job, uint64_t *n_events)
{
	double limit_ns = e->now_ns + ENGINE_BATCH_NS;

	while (job->state != JOB_LEFT) {
		double next_ns;

		if (job->stop_ns <= limit_ns) {
			++*n_events;
			leave(e, job);
			break;
		}
		if (job->state == JOB_WAITING) {
			next_ns = job->start_ns;
			if (next_ns > limit_ns)
				return min_of(next_ns, job->stop_ns);
			job->start_ns = e->now_ns;
			if (job->from)
				resume(e, job);
			else
				begin_segment(e, job, 0);
			continue;
		}
		next_ns = advance_segment(e, job, n_events);
		if (next_ns >= 0)
			return min_of(next_ns, job->stop_ns);
		++*n_events;
		end_segment(e, job);
		/* Endless iterations of zero length would loop forever. */
		if (job->state == JOB_WAITING && e->is_stopping)
			return min_of(job->start_ns, job->stop_ns);
	}
	return INFINITY;
}

void
job_set_priority(struct engine *e, struct job *job, uint8_t priority)
{
	if (job->state == JOB_LEFT)
		return;
	for (uint32_t i = 0; i < job->n_segments; i++)
		for (uint32_t f = 0; f < job->segments[i].n_flows; f++)
			fluid_set_priority(&e->fluid, job->segments[i].first_flow + f,
					   priority);
}

void
job_refresh(struct engine *e, struct job *job)
{
	struct fluid *fl = &e->fluid;
	bool was_private = job->state == JOB_RUNNING && job->is_sent &&
			   job->private_end_ns > e->now_ns;
	struct segment *now = &job->segments[job->segment];

	if (job->state == JOB_LEFT)
		return;
	/* Running flows that are no longer private continue in the fluid. */
	for (uint32_t i = 0; was_private && i < now->n_flows; i++) {
		uint32_t f = now->first_flow + i;
		double end_ns = job->send_ns + job_flow_ns(e, job, i);

		if (fluid_is_private(fl, f) || fl->flows[f].is_active)
			continue;
		if (job->send_ns > e->now_ns) {
			job->is_sent = false; /* Set by begin_segment(). */
			job->private_end_ns = 0;
			event_queue_lower(&e->queue, job->id, e->now_ns);
			break;
		}
		if (end_ns <= e->now_ns)
			continue;
		set_weight(e, job, now, i,
			   (end_ns - e->now_ns) / fluid_alone_ns(fl, f));
		fluid_start_midway(fl, f, end_ns);
		if (job->pacing == ENGINE_PACE_GATE)
			gate_flow_start(e, f);
		job->n_left++;
	}
	for (uint32_t i = 0; i < job->n_segments; i++) {
		struct segment *seg = &job->segments[i];

		seg->n_shared = 0;
		seg->private_ns = 0;
		for (uint32_t k = 0; k < seg->n_flows; k++) {
			uint32_t f = seg->first_flow + k;

			if (fluid_is_private(fl, f))
				seg->private_ns =
					max_of(seg->private_ns, fluid_alone_ns(fl, f));
			else
				seg->n_shared++;
		}
	}
}
