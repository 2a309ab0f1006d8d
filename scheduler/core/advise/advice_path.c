/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/advice_path.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/workload/workload.h"
#include "topology/route.h"
#include "topology/topo.h"

static bool
is_any_chosen(const struct routed_job *routed)
{
	for (size_t i = 0; routed->paths && i < routed->flows.n; i++)
		if (routed->paths[i] != WORK_HASHED)
			return true;
	return false;
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

static struct advice_path
path_of(const struct routed_job *routed, size_t flow, const struct work_job *job,
	struct routes *routes)
{
	const struct collective_flow *f = &routed->flows.flows[flow];
	size_t first = routed->path_first[flow];
	struct advice_path path = {
		.source = f->source,
		.destination = f->destination,
		.via = routes_top_switch(routes, routed->path_links + first,
					 routed->path_first[flow + 1] - first),
		.number = routed->paths[flow],
		.port = (uint16_t)(job->first_port + flow),
		.hashed_via = TOPO_NONE,
		.hashed_link = TOPO_NONE,
	};

	if (path.number != WORK_HASHED &&
	    routes_port_of_path(routes, f->source, f->destination, path.port,
				path.number, ADVISE_MAX_PORTS, port_step(job, routed),
				&path.port) < 0)
		path.port = 0;
	return path;
}

struct advice_path *
advice_paths_make(const struct routed_job *routed, const struct work_job *job,
		  struct routes *routes)
{
	struct advice_path *paths;

	if (!is_any_chosen(routed))
		return NULL;
	paths = xcalloc(routed->flows.n, sizeof *paths);
	for (size_t i = 0; i < routed->flows.n; i++)
		paths[i] = path_of(routed, i, job, routes);
	return paths;
}

void
advice_paths_free(struct advice_path *paths, size_t n)
{
	for (size_t i = 0; paths && i < n; i++)
		free(paths[i].hashed_jobs);
	free(paths);
}
