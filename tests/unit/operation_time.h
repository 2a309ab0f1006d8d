/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation_time.h - how long one operation over hosts of a fabric takes in the engine,
 * to be compared with closed forms
 */
#ifndef TESTS_UNIT_OPERATION_TIME_H
#define TESTS_UNIT_OPERATION_TIME_H

#include <stdlib.h>

#include "engine/engine.h"
#include "lib/base/alloc.h"
#include "tests/unit/test.h"
#include "topology/collective.h"
#include "topology/route.h"
#include "topology/topo.h"

/* Of one over 'hosts', in nanoseconds. */
static inline double
operation_on_ns(struct topo *topo, enum collective kind, const uint32_t *hosts,
		size_t n_hosts, double bytes)
{
	struct routes *routes = routes_new(topo, 0);
	struct engine_config config = { .n_links = topo_n_links(topo) };
	double *capacity_bps = xcalloc(config.n_links, sizeof *capacity_bps), end_ns;
	struct collective_flows flows;
	struct engine_flow *items;
	uint32_t *links, id;
	struct engine_segment segment = { 0 };
	struct engine_job job = { .segments = &segment,
				  .n_segments = 1,
				  .stop_ns = ENGINE_NEVER,
				  .max_iterations = 1 };
	struct engine_job_stats stats;
	struct engine *engine;

	for (uint32_t l = 0; l < config.n_links; l++)
		capacity_bps[l] = topo_link(topo, l)->capacity_bps;
	config.capacity_bps = capacity_bps;
	engine = engine_new(&config);
	assert_int_equal(collective_make(topo, kind, hosts, n_hosts, bytes, &flows), 0);
	items = xcalloc(flows.n, sizeof *items);
	links = xcalloc(flows.n * ROUTE_MAX_HOPS, sizeof *links);
	for (size_t i = 0; i < flows.n; i++) {
		size_t n;

		assert_int_equal(routes_path(routes, flows.flows[i].source,
					     flows.flows[i].destination, (uint16_t)i,
					     links + i * ROUTE_MAX_HOPS, &n),
				 0);
		items[i] = (struct engine_flow){ .links = links + i * ROUTE_MAX_HOPS,
						 .n_links = (uint32_t)n,
						 .bytes = flows.flows[i].bytes,
						 .weight = 1 };
	}
	segment.flows = items;
	segment.n_flows = (uint32_t)flows.n;
	assert_int_equal(engine_add_job(engine, &job, &id), 0);
	engine_run(engine, ENGINE_NEVER);
	engine_job_stats(engine, id, &stats);
	end_ns = stats.end_ns;
	engine_free(engine);
	free(items);
	free(links);
	free(capacity_bps);
	collective_flows_fini(&flows);
	routes_free(routes);
	return end_ns;
}

/* Of one over all hosts. */
static inline double
operation_ns(struct topo *topo, enum collective kind, double bytes)
{
	size_t n;
	const uint32_t *hosts = topo_hosts(topo, &n);

	return operation_on_ns(topo, kind, hosts, n, bytes);
}

#endif
