/*
 * genetic.h - who has how much of what: a genetic search among matrices (after Pollux,
 * OSDI 2021, 4.2).
 *
 * An element is how many units of a column (GPUs of a node) a row has (a job).  A matrix is
 * worth the sum of what its rows are worth, each by its number of units and of columns, and
 * whether it is as it is now.  A population is bred: pairs, each the better of two that are
 * drawn, exchange their rows from one on; rows go back to what they are now, elements become
 * zero, elements grow into what is free.  Then what may not be is mended:
 *
 *	exclusive of rows on several columns, only the first has any of a column
 *	most      of a row, and on how many columns; what is too much goes anywhere
 *	capacity  of a column; rows are served in order
 *	least     a row with less is filled up, on few columns, or has nothing
 *
 * The best of parents and children go on; no two are equal.  Of the same worth, fewer
 * columns are better.  Deterministic.
 */
#ifndef POLICIES_MATH_GENETIC_H
#define POLICIES_MATH_GENETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng;
struct genetic;

#define GENETIC_NEW UINT32_MAX /* A row that was not there. */

struct genetic_row {
	uint32_t least, most, max_columns; /* least 0: any number. */
};

struct genetic_problem {
	uint32_t n_rows, n_columns;
	const struct genetic_row *rows;
	const uint32_t *capacities; /* [n_columns] Up to 65535 count. */
	const uint16_t *now; /* [n_rows][n_columns] It must be one that may be. */
	bool exclusive;
	void *ctx;
	double (*worth)(void *ctx, uint32_t row, uint32_t n_units, uint32_t n_columns,
			bool is_now);
};

struct genetic_opts {
	uint32_t n_plans, n_generations; /* n_plans above 1. */
	uint32_t n_idle; /* End when so many generations have found nothing better. */
};

struct genetic *genetic_new(void);
void genetic_free(struct genetic *genetic); /* Accepts NULL. */

/*
 * What was found the last time is where the next search begins: row i of that was row
 * from[i].  Of another number of columns nothing is kept.
 */
void genetic_carry(struct genetic *genetic, const uint32_t *from, uint32_t n_rows,
		   uint32_t n_columns);
void genetic_search(struct genetic *genetic, const struct genetic_problem *problem,
		    const struct genetic_opts *opts, struct rng *rng);

/* What was found, best first; at least one. */
uint32_t genetic_count(const struct genetic *genetic);
const uint16_t *genetic_matrix(const struct genetic *genetic, uint32_t i,
			       double *ret_worth);

#endif
