/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monkeytree_paths.c - MonkeyTree's paths of jobs on a fabric, by edge coloring.
 *
 * Color k is the uplink of rank k of the source's leaf and the downlink of rank k of the
 * destination's leaf, ranked by spine and then by link.  Where all leaves have the same
 * cables, these two meet at a spine.  Where they do not, the uplink decides.
 */
#include "sim/baselines/monkeytree_paths.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/solve/edge_coloring.h"
#include "topology/route.h"
#include "topology/topo.h"

#define N_LINKS 4 /* Host, leaf, spine, leaf, host. */

/* A flow with a choice. */
struct chosen {
	uint32_t job, flow;
	uint32_t n_paths;
};

/* A link between a leaf and a spine. */
struct cable {
	uint32_t leaf, spine, link;
	bool is_down;
};

struct coloring {
	VEC(struct chosen) flows;
	VEC(struct edge_coloring_edge) edges; /* By flow, as the next. */
	VEC(uint32_t) colors;
	uint32_t *ranks; /* Owned.  By link: its rank at its leaf. */
	uint32_t n_colors;
};

static int
compare_cables(const void *pa, const void *pb)
{
	const struct cable *a = pa, *b = pb;

	if (a->leaf != b->leaf)
		return a->leaf > b->leaf ? 1 : -1;
	if (a->is_down != b->is_down)
		return a->is_down ? 1 : -1;
	if (a->spine != b->spine)
		return a->spine > b->spine ? 1 : -1;
	return (a->link > b->link) - (a->link < b->link);
}

static void
rank_links(struct coloring *c, const struct topo *topo)
{
	VEC(struct cable) cables = VEC_EMPTY;
	uint32_t rank = 0;

	c->ranks = xcalloc((size_t)topo_n_links(topo) + 1, sizeof *c->ranks);
	for (uint32_t l = 0; l < topo_n_links(topo); l++) {
		const struct topo_link *link = topo_link(topo, l);
		uint32_t from = topo_node(topo, link->from)->tier,
			 to = topo_node(topo, link->to)->tier;

		if (from == 1 && to > 1)
			vec_push(&cables,
				 ((struct cable){ link->from, link->to, l, false }));
		else if (to == 1 && from > 1)
			vec_push(&cables,
				 ((struct cable){ link->to, link->from, l, true }));
	}
	sort_items(cables.items, cables.n, compare_cables);
	for (size_t i = 0; i < cables.n; i++) {
		const struct cable *cable = &cables.items[i];

		rank = i && cable[-1].leaf == cable->leaf &&
				       cable[-1].is_down == cable->is_down
			       ? rank + 1
			       : 0;
		c->ranks[cable->link] = rank;
		if (rank >= c->n_colors)
			c->n_colors = rank + 1;
	}
	vec_free(&cables);
}

/* The color of a path that was chosen. */
static uint32_t
color_of(const struct coloring *c, const struct baseline_job *job, uint32_t flow,
	 const uint32_t *links)
{
	uint32_t color = c->ranks[links[1]];

	if (job->routed->paths[flow] == WORK_HASHED || c->ranks[links[2]] != color)
		return EDGE_COLORING_ANY;
	return color;
}

static int
add_flow(struct coloring *c, const struct baseline_job *job, uint32_t number,
	 uint32_t flow, const struct topo *topo, struct routes *routes)
{
	struct chosen chosen = { number, flow, 0 };
	const uint32_t *links;
	size_t n;
	int r = baseline_n_paths(job, flow, routes, &chosen.n_paths);

	if (r < 0 || chosen.n_paths < 2)
		return r;
	links = baseline_links(job, flow, &n);
	if (n != N_LINKS)
		return -ENOTSUP;
	vec_push(&c->flows, chosen);
	vec_push(&c->colors, color_of(c, job, flow, links));
	vec_push(&c->edges,
		 ((struct edge_coloring_edge){ topo_link(topo, links[0])->to,
					       topo_link(topo, links[3])->from }));
	return 0;
}

/* The path of a color; if there is none, another one. */
static int
path_of_color(const struct coloring *c, const struct baseline_job *job,
	      const struct chosen *chosen, uint32_t color, struct routes *routes,
	      uint32_t *ret_number)
{
	uint32_t links[ROUTE_MAX_HOPS], number = color % chosen->n_paths;
	bool is_up = false;
	size_t n;

	for (uint32_t k = 0; k < chosen->n_paths; k++) {
		int r = baseline_path(job, chosen->flow, k, routes, links, &n);

		if (r < 0)
			return r;
		if (n != N_LINKS || c->ranks[links[1]] != color)
			continue;
		if (!is_up || c->ranks[links[2]] == color)
			number = k;
		if (c->ranks[links[2]] == color)
			break;
		is_up = true;
	}
	*ret_number = number;
	return 0;
}

/* Gives all flows the paths of their colors. */
static int
set_paths(const struct coloring *c, const uint32_t *colors, struct baseline_job *jobs,
	  size_t n, const struct topo *topo, struct routes *routes)
{
	size_t next = 0;
	int r = 0;

	for (size_t j = 0; r == 0 && j < n; j++) {
		const struct routed_job *routed = jobs[j].routed;
		uint32_t *numbers;

		if (next == c->flows.n || c->flows.items[next].job != j)
			continue;
		numbers = xmemdup(routed->paths, routed->flows.n, sizeof *numbers);
		for (; r == 0 && next < c->flows.n && c->flows.items[next].job == j;
		     next++)
			r = path_of_color(c, &jobs[j], &c->flows.items[next],
					  colors[next], routes,
					  &numbers[c->flows.items[next].flow]);
		if (r == 0)
			r = baseline_set_paths(&jobs[j], numbers, topo, routes);
		free(numbers);
	}
	return r;
}

bool
monkeytree_suits(const struct topo *topo)
{
	for (uint32_t v = 0; v < topo_n_nodes(topo); v++)
		if (topo_node(topo, v)->tier > 2)
			return false;
	return true;
}

int
monkeytree_choose_paths(struct baseline_job *jobs, size_t n, const struct topo *topo,
			struct routes *routes)
{
	struct coloring c = { .n_colors = 0 };
	uint32_t n_nodes = topo_n_nodes(topo), *colors;
	int r = 0;

	rank_links(&c, topo);
	for (uint32_t j = 0; r == 0 && j < n; j++)
		for (uint32_t f = 0; r == 0 && f < jobs[j].routed->flows.n; f++)
			r = add_flow(&c, &jobs[j], j, f, topo, routes);
	if (r == 0 && c.flows.n) {
		colors = xcalloc(c.flows.n, sizeof *colors);
		r = edge_coloring_find(n_nodes, n_nodes, c.edges.items, c.edges.n,
				       c.n_colors, c.colors.items, colors);
		if (r == 0)
			r = set_paths(&c, colors, jobs, n, topo, routes);
		free(colors);
	}
	vec_free(&c.flows);
	vec_free(&c.edges);
	vec_free(&c.colors);
	free(c.ranks);
	return r;
}
