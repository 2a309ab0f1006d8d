/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_paths.c - all equally short paths at once: their number, and the shares of
 * links of a flow that is spread over them.
 *
 * The paths of a flow form a graph of states (switch, whether the path has only gone
 * up), from the first switch to the last.  All its paths have the same length, so the
 * order in which a breadth-first search finds the states is an order along the paths,
 * and with n(v) the number of paths from state v to the end, and f(v) the share of the
 * flow that passes it,
 *
 *	n(v) = sum over links v > w of n(w)
 *	share(v > w) = f(v) n(w) / n(v)
 *
 * follow in one pass backwards and one forwards.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "topology/route.h"
#include "topology/route_priv.h"

/* ---- The number of paths --------------------------------------------------------- */

/* The switches by their distance to the leaf of 't', those without a path last. */
static void
sort_by_distance(const struct routes *r, const struct route_table *t, bool may_go_up,
		 uint32_t *ret_order)
{
	uint32_t first[ROUTE_FAR + 2] = { 0 };

	for (uint32_t v = 0; v < r->n_switches; v++)
		first[route_distance(r, t, v, may_go_up) + 1]++;
	for (uint32_t i = 0; i <= ROUTE_FAR; i++)
		first[i + 1] += first[i];
	for (uint32_t v = 0; v < r->n_switches; v++)
		ret_order[first[route_distance(r, t, v, may_go_up)]++] = v;
}

/*
 * Counts the shortest paths from every switch to the leaf of table 't': into
 * 'n_all' those that may still go up, into 'n_down' those that may not.
 */
static void
count_to_leaf(const struct routes *r, const struct route_table *t, double *n_down,
	      double *n_all)
{
	uint32_t *order = xcalloc((size_t)r->n_switches + 1, sizeof *order);

	for (int pass = 0; pass < 2; pass++) {
		bool may_go_up = pass == 1;
		double *counts = may_go_up ? n_all : n_down;

		sort_by_distance(r, t, may_go_up, order);
		for (uint32_t i = 0; i < r->n_switches; i++) {
			uint32_t v = order[i];

			counts[v] = route_distance(r, t, v, may_go_up) == 0;
			for (uint32_t j = r->hop_first[v]; j < r->hop_first[v + 1];
			     j++) {
				uint32_t w = r->hops[j].to;
				bool is_up = may_go_up;

				if (route_hop_is_short(r, t, v, &r->hops[j], &is_up))
					counts[v] += is_up ? n_all[w] : n_down[w];
			}
		}
	}
	free(order);
}

double
routes_n_paths(struct routes *r, uint32_t source, uint32_t destination)
{
	double *counts, n_paths = 0;
	uint32_t host = topo_host_number(r->topo, destination);
	const uint32_t *out;
	size_t n, n_out;
	unsigned hops;

	if (!routes_n_hops(r, source, destination))
		return 0;
	hops = route_hops_between(r, source, destination, &n);
	if (hops == 1)
		return (double)n;
	if (r->is_valiant) {
		uint32_t links[ROUTE_MAX_HOPS], n_valiant = 0;

		(void)routes_numbered_path(r, source, destination, 0, 0, links, &n,
					   &n_valiant);
		return n_valiant;
	}
	counts = xcalloc((size_t)2 * r->n_switches, sizeof *counts);
	out = topo_links_out(r->topo, source, &n_out);
	for (uint32_t i = r->in_first[host]; i < r->in_first[host + 1]; i++) {
		uint32_t last = topo_link(r->topo, r->in_links[i])->from;
		const struct route_table *t;

		if (route_hops_over(r, source, r->in_links[i]) != hops)
			continue;
		t = route_table_to(r, r->switch_numbers[last]);
		count_to_leaf(r, t, counts, counts + r->n_switches);
		for (size_t j = 0; j < n_out; j++) {
			uint32_t v = r->switch_numbers[topo_link(r->topo, out[j])->to];

			if (v != TOPO_NONE && route_distance(r, t, v, true) == hops - 2)
				n_paths += counts[r->n_switches + v];
		}
	}
	free(counts);
	return n_paths;
}

/* ---- The paths of one flow ------------------------------------------------------- */

struct edge {
	uint32_t link, to; /* 'to' is the number of a state. */
};

struct state {
	uint32_t v; /* Switch number. */
	bool is_up;
	size_t first_edge, n_edges;
	double n_paths; /* From here to the end. */
	double share;   /* Of the flow, that passes here. */
};

struct graph {
	struct routes *routes;
	struct route_ends ends;
	VEC(struct state)
	states;                 /* Those that are farther from the source come later. */
	VEC(struct edge) edges; /* Of one state after the other, ascending by link. */
};

/* Adds the link of 'hop' to the edges of the last state that has some. */
static void
add_edge(struct graph *g, const struct route_hop *hop, bool is_up)
{
	uint32_t *place = &g->routes->spread_places[2 * hop->to + is_up];

	if (!*place) {
		vec_push(&g->states, ((struct state){ .v = hop->to, .is_up = is_up }));
		*place = (uint32_t)g->states.n;
	}
	vec_push(&g->edges, ((struct edge){ hop->link, *place - 1 }));
}

/* Adds the links that the flow takes from state number 'i'. */
static void
expand(struct graph *g, size_t i, struct route_choice *choice)
{
	const struct routes *r = g->routes;
	uint32_t v = g->states.items[i].v;
	bool was_up = g->states.items[i].is_up, is_up = was_up;
	size_t first = g->edges.n;

	if (route_distance(r, g->ends.t, v, was_up) == 0) {
		g->states.items[i].n_paths = 1;
	} else if (route_hashes(r, v)) {
		const struct route_hop *hop =
			route_choose_hop(r, g->ends.t, v, choice, &is_up);

		add_edge(g, hop, is_up);
	} else {
		for (uint32_t j = r->hop_first[v]; j < r->hop_first[v + 1]; j++) {
			is_up = was_up;
			if (route_hop_is_short(r, g->ends.t, v, &r->hops[j], &is_up))
				add_edge(g, &r->hops[j], is_up);
		}
	}
	g->states.items[i].first_edge = first;
	g->states.items[i].n_edges = g->edges.n - first;
}

/* Fills the graph of a flow of at least two hops; release with graph_fini(). */
static void
graph_init(struct graph *g, struct routes *r, const struct route_ends *ends,
	   uint16_t port)
{
	struct route_choice choice = { .port = port, .hash = ends->hash };
	const struct route_hop start = {
		ends->out, r->switch_numbers[topo_link(r->topo, ends->out)->to]
	};

	*g = (struct graph){ .routes = r, .ends = *ends };
	if (!r->spread_places)
		r->spread_places =
			xcalloc((size_t)2 * r->n_switches + 1, sizeof(uint32_t));
	add_edge(g, &start, true);
	g->edges.n = 0;
	for (size_t i = 0; i < g->states.n; i++)
		expand(g, i, &choice);
	for (size_t i = g->states.n; i-- > 0;) {
		struct state *s = &g->states.items[i];

		for (size_t k = 0; k < s->n_edges; k++)
			s->n_paths +=
				g->states.items[g->edges.items[s->first_edge + k].to]
					.n_paths;
	}
}

static void
graph_fini(struct graph *g)
{
	for (size_t i = 0; i < g->states.n; i++)
		g->routes->spread_places[2 * g->states.items[i].v +
					 g->states.items[i].is_up] = 0;
	vec_free(&g->states);
	vec_free(&g->edges);
}

/* ---- Shares of links ------------------------------------------------------------- */

static void
visit_links(struct graph *g, void (*visit)(void *ctx, uint32_t link, double share),
	    void *ctx)
{
	g->states.items[0].share = 1;
	for (size_t i = 0; i < g->states.n; i++) {
		const struct state *s = &g->states.items[i];

		for (size_t k = 0; k < s->n_edges; k++) {
			const struct edge *e = &g->edges.items[s->first_edge + k];
			struct state *to = &g->states.items[e->to];
			double share = s->share * to->n_paths / s->n_paths;

			to->share += share;
			visit(ctx, e->link, share);
		}
	}
}

int
routes_spread(struct routes *r, uint32_t source, uint32_t destination, uint16_t port,
	      void (*visit)(void *ctx, uint32_t link, double share), void *ctx,
	      double *ret_n_paths)
{
	double n_paths = 1;
	struct graph g;
	int error;

	if (!r->spreads) {
		uint32_t links[ROUTE_MAX_HOPS];
		size_t n;

		error = routes_path(r, source, destination, port, links, &n);
		for (size_t i = 0; error == 0 && i < n; i++)
			visit(ctx, links[i], 1);
	} else {
		struct route_ends ends;

		error = route_find_ends(r, source, destination, port, &ends);
		if (error == 0 && ends.n_hops > 1) {
			graph_init(&g, r, &ends, port);
			n_paths = g.states.items[0].n_paths;
			visit(ctx, ends.out, 1);
			visit_links(&g, visit, ctx);
			graph_fini(&g);
		}
		if (error == 0 && ends.n_hops > 0)
			visit(ctx, ends.in, 1);
	}
	if (error == 0 && ret_n_paths)
		*ret_n_paths = n_paths;
	return error;
}

/* ---- Single paths ---------------------------------------------------------------- */

/* Writes path number 'rank' between the interfaces, in the order of the links' ids. */
static void
find_ranked(const struct graph *g, double rank, uint32_t *ret_links)
{
	const struct state *s = &g->states.items[0];

	while (s->n_edges) {
		const struct edge *e = &g->edges.items[s->first_edge];
		const struct edge *last = e + s->n_edges - 1;

		for (; e < last && rank >= g->states.items[e->to].n_paths; e++)
			rank -= g->states.items[e->to].n_paths;
		*ret_links++ = e->link;
		s = &g->states.items[e->to];
	}
}

int
routes_spread_paths(struct routes *r, uint32_t source, uint32_t destination,
		    uint16_t port, size_t n_max,
		    void (*visit)(void *ctx, const uint32_t *links, size_t n),
		    void *ctx, size_t *ret_n)
{
	uint32_t links[ROUTE_MAX_HOPS];
	struct route_ends ends;
	double n_paths, step;
	struct graph g;
	size_t n;
	int error;

	if (!n_max)
		return -EINVAL;
	if (!r->spreads) {
		error = routes_path(r, source, destination, port, links, &n);
		if (error == 0) {
			visit(ctx, links, n);
			*ret_n = 1;
		}
		return error;
	}
	error = route_find_ends(r, source, destination, port, &ends);
	if (error < 0)
		return error;
	if (ends.n_hops < 2) {
		visit(ctx, &ends.in, ends.n_hops);
		*ret_n = 1;
		return 0;
	}
	graph_init(&g, r, &ends, port);
	links[0] = ends.out;
	links[ends.n_hops - 1] = ends.in;
	n_paths = g.states.items[0].n_paths;
	n = n_paths <= (double)n_max ? (size_t)n_paths : n_max;
	step = n_paths / (double)n;
	for (size_t i = 0; i < n; i++) {
		find_ranked(&g, floor((double)i * step) + fmod(port, floor(step)),
			    links + 1);
		visit(ctx, links, ends.n_hops);
	}
	graph_fini(&g);
	*ret_n = n;
	return 0;
}

uint32_t
routes_top_switch(const struct routes *r, const uint32_t *links, size_t n)
{
	uint32_t best = TOPO_NONE;

	for (size_t i = 0; i + 1 < n; i++) {
		uint32_t node = topo_link(r->topo, links[i])->to;

		if (best == TOPO_NONE ||
		    topo_node(r->topo, node)->tier > topo_node(r->topo, best)->tier)
			best = node;
	}
	return best;
}
