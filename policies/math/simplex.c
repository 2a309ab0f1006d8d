/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/math/simplex.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

#define NOTHING 1e-10 /* Relative to the largest number in a row: a rounding error. */
#define STALLED 64    /* Steps without gain, before Bland's rule. */
#define NONE    UINT32_MAX

/*
 * A row for each basic variable (generally not 0), a column for each other one. The
 * last column has the values, the last two rows the negated gains.
 */
struct table {
	uint32_t n_rows, n_columns, width;
	double *cells; /* [(n_rows + 2) x width] */
	uint32_t *row_is,
		*column_is; /* The variable; those from n_columns on are slack. */
	bool *is_fixed;     /* By column: its use would reduce the first gain. */
	uint32_t *used;     /* Columns in which the row of a step is not 0. */
};

static double *
row_of(const struct table *t, uint32_t row)
{
	return t->cells + (size_t)row * t->width;
}

static bool
are_finite(const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(values[i]))
			return false;
	return true;
}

static int
check(const struct simplex *lp)
{
	uint64_t n_cells = ((uint64_t)lp->n_rows + 2) * ((uint64_t)lp->n_columns + 1);

	if (n_cells > SIMPLEX_MOST_CELLS)
		return -E2BIG;
	if (!are_finite(lp->rows, (size_t)lp->n_rows * lp->n_columns) ||
	    !are_finite(lp->limits, lp->n_rows) ||
	    !are_finite(lp->gains, lp->n_columns) ||
	    (lp->second && !are_finite(lp->second, lp->n_columns)))
		return -EINVAL;
	for (uint32_t r = 0; r < lp->n_rows; r++)
		if (lp->limits[r] < 0)
			return -EINVAL;
	return 0;
}

/* Scales each row to about 1, so that 1e-10 is a rounding error in its sums. */
static double
scale_of(const double *row, uint32_t n)
{
	double most = 0;

	for (uint32_t c = 0; c < n; c++)
		most = fmax(most, fabs(row[c]));
	return most > 0 ? 1 / most : 1;
}

static void
fill(struct table *t, const struct simplex *lp)
{
	const double *gains[2] = { lp->gains, lp->second };

	for (uint32_t r = 0; r < t->n_rows; r++) {
		const double *from = lp->rows + (size_t)r * lp->n_columns;
		double scale = scale_of(from, lp->n_columns);

		for (uint32_t c = 0; c < t->n_columns; c++)
			row_of(t, r)[c] = from[c] * scale;
		row_of(t, r)[t->n_columns] = lp->limits[r] * scale;
		t->row_is[r] = t->n_columns + r;
	}
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t c = 0; gains[k] && c < t->n_columns; c++)
			row_of(t, t->n_rows + k)[c] =
				-gains[k][c] * scale_of(gains[k], lp->n_columns);
	for (uint32_t c = 0; c < t->n_columns; c++)
		t->column_is[c] = c;
}

/* The column with the largest gain, or the first with any; NONE: there is none. */
static uint32_t
find_column(const struct table *t, const double *gains, bool is_bland)
{
	uint32_t found = NONE;

	for (uint32_t c = 0; c < t->n_columns; c++) {
		if (t->is_fixed[c] || !(gains[c] < -NOTHING))
			continue;
		if (found == NONE || (is_bland ? t->column_is[c] < t->column_is[found]
					       : gains[c] < gains[found]))
			found = c;
	}
	return found;
}

/* The row that is tight first; NONE: there is none. */
static uint32_t
find_row(const struct table *t, uint32_t column)
{
	double least = INFINITY;
	uint32_t found = NONE;

	for (uint32_t r = 0; r < t->n_rows; r++) {
		const double *row = row_of(t, r);
		double ratio;

		if (!(row[column] > NOTHING))
			continue;
		ratio = row[t->n_columns] / row[column];
		if (ratio < least ||
		    (ratio <= least && t->row_is[r] < t->row_is[found])) {
			least = ratio;
			found = r;
		}
	}
	return found;
}

static void
subtract(const struct table *t, double *row, const double *at, double times,
	 uint32_t n_used)
{
	/* Tables are mostly 0 for long; later, going through all columns is faster. */
	if (n_used > t->width / 4) {
		for (uint32_t c = 0; c < t->width; c++)
			row[c] -= times * at[c];
		return;
	}
	for (uint32_t i = 0; i < n_used; i++)
		row[t->used[i]] -= times * at[t->used[i]];
}

static void
pivot(struct table *t, uint32_t row, uint32_t column)
{
	double *at = row_of(t, row), by = 1 / at[column];
	uint32_t was = t->row_is[row], n_used = 0;

	for (uint32_t c = 0; c < t->width; c++) {
		at[c] *= by;
		if (fabs(at[c]) > 0)
			t->used[n_used++] = c;
	}
	at[column] = by;
	for (uint32_t r = 0; r < t->n_rows + 2; r++) {
		double *other = row_of(t, r), times = other[column];

		if (r == row || !(fabs(times) > 0))
			continue;
		other[column] = 0;
		subtract(t, other, at, times, n_used);
		/* No step passes a limit: a negative value is a rounding error. */
		if (r < t->n_rows && other[t->n_columns] < 0)
			other[t->n_columns] = 0;
	}
	t->row_is[row] = t->column_is[column];
	t->column_is[column] = was;
}

static int
improve(struct table *t, uint32_t which)
{
	const double *gains = row_of(t, t->n_rows + which);
	uint64_t most = 100 * ((uint64_t)t->n_rows + t->n_columns) + 1000;
	uint32_t n_stalled = 0;

	for (uint64_t step = 0; step < most; step++) {
		uint32_t column = find_column(t, gains, n_stalled > STALLED);
		double before = gains[t->n_columns];
		uint32_t row;

		if (column == NONE)
			return 0;
		row = find_row(t, column);
		if (row == NONE)
			return -ERANGE;
		pivot(t, row, column);
		n_stalled = gains[t->n_columns] > before ? 0 : n_stalled + 1;
	}
	return -ELOOP;
}

static void
read_out(const struct table *t, const struct simplex *lp, double *ret_x,
	 double *ret_best)
{
	double best = 0;

	memset(ret_x, 0, lp->n_columns * sizeof *ret_x);
	for (uint32_t r = 0; r < t->n_rows; r++)
		if (t->row_is[r] < t->n_columns)
			ret_x[t->row_is[r]] = row_of(t, r)[t->n_columns];
	for (uint32_t c = 0; c < lp->n_columns; c++)
		best += lp->gains[c] * ret_x[c];
	if (ret_best)
		*ret_best = best;
}

int
simplex_solve(const struct simplex *lp, double *ret_x, double *ret_best)
{
	struct table t = { .n_rows = lp->n_rows,
			   .n_columns = lp->n_columns,
			   .width = lp->n_columns + 1 };
	int r = check(lp);

	if (r < 0)
		return r;
	t.cells = xcalloc(((size_t)t.n_rows + 2) * t.width, sizeof *t.cells);
	t.row_is = xcalloc((size_t)t.n_rows + 1, sizeof *t.row_is);
	t.column_is = xcalloc((size_t)t.n_columns + 1, sizeof *t.column_is);
	t.is_fixed = xcalloc((size_t)t.n_columns + 1, sizeof *t.is_fixed);
	t.used = xcalloc(t.width, sizeof *t.used);
	fill(&t, lp);
	r = improve(&t, 0);
	if (r == 0 && lp->second) {
		for (uint32_t c = 0; c < t.n_columns; c++)
			t.is_fixed[c] = row_of(&t, t.n_rows)[c] > NOTHING;
		r = improve(&t, 1);
	}
	if (r == 0)
		read_out(&t, lp, ret_x, ret_best);
	free(t.cells);
	free(t.row_is);
	free(t.column_is);
	free(t.is_fixed);
	free(t.used);
	return r;
}
