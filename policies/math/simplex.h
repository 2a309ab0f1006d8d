/*
 * simplex.h - small linear programs, exactly as far as doubles go.
 *
 *	largest sum gains[c] x[c], of those the largest sum second[c] x[c],
 *	where sum rows[r][c] x[c] <= limits[r] for each row, and x[c] >= 0
 *
 * with limits of 0 and more, so that nothing at all is allowed.  Dantzig's simplex method on
 * a dense table: the column that gains most enters, of equals the first; of rows that are
 * as tight the variable with the smallest number leaves; after many steps that gain
 * nothing Bland's rule (Mathematics of Operations Research 2, 1977), which ends.
 * O(rows x columns) memory and time a step; there are a few steps a row, as a rule.
 */
#ifndef POLICIES_MATH_SIMPLEX_H
#define POLICIES_MATH_SIMPLEX_H

#include <stdint.h>

#define SIMPLEX_MOST_CELLS (16u << 20) /* Rows x columns. */

struct simplex {
	uint32_t n_rows, n_columns;
	const double *rows;   /* [n_rows x n_columns] */
	const double *limits; /* [n_rows] */
	const double *gains;  /* [n_columns] */
	const double *second; /* [n_columns]; NULL: any of the best will do. */
};

/*
 * x of the best, and 'ret_best' its gain, or NULL.  -EINVAL: a number is not finite or a
 * limit below 0; -E2BIG: too many cells; -ERANGE: there is no best, as it can be any
 * large; -ELOOP: it took too many steps.  Then nothing is returned.
 */
int simplex_solve(const struct simplex *lp, double *ret_x, double *ret_best);

#endif
