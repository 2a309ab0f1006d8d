/* SPDX-License-Identifier: Apache-2.0 */
/* test_affinity.c - the affinity graph: Algorithm 1, Theorem 1, loops */
#include <stdlib.h>

#include "lib/base/rng.h"
#include "scheduler/core/cassini/affinity.h"
#include "tests/unit/test.h"

#define MAX_JOBS  40
#define MAX_EDGES 200

struct forest {
	uint32_t n_jobs, n_links;
	size_t n_edges;
	struct affinity_edge edges[MAX_EDGES];
	int64_t periods[MAX_JOBS];
};

static int64_t
modulo(int64_t x, int64_t m)
{
	return ((x % m) + m) % m;
}

static int64_t
gcd(int64_t a, int64_t b)
{
	return b == 0 ? a : gcd(b, a % b);
}

static void
add_edge(struct forest *f, uint32_t job, uint32_t link, int64_t weight)
{
	f->edges[f->n_edges++] = (struct affinity_edge){ job, link, weight };
}

/*
 * A random loop-free graph: each new link joins an existing job and brings new jobs.
 * Edges are shuffled; weights have either sign.
 */
static void
grow(struct forest *f, struct rng *rng, bool equal_periods)
{
	*f = (struct forest){ .n_jobs = 1 };
	while (f->n_jobs < 3 + rng_below(rng, 30)) {
		uint32_t link = f->n_links++;
		uint32_t more = 1 + (uint32_t)rng_below(rng, 4);

		add_edge(f, (uint32_t)rng_below(rng, f->n_jobs), link, 0);
		for (uint32_t i = 0; i < more; i++)
			add_edge(f, f->n_jobs++, link, 0);
	}
	for (uint32_t j = 0; j < f->n_jobs; j++)
		f->periods[j] =
			equal_periods ? 7200 : 1 + (int64_t)rng_below(rng, 100000);
	for (size_t e = 0; e < f->n_edges; e++)
		f->edges[e].weight = (int64_t)rng_below(rng, 200000) - 100000;
	for (size_t e = f->n_edges; e-- > 1;) {
		size_t other = rng_below(rng, e + 1);
		struct affinity_edge swap = f->edges[e];

		f->edges[e] = f->edges[other];
		f->edges[other] = swap;
	}
}

/*
 * Theorem 1 for every link and every two of its jobs.  Whole iterations of either job
 * may be added, so it holds modulo the greatest common divisor of the two periods: for
 * equal periods, modulo the period of the link itself.
 */
static void
check_theorem_1(const struct forest *f, const int64_t *shifts)
{
	for (size_t a = 0; a < f->n_edges; a++)
		for (size_t b = 0; b < f->n_edges; b++) {
			uint32_t n = f->edges[a].job, m = f->edges[b].job;
			int64_t g;

			if (f->edges[a].link != f->edges[b].link || n == m)
				continue;
			g = gcd(f->periods[n], f->periods[m]);
			assert_int_equal(
				modulo(shifts[n] - shifts[m], g),
				modulo(f->edges[a].weight - f->edges[b].weight, g));
		}
}

static void
stitching_keeps_the_relative_shifts_of_every_link(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 11);
	for (int round = 0; round < 3000; round++) {
		int64_t shifts[MAX_JOBS];
		struct affinity *graph;
		struct forest f;

		grow(&f, &rng, round % 2 == 0);
		graph = affinity_new(f.n_jobs, f.n_links, f.edges, f.n_edges);
		assert_false(affinity_has_loop(graph));
		assert_int_equal(affinity_components(graph, NULL, NULL), 1);
		affinity_stitch(graph, f.periods, shifts);
		assert_int_equal(shifts[0], 0);
		for (uint32_t j = 0; j < f.n_jobs; j++)
			assert_in_range(shifts[j], 0, f.periods[j] - 1);
		check_theorem_1(&f, shifts);
		affinity_free(graph);
	}
}

static void
one_edge_more_makes_any_tree_a_loop(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 12);
	for (int round = 0; round < 500; round++) {
		struct affinity *graph;
		uint32_t job, link;
		bool there = true;
		struct forest f;

		grow(&f, &rng, true);
		while (there) {
			job = (uint32_t)rng_below(&rng, f.n_jobs);
			link = (uint32_t)rng_below(&rng, f.n_links);
			there = false;
			for (size_t e = 0; e < f.n_edges; e++)
				there |= f.edges[e].job == job &&
					 f.edges[e].link == link;
			if (f.n_links == 1)
				break; /* The link has all jobs. */
		}
		if (there)
			continue;
		add_edge(&f, job, link, 0);
		graph = affinity_new(f.n_jobs, f.n_links, f.edges, f.n_edges);
		assert_true(affinity_has_loop(graph));
		affinity_free(graph);
	}
}

static void
two_jobs_on_two_links_are_a_loop(void **state)
{
	const struct affinity_edge edges[] = {
		{ 0, 0, 0 }, { 1, 0, 5 }, { 0, 1, 0 }, { 1, 1, 5 }
	};
	struct affinity *graph = affinity_new(2, 2, edges, 4);

	(void)state;
	assert_true(affinity_has_loop(graph));
	affinity_free(graph);
	graph = affinity_new(2, 2, edges, 3);
	assert_false(affinity_has_loop(graph));
	affinity_free(graph);
}

static void
a_loop_is_in_one_part_of_the_graph(void **state)
{
	/* Jobs 0 and 1 loop over links 0 and 1; 2 and 3 share link 2; 4 is alone. */
	const struct affinity_edge edges[] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 },
					       { 1, 1, 0 }, { 2, 2, 0 }, { 3, 2, 0 } };
	struct affinity *graph = affinity_new(5, 3, edges, 6);

	(void)state;
	assert_true(affinity_has_loop_round(graph, 0));
	assert_true(affinity_has_loop_round(graph, 1));
	assert_false(affinity_has_loop_round(graph, 2));
	assert_false(affinity_has_loop_round(graph, 3));
	assert_false(affinity_has_loop_round(graph, 4));
	affinity_free(graph);
}

static void
components_are_numbered_by_their_lowest_job(void **state)
{
	/* Jobs 1 and 4 on link 2, 2 and 3 on link 0; job 0 and link 1 alone. */
	const struct affinity_edge edges[] = {
		{ 4, 2, 7 }, { 3, 0, 2 }, { 1, 2, 3 }, { 2, 0, 9 }
	};
	const int64_t periods[] = { 10, 10, 10, 10, 10 };
	struct affinity *graph = affinity_new(5, 3, edges, 4);
	uint32_t of_job[5], of_link[3];
	int64_t shifts[5];

	(void)state;
	assert_int_equal(affinity_components(graph, of_job, of_link), 2);
	assert_int_equal(of_job[0], AFFINITY_NONE);
	assert_int_equal(of_job[1], 0);
	assert_int_equal(of_job[4], 0);
	assert_int_equal(of_job[2], 1);
	assert_int_equal(of_job[3], 1);
	assert_int_equal(of_link[0], 1);
	assert_int_equal(of_link[1], AFFINITY_NONE);
	assert_int_equal(of_link[2], 0);
	assert_false(affinity_has_loop(graph));

	/* t_4 = 0 - 3 + 7; t_3 = 0 - 9 + 2, made positive. */
	affinity_stitch(graph, periods, shifts);
	assert_int_equal(shifts[0], 0);
	assert_int_equal(shifts[1], 0);
	assert_int_equal(shifts[4], 4);
	assert_int_equal(shifts[2], 0);
	assert_int_equal(shifts[3], 3);
	affinity_free(graph);
}

static void
an_empty_graph_has_no_loop(void **state)
{
	struct affinity *graph = affinity_new(0, 0, NULL, 0);

	(void)state;
	assert_false(affinity_has_loop(graph));
	assert_int_equal(affinity_components(graph, NULL, NULL), 0);
	affinity_stitch(graph, NULL, NULL);
	affinity_free(graph);
	affinity_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stitching_keeps_the_relative_shifts_of_every_link),
		cmocka_unit_test(one_edge_more_makes_any_tree_a_loop),
		cmocka_unit_test(two_jobs_on_two_links_are_a_loop),
		cmocka_unit_test(a_loop_is_in_one_part_of_the_graph),
		cmocka_unit_test(components_are_numbered_by_their_lowest_job),
		cmocka_unit_test(an_empty_graph_has_no_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
