/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simplex.h - small linear programs, exact to the precision of doubles.
 *
 *	largest sum gains[c] x[c], among those the largest sum second[c] x[c],
 *	where sum rows[r][c] x[c] <= limits[r] for each row, and x[c] >= 0
 *
 * with limits of 0 and more, so that x = 0 is feasible.  Dantzig's simplex method on a
 * dense table: the column with the largest gain enters, among equals the first; of
 * equally tight rows the variable with the smallest number leaves; after many steps
 * without gain Bland's rule (Mathematics of Operations Research 2, 1977), which
 * terminates.  O(rows x columns) memory and time per step; usually a few steps per
 * row.
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
 * Returns x of the best, and in 'ret_best' (or NULL) its gain. -EINVAL: a number is not
 * finite or a limit below 0; -E2BIG: too many cells; -ERANGE: the gain is unbounded;
 * -ELOOP: too many steps. Then nothing is stored.
 */
int simplex_solve(const struct simplex *lp, double *ret_x, double *ret_best);

#endif
