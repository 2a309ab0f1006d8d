/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_paths.c - evidence for chosen paths: what each flow would meet on its hashed
 * path.
 */
#include <string.h>

#include "lib/base/vec.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/workload/workload.h"
#include "topology/route.h"
#include "topology/topo.h"

static bool
is_among(const uint32_t *links, size_t n, uint32_t link)
{
	for (size_t i = 0; i < n; i++)
		if (links[i] == link)
			return true;
	return false;
}

bool
advice_has_paths(const struct plan *plan, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(plan->place, job);

	for (size_t i = 0; routed && routed->paths && i < routed->flows.n; i++)
		if (routed->paths[i] != WORK_HASHED)
			return true;
	return false;
}

static bool
is_where_it_was(const struct plan *before, const struct plan *plan,
		const struct advise_ctx *ctx, uint32_t job)
{
	const uint32_t *a = place_hosts(before->place, job);
	const uint32_t *b = place_hosts(plan->place, job);

	return a && b &&
	       memcmp(a, b, ctx->workload->jobs[job].n_hosts_wanted * sizeof *a) == 0;
}

/* The jobs on a link but one; a new array. */
static uint32_t *
others_on(const struct link_loads *loads, uint32_t link, uint32_t job, size_t *ret_n)
{
	VEC(uint32_t) jobs = VEC_EMPTY;
	size_t n;
	const struct link_load *on_link = link_loads_of(loads, link, &n);

	for (size_t i = 0; i < n; i++)
		if (on_link[i].job != job)
			vec_push(&jobs, on_link[i].job);
	*ret_n = jobs.n;
	return jobs.items;
}

/*
 * Finds the link with the largest excess that the flow leaves: one of its hashed path,
 * not of 'chosen', that its jobs can exceed without advice.
 */
static void
fill_hashed(const struct plan *before, const struct advise_ctx *ctx, uint32_t job,
	    uint16_t port, const uint32_t *chosen, size_t n_chosen,
	    struct advice_path *path)
{
	const struct link_loads *loads = place_link_loads(before->place);
	uint32_t links[ROUTE_MAX_HOPS];
	double worst_bps = 0;
	size_t n;

	if (routes_path(ctx->routes, path->source, path->destination, port, links, &n) <
	    0)
		return;
	path->hashed_via = routes_top_switch(ctx->routes, links, n);
	for (size_t i = 0; i < n; i++) {
		double excess_bps = link_loads_excess_bps(loads, links[i]);

		if (is_among(chosen, n_chosen, links[i]) || excess_bps <= worst_bps ||
		    !link_loads_is_exceedable(loads, links[i]))
			continue;
		worst_bps = excess_bps;
		path->hashed_link = links[i];
	}
	if (path->hashed_link != TOPO_NONE)
		path->hashed_jobs =
			others_on(loads, path->hashed_link, job, &path->n_hashed_jobs);
}

void
advice_fill_paths(const struct plan *before, const struct plan *plan,
		  const struct advise_ctx *ctx, uint32_t job, struct advice *advice)
{
	const struct routed_job *routed = place_routed_job(plan->place, job);
	const struct work_job *wj = &ctx->workload->jobs[job];

	advice->paths = advice_paths_make(routed, wj, ctx->routes);
	advice->n_paths = advice->paths ? routed->flows.n : 0;
	if (!is_where_it_was(before, plan, ctx, job))
		return;
	for (size_t i = 0; i < advice->n_paths; i++) {
		size_t first = routed->path_first[i];

		if (advice->paths[i].number != WORK_HASHED)
			fill_hashed(before, ctx, job, (uint16_t)(wj->first_port + i),
				    routed->path_links + first,
				    routed->path_first[i + 1] - first,
				    &advice->paths[i]);
	}
}
