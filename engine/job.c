/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c - a training job: its making, and what changes from outside.
 */
#include <stdlib.h>

#include "engine/engine_internal.h"
#include "lib/base/alloc.h"

/* CASSINI: an agent corrects a drift of more than 5 % of the iteration time. */
#define DEADBAND_FRAC 0.05
/* Separates the draws of stalls from those of jitter. */
#define STALL_STREAM 0x7374616c6cULL

static void
copy_segment(struct engine *e, struct job *job, uint32_t i,
	     const struct engine_segment *spec, uint32_t group, uint8_t priority)
{
	struct segment *seg = &job->segments[i];

	seg->compute_ns = (double)spec->compute_ns;
	seg->offset_ns = (double)spec->flows_offset_ns;
	seg->latency_ns = (double)spec->latency_ns;
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
		uint32_t id = fluid_add_flow(&e->fluid, job->id, group, flow->links,
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
	bool has_graph = graph_is_needed(spec);

	job->id = id;
	job->n_segments = spec->n_segments;
	job->segments = xcalloc(spec->n_segments, sizeof *job->segments);
	/* Flows of segments that may overlap are of one group: they may meet. */
	for (uint32_t i = 0; i < spec->n_segments; i++)
		copy_segment(e, job, i, &spec->segments[i], has_graph ? 0 : i,
			     spec->priority);
	job->base_ns = (double)spec->arrival_ns + (double)spec->shift_ns;
	job->start_ns = job->base_ns;
	job->stop_ns = spec->stop_ns == ENGINE_NEVER ? INFINITY : (double)spec->stop_ns;
	job->max_iterations = spec->max_iterations;
	job->jitter_frac = spec->jitter_frac;
	job->stall_frac = spec->stall_frac;
	job->stall_ns = spec->stall_ns;
	rng_init_stream(&job->rng, e->seed, id);
	rng_init_stream(&job->stalls, e->seed ^ STALL_STREAM, id);
	job->pacing = spec->pacing;
	job->grid_ns = (double)spec->grid_ns;
	job->deadband_ns = job->grid_ns * (spec->deadband_frac > 0 ? spec->deadband_frac
								   : DEADBAND_FRAC);
	job->end_ns = -1;
	job->run.job = job;
	job->run.weight_factor = 1;
	if (has_graph)
		job->graph = graph_new(e, job, spec);
	return job;
}

/* Releases the point that the job resumed from. */
static void
forget_point(struct job *job)
{
	free(job->run.left);
	job->run.left = NULL;
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
	graph_free(job->graph, job->n_segments);
	free(job->segments);
	vec_free(&job->run.gate_links);
	forget_point(job);
	free(job);
}

double
job_flow_due_ns(const struct engine *e, uint32_t f)
{
	const struct job *job = e->jobs.items[e->fluid.flows[f].owner];
	uint32_t s = job->graph ? job->graph->of_flow[f - job->segments[0].first_flow]
				: job->run.segment;

	return segment_flow_due_ns(e, &job->segments[s], f);
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

static void
make_due(struct engine *e, struct job *job, const struct run *run)
{
	if (job->graph)
		job->graph->due_ns[run->segment] = e->now_ns;
	event_queue_lower(&e->queue, job->id, e->now_ns);
}

void
job_expose(struct engine *e, struct job *job)
{
	for (uint32_t i = 0; i < job_n_running(job); i++) {
		struct run *run = job_run(job, i);

		if (!segment_leave_private(e, run, true) && !run->is_sent)
			continue;
		run->private_end_ns = 0;
		make_due(e, job, run);
	}
}

void
job_refresh(struct engine *e, struct job *job)
{
	struct fluid *fl = &e->fluid;

	if (job->state == JOB_LEFT)
		return;
	for (uint32_t i = 0; i < job_n_running(job); i++)
		if (segment_leave_private(e, job_run(job, i), false))
			make_due(e, job, job_run(job, i));
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
