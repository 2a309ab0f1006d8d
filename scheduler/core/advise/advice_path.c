/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/advice_path.h"

#include <stdbool.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/workload/workload.h"
#include "topology/route.h"
#include "topology/topo.h"

/* The first switch of the highest tier on a path. */
static uint32_t
highest_switch(const struct topo *topo, const uint32_t *links, size_t n)
{
	uint32_t best = TOPO_NONE;

	for (size_t i = 0; i + 1 < n; i++) {
		uint32_t node = topo_link(topo, links[i])->to;

		if (best == TOPO_NONE ||
		    topo_node(topo, node)->tier > topo_node(topo, best)->tier)
			best = node;
	}
	return best;
}

static bool
is_any_chosen(const struct routed_job *routed)
{
	for (size_t i = 0; routed->paths && i < routed->flows.n; i++)
		if (routed->paths[i] != WORK_HASHED)
			return true;
	return false;
}

static struct advice_path
path_of(const struct routed_job *routed, uint32_t flow, uint16_t port,
	const struct topo *topo, struct routes *routes)
{
	const struct collective_flow *f = &routed->flows.flows[flow];
	size_t first = routed->path_first[flow];
	struct advice_path path = {
		.source = f->source,
		.destination = f->destination,
		.via = highest_switch(topo, routed->path_links + first,
				      routed->path_first[flow + 1] - first),
		.number = routed->paths[flow],
		.port = port,
	};

	if (path.number != WORK_HASHED &&
	    routes_port_of_path(routes, f->source, f->destination, port, path.number,
				ADVISE_MAX_PORTS, (uint16_t)routed->flows.n_rails,
				&path.port) < 0)
		path.port = 0;
	return path;
}

struct advice_path *
advice_paths_make(const struct routed_job *routed, uint16_t first_port,
		  const struct topo *topo, struct routes *routes)
{
	struct advice_path *paths;

	if (!is_any_chosen(routed))
		return NULL;
	paths = xcalloc(routed->flows.n, sizeof *paths);
	for (uint32_t i = 0; i < routed->flows.n; i++)
		paths[i] = path_of(routed, i, (uint16_t)(first_port + i), topo, routes);
	return paths;
}
