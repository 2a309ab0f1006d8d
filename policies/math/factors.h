/* SPDX-License-Identifier: Apache-2.0 */
/*
 * factors.h - completion of a matrix of which few elements are known: collaborative
 * filtering by matrix factorization.
 *
 *	x[r][c] ~ mean + row[r] + column[c] + sum over k of u[r][k] v[c][k]
 *
 * with the least squares of the errors of the known elements plus 'ridge' times the
 * squares of u and v, and a tenth of it times those of row and column: a row with few
 * known elements stays near the mean.  Alternating least squares (Koren, Bell, Volinsky,
 * Computer 42, 2009): the terms of rows, then of columns, each exactly for the others; a
 * fixed number of times.  Deterministic.
 */
#ifndef POLICIES_MATH_FACTORS_H
#define POLICIES_MATH_FACTORS_H

#include <stdint.h>

#define FACTORS_RANK 2 /* Products u v. */

/*
 * cells[row * n_columns + column]; NAN: unknown, and filled.  O(known elements + rows +
 * columns) time.  Without a known element, all become 0.
 */
void factors_complete(uint32_t n_rows, uint32_t n_columns, double ridge, double *cells);

#endif
