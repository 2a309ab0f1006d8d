/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_genetic.c - allocations by genetic search: all are valid, the best one is found
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "policies/math/genetic.h"
#include "tests/unit/test.h"

#define MAX_ROWS    12
#define MAX_COLUMNS 8
#define MAX_UNITS   32

/* The value of each row is drawn for each number of units and columns. */
struct lab {
	struct rng rng;
	struct genetic_row rows[MAX_ROWS];
	uint32_t capacities[MAX_COLUMNS];
	uint16_t now[MAX_ROWS * MAX_COLUMNS];
	double worths[MAX_ROWS][MAX_UNITS + 1][MAX_COLUMNS + 1][2];
	struct genetic_problem problem;
};

static double
worth(void *ctx, uint32_t row, uint32_t n_units, uint32_t n_columns, bool is_now)
{
	const struct lab *lab = ctx;

	return lab->worths[row][n_units][n_columns][is_now];
}

/* Some rows take all or nothing, some any number. */
static void
lab_init(struct lab *lab, uint64_t seed, uint32_t n_rows, uint32_t n_columns)
{
	*lab = (struct lab){ 0 };
	rng_init(&lab->rng, seed);
	for (uint32_t i = 0; i < n_rows; i++) {
		uint32_t most = 1 + (uint32_t)rng_below(&lab->rng, 5);

		lab->rows[i] = (struct genetic_row){
			.least = rng_below(&lab->rng, 2) ? most : 0,
			.most = most,
			.max_columns = 1 + (uint32_t)rng_below(&lab->rng, 4),
		};
	}
	for (uint32_t c = 0; c < n_columns; c++)
		lab->capacities[c] = 1 + (uint32_t)rng_below(&lab->rng, 4);
	for (uint32_t i = 0; i < n_rows; i++)
		for (uint32_t units = 1; units <= MAX_UNITS; units++)
			for (uint32_t c = 1; c <= MAX_COLUMNS; c++)
				for (int is_now = 0; is_now < 2; is_now++)
					lab->worths[i][units][c][is_now] =
						rng_uniform(&lab->rng);
	lab->problem = (struct genetic_problem){
		.n_rows = n_rows,
		.n_columns = n_columns,
		.rows = lab->rows,
		.capacities = lab->capacities,
		.now = lab->now,
		.exclusive = rng_below(&lab->rng, 2),
		.ctx = lab,
		.worth = worth,
	};
}

static uint32_t
units_of(const struct lab *lab, const uint16_t *cells, uint32_t row,
	 uint32_t *ret_columns)
{
	uint32_t n = 0;

	*ret_columns = 0;
	for (uint32_t c = 0; c < lab->problem.n_columns; c++) {
		n += cells[row * lab->problem.n_columns + c];
		*ret_columns += cells[row * lab->problem.n_columns + c] > 0;
	}
	return n;
}

static bool
rows_may_be(const struct lab *lab, const uint16_t *cells)
{
	for (uint32_t row = 0; row < lab->problem.n_rows; row++) {
		const struct genetic_row *limits = &lab->rows[row];
		uint32_t n_columns, n = units_of(lab, cells, row, &n_columns);

		if (n > limits->most || (n && n < limits->least) ||
		    n_columns > limits->max_columns)
			return false;
	}
	return true;
}

static bool
columns_may_be(const struct lab *lab, const uint16_t *cells)
{
	for (uint32_t c = 0; c < lab->problem.n_columns; c++) {
		uint32_t sum = 0, n_spread = 0;

		for (uint32_t row = 0; row < lab->problem.n_rows; row++) {
			uint32_t n = cells[row * lab->problem.n_columns + c], n_columns;

			units_of(lab, cells, row, &n_columns);
			sum += n;
			n_spread += n && n_columns > 1;
		}
		if (sum > lab->capacities[c] ||
		    (lab->problem.exclusive && n_spread > 1))
			return false;
	}
	return true;
}

static double
worth_of(struct lab *lab, const uint16_t *cells)
{
	size_t n = lab->problem.n_columns;
	double sum = 0;

	for (uint32_t row = 0; row < lab->problem.n_rows; row++) {
		uint32_t n_columns, units = units_of(lab, cells, row, &n_columns);

		sum += worth(lab, row, units, n_columns,
			     !memcmp(cells + row * n, lab->now + row * n,
				     n * sizeof *cells));
	}
	return sum;
}

/* Each plan is valid, has the reported value, and is unique. */
static void
check_all(struct lab *lab, const struct genetic *genetic)
{
	size_t size =
		(size_t)lab->problem.n_rows * lab->problem.n_columns * sizeof(uint16_t);
	double last = INFINITY;

	assert_in_range(genetic_count(genetic), 1, 1000);
	for (uint32_t i = 0; i < genetic_count(genetic); i++) {
		double value, other;
		const uint16_t *cells = genetic_matrix(genetic, i, &value);

		assert_true(rows_may_be(lab, cells));
		assert_true(columns_may_be(lab, cells));
		assert_near(worth_of(lab, cells), value, 1e-12);
		assert_true(value <= last);
		last = value;
		for (uint32_t k = 0; k < i; k++)
			assert_true(memcmp(cells, genetic_matrix(genetic, k, &other),
					   size));
	}
}

static const struct genetic_opts opts = { .n_plans = 40,
					  .n_generations = 60,
					  .n_idle = 60 };

static void
every_plan_that_is_found_may_be(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct genetic *genetic = genetic_new();
		uint32_t from[MAX_ROWS];
		double value;
		struct lab lab;

		lab_init(&lab, seed, 1 + (uint32_t)seed % MAX_ROWS,
			 1 + (uint32_t)seed % MAX_COLUMNS);
		for (uint32_t i = 0; i < MAX_ROWS; i++)
			from[i] = GENETIC_NEW;
		genetic_carry(genetic, from, lab.problem.n_rows, lab.problem.n_columns);
		genetic_search(genetic, &lab.problem, &opts, &lab.rng);
		check_all(&lab, genetic);

		/* Carries out the plan; the first job ends, and another comes. */
		memcpy(lab.now, genetic_matrix(genetic, 0, &value),
		       sizeof lab.now[0] * lab.problem.n_rows * lab.problem.n_columns);
		memmove(lab.now, lab.now + lab.problem.n_columns,
			sizeof lab.now - lab.problem.n_columns * sizeof lab.now[0]);
		memset(lab.now + (lab.problem.n_rows - 1) * lab.problem.n_columns, 0,
		       lab.problem.n_columns * sizeof lab.now[0]);
		memmove(lab.rows, lab.rows + 1, sizeof lab.rows - sizeof lab.rows[0]);
		lab.rows[lab.problem.n_rows - 1] = (struct genetic_row){ 0, 3, 2 };
		for (uint32_t i = 0; i < lab.problem.n_rows; i++)
			from[i] = i + 1;
		genetic_carry(genetic, from, lab.problem.n_rows, lab.problem.n_columns);
		genetic_search(genetic, &lab.problem, &opts, &lab.rng);
		check_all(&lab, genetic);
		genetic_free(genetic);
	}
}

static void
the_same_seed_finds_the_same(void **state)
{
	struct genetic *found[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint32_t from[MAX_ROWS];
		struct lab lab;

		memset(from, 0xff, sizeof from);
		lab_init(&lab, 7, 10, 6);
		found[i] = genetic_new();
		genetic_carry(found[i], from, 10, 6);
		genetic_search(found[i], &lab.problem, &opts, &lab.rng);
	}
	assert_int_equal(genetic_count(found[0]), genetic_count(found[1]));
	for (uint32_t i = 0; i < genetic_count(found[0]); i++) {
		double one, other;

		assert_memory_equal(genetic_matrix(found[0], i, &one),
				    genetic_matrix(found[1], i, &other),
				    60 * sizeof(uint16_t));
		assert_near(one, other, 0);
	}
	genetic_free(found[0]);
	genetic_free(found[1]);
}

/* All matrices with up to a column's capacity in each element. */
static double
best_of_all(struct lab *lab)
{
	uint32_t n = lab->problem.n_rows * lab->problem.n_columns;
	uint16_t cells[MAX_ROWS * MAX_COLUMNS] = { 0 };
	double best = -INFINITY;

	for (uint32_t at = 0; at < n;) {
		if (rows_may_be(lab, cells) && columns_may_be(lab, cells))
			best = fmax(best, worth_of(lab, cells));
		for (at = 0; at < n; at++) {
			if (++cells[at] <= lab->capacities[at % lab->problem.n_columns])
				break;
			cells[at] = 0;
		}
	}
	return best;
}

static void
the_best_of_few_is_found(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct genetic *genetic = genetic_new();
		uint32_t from[MAX_ROWS];
		double value;
		struct lab lab;

		memset(from, 0xff, sizeof from);
		lab_init(&lab, seed, 3, 3);
		for (uint32_t c = 0; c < 3; c++)
			lab.capacities[c] = 1 + c % 2;
		genetic_carry(genetic, from, 3, 3);
		genetic_search(genetic, &lab.problem, &opts, &lab.rng);
		genetic_matrix(genetic, 0, &value);
		assert_near(value, best_of_all(&lab), 1e-12);
		genetic_free(genetic);
	}
}

static void
without_generations_it_is_as_it_was(void **state)
{
	const struct genetic_opts none = { .n_plans = 10, .n_idle = 1 };
	struct genetic *genetic = genetic_new();
	const uint32_t from[2] = { GENETIC_NEW, GENETIC_NEW };
	double value;
	struct lab lab;

	(void)state;
	lab_init(&lab, 3, 2, 2);
	lab.rows[0] = (struct genetic_row){ 2, 2, 2 };
	lab.capacities[0] = lab.capacities[1] = 1;
	lab.now[0] = lab.now[1] = 1;
	genetic_carry(genetic, from, 2, 2);
	genetic_search(genetic, &lab.problem, &none, &lab.rng);
	assert_int_equal(genetic_count(genetic), 1);
	assert_memory_equal(genetic_matrix(genetic, 0, &value), lab.now,
			    4 * sizeof *lab.now);
	genetic_free(genetic);
	genetic_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_plan_that_is_found_may_be),
		cmocka_unit_test(the_same_seed_finds_the_same),
		cmocka_unit_test(the_best_of_few_is_found),
		cmocka_unit_test(without_generations_it_is_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
