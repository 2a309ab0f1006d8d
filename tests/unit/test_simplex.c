/* SPDX-License-Identifier: Apache-2.0 */
/* test_simplex.c - small linear programs: known ones, and random ones by all corners */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "policies/math/simplex.h"
#include "tests/unit/test.h"

#define MOST_COLUMNS 3
#define MOST_ROWS    5

static void
known_ones_are_solved(void **state)
{
	/* Dantzig's doors and windows: 3 x + 5 y. */
	static const double rows[] = { 1, 0, 0, 2, 3, 2 }, limits[] = { 4, 12, 18 };
	static const double gains[] = { 3, 5 };
	const struct simplex lp = { 3, 2, rows, limits, gains, NULL };
	double x[2], best;

	(void)state;
	assert_int_equal(simplex_solve(&lp, x, &best), 0);
	assert_near(best, 36, 1e-9);
	assert_near(x[0], 2, 1e-9);
	assert_near(x[1], 6, 1e-9);
}

/* Beale's example, which cycles with the largest-coefficient rule. */
static void
circles_end(void **state)
{
	static const double rows[] = { 0.25,  -60, -0.04, 9, 0.5, -90,
				       -0.02, 3,   0,     0, 1,   0 };
	static const double limits[] = { 0, 0, 1 }, gains[] = { 0.75, -150, 0.02, -6 };
	const struct simplex lp = { 3, 4, rows, limits, gains, NULL };
	double x[4], best;

	(void)state;
	assert_int_equal(simplex_solve(&lp, x, &best), 0);
	assert_near(best, 0.05, 1e-9);
}

static void
of_the_best_the_best_by_the_second_is_found(void **state)
{
	/* x + y is at most 1, as is z; maximizes x + y first, then y - z. */
	static const double rows[] = { 1, 1, 0, 0, 0, 1 }, limits[] = { 1, 1 };
	static const double gains[] = { 1, 1, 0 }, second[] = { 0, 2, -1 };
	const struct simplex lp = { 2, 3, rows, limits, gains, second };
	double x[3], best;

	(void)state;
	assert_int_equal(simplex_solve(&lp, x, &best), 0);
	assert_near(best, 1, 1e-12);
	assert_near(x[0], 0, 1e-12);
	assert_near(x[1], 1, 1e-12);
	assert_near(x[2], 0, 1e-12);
}

static void
what_cannot_be_solved_is_refused(void **state)
{
	static const double row[] = { -1, 1 }, gains[] = { 1, 0 }, nan[] = { NAN, 1 };
	static const double one = 1, below = -1;
	double x[2];
	struct simplex lp = { 1, 2, row, &one, gains, NULL };

	(void)state;
	assert_int_equal(simplex_solve(&lp, x, NULL), -ERANGE);
	lp.limits = &below;
	assert_int_equal(simplex_solve(&lp, x, NULL), -EINVAL);
	lp.limits = &one;
	lp.rows = nan;
	assert_int_equal(simplex_solve(&lp, x, NULL), -EINVAL);
	lp.rows = row;
	lp.gains = nan;
	assert_int_equal(simplex_solve(&lp, x, NULL), -EINVAL);
	lp.gains = gains;
	lp.second = nan;
	assert_int_equal(simplex_solve(&lp, x, NULL), -EINVAL);
	lp = (struct simplex){ UINT32_MAX, UINT32_MAX, row, &one, gains, NULL };
	assert_int_equal(simplex_solve(&lp, x, NULL), -E2BIG);
	lp = (struct simplex){ 0, 2, row, &one, nan + 1, NULL };
	lp.n_columns = 0;
	assert_int_equal(simplex_solve(&lp, x, NULL), 0);
}

/* ---- Comparison with all corners ------------------------------------------------- */

/* Solves n equations by elimination; false without a unique solution. */
static bool
meet(double at[MOST_COLUMNS][MOST_COLUMNS + 1], uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t most = k;

		for (uint32_t r = k + 1; r < n; r++)
			if (fabs(at[r][k]) > fabs(at[most][k]))
				most = r;
		if (fabs(at[most][k]) < 1e-9)
			return false;
		for (uint32_t c = 0; c <= n; c++) {
			double kept = at[k][c];

			at[k][c] = at[most][c];
			at[most][c] = kept;
		}
		for (uint32_t r = 0; r < n; r++) {
			double times = at[r][k] / at[k][k];

			for (uint32_t c = 0; r != k && c <= n; c++)
				at[r][c] -= times * at[k][c];
		}
	}
	for (uint32_t k = 0; k < n; k++)
		at[k][n] /= at[k][k];
	return true;
}

static bool
is_allowed(const struct simplex *lp, const double *x)
{
	for (uint32_t c = 0; c < lp->n_columns; c++)
		if (x[c] < -1e-7)
			return false;
	for (uint32_t r = 0; r < lp->n_rows; r++) {
		double sum = 0;

		for (uint32_t c = 0; c < lp->n_columns; c++)
			sum += lp->rows[r * lp->n_columns + c] * x[c];
		if (sum > lp->limits[r] + 1e-7)
			return false;
	}
	return true;
}

/* The best point in which as many limits meet as there are columns. */
static double
best_corner(const struct simplex *lp)
{
	uint32_t n = lp->n_columns, n_limits = n + lp->n_rows;
	double best = 0;

	for (uint32_t set = 0; set < 1u << n_limits; set++) {
		double at[MOST_COLUMNS][MOST_COLUMNS + 1] = { 0 }, x[MOST_COLUMNS];
		double gain = 0;
		uint32_t k = 0;

		if ((uint32_t)__builtin_popcount(set) != n)
			continue;
		for (uint32_t i = 0; i < n_limits; i++) {
			if (!(set >> i & 1))
				continue;
			for (uint32_t c = 0; c < n; c++)
				at[k][c] = i < n ? i == c : lp->rows[(i - n) * n + c];
			at[k++][n] = i < n ? 0 : lp->limits[i - n];
		}
		if (!meet(at, n))
			continue;
		for (uint32_t c = 0; c < n; c++) {
			x[c] = at[c][n];
			gain += lp->gains[c] * x[c];
		}
		if (is_allowed(lp, x))
			best = fmax(best, gain);
	}
	return best;
}

static void
no_corner_is_better(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 5000; round++) {
		uint32_t n = 1 + (uint32_t)rng_below(&rng, MOST_COLUMNS);
		uint32_t m = 1 + (uint32_t)rng_below(&rng, MOST_ROWS - 1);
		double rows[MOST_ROWS * MOST_COLUMNS], limits[MOST_ROWS];
		double gains[MOST_COLUMNS], x[MOST_COLUMNS], best;
		const struct simplex lp = { m + 1, n, rows, limits, gains, NULL };

		/* Small integers give degenerate corners; the last row bounds all. */
		for (uint32_t i = 0; i < m * n; i++)
			rows[i] = (double)rng_below(&rng, 7) - 3;
		for (uint32_t c = 0; c < n; c++) {
			rows[m * n + c] = 1;
			gains[c] = (double)rng_below(&rng, 9) - 4;
		}
		for (uint32_t r = 0; r < m; r++)
			limits[r] = (double)rng_below(&rng, 4);
		limits[m] = 10;
		assert_int_equal(simplex_solve(&lp, x, &best), 0);
		assert_true(is_allowed(&lp, x));
		assert_near(best, best_corner(&lp), 1e-7);
	}
}

/* No nearby point along any two columns is better. */
static void
nothing_near_a_large_one_is_better(void **state)
{
	enum {
		N = 60,
		M = 40
	};

	double *rows = xcalloc(N * M, sizeof *rows);
	double limits[M], gains[N], x[N], best;
	struct rng rng;

	(void)state;
	rng_init(&rng, 6);
	for (int round = 0; round < 20; round++) {
		const struct simplex lp = { M, N, rows, limits, gains, NULL };
		double slack = 0;

		for (int i = 0; i < N * M; i++)
			rows[i] = rng_below(&rng, 4) ? 0 : rng_uniform(&rng);
		for (int c = 0; c < N; c++) {
			rows[c] = 1;
			gains[c] = rng_uniform(&rng);
		}
		for (int r = 0; r < M; r++)
			limits[r] = 1 + 10 * rng_uniform(&rng);
		assert_int_equal(simplex_solve(&lp, x, &best), 0);
		assert_true(is_allowed(&lp, x));
		for (int a = 0; a < N; a++)
			for (int b = 0; b < N; b++) {
				double y[N];

				memcpy(y, x, sizeof y);
				y[a] += 1e-3;
				y[b] -= 1e-3;
				if (is_allowed(&lp, y))
					slack = fmax(slack, gains[a] - gains[b]);
			}
		assert_true(slack <= 1e-4);
	}
	free(rows);
}

static void
as_many_as_a_cluster_has_end(void **state)
{
	enum {
		N = 900,
		M = 600
	};

	double *rows = xcalloc(N * M, sizeof *rows);
	double limits[M], gains[N], x[N];
	const struct simplex lp = { M, N, rows, limits, gains, NULL };
	clock_t begin;
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int i = 0; i < N * M; i++)
		rows[i] = rng_below(&rng, 100) ? 0 : rng_uniform(&rng);
	for (int c = 0; c < N; c++) {
		rows[(c % M) * N + c] = 1;
		gains[c] = rng_uniform(&rng);
	}
	for (int r = 0; r < M; r++)
		limits[r] = 1;
	begin = clock();
	assert_int_equal(simplex_solve(&lp, x, NULL), 0);
	print_message("%d rows, %d columns: %.0f ms\n", M, N,
		      1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC);
	assert_true(is_allowed(&lp, x));
	free(rows);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_ones_are_solved),
		cmocka_unit_test(circles_end),
		cmocka_unit_test(of_the_best_the_best_by_the_second_is_found),
		cmocka_unit_test(what_cannot_be_solved_is_refused),
		cmocka_unit_test(no_corner_is_better),
		cmocka_unit_test(nothing_near_a_large_one_is_better),
		cmocka_unit_test(as_many_as_a_cluster_has_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
