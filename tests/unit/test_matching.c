/* SPDX-License-Identifier: Apache-2.0 */
/* test_matching.c - matchings against all matchings of small random graphs */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "policies/math/matching.h"
#include "tests/unit/test.h"

#define MOST 9

/* The best matching of the vertices not in 'taken'. */
static double
best(uint32_t n, const double *w, uint32_t taken)
{
	uint32_t u = 0;
	double most;

	while (u < n && (taken >> u & 1))
		u++;
	if (u == n)
		return 0;
	most = best(n, w, taken | 1u << u);
	for (uint32_t v = u + 1; v < n; v++)
		if (!(taken >> v & 1) && w[u * n + v] > 0)
			most = fmax(most,
				    w[u * n + v] +
					    best(n, w, taken | 1u << u | 1u << v));
	return most;
}

/* The sum of a matching; fails if it is none. */
static double
sum_of(uint32_t n, const double *w, const uint32_t *mates)
{
	double sum = 0;

	for (uint32_t u = 0; u < n; u++) {
		if (mates[u] == MATCHING_NONE)
			continue;
		assert_true(mates[u] < n && mates[u] != u);
		assert_int_equal(mates[mates[u]], u);
		assert_true(w[u * n + mates[u]] > 0);
		if (u < mates[u])
			sum += w[u * n + mates[u]];
	}
	return sum;
}

/* kind 0: few whole weights, so that many are equal; 1: fractions; 2: 0.1 apart. */
static void
draw(struct rng *rng, uint32_t n, int kind, uint32_t n_of_10, double *w)
{
	memset(w, 0, n * n * sizeof *w);
	for (uint32_t u = 0; u < n; u++)
		for (uint32_t v = u + 1; v < n; v++)
			if (rng_below(rng, 10) < n_of_10)
				w[u * n + v] = w[v * n + u] =
					kind == 0   ? (double)rng_below(rng, 4)
					: kind == 1 ? rng_uniform(rng)
						    : 0.1 * (double)rng_below(rng, 20);
}

static void
small_graphs_are_matched_as_well_as_can_be(void **state)
{
	struct rng rng;
	double w[MOST * MOST];
	uint32_t mates[MOST];

	(void)state;
	rng_init(&rng, 20);
	for (int i = 0; i < 6000; i++) {
		uint32_t n = (uint32_t)rng_below(&rng, MOST + 1);
		double sum, most;

		draw(&rng, n, i % 3, 3 + (uint32_t)rng_below(&rng, 8), w);
		matching_find(n, w, mates);
		sum = sum_of(n, w, mates);
		most = best(n, w, 0);
		if (fabs(sum - most) > 1e-12 * (1 + most))
			fail_msg("graph %d of %u: %.17g, not %.17g", i, n, sum, most);
	}
}

/* Odd cycles within odd cycles, which need blossoms. */
static void
a_way_through_nested_odd_cycles_is_found(void **state)
{
	static const uint8_t pairs[][3] = { { 1, 2, 19 }, { 1, 3, 20 }, { 1, 8, 18 },
					    { 2, 3, 25 }, { 2, 4, 18 }, { 3, 5, 18 },
					    { 4, 5, 13 }, { 4, 7, 7 },  { 5, 6, 7 } };
	double w[8 * 8] = { 0 };
	uint32_t mates[8];

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		uint32_t u = pairs[i][0] - 1u, v = pairs[i][1] - 1u;

		w[u * 8 + v] = w[v * 8 + u] = pairs[i][2];
	}
	matching_find(8, w, mates);
	assert_true(sum_of(8, w, mates) == best(8, w, 0));
	assert_int_equal(mates[0], 7);
	assert_int_equal(mates[1], 2);
	assert_int_equal(mates[3], 6);
	assert_int_equal(mates[4], 5);
}

/* Better than greedy and always ends, at the sizes of policies. */
static void
large_graphs_end(void **state)
{
	static const uint32_t sizes[] = { 64, 256, 400 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint32_t n = sizes[i], *mates = xcalloc(n, sizeof *mates);
		double *w = xcalloc((size_t)n * n, sizeof *w);

		for (int kind = 0; kind < 3; kind++) {
			clock_t begin;
			double sum;

			draw(&rng, n, kind, 10, w);
			begin = clock();
			matching_find(n, w, mates);
			sum = sum_of(n, w, mates);
			print_message("%u vertices, weights %d: %.1f ms\n", n, kind,
				      1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC);
			/* Nearly all are matched with nearly the largest weight. */
			assert_true(sum > 0.9 * n / 2 *
						  (kind == 0   ? 3
						   : kind == 1 ? 0.95
							       : 1.9));
		}
		free(mates);
		free(w);
	}
}

/* Kinds of vertices give many equal weights, with slight asymmetry. */
static void
nobody_has_two_mates_where_rounding_tells_equals_apart(void **state)
{
	enum {
		N = 40,
		N_KINDS = 8
	};

	double kinds[N_KINDS][N_KINDS], *w = xcalloc(N * N, sizeof *w);
	uint32_t mates[N];
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 400; round++) {
		for (int a = 0; a < N_KINDS; a++)
			for (int b = 0; b <= a; b++)
				kinds[a][b] = kinds[b][a] =
					0.2 + 0.5 * rng_uniform(&rng);
		for (uint32_t u = 0; u < N; u++)
			for (uint32_t v = 0; v < N; v++)
				w[u * N + v] =
					u == v ? 0
					       : nextafter(kinds[u % N_KINDS]
								[v % N_KINDS],
							   (double)rng_below(&rng, 2));
		matching_find(N, w, mates);
		sum_of(N, w, mates);
	}
	free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_graphs_are_matched_as_well_as_can_be),
		cmocka_unit_test(a_way_through_nested_odd_cycles_is_found),
		cmocka_unit_test(large_graphs_end),
		cmocka_unit_test(
			nobody_has_two_mates_where_rounding_tells_equals_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
