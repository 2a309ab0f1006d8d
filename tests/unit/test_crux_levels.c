/* SPDX-License-Identifier: Apache-2.0 */
/* test_crux_levels.c - levels against all cuts of small random contention graphs */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "sim/baselines/crux_levels.h"
#include "tests/unit/test.h"

#define MOST       7
#define MOST_EDGES (MOST * (MOST - 1) / 2)

/* The weight of edges between different levels; -1 if an edge leads up. */
static double
cut_of(const struct crux_edge *edges, size_t n_edges, const uint32_t *levels)
{
	double sum = 0;

	for (size_t e = 0; e < n_edges; e++) {
		if (levels[edges[e].high] > levels[edges[e].low])
			return -1;
		if (levels[edges[e].high] < levels[edges[e].low])
			sum += edges[e].weight;
	}
	return sum;
}

/* The best cut, by trying all levels of all jobs. */
static double
best_cut(uint32_t n, const struct crux_edge *edges, size_t n_edges, uint32_t n_levels)
{
	uint32_t levels[MOST] = { 0 }, j;
	double most = 0;

	for (;;) {
		most = fmax(most, cut_of(edges, n_edges, levels));
		for (j = 0; j < n && ++levels[j] == n_levels; j++)
			levels[j] = 0;
		if (j == n)
			return most;
	}
}

/* The best cut by the dynamic programming over all topological orders. */
static double
best_order(uint32_t n, const struct crux_edge *edges, size_t n_edges, uint32_t n_levels,
	   uint32_t *order, uint32_t n_done, uint32_t done)
{
	uint32_t levels[MOST];
	double most = 0;

	if (n_done == n) {
		most = crux_levels_of_order(n, edges, n_edges, order, n_levels, levels);
		assert_near(cut_of(edges, n_edges, levels), most, 1e-12);
		return most;
	}
	for (uint32_t j = 0; j < n; j++) {
		bool is_ready = !(done >> j & 1);

		for (size_t e = 0; e < n_edges; e++)
			is_ready &= edges[e].low != j || (done >> edges[e].high & 1);
		if (!is_ready)
			continue;
		order[n_done] = j;
		most = fmax(most, best_order(n, edges, n_edges, n_levels, order,
					     n_done + 1, done | 1u << j));
	}
	return most;
}

/* Draws a graph whose jobs are in random order of priority. */
static size_t
draw(struct rng *rng, uint32_t n, uint32_t of_10, struct crux_edge *edges)
{
	uint32_t by_priority[MOST];
	size_t n_edges = 0;

	for (uint32_t j = 0; j < n; j++)
		by_priority[j] = j;
	rng_shuffle(rng, by_priority, n);
	for (uint32_t a = 0; a < n; a++) {
		/* All edges of a job weigh as its intensity. */
		double weight = 1 + rng_uniform(rng);

		for (uint32_t b = a + 1; b < n; b++)
			if (rng_below(rng, 10) < of_10)
				edges[n_edges++] =
					(struct crux_edge){ by_priority[a],
							    by_priority[b], weight };
	}
	return n_edges;
}

static void
the_best_of_all_orders_is_the_best_cut(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 8);
	for (int i = 0; i < 150; i++) {
		struct crux_edge edges[MOST_EDGES];
		uint32_t n = (uint32_t)rng_below(&rng, 6) + 1, order[MOST];
		uint32_t n_levels = 1 + (uint32_t)rng_below(&rng, 4);
		size_t n_edges = draw(&rng, n, 2 + (uint32_t)rng_below(&rng, 8), edges);

		assert_near(best_order(n, edges, n_edges, n_levels, order, 0, 0),
			    best_cut(n, edges, n_edges, n_levels), 1e-12);
	}
}

/* Ten random breadth-first orders need not have the best one among them. */
static void
ten_orders_come_close_to_the_best_cut(void **state)
{
	double sum = 0, worst = 1;
	uint32_t n_best = 0, n = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 9);
	for (uint64_t i = 0; i < 400; i++) {
		struct crux_levels_opts opts = { .n_levels = 2 + (uint32_t)(i % 2),
						 .seed = i };
		struct crux_edge edges[MOST_EDGES];
		uint32_t levels[MOST];
		size_t n_edges =
			draw(&rng, MOST, 2 + (uint32_t)rng_below(&rng, 8), edges);
		double weight, most;

		assert_int_equal(
			crux_levels_find(MOST, edges, n_edges, &opts, levels, &weight),
			0);
		assert_near(cut_of(edges, n_edges, levels), weight, 1e-12);
		most = best_cut(MOST, edges, n_edges, opts.n_levels);
		assert_true(weight <= most + 1e-12);
		if (!(most > 0))
			continue;
		n++;
		sum += weight / most;
		n_best += weight > most - 1e-12;
		worst = fmin(worst, weight / most);
	}
	print_message("%u of %u cuts are the best; mean %.4f, worst %.4f of it\n",
		      n_best, n, sum / n, worst);
	assert_true(sum / n > 0.97);
	assert_true(worst > 0.6);
}

static void
enough_levels_lose_nothing(void **state)
{
	const struct crux_levels_opts defaults = { 0 };
	struct crux_edge edges[MOST_EDGES];
	uint32_t levels[MOST];
	struct rng rng;
	double weight, sum = 0;
	size_t n_edges;

	(void)state;
	rng_init(&rng, 2);
	n_edges = draw(&rng, MOST, 10, edges);
	for (size_t e = 0; e < n_edges; e++)
		sum += edges[e].weight;
	assert_int_equal(
		crux_levels_find(MOST, edges, n_edges, &defaults, levels, &weight), 0);
	assert_near(weight, sum, 1e-12);
}

static void
jobs_that_do_not_contend_share_the_highest_level(void **state)
{
	const struct crux_levels_opts defaults = { 0 };
	uint32_t levels[MOST];
	double weight;

	(void)state;
	assert_int_equal(crux_levels_find(MOST, NULL, 0, &defaults, levels, &weight),
			 0);
	for (uint32_t j = 0; j < MOST; j++)
		assert_int_equal(levels[j], 0);
	assert_near(weight, 0, 0);
	assert_int_equal(crux_levels_find(0, NULL, 0, &defaults, levels, NULL), 0);
}

static void
cycles_and_bad_edges_are_refused(void **state)
{
	const struct crux_levels_opts defaults = { 0 };
	struct crux_edge edges[3] = { { 0, 1, 1 }, { 1, 2, 1 }, { 2, 0, 1 } };
	uint32_t levels[3];

	(void)state;
	assert_int_equal(crux_levels_find(3, edges, 2, &defaults, levels, NULL), 0);
	assert_int_equal(crux_levels_find(3, edges, 3, &defaults, levels, NULL),
			 -EINVAL);
	assert_int_equal(crux_levels_find(2, edges, 2, &defaults, levels, NULL),
			 -EINVAL);
	edges[1].weight = -1;
	assert_int_equal(crux_levels_find(3, edges, 2, &defaults, levels, NULL),
			 -EINVAL);
	edges[1].weight = NAN;
	assert_int_equal(crux_levels_find(3, edges, 2, &defaults, levels, NULL),
			 -EINVAL);
}

static void
the_same_seed_gives_the_same_levels(void **state)
{
	const struct crux_levels_opts opts = { .n_levels = 3, .seed = 77 };
	uint32_t n = 200, *levels = xcalloc(2 * n, sizeof *levels);
	struct crux_edge *edges = xcalloc(2000, sizeof *edges);
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int e = 0; e < 2000; e++) {
		uint32_t a = (uint32_t)rng_below(&rng, n - 1);
		uint32_t b = a + 1 + (uint32_t)rng_below(&rng, n - 1 - a);

		edges[e] = (struct crux_edge){ a, b, rng_uniform(&rng) };
	}
	for (uint32_t k = 0; k < 2; k++)
		assert_int_equal(
			crux_levels_find(n, edges, 2000, &opts, levels + k * n, NULL),
			0);
	assert_memory_equal(levels, levels + n, n * sizeof *levels);
	assert_true(cut_of(edges, 2000, levels) > 0);
	free(edges);
	free(levels);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_of_all_orders_is_the_best_cut),
		cmocka_unit_test(ten_orders_come_close_to_the_best_cut),
		cmocka_unit_test(enough_levels_lose_nothing),
		cmocka_unit_test(jobs_that_do_not_contend_share_the_highest_level),
		cmocka_unit_test(cycles_and_bad_edges_are_refused),
		cmocka_unit_test(the_same_seed_gives_the_same_levels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
