/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advance.c - what a job does next: its iterations, their segments and their pacing.
 *
 * A segment ends when its computing, its shared flows (in the fluid) and its
 * private flows (which take as long as they take, see fluid.h) have all ended.
 */
#include <stdlib.h>

#include "engine/engine_internal.h"

/* How long its private flows take. */
static double
private_ns(const struct engine *e, const struct run *run)
{
	const struct segment *seg = run_segment(run);
	double longest_ns = 0;

	if (!run->left)
		return seg->private_ns;
	for (uint32_t i = 0; i < seg->n_flows; i++)
		if (fluid_is_private(&e->fluid, seg->first_flow + i))
			longest_ns = max_of(longest_ns, run_flow_ns(e, run, i));
	return longest_ns;
}

/* The weight that a flow of the segment has in its step. */
static double
step_weight(const struct run *run, const struct segment *seg, uint32_t i)
{
	double weight = seg->flow_weights[i] * run->weight_factor;

	if (!seg->steps)
		return weight;
	return weight *
	       (seg->first_weight + (seg->last_weight - seg->first_weight) *
					    (seg->steps[i] + 0.5) / seg->n_steps);
}

/* Sets the step and the weight of a flow that starts with this share to send. */
static void
set_weight(struct engine *e, const struct run *run, struct segment *seg, uint32_t i,
	   double left)
{
	/* A flow at the end of a step is in the next one. */
	double step = floor((1 - left) * seg->n_steps + 1e-9);

	if (seg->steps)
		seg->steps[i] = step < seg->n_steps ? (uint32_t)step : seg->n_steps - 1;
	if (seg->flow_weights)
		fluid_set_weight(&e->fluid, seg->first_flow + i,
				 step_weight(run, seg, i));
}

static inline __attribute__((always_inline)) void
start_flows(struct engine *e, const struct job *job, struct run *run)
{
	struct segment *seg = &job->segments[run->segment];
	struct fluid *fl = &e->fluid;
	double factor = 1;

	run->is_sent = true;
	run->is_admitted = false;
	run->send_ns = e->now_ns;
	run->private_end_ns = e->now_ns + private_ns(e, run);
	if (e->observer.flow_weight)
		factor = e->observer.flow_weight(e->observer.ctx, job->id,
						 job->n_iterations, run->segment);
	BUG_ON(!(factor > 0));
	run->weight_factor = factor;
	if (!seg->n_shared)
		return;
	for (uint32_t i = 0; i < seg->n_flows; i++) {
		uint32_t f = seg->first_flow + i;

		if (fluid_is_private(fl, f) || fl->specs[f].work == 0)
			continue;
		set_weight(e, run, seg, i, run->left ? run->left[i] : 1);
		if (!run->left)
			fluid_start(fl, f, e->now_ns);
		else if (run->left[i] > 0)
			fluid_start_midway(fl, f, e->now_ns + run_flow_ns(e, run, i));
		else
			continue;
		run->n_left++;
	}
}

/* The factor on a segment's computing time: jitter and stalls. */
static inline double
draw_factor(struct job *job, uint32_t segment)
{
	double compute_ns = job->segments[segment].compute_ns, factor = 1;

	if (!(compute_ns > 0))
		return 1;
	if (job->jitter_frac > 0)
		factor = max_of(0, 1 + job->jitter_frac * rng_normal(&job->rng));
	if (job->stall_frac > 0 && rng_uniform(&job->stalls) < job->stall_frac)
		factor -=
			job->stall_ns / compute_ns * log1p(-rng_uniform(&job->stalls));
	return factor;
}

static inline void
begin_segment(struct engine *e, const struct job *job, struct run *run,
	      uint32_t segment, double factor)
{
	const struct segment *seg = &job->segments[segment];
	double compute_ns = seg->compute_ns, offset_ns = seg->offset_ns;

	/* Flows that start during computing keep their relative place in it. */
	if (factor != 1) {
		offset_ns = min_of(offset_ns, compute_ns) * factor +
			    max_of(offset_ns - compute_ns, 0);
		compute_ns *= factor;
	}
	run->segment = segment;
	run->compute_end_ns = e->now_ns + compute_ns;
	run->send_ns = e->now_ns + offset_ns + seg->latency_ns;
	run->is_sent = !seg->n_flows;
	run->is_told = !seg->n_flows || !e->observer.on_flows;
	run->is_steered = false;
	run->private_end_ns = 0;
	/* Private flows are never delayed, so they need no events. */
	if (seg->n_flows && !seg->n_shared && run->is_told &&
	    !e->observer.flow_weight && job->pacing != ENGINE_PACE_STEER) {
		run->is_sent = true;
		run->private_end_ns = run->send_ns + seg->private_ns;
	}
}

static inline void
end_flow(struct engine *e, const struct job *job, struct run *run, uint32_t f)
{
	if (e->measure)
		measure_flow_end(e->measure, e, f);
	if (job->pacing == ENGINE_PACE_GATE)
		gate_flow_end(e, f);
	fluid_stop(&e->fluid, f);
	run->n_left--;
}

double
segment_flow_due_ns(const struct engine *e, const struct segment *seg, uint32_t f)
{
	const struct fluid_flow *flow = &e->fluid.flows[f];
	uint32_t step;

	if (!seg->steps || !flow->is_active || !(flow->rate_bps > 0))
		return e->fluid.finish_ns[f];
	step = seg->steps[f - seg->first_flow] + 1;
	return e->fluid.finish_ns[f] - (double)(seg->n_steps - step) / seg->n_steps *
					       e->fluid.specs[f].work / flow->rate_bps;
}

/* Begins the next step of those flows that are due; returns when the next one is. */
static double
step_flows(struct engine *e, const struct run *run)
{
	struct segment *seg = run_segment(run);
	double limit_ns = e->now_ns + ENGINE_BATCH_NS, next_ns = INFINITY;

	for (uint32_t i = 0; i < seg->n_flows; i++) {
		uint32_t f = seg->first_flow + i, before = seg->steps[i];

		if (!e->fluid.flows[f].is_active)
			continue;
		while (seg->steps[i] + 1 < seg->n_steps &&
		       segment_flow_due_ns(e, seg, f) <= limit_ns)
			seg->steps[i]++;
		next_ns = min_of(next_ns, segment_flow_due_ns(e, seg, f));
		if (seg->steps[i] != before)
			fluid_set_weight(&e->fluid, f, step_weight(run, seg, i));
	}
	return next_ns;
}

/* Ends those flows that are due; returns when the next one is. */
static inline __attribute__((always_inline)) double
reap_flows(struct engine *e, const struct job *job, struct run *run)
{
	const struct segment *seg = &job->segments[run->segment];
	double limit_ns = e->now_ns + ENGINE_BATCH_NS, next_ns = INFINITY;
	const double *finish_ns = e->fluid.finish_ns + seg->first_flow;

	for (uint32_t i = 0; i < seg->n_flows; i++) {
		if (finish_ns[i] > limit_ns)
			next_ns = min_of(finish_ns[i], next_ns);
		else
			end_flow(e, job, run, seg->first_flow + i);
	}
	return next_ns;
}

/* Its flows stop, and no longer wait. */
static void
stop_segment(struct engine *e, struct run *run)
{
	const struct segment *seg = run_segment(run);

	for (uint32_t i = 0; run->n_left && i < seg->n_flows; i++) {
		uint32_t f = seg->first_flow + i;

		if (e->fluid.flows[f].is_active)
			end_flow(e, run->job, run, f);
	}
	if (run->is_gated || run->is_admitted)
		gate_leave(e, run);
}

/* ------ What is due ------ */

/* True if the segment's flows, which are due, must wait on, until 'send_ns'. */
static bool
is_steered_to_wait(struct engine *e, struct run *run)
{
	struct job *job = run->job;
	double wait_ns;

	if (job->pacing != ENGINE_PACE_STEER || !e->observer.wait_ns)
		return false;
	wait_ns = e->observer.wait_ns(e->observer.ctx, job->id, job->n_iterations,
				      run->segment, e->now_ns);
	if (!(wait_ns > ENGINE_BATCH_NS))
		return false;
	job->n_corrections += !run->is_steered;
	run->is_steered = true;
	job->waited_ns += wait_ns;
	run->send_ns = e->now_ns + wait_ns;
	return true;
}

/* As segment_advance(). */
static inline __attribute__((always_inline)) double
advance_segment(struct engine *e, struct job *job, struct run *run, uint64_t *n_events)
{
	double limit_ns = e->now_ns + ENGINE_BATCH_NS, next_ns = INFINITY;

	if (run->is_gated)
		return INFINITY;
	if (!run->is_sent) {
		if (run->send_ns > limit_ns)
			return run->send_ns;
		++*n_events;
		if (is_steered_to_wait(e, run))
			return run->send_ns;
		if (job->pacing == ENGINE_PACE_GATE &&
		    job->segments[run->segment].n_shared && !run->is_admitted &&
		    !gate_ask(e, run))
			return INFINITY;
		start_flows(e, job, run);
	}
	if (run->n_left) {
		uint32_t n_left = run->n_left;

		next_ns = reap_flows(e, job, run);
		*n_events += n_left - run->n_left;
		if (run->n_left && job->segments[run->segment].steps)
			return step_flows(e, run);
		if (run->n_left)
			return next_ns;
	}
	if (run->private_end_ns > limit_ns &&
	    (!run->is_told || run->private_end_ns >= run->compute_end_ns))
		return run->private_end_ns;
	if (!run->is_told) {
		run->is_told = true;
		e->observer.on_flows(e->observer.ctx, job->id, run->segment,
				     run->send_ns, e->now_ns);
	}
	if (run->compute_end_ns > limit_ns)
		return run->compute_end_ns;
	return -1;
}

bool
segment_leave_private(struct engine *e, struct run *run, bool all)
{
	const struct job *job = run->job;
	struct segment *seg = run_segment(run);
	struct fluid *fl = &e->fluid;

	if (!run->is_sent || run->private_end_ns <= e->now_ns)
		return false;
	for (uint32_t i = 0; i < seg->n_flows; i++) {
		uint32_t f = seg->first_flow + i;
		double end_ns = run->send_ns + run_flow_ns(e, run, i);

		if ((!all && fluid_is_private(fl, f)) || fl->flows[f].is_active)
			continue;
		if (run->send_ns > e->now_ns) {
			run->is_sent = false; /* Set by segment_begin(). */
			run->private_end_ns = 0;
			return true;
		}
		if (end_ns <= e->now_ns)
			continue;
		set_weight(e, run, seg, i,
			   (end_ns - e->now_ns) / fluid_alone_ns(fl, f));
		fluid_start_midway(fl, f, end_ns);
		if (job->pacing == ENGINE_PACE_GATE)
			gate_flow_start(e, f);
		run->n_left++;
	}
	return false;
}

/* ------ For graphs ------ */

double
segment_draw_factor(struct job *job, uint32_t segment)
{
	return draw_factor(job, segment);
}

void
segment_begin(struct engine *e, struct run *run, uint32_t segment, double factor)
{
	begin_segment(e, run->job, run, segment, factor);
}

double
segment_advance(struct engine *e, struct run *run, uint64_t *n_events)
{
	return advance_segment(e, run->job, run, n_events);
}

/* ------ Iterations ------ */

/* Resumes at the point from another engine. */
static void
resume(struct engine *e, struct job *job)
{
	struct engine_point *from = job->from;
	struct run *run = &job->run;

	begin_segment(e, job, run, from->segment, draw_factor(job, from->segment));
	job->start_ns = e->now_ns - from->since_ns;
	run->compute_end_ns = e->now_ns + from->compute_ns;
	run->send_ns = e->now_ns + from->send_ns;
	run->is_sent = !from->n_flows;
	run->private_end_ns = 0;
	run->left = from->left;
	from->left = NULL;
	engine_point_fini(from);
	free(from);
	job->from = NULL;
}

static void
begin_iteration(struct engine *e, struct job *job)
{
	job->state = JOB_RUNNING;
	job->start_ns = e->now_ns;
	if (job->from)
		resume(e, job);
	else if (job->graph)
		graph_begin(e, job);
	else
		begin_segment(e, job, &job->run, 0, draw_factor(job, 0));
}

static void
leave(struct engine *e, struct job *job)
{
	for (uint32_t i = 0; i < job_n_running(job); i++)
		stop_segment(e, job_run(job, i));
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
end_iteration(struct engine *e, struct job *job)
{
	if (e->observer.on_iteration)
		e->observer.on_iteration(e->observer.ctx, job->id, job->n_iterations,
					 job->start_ns, e->now_ns);
	job->n_iterations++;
	if (job->max_iterations && job->n_iterations >= job->max_iterations) {
		leave(e, job);
		return;
	}
	job->state = JOB_WAITING;
	job->start_ns = realigned_ns(job, e->now_ns);
}

/* Ends the running segment and begins the next one, if there is one. */
static void
end_segment(struct engine *e, struct job *job)
{
	struct run *run = &job->run;

	e->n_flows_finished += run_segment(run)->n_flows;
	free(run->left);
	run->left = NULL;
	if (run->segment + 1 < job->n_segments)
		begin_segment(e, job, run, run->segment + 1,
			      draw_factor(job, run->segment + 1));
	else
		end_iteration(e, job);
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
			begin_iteration(e, job);
			continue;
		}
		next_ns = job->graph ? graph_advance(e, job, n_events)
				     : advance_segment(e, job, &job->run, n_events);
		if (next_ns >= 0)
			return min_of(next_ns, job->stop_ns);
		++*n_events;
		if (job->graph)
			end_iteration(e, job);
		else
			end_segment(e, job);
		/* Endless iterations of zero length would loop forever. */
		if (job->state == JOB_WAITING && e->is_stopping)
			return min_of(job->start_ns, job->stop_ns);
	}
	return INFINITY;
}
