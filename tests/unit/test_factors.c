/* SPDX-License-Identifier: Apache-2.0 */
/* test_factors.c - completion of matrices whose elements have few causes */
#include <math.h>
#include <stdbool.h>

#include "lib/base/rng.h"
#include "policies/math/factors.h"
#include "tests/unit/test.h"

#define N_ROWS    24
#define N_COLUMNS 12
#define N_CELLS   (N_ROWS * N_COLUMNS)

/* Logarithms of speeds: of a row, of a column, and one product. */
static void
draw(struct rng *rng, double *cells)
{
	double rows[N_ROWS][2], columns[N_COLUMNS][2];

	for (int r = 0; r < N_ROWS; r++)
		for (int k = 0; k < 2; k++)
			rows[r][k] = 2 * rng_uniform(rng) - 1;
	for (int c = 0; c < N_COLUMNS; c++)
		for (int k = 0; k < 2; k++)
			columns[c][k] = 2 * rng_uniform(rng) - 1;
	for (int i = 0; i < N_CELLS; i++) {
		const double *row = rows[i / N_COLUMNS];
		const double *column = columns[i % N_COLUMNS];

		cells[i] = row[0] + column[0] + row[1] * column[1];
	}
}

/* The root mean square error of unknown elements, over that of their mean. */
static double
error_of(struct rng *rng, double known)
{
	double truth[N_CELLS], cells[N_CELLS], error = 0, spread = 0, mean = 0, n = 0;
	bool is_known[N_CELLS];

	draw(rng, truth);
	for (int i = 0; i < N_CELLS; i++) {
		is_known[i] = rng_uniform(rng) < known;
		cells[i] = is_known[i] ? truth[i] : NAN;
		mean += truth[i] / N_CELLS;
	}
	factors_complete(N_ROWS, N_COLUMNS, 0.05, cells);
	for (int i = 0; i < N_CELLS; i++) {
		if (is_known[i]) {
			assert_true(cells[i] == truth[i]);
			continue;
		}
		error += (cells[i] - truth[i]) * (cells[i] - truth[i]);
		spread += (mean - truth[i]) * (mean - truth[i]);
		n++;
	}
	return n > 0 ? sqrt(error / spread) : 0;
}

static void
what_is_unknown_follows_from_what_is_known(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int i = 0; i < 20; i++) {
		double most = error_of(&rng, 0.7), half = error_of(&rng, 0.3);

		if (most > 0.25 || half > 0.9)
			fail_msg("matrix %d: errors of %g and %g of the spread", i,
				 most, half);
	}
}

/* A row of which one element is known follows the columns. */
static void
one_element_places_a_row(void **state)
{
	double cells[N_CELLS];

	(void)state;
	for (int i = 0; i < N_CELLS; i++)
		cells[i] = 0.1 * (i / N_COLUMNS) + 0.3 * (i % N_COLUMNS);
	for (int c = 1; c < N_COLUMNS; c++)
		cells[N_CELLS - N_COLUMNS + c] = NAN;
	factors_complete(N_ROWS, N_COLUMNS, 0.1, cells);
	for (int c = 1; c < N_COLUMNS; c++)
		assert_near(cells[N_CELLS - N_COLUMNS + c],
			    0.1 * (N_ROWS - 1) + 0.3 * c, 0.2);
}

static void
without_a_known_element_all_is_nought(void **state)
{
	double cells[] = { NAN, NAN, NAN, NAN };

	(void)state;
	factors_complete(2, 2, 0.1, cells);
	for (int i = 0; i < 4; i++)
		assert_true(cells[i] == 0);
	factors_complete(0, 0, 0.1, cells);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_unknown_follows_from_what_is_known),
		cmocka_unit_test(one_element_places_a_row),
		cmocka_unit_test(without_a_known_element_all_is_nought),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
