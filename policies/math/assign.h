/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assign.h - assignment of rows to columns with the least total cost.
 *
 * Shortest augmenting paths with potentials (Kuhn's Hungarian method, in the form of
 * Jonker and Volgenant, Computing 38, 1987): O(rows^2 columns) time, O(rows + columns)
 * memory besides the costs.  Deterministic.  Among equal assignments, that of SciPy's
 * linear_sum_assignment (1.5 and later), on which published results depend: columns
 * are scanned from last to first, the last one scanned takes the place of one that is
 * settled, and a free one goes before others, the one scanned last before other free
 * ones.
 */
#ifndef POLICIES_MATH_ASSIGN_H
#define POLICIES_MATH_ASSIGN_H

#include <stdint.h>

/*
 * costs[row * n_columns + column], finite; n_rows at most n_columns. ret_columns[row]
 * is the column of the row. Returns the total cost.
 */
double assign_find(uint32_t n_rows, uint32_t n_columns, const double *costs,
		   uint32_t *ret_columns);

#endif
