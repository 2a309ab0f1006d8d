/*
 * assign.h - who does what, at the least cost in all: each row has a column of its own.
 *
 * Shortest augmenting paths with potentials (Kuhn's Hungarian method, as Jonker and
 * Volgenant have it, Computing 38, 1987): O(rows^2 columns) time, O(rows + columns)
 * memory besides the costs.  Deterministic; of equals, what SciPy's linear_sum_assignment
 * takes (1.5 and later), which published results hang on: columns are looked at from the
 * last to the first, the last one looked at taking the place of one that is settled, and a
 * free one goes before others, the one looked at last before other free ones.
 */
#ifndef POLICIES_MATH_ASSIGN_H
#define POLICIES_MATH_ASSIGN_H

#include <stdint.h>

/*
 * costs[row * n_columns + column], finite; n_rows at most n_columns.  ret_columns[row] is
 * the column it has.  Returns the sum of their costs.
 */
double assign_find(uint32_t n_rows, uint32_t n_columns, const double *costs,
		   uint32_t *ret_columns);

#endif
