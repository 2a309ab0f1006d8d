/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - the state of all jobs relative to now, to detect repetitions. */
#include <math.h>

#include "engine/engine_internal.h"

#define N_OF_JOB 3
#define N_OF_RUN 6

static double
left_ns(const struct engine *e, double at_ns)
{
	return at_ns > e->now_ns ? at_ns - e->now_ns : 0;
}

/* Until a flow ends at its rate, or at its cap if it waits for higher priorities. */
static double
flow_state(const struct engine *e, uint32_t f)
{
	const struct fluid *fl = &e->fluid;

	if (!fl->flows[f].is_active)
		return -1;
	if (fl->flows[f].rate_bps > 0)
		return left_ns(e, fl->finish_ns[f]);
	return -2 - fluid_work_left(fl, f, e->now_ns) / fl->specs[f].cap_bps;
}

/* Whether a segment of a job with a graph runs. */
static bool
graph_runs(const struct job *job, uint32_t s)
{
	for (uint32_t i = 0; i < job_n_running(job); i++)
		if (job->graph->running[i] == s)
			return true;
	return false;
}

/* Appends N_OF_RUN numbers, and returns what follows them. */
static double *
put_run(const struct engine *e, const struct run *run, bool runs, double *out)
{
	/* Which segments have ended follows from which run. */
	*out++ = runs ? run->segment + 1.0 : 0;
	*out++ = runs ? run->is_sent + 2 * run->is_gated + 4 * run->is_admitted : 0;
	*out++ = runs ? left_ns(e, run->compute_end_ns) : 0;
	if (runs)
		*out++ = left_ns(e, run->is_sent ? run->private_end_ns : run->send_ns);
	else
		*out++ = 0;
	*out++ = run->is_gated || run->is_admitted ? run->gate_slot_ns - e->now_ns : 0;
	*out++ = run->is_gated ? run->n_overtaken : 0;
	return out;
}

size_t
engine_state_size(const struct engine *e)
{
	size_t n = 0;

	for (size_t i = 0; i < e->jobs.n; i++) {
		const struct job *job = e->jobs.items[i];

		n += N_OF_JOB + N_OF_RUN * (job->graph ? job->n_segments : 1);
		for (uint32_t s = 0; s < job->n_segments; s++)
			n += job->segments[s].n_flows *
			     (job->segments[s].steps ? 2 : 1);
	}
	return n;
}

void
engine_state(const struct engine *e, double *ret_state)
{
	double *out = ret_state;

	for (size_t i = 0; i < e->jobs.n; i++) {
		const struct job *job = e->jobs.items[i];
		bool is_paced = job->pacing != ENGINE_PACE_FREE && job->grid_ns > 0;
		double since_ns = e->now_ns - job->base_ns;

		*out++ = job->state;
		*out++ = job->state == JOB_RUNNING ? 0 : left_ns(e, job->start_ns);
		*out++ = is_paced ? since_ns - job->grid_ns *
						       floor(since_ns / job->grid_ns +
							     1e-9)
				  : 0;
		if (!job->graph)
			out = put_run(e, &job->run, job->state == JOB_RUNNING, out);
		for (uint32_t s = 0; job->graph && s < job->n_segments; s++)
			out = put_run(e, &job->graph->runs[s], graph_runs(job, s), out);
		for (uint32_t s = 0; s < job->n_segments; s++)
			for (uint32_t f = 0; f < job->segments[s].n_flows; f++) {
				uint32_t flow = job->segments[s].first_flow + f;

				*out++ = flow_state(e, flow);
				if (job->segments[s].steps)
					*out++ = e->fluid.flows[flow].is_active
							 ? job->segments[s].steps[f]
							 : 0;
			}
	}
}
