/* SPDX-License-Identifier: Apache-2.0 */
/* test_assign.c - assignments against all assignments of small random tables */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "policies/math/assign.h"
#include "tests/unit/test.h"

#define MOST 7

/* The best assignment of the rows from 'row' on to the free columns. */
static double
best(uint32_t n_rows, uint32_t n_columns, const double *costs, uint32_t row,
     uint32_t taken)
{
	double least = INFINITY;

	if (row == n_rows)
		return 0;
	for (uint32_t c = 0; c < n_columns; c++)
		if (!(taken >> c & 1))
			least = fmin(least, costs[row * n_columns + c] +
						    best(n_rows, n_columns, costs,
							 row + 1, taken | 1u << c));
	return least;
}

static double
sum_of(uint32_t n_rows, uint32_t n_columns, const double *costs,
       const uint32_t *columns)
{
	uint64_t *taken = xcalloc(n_columns / 64 + 1, sizeof *taken);
	double sum = 0;

	for (uint32_t row = 0; row < n_rows; row++) {
		uint32_t c = columns[row];

		assert_true(c < n_columns);
		assert_false(taken[c / 64] >> (c % 64) & 1);
		taken[c / 64] |= UINT64_C(1) << (c % 64);
		sum += costs[(size_t)row * n_columns + c];
	}
	free(taken);
	return sum;
}

/* kind 0: few integer costs, some below 0; 1: fractions; 2: large and small costs. */
static void
draw(struct rng *rng, size_t n, int kind, double *costs)
{
	for (size_t i = 0; i < n; i++)
		costs[i] = kind == 0   ? (double)rng_below(rng, 6) - 2
			   : kind == 1 ? rng_uniform(rng)
				       : pow(10, 12 * rng_uniform(rng) - 6);
}

static void
small_tables_are_assigned_as_well_as_can_be(void **state)
{
	struct rng rng;
	double costs[MOST * MOST];
	uint32_t columns[MOST];

	(void)state;
	rng_init(&rng, 8);
	for (int i = 0; i < 5000; i++) {
		uint32_t n_columns = (uint32_t)rng_below(&rng, MOST + 1);
		uint32_t n_rows = (uint32_t)rng_below(&rng, n_columns + 1);
		double sum, least;

		draw(&rng, (size_t)n_rows * n_columns, i % 3, costs);
		sum = assign_find(n_rows, n_columns, costs, columns);
		assert_true(fabs(sum - sum_of(n_rows, n_columns, costs, columns)) <=
			    1e-9 * (1 + fabs(sum)));
		least = best(n_rows, n_columns, costs, 0, 0);
		if (fabs(sum - least) > 1e-9 * (1 + fabs(least)))
			fail_msg("table %d, %u x %u: %.17g, not %.17g", i, n_rows,
				 n_columns, sum, least);
	}
}

static void
of_equals_the_first_is_taken(void **state)
{
	static const double costs[2 * 4];
	uint32_t columns[2];

	(void)state;
	assert_true(assign_find(2, 4, costs, columns) == 0);
	assert_int_equal(columns[0], 0);
	assert_int_equal(columns[1], 1);
}

static void
large_tables_end(void **state)
{
	static const uint32_t sizes[][2] = { { 100, 400 }, { 300, 300 }, { 512, 640 } };
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint32_t n_rows = sizes[i][0], n_columns = sizes[i][1];
		size_t n = (size_t)n_rows * n_columns;
		uint32_t *columns = xcalloc(n_rows, sizeof *columns);
		double *costs = xcalloc(n, sizeof *costs), sum;
		clock_t begin;

		draw(&rng, n, 1, costs);
		begin = clock();
		sum = assign_find(n_rows, n_columns, costs, columns);
		print_message("%u x %u: %.1f ms\n", n_rows, n_columns,
			      1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC);
		assert_true(fabs(sum - sum_of(n_rows, n_columns, costs, columns)) <
			    1e-9);
		/* The mean over such tables stays below 1.65 (Aldous). */
		assert_true(sum < 2);
		free(columns);
		free(costs);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_tables_are_assigned_as_well_as_can_be),
		cmocka_unit_test(of_equals_the_first_is_taken),
		cmocka_unit_test(large_tables_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
