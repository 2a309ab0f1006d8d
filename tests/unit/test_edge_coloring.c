/* SPDX-License-Identifier: Apache-2.0 */
/* test_edge_coloring.c - colors of random bipartite multigraphs are proper and even */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/solve/edge_coloring.h"
#include "tests/unit/test.h"

#define SIDE 12
#define MOST 150

/* Each vertex has as many edges of each color as can be: its degree over the colors. */
static void
assert_even(uint32_t n, const struct edge_coloring_edge *edges, size_t n_edges,
	    uint32_t n_colors, const uint32_t *colors)
{
	uint32_t *by_color = xcalloc(n_colors, sizeof *by_color);

	for (int side = 0; side < 2; side++)
		for (uint32_t v = 0; v < n; v++) {
			uint32_t degree = 0;

			for (uint32_t k = 0; k < n_colors; k++)
				by_color[k] = 0;
			for (size_t e = 0; e < n_edges; e++) {
				assert_true(colors[e] < n_colors);
				if ((side ? edges[e].right : edges[e].left) != v)
					continue;
				degree++;
				by_color[colors[e]]++;
			}
			for (uint32_t k = 0; k < n_colors; k++) {
				assert_true(by_color[k] >= degree / n_colors);
				assert_true(by_color[k] <=
					    (degree + n_colors - 1) / n_colors);
			}
		}
	free(by_color);
}

static void
draw(struct rng *rng, uint32_t n, size_t n_edges, struct edge_coloring_edge *edges)
{
	for (size_t e = 0; e < n_edges; e++)
		edges[e] = (struct edge_coloring_edge){ (uint32_t)rng_below(rng, n),
							(uint32_t)rng_below(rng, n) };
}

static void
as_many_colors_as_the_degree_suffice(void **state)
{
	struct edge_coloring_edge edges[MOST];
	uint32_t colors[MOST];
	struct rng rng;

	(void)state;
	rng_init(&rng, 1916);
	for (int i = 0; i < 2000; i++) {
		uint32_t n = 1 + (uint32_t)rng_below(&rng, SIDE), degree;
		size_t n_edges = 1 + rng_below(&rng, MOST);

		draw(&rng, n, n_edges, edges);
		degree = edge_coloring_degree(n, n, edges, n_edges);
		assert_int_equal(
			edge_coloring_find(n, n, edges, n_edges, degree, NULL, colors),
			0);
		/* No more than the degree, so at most one edge of a color. */
		assert_even(n, edges, n_edges, degree, colors);
	}
}

static void
fewer_or_more_colors_are_used_evenly(void **state)
{
	struct edge_coloring_edge edges[MOST];
	uint32_t colors[MOST];
	struct rng rng;

	(void)state;
	rng_init(&rng, 1971);
	for (int i = 0; i < 2000; i++) {
		uint32_t n = 1 + (uint32_t)rng_below(&rng, SIDE);
		uint32_t n_colors = 1 + (uint32_t)rng_below(&rng, 20);
		size_t n_edges = rng_below(&rng, MOST + 1);

		draw(&rng, n, n_edges, edges);
		assert_int_equal(edge_coloring_find(n, n, edges, n_edges, n_colors,
						    NULL, colors),
				 0);
		assert_even(n, edges, n_edges, n_colors, colors);
	}
}

/* Flows come and go; those that stay keep their color where that is possible. */
static void
wanted_colors_are_kept(void **state)
{
	struct edge_coloring_edge edges[MOST];
	uint32_t colors[MOST], wanted[MOST];
	struct rng rng;

	(void)state;
	rng_init(&rng, 12);
	for (int i = 0; i < 2000; i++) {
		uint32_t n = 2 + (uint32_t)rng_below(&rng, SIDE - 1), degree;
		size_t n_edges = 2 + rng_below(&rng, MOST - 1), n_left = 0;

		draw(&rng, n, n_edges, edges);
		degree = edge_coloring_degree(n, n, edges, n_edges);
		assert_int_equal(
			edge_coloring_find(n, n, edges, n_edges, degree, NULL, wanted),
			0);
		/* A third leaves: the rest keeps all colors. */
		for (size_t e = 0; e < n_edges; e++)
			if (rng_below(&rng, 3)) {
				edges[n_left] = edges[e];
				wanted[n_left++] = wanted[e];
			}
		assert_int_equal(
			edge_coloring_find(n, n, edges, n_left, degree, wanted, colors),
			0);
		if (n_left)
			assert_memory_equal(colors, wanted, n_left * sizeof *colors);
		/* Others come, and some want what cannot be. */
		draw(&rng, n, n_edges - n_left, edges + n_left);
		for (size_t e = n_left; e < n_edges; e++)
			wanted[e] = rng_below(&rng, 2) ? EDGE_COLORING_ANY
						       : (uint32_t)rng_below(&rng, 99);
		degree = 1 + (uint32_t)rng_below(&rng, 20);
		assert_int_equal(edge_coloring_find(n, n, edges, n_edges, degree,
						    wanted, colors),
				 0);
		assert_even(n, edges, n_edges, degree, colors);
	}
}

/* Every rack of 64 sends to 16 others: 16 spines are used without a conflict. */
static void
a_full_fabric_has_no_conflict(void **state)
{
	struct edge_coloring_edge *edges = xcalloc(1024, sizeof *edges);
	uint32_t *colors = xcalloc(1024, sizeof *colors), to[64];
	struct rng rng;

	(void)state;
	rng_init(&rng, 64);
	for (uint32_t r = 0; r < 64; r++)
		to[r] = r;
	for (uint32_t k = 0; k < 16; k++) {
		rng_shuffle(&rng, to, 64);
		for (uint32_t r = 0; r < 64; r++)
			edges[64 * k + r] = (struct edge_coloring_edge){ r, to[r] };
	}
	assert_int_equal(edge_coloring_find(64, 64, edges, 1024, 16, NULL, colors), 0);
	assert_even(64, edges, 1024, 16, colors);
	free(colors);
	free(edges);
}

static void
bad_input_is_refused(void **state)
{
	const struct edge_coloring_edge edge = { 1, 2 };
	uint32_t color;

	(void)state;
	assert_int_equal(edge_coloring_find(2, 3, &edge, 1, 1, NULL, &color), 0);
	assert_int_equal(edge_coloring_find(1, 3, &edge, 1, 1, NULL, &color), -EINVAL);
	assert_int_equal(edge_coloring_find(2, 2, &edge, 1, 1, NULL, &color), -EINVAL);
	assert_int_equal(edge_coloring_find(2, 3, &edge, 1, 0, NULL, &color), -EINVAL);
	assert_int_equal(edge_coloring_find(0, 0, NULL, 0, 1, NULL, NULL), 0);
	assert_int_equal(edge_coloring_degree(0, 0, NULL, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_colors_as_the_degree_suffice),
		cmocka_unit_test(fewer_or_more_colors_are_used_evenly),
		cmocka_unit_test(wanted_colors_are_kept),
		cmocka_unit_test(a_full_fabric_has_no_conflict),
		cmocka_unit_test(bad_input_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
