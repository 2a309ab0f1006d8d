/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.c - links and paths that change during a run.
 *
 * Before the first of some changes, all flows that send become flows of the fluid with
 * their old caps; the rebuild at the next engine_run() then gives every flow a rate on
 * the changed fabric.
 */
#include <errno.h>
#include <math.h>

#include "engine/engine_internal.h"

/* Takes the active flows of gated jobs off the gate's links, or puts them there. */
static void
count_gated(struct engine *e, void (*count)(struct engine *e, uint32_t flow))
{
	for (uint32_t f = 0; f < e->fluid.n_flows; f++) {
		const struct fluid_flow *flow = &e->fluid.flows[f];

		if (flow->is_active &&
		    e->jobs.items[flow->owner]->pacing == ENGINE_PACE_GATE)
			count(e, f);
	}
}

static void
begin(struct engine *e)
{
	if (e->is_changing)
		return;
	/* Integrates up to now with the old links of each flow. */
	if (e->measure && !e->fluid.is_stale)
		measure_flush(e->measure, e);
	for (size_t i = 0; i < e->jobs.n; i++) {
		struct job *job = e->jobs.items[i];

		for (uint32_t k = 0; k < job_n_running(job); k++)
			if (job_run(job, k)->is_admitted)
				gate_leave(e, job_run(job, k));
		job_expose(e, job);
	}
	count_gated(e, gate_flow_end);
	e->is_changing = true;
	e->fluid.is_stale = true;
}

void
engine_end_changes(struct engine *e)
{
	if (e->is_changing)
		count_gated(e, gate_flow_start);
	e->is_changing = false;
}

int
engine_set_capacity(struct engine *e, uint32_t link, double capacity_bps)
{
	if (link >= e->fluid.n_links || !(capacity_bps > 0) || !isfinite(capacity_bps))
		return -EINVAL;
	begin(e);
	fluid_set_capacity(&e->fluid, link, capacity_bps);
	return 0;
}

int
engine_set_path(struct engine *e, uint32_t id, uint32_t flow, const uint32_t *links,
		uint32_t n_links)
{
	struct job *job = id < e->jobs.n ? e->jobs.items[id] : NULL;
	uint32_t n_flows = 0;

	for (uint32_t i = 0; job && i < job->n_segments; i++)
		n_flows += job->segments[i].n_flows;
	if (flow >= n_flows)
		return -EINVAL;
	for (uint32_t i = 0; links && i < n_links; i++)
		if (links[i] >= e->fluid.n_links)
			return -EINVAL;
	if (job->state == JOB_LEFT)
		return 0;
	begin(e);
	fluid_set_path(&e->fluid, job->segments[0].first_flow + flow, links,
		       links ? n_links : 0, links ? 0 : ENGINE_BLOCKED_BPS);
	return 0;
}
