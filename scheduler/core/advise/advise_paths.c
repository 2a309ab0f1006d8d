/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_paths.c - evidence for chosen paths: the switch and the source port of each,
 * and what the flow would meet on its hashed path.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "scheduler/core/advise/advise_constants.h"
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

/*
 * Distance of the ports that are tried for one flow: it keeps its rail (route.h), and
 * the connections of a flow, whose first ports follow each other, never take the same.
 */
static uint16_t
port_step(const struct work_job *job, const struct routed_job *routed)
{
	return (uint16_t)(routed->flows.n_rails *
			  (job->n_connections > 1 ? job->n_connections : 1));
}

void
advice_fill_paths(const struct plan *before, const struct plan *plan,
		  const struct advise_ctx *ctx, uint32_t job, struct advice *advice)
{
	const struct routed_job *routed = place_routed_job(plan->place, job);
	const struct work_job *wj = &ctx->workload->jobs[job];
	bool is_there = is_where_it_was(before, plan, ctx, job);

	if (!advice_has_paths(plan, job))
		return;
	advice->paths = xcalloc(routed->flows.n, sizeof *advice->paths);
	advice->n_paths = routed->flows.n;
	for (size_t i = 0; i < routed->flows.n; i++) {
		const struct collective_flow *flow = &routed->flows.flows[i];
		const uint32_t *links = routed->path_links + routed->path_first[i];
		size_t n_links = routed->path_first[i + 1] - routed->path_first[i];
		uint16_t port = (uint16_t)(wj->first_port + i);
		struct advice_path *path = &advice->paths[i];

		*path = (struct advice_path){
			.source = flow->source,
			.destination = flow->destination,
			.via = routes_top_switch(ctx->routes, links, n_links),
			.number = routed->paths[i],
			.port = port,
			.hashed_via = TOPO_NONE,
			.hashed_link = TOPO_NONE,
		};
		if (path->number == WORK_HASHED)
			continue;
		if (routes_port_of_path(ctx->routes, flow->source, flow->destination,
					port, path->number, ADVISE_MAX_PORTS,
					port_step(wj, routed), &path->port) < 0)
			path->port = 0;
		if (is_there)
			fill_hashed(before, ctx, job, port, links, n_links, path);
	}
}

void
advice_free_paths(struct advice *advice)
{
	for (size_t i = 0; i < advice->n_paths; i++)
		free(advice->paths[i].hashed_jobs);
	free(advice->paths);
}
