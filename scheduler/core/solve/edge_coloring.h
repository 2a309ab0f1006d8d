/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_coloring.h - even coloring of the edges of a bipartite multigraph.
 *
 * Racks that send are one side, racks that receive the other, each flow between two
 * racks is an edge, and its color is the spine that carries it.  Two flows of one color
 * at a rack share that rack's link to a spine.
 *
 * A bipartite multigraph of maximum degree D has a coloring with D colors in which no two
 * edges of one color meet (Koenig, 1916).  With fewer colors C, each vertex is split into
 * copies of degree C, the last one of less; a coloring of these gives a vertex of degree
 * d at most ceil(d / C) and at least floor(d / C) edges of each color, which no coloring
 * can improve (de Werra, 1971).
 *
 * Pure and deterministic.
 */
#ifndef SCHEDULER_CORE_SOLVE_EDGE_COLORING_H
#define SCHEDULER_CORE_SOLVE_EDGE_COLORING_H

#include <stddef.h>
#include <stdint.h>

struct edge_coloring_edge {
	uint32_t left, right; /* Vertices of either side, from 0. */
};

/* The maximum degree; 0 without edges.  Vertices must be in range. */
uint32_t edge_coloring_degree(uint32_t n_left, uint32_t n_right,
			      const struct edge_coloring_edge *edges, size_t n_edges);

#define EDGE_COLORING_ANY UINT32_MAX

/*
 * Stores a color below 'n_colors' for each edge.  With at least as many colors as the
 * maximum degree, edges of one color do not meet.  An edge keeps the color that it has in
 * 'wanted' (NULL, or EDGE_COLORING_ANY: none) unless that would conflict.  Returns 0, or -EINVAL for a vertex out
 * of range, no colors, or UINT32_MAX edges or more.  O(edges * (vertices + n_colors +
 * edges / n_colors)) time; memory for n_colors numbers per vertex and per n_colors edges.
 */
int edge_coloring_find(uint32_t n_left, uint32_t n_right,
		       const struct edge_coloring_edge *edges, size_t n_edges,
		       uint32_t n_colors, const uint32_t *wanted, uint32_t *ret_colors);

#endif
