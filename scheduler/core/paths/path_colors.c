/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/paths/path_colors.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/solve/edge_coloring.h"
#include "topology/route.h"
#include "topology/topo.h"

#define NO_RANK UINT32_MAX

/* A link between two tiers. */
struct cable {
	uint32_t lower, upper, link;
	bool is_down;
};

/* The links of one path. */
struct hops {
	uint32_t links[ROUTE_MAX_HOPS];
	size_t n;
};

struct coloring {
	const struct topo *topo;
	struct routes *routes;
	struct path_colors_flow *flows;
	size_t n_flows;
	/*
	 * Owned.  By link between two tiers: its place among those of its lower end in
	 * its direction, by upper end, then by link; else NO_RANK.
	 */
	uint32_t *ranks;
	uint32_t *n_ranks; /* Owned.  By node: more than the ranks of its links. */
	/* By flow that the stage colors: */
	VEC(uint32_t) numbers; /* Index in 'flows'. */
	VEC(struct edge_coloring_edge) edges;
	VEC(uint32_t) wanted;
};

static int
compare_cables(const void *pa, const void *pb)
{
	const struct cable *a = pa, *b = pb;

	if (a->lower != b->lower)
		return a->lower > b->lower ? 1 : -1;
	if (a->is_down != b->is_down)
		return a->is_down ? 1 : -1;
	if (a->upper != b->upper)
		return a->upper > b->upper ? 1 : -1;
	return (a->link > b->link) - (a->link < b->link);
}

static void
rank_links(struct coloring *c)
{
	uint32_t n_links = topo_n_links(c->topo), rank = 0;
	VEC(struct cable) cables = VEC_EMPTY;

	c->ranks = xcalloc((size_t)n_links + 1, sizeof *c->ranks);
	c->n_ranks = xcalloc((size_t)topo_n_nodes(c->topo) + 1, sizeof *c->n_ranks);
	for (uint32_t l = 0; l < n_links; l++) {
		const struct topo_link *link = topo_link(c->topo, l);
		uint32_t from = topo_node(c->topo, link->from)->tier,
			 to = topo_node(c->topo, link->to)->tier;

		c->ranks[l] = NO_RANK;
		if (from < to)
			vec_push(&cables,
				 ((struct cable){ link->from, link->to, l, false }));
		else if (from > to)
			vec_push(&cables,
				 ((struct cable){ link->to, link->from, l, true }));
	}
	sort_items(cables.items, cables.n, compare_cables);
	for (size_t i = 0; i < cables.n; i++) {
		const struct cable *cable = &cables.items[i];

		rank = i > 0 && cable[-1].lower == cable->lower &&
				       cable[-1].is_down == cable->is_down
			       ? rank + 1
			       : 0;
		c->ranks[cable->link] = rank;
		if (rank >= c->n_ranks[cable->lower])
			c->n_ranks[cable->lower] = rank + 1;
	}
	vec_free(&cables);
}

static void
find_hops(const struct coloring *c, const struct path_colors_flow *flow,
	  uint32_t number, struct hops *ret_hops)
{
	uint32_t n_paths;

	if (number == PATH_COLORS_PRESENT) {
		ret_hops->n = flow->n_links;
		memcpy(ret_hops->links, flow->links, flow->n_links * sizeof(uint32_t));
		return;
	}
	if (routes_numbered_path(c->routes, flow->source, flow->destination, flow->port,
				 number, ret_hops->links, &ret_hops->n, &n_paths) < 0)
		BUG("a flow has lost its paths");
}

/* True if 'a' and 'links' are the same path up to 'stage' switches from either end. */
static bool
is_same_so_far(const struct hops *a, const uint32_t *links, size_t n, size_t stage)
{
	return a->n == n && memcmp(a->links, links, stage * sizeof *links) == 0 &&
	       memcmp(a->links + n - stage, links + n - stage, stage * sizeof *links) ==
		       0;
}

/*
 * Lists the flows that are still on their way up after 'stage' switches, each as an edge
 * between the two switches where it is then.  Returns the number of colors.
 */
static uint32_t
list_edges(struct coloring *c, size_t stage)
{
	uint32_t n_colors = 0;

	c->numbers.n = c->edges.n = c->wanted.n = 0;
	for (size_t i = 0; i < c->n_flows; i++) {
		const struct path_colors_flow *flow = &c->flows[i];
		uint32_t left, right, wanted = EDGE_COLORING_ANY;
		struct hops hops;

		find_hops(c, flow, flow->number, &hops);
		if (flow->n_paths > PATH_COLORS_MAX_PATHS || hops.n < 2 * stage + 2 ||
		    c->ranks[hops.links[stage]] == NO_RANK ||
		    c->ranks[hops.links[hops.n - 1 - stage]] == NO_RANK)
			continue;
		left = topo_link(c->topo, hops.links[stage])->from;
		right = topo_link(c->topo, hops.links[hops.n - 1 - stage])->to;
		if (is_same_so_far(&hops, flow->links, flow->n_links, stage) &&
		    c->ranks[flow->links[stage]] ==
			    c->ranks[flow->links[hops.n - 1 - stage]])
			wanted = c->ranks[flow->links[stage]];
		if (c->n_ranks[left] > n_colors)
			n_colors = c->n_ranks[left];
		if (c->n_ranks[right] > n_colors)
			n_colors = c->n_ranks[right];
		vec_push(&c->numbers, (uint32_t)i);
		vec_push(&c->edges, ((struct edge_coloring_edge){ left, right }));
		vec_push(&c->wanted, wanted);
	}
	/* No listed flow has more links to choose from; this bounds memory. */
	return n_colors < PATH_COLORS_MAX_PATHS ? n_colors : PATH_COLORS_MAX_PATHS;
}

/* Sends a flow on by the links of its color, up and down; if there are none, as before. */
static void
take_color(const struct coloring *c, struct path_colors_flow *flow, size_t stage,
	   uint32_t color)
{
	uint32_t best = flow->number;
	struct hops before, hops;
	int best_match = 0;

	find_hops(c, flow, flow->number, &before);
	for (uint32_t k = 0; k < flow->n_paths && best_match < 3; k++) {
		int match;

		find_hops(c, flow, k, &hops);
		if (!is_same_so_far(&hops, before.links, before.n, stage))
			continue;
		/* Where no two fit together, the uplink decides. */
		match = 2 * (c->ranks[hops.links[stage]] == color) +
			(c->ranks[hops.links[hops.n - 1 - stage]] == color);
		if (match > best_match) {
			best = k;
			best_match = match;
		}
	}
	flow->number = best;
}

/* Colors the links after 'stage' switches; false: no flow goes that far. */
static bool
color_stage(struct coloring *c, size_t stage)
{
	uint32_t n_nodes = topo_n_nodes(c->topo), n_colors = list_edges(c, stage);
	uint32_t *colors;

	if (c->edges.n == 0)
		return false;
	colors = xcalloc(c->edges.n, sizeof *colors);
	if (edge_coloring_find(n_nodes, n_nodes, c->edges.items, c->edges.n, n_colors,
			       c->wanted.items, colors) == 0)
		for (size_t i = 0; i < c->edges.n; i++)
			take_color(c, &c->flows[c->numbers.items[i]], stage, colors[i]);
	free(colors);
	return true;
}

void
path_colors_find(const struct topo *topo, struct routes *routes,
		 struct path_colors_flow *flows, size_t n)
{
	struct coloring c = {
		.topo = topo, .routes = routes, .flows = flows, .n_flows = n
	};
	size_t stage = 1; /* Hosts choose their links by port. */

	for (size_t i = 0; i < n; i++)
		flows[i].number = PATH_COLORS_PRESENT;
	rank_links(&c);
	while (color_stage(&c, stage))
		stage++;
	free(c.ranks);
	free(c.n_ranks);
	vec_free(&c.numbers);
	vec_free(&c.edges);
	vec_free(&c.wanted);
}
