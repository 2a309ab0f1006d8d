/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/collisions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/flow_paths.h"
#include "scheduler/live/traffic_map.h"
#include "topology/collective.h"
#include "topology/route.h"
#include "topology/topo.h"

#define MAX_PORTS 4096 /* That are tried for a path. */

struct search {
	const struct live *live;
	struct topo *topo;
	struct routes *routes;
	const struct flow_paths *paths; /* Or NULL. */
	const struct contention_link *link;
	const struct contention_link **by_link; /* Owned.  By link of the fabric. */
	struct traffic_map_traffic *traffic;    /* Owned. */
	uint16_t *ports;                        /* Owned.  By job. */
	VEC(struct collision_flow) flows;
};

static void
search_init(struct search *s, const struct contention *found)
{
	struct traffic_map_ports *ports = traffic_map_ports_begin(s->live);

	while (!traffic_map_ports_step(ports))
		continue;
	s->ports = traffic_map_ports_end(ports);
	s->traffic = traffic_map_traffic_begin(s->live);
	while (!traffic_map_traffic_step(s->traffic))
		continue;
	s->by_link = xcalloc((size_t)topo_n_links(s->topo) + 1, sizeof *s->by_link);
	for (size_t i = 0; i < found->n_links; i++)
		if (found->links[i].link != TOPO_NONE)
			s->by_link[found->links[i].link] = &found->links[i];
}

static void
search_fini(struct search *s)
{
	traffic_map_traffic_free(s->traffic);
	free(s->ports);
	free(s->by_link);
}

static bool
is_among(const uint32_t *links, size_t n, uint32_t link)
{
	for (size_t i = 0; i < n; i++)
		if (links[i] == link)
			return true;
	return false;
}

/* What remains of the fullest link of a path that the flow does not use now. */
static double
room_bps(const struct search *s, const uint32_t *now, size_t n_now,
	 const uint32_t *links, size_t n)
{
	double room = 1e300;

	for (size_t i = 0; i < n; i++) {
		const struct contention_link *link = s->by_link[links[i]];
		double left = topo_link(s->topo, links[i])->capacity_bps;

		if (is_among(now, n_now, links[i]))
			continue;
		if (link && link->peak_bps > 0)
			left -= link->peak_bps;
		if (left < room)
			room = left;
	}
	return room;
}

/* Fills in the path with most room. */
static void
find_room(const struct search *s, const struct contention_job *job, uint16_t port,
	  const uint32_t *now, size_t n_now, uint16_t n_rails,
	  struct collision_flow *flow)
{
	uint32_t links[ROUTE_MAX_HOPS], best = 0;
	double most = job->peak_bps;
	size_t n;

	flow->room_via = TOPO_NONE;
	for (uint32_t i = 0; i < flow->n_paths && i < COLLISIONS_MAX_PATHS; i++) {
		double room;

		if (routes_numbered_path(s->routes, flow->source, flow->destination,
					 port, i, links, &n, &flow->n_paths) < 0)
			return;
		if (is_among(links, n, s->link->link))
			continue;
		room = room_bps(s, now, n_now, links, n);
		if (room < most || (room == most && flow->room_via != TOPO_NONE))
			continue;
		most = room;
		best = i;
		flow->room_via = routes_top_switch(s->routes, links, n);
	}
	if (flow->room_via != TOPO_NONE && !(flow->margin > 0) &&
	    routes_port_of_path(s->routes, flow->source, flow->destination, port, best,
				MAX_PORTS, n_rails, &flow->room_port) < 0)
		flow->room_port = 0;
}

/* Writes the known or assumed path of a flow; false: none. */
static bool
find_path(const struct search *s, struct collision_flow *flow, uint32_t rail,
	  uint32_t *ret_links, size_t *ret_n)
{
	const struct flow_path *known = flow_paths_find(
		s->paths, flow->job, flow->source, flow->destination, rail);
	const uint32_t *links = flow_paths_links(s->paths, flow->job, flow->source,
						 flow->destination, rail, ret_n);

	if (!links)
		return routes_path(s->routes, flow->source, flow->destination,
				   flow->port, ret_links, ret_n) == 0;
	memcpy(ret_links, links, *ret_n * sizeof *links);
	flow->margin = known->margin;
	flow->port = 0;
	return true;
}

/* Adds a flow of a job if it crosses the link. */
static void
add_flow(struct search *s, const struct contention_job *job, uint16_t port,
	 const struct collective_flow *flow, uint32_t rail, uint16_t n_rails)
{
	uint32_t links[ROUTE_MAX_HOPS], any[ROUTE_MAX_HOPS];
	struct collision_flow out = { .job = job->job,
				      .source = flow->source,
				      .destination = flow->destination,
				      .port = port };
	size_t n, n_any;

	if (!find_path(s, &out, rail, links, &n) ||
	    !is_among(links, n, s->link->link) ||
	    routes_numbered_path(s->routes, flow->source, flow->destination, port, 0,
				 any, &n_any, &out.n_paths) < 0)
		return;
	out.via = routes_top_switch(s->routes, links, n);
	find_room(s, job, port, links, n, n_rails, &out);
	vec_push(&s->flows, out);
}

static void
add_job(struct search *s, const struct contention_job *job)
{
	struct collective_flows flows;
	size_t n_hosts;
	uint32_t *hosts =
		traffic_map_job_hosts(s->live, s->topo, s->traffic, job->job, &n_hosts);

	if (n_hosts > 1 &&
	    collective_make(s->topo, COLLECTIVE_RING, hosts, n_hosts, 1, &flows) == 0) {
		for (size_t i = 0; i < flows.n; i++)
			add_flow(s, job, (uint16_t)(s->ports[job->job] + i),
				 &flows.flows[i], (uint32_t)i % flows.n_rails,
				 (uint16_t)flows.n_rails);
		collective_flows_fini(&flows);
	}
	free(hosts);
}

void
collisions_find(const struct live *live, struct topo *topo, struct routes *routes,
		const struct flow_paths *paths, const struct contention *found,
		const struct contention_link *link, struct collisions *ret_collisions)
{
	struct search s = {
		live, topo, routes, paths, link, NULL, NULL, NULL, VEC_EMPTY
	};

	*ret_collisions = (struct collisions){ 0 };
	if (link->link == TOPO_NONE || link->from_tier == 0 || link->to_tier == 0 ||
	    link->n_jobs < 2 || !routes_all_hash(routes))
		return;
	search_init(&s, found);
	for (size_t i = 0; i < link->n_jobs; i++)
		add_job(&s, &link->jobs[i]);
	search_fini(&s);
	ret_collisions->flows = s.flows.items;
	ret_collisions->n = s.flows.n;
}

void
collisions_fini(struct collisions *collisions)
{
	free(collisions->flows);
	*collisions = (struct collisions){ 0 };
}
