/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_coloring.c - even coloring of the edges of a bipartite multigraph.
 *
 * Edges that want a color get it if it is free at both ends.  The others are colored one
 * after the other, which may change the first ones.  At either end of an edge a color is free, a at
 * the left and b at the right.  If b is taken at the left, too, the colors of the path
 * that begins at the right end with an edge of color a, and goes on with b, a, and so on,
 * are exchanged.  The path cannot end at the left end: it comes to the left side by
 * edges of color a only, which is free there.  Then a is free at both ends.
 */
#include "scheduler/core/solve/edge_coloring.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

#define NONE UINT32_MAX

struct coloring {
	uint32_t n_colors;
	/* By edge: its copies of the vertices, numbered over both sides. */
	struct edge_coloring_edge *ends;
	uint32_t n_copies;
	uint32_t *at; /* [copy * n_colors + color]: the edge, or NONE. */
	uint32_t *colors;
};

/* The degrees of all vertices, left ones first. */
static uint32_t *
count_degrees(uint32_t n_left, uint32_t n_right, const struct edge_coloring_edge *edges,
	      size_t n_edges)
{
	uint32_t *degrees = xcalloc((size_t)n_left + n_right, sizeof *degrees);

	for (size_t e = 0; e < n_edges; e++) {
		degrees[edges[e].left]++;
		degrees[(size_t)n_left + edges[e].right]++;
	}
	return degrees;
}

uint32_t
edge_coloring_degree(uint32_t n_left, uint32_t n_right,
		     const struct edge_coloring_edge *edges, size_t n_edges)
{
	uint32_t *degrees = count_degrees(n_left, n_right, edges, n_edges), most = 0;

	for (size_t v = 0; v < (size_t)n_left + n_right; v++)
		if (degrees[v] > most)
			most = degrees[v];
	free(degrees);
	return most;
}

/* The copy of a vertex for its next edge: every n_colors edges a new one. */
static uint32_t
next_copy(struct coloring *c, uint32_t *n_seen, uint32_t *copy)
{
	if ((*n_seen)++ % c->n_colors == 0)
		*copy = c->n_copies++;
	return *copy;
}

static void
split_vertices(struct coloring *c, uint32_t n_left, uint32_t n_right,
	       const struct edge_coloring_edge *edges, size_t n_edges)
{
	const size_t n = (size_t)n_left + n_right;
	uint32_t *n_seen = xcalloc(n, sizeof *n_seen),
		 *copies = xcalloc(n, sizeof *copies);

	c->ends = xcalloc(n_edges, sizeof *c->ends);
	for (size_t e = 0; e < n_edges; e++) {
		size_t u = edges[e].left, v = (size_t)n_left + edges[e].right;

		c->ends[e].left = next_copy(c, &n_seen[u], &copies[u]);
		c->ends[e].right = next_copy(c, &n_seen[v], &copies[v]);
	}
	free(copies);
	free(n_seen);
}

static uint32_t *
edge_at(struct coloring *c, uint32_t vertex, uint32_t color)
{
	return &c->at[(size_t)vertex * c->n_colors + color];
}

static uint32_t
free_color(struct coloring *c, uint32_t vertex)
{
	uint32_t color = 0;

	while (*edge_at(c, vertex, color) != NONE)
		color++;
	return color;
}

/* Exchanges colors a and b on the path that leaves 'vertex' by an edge of color a. */
static void
exchange(struct coloring *c, uint32_t vertex, uint32_t a, uint32_t b)
{
	uint32_t edge = *edge_at(c, vertex, a);

	*edge_at(c, vertex, a) = NONE;
	while (edge != NONE) {
		const struct edge_coloring_edge *ends = &c->ends[edge];
		uint32_t far = ends->left == vertex ? ends->right : ends->left;
		uint32_t next = *edge_at(c, far, b), swapped = a;

		/* The edge gets b.  The one that has b at the far end gets a next. */
		c->colors[edge] = b;
		*edge_at(c, vertex, b) = edge;
		*edge_at(c, far, b) = edge;
		if (next == NONE)
			*edge_at(c, far, a) = NONE;
		vertex = far;
		edge = next;
		a = b;
		b = swapped;
	}
}

/* Gives edges the colors that they want, where these are free; the others get NONE. */
static void
keep_wanted(struct coloring *c, size_t n_edges, const uint32_t *wanted)
{
	for (uint32_t e = 0; e < n_edges; e++) {
		uint32_t u = c->ends[e].left, v = c->ends[e].right;
		uint32_t color = wanted ? wanted[e] : EDGE_COLORING_ANY;

		c->colors[e] = NONE;
		if (color >= c->n_colors || *edge_at(c, u, color) != NONE ||
		    *edge_at(c, v, color) != NONE)
			continue;
		*edge_at(c, u, color) = *edge_at(c, v, color) = e;
		c->colors[e] = color;
	}
}

int
edge_coloring_find(uint32_t n_left, uint32_t n_right,
		   const struct edge_coloring_edge *edges, size_t n_edges,
		   uint32_t n_colors, const uint32_t *wanted, uint32_t *ret_colors)
{
	struct coloring c = { .n_colors = n_colors, .colors = ret_colors };
	size_t n_slots;

	if (!n_colors || n_edges >= NONE)
		return -EINVAL;
	for (size_t e = 0; e < n_edges; e++)
		if (edges[e].left >= n_left || edges[e].right >= n_right)
			return -EINVAL;
	split_vertices(&c, n_left, n_right, edges, n_edges);
	n_slots = (size_t)c.n_copies * n_colors;
	c.at = xcalloc(n_slots, sizeof *c.at);
	for (size_t i = 0; i < n_slots; i++)
		c.at[i] = NONE;
	keep_wanted(&c, n_edges, wanted);
	for (uint32_t e = 0; e < n_edges; e++) {
		uint32_t u = c.ends[e].left, v = c.ends[e].right, a, b;

		if (ret_colors[e] != NONE)
			continue;
		a = free_color(&c, u);
		b = free_color(&c, v);
		if (*edge_at(&c, v, a) != NONE)
			exchange(&c, v, a, b);
		*edge_at(&c, u, a) = *edge_at(&c, v, a) = e;
		ret_colors[e] = a;
	}
	free(c.at);
	free(c.ends);
	return 0;
}
