/* SPDX-License-Identifier: Apache-2.0 */
/*
 * genetic.h - genetic search among matrices of allocations (after Pollux, OSDI 2021,
 * section 4.2).
 *
 * An element is the number of units of a column (GPUs of a node) that a row (a job)
 * has.  The value of a matrix is the sum over rows of their values, which depend on
 * the number of units and of columns, and on whether the row is unchanged.  A
 * population is bred: pairs, each the better of two random matrices, swap their rows
 * from a random one on; rows return to their present state, elements become zero,
 * elements grow into free units.  Then each matrix is repaired:
 *
 *	exclusive  of rows on several columns, only the first has any of a column
 *	most       of a row, and of its columns; excess goes anywhere
 *	capacity   of a column; rows are served in order
 *	least      a row with less is filled up, on few columns, or emptied
 *
 * The best of parents and children survive; no two are equal.  At equal value, fewer
 * columns are better.  Deterministic.
 */
#ifndef POLICIES_MATH_GENETIC_H
#define POLICIES_MATH_GENETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng;
struct genetic;

#define GENETIC_NEW UINT32_MAX /* A new row. */

struct genetic_row {
	uint32_t least, most, max_columns; /* least 0: any number. */
};

struct genetic_problem {
	uint32_t n_rows, n_columns;
	const struct genetic_row *rows;
	const uint32_t *capacities; /* [n_columns] Up to 65535 count. */
	const uint16_t *now;        /* [n_rows][n_columns] Must be valid. */
	bool exclusive;
	void *ctx;
	double (*worth)(void *ctx, uint32_t row, uint32_t n_units, uint32_t n_columns,
			bool is_now);
};

struct genetic_opts {
	uint32_t n_plans, n_generations; /* n_plans above 1. */
	uint32_t n_idle; /* Generations without a better matrix that end the search. */
};

struct genetic *genetic_new(void);
void genetic_free(struct genetic *genetic); /* Accepts NULL. */

/*
 * The next search begins with the last population: its row i was row from[i]. With
 * another number of columns no plan is kept.
 */
void genetic_carry(struct genetic *genetic, const uint32_t *from, uint32_t n_rows,
		   uint32_t n_columns);
void genetic_search(struct genetic *genetic, const struct genetic_problem *problem,
		    const struct genetic_opts *opts, struct rng *rng);

/* The population, best first; at least one. */
uint32_t genetic_count(const struct genetic *genetic);
const uint16_t *genetic_matrix(const struct genetic *genetic, uint32_t i,
			       double *ret_worth);

#endif
