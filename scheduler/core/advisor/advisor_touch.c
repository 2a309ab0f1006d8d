/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_touch.c - the jobs that a change affects, and the advisor's state as the
 * functions of advise_internal.h take it.
 */
#include "scheduler/core/advisor/advisor_priv.h"
#include "scheduler/core/paths/link_loads.h"

struct advise_ctx
advisor_ctx(const struct advisor *advisor)
{
	return (struct advise_ctx){
		.workload = &advisor->workload,
		.topo = advisor->topo,
		.routes = advisor->routes,
		/* There is no waiting job to place. */
		.opts = { .policy = ADVISE_ANTIPHASE,
			  .levers = advisor->opts.levers & ADVISE_TIME ? ADVISE_TIME
								       : ADVISE_PLACE,
			  .seed = advisor->opts.seed,
			  .max_slowdown = advisor->opts.max_slowdown,
			  .n_iterations = advisor->opts.n_iterations },
		.n_seeds = 1,
		.n_iterations = 1,
	};
}

void
advisor_queue(struct advisor *advisor, uint32_t job)
{
	if (advisor->jobs.items[job]->is_queued)
		return;
	advisor->jobs.items[job]->is_queued = true;
	vec_push(&advisor->touched, job);
}

void
advisor_touch(struct advisor *advisor, uint32_t job)
{
	advisor->jobs.items[job]->is_touched = true;
	advisor->jobs.items[job]->hashed.is_stale = true;
	advisor_queue(advisor, job);
}

void
advisor_touch_around(struct advisor *advisor, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);

	advisor_touch(advisor, job);
	for (size_t i = 0; routed && i < routed->footprint.n; i++) {
		uint32_t link = routed->footprint.entries[i].link;
		const struct link_load *loads;
		size_t n;

		if (!link_loads_is_exceedable(place_link_loads(advisor->place), link))
			continue;
		loads = link_loads_of(place_link_loads(advisor->place), link, &n);
		for (size_t k = 0; k < n; k++)
			advisor_touch(advisor, loads[k].job);
	}
}
