/* SPDX-License-Identifier: Apache-2.0 */
/* factors.c - alternating least squares. */
#include "policies/math/factors.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

#define N_SWEEPS 50
#define N_TERMS  (FACTORS_RANK + 1) /* A term of its own, and factors. */
#define FIRST    0.1                /* Size of the first factors of columns. */
#define OWN      0.1 /* Of the ridge, for the terms of rows and of columns. */

struct fit {
	uint32_t n_rows, n_columns;
	double ridge, mean;
	const double *cells;
	double (*rows)[N_TERMS], (*columns)[N_TERMS]; /* The first: their own term. */
};

/*
 * Solves a x = b for a symmetric positive a, by elimination: the ridge keeps its
 * diagonal away from 0.
 */
static void
solve(double a[N_TERMS][N_TERMS], double *b)
{
	for (int k = 0; k < N_TERMS; k++)
		for (int i = k + 1; i < N_TERMS; i++) {
			double by = a[i][k] / a[k][k];

			for (int j = k; j < N_TERMS; j++)
				a[i][j] -= by * a[k][j];
			b[i] -= by * b[k];
		}
	for (int k = N_TERMS - 1; k >= 0; k--) {
		for (int j = k + 1; j < N_TERMS; j++)
			b[k] -= a[k][j] * b[j];
		b[k] /= a[k][k];
	}
}

static double
cell_of(const struct fit *fit, bool by_row, uint32_t at, uint32_t other)
{
	return by_row ? fit->cells[(size_t)at * fit->n_columns + other]
		      : fit->cells[(size_t)other * fit->n_columns + at];
}

/* The best terms of a row, or of a column, for those of the others. */
static void
fit_one(const struct fit *fit, bool by_row, uint32_t at)
{
	double(*others)[N_TERMS] = by_row ? fit->columns : fit->rows;
	double *terms = by_row ? fit->rows[at] : fit->columns[at];
	double a[N_TERMS][N_TERMS] = { { 0 } }, b[N_TERMS] = { 0 };
	uint32_t n = by_row ? fit->n_columns : fit->n_rows;

	for (int k = 0; k < N_TERMS; k++)
		a[k][k] = k ? fit->ridge : fit->ridge * OWN;
	for (uint32_t i = 0; i < n; i++) {
		double x = cell_of(fit, by_row, at, i), inputs[N_TERMS] = { 1 };

		if (isnan(x))
			continue;
		x -= fit->mean + others[i][0];
		for (int k = 1; k < N_TERMS; k++)
			inputs[k] = others[i][k];
		for (int k = 0; k < N_TERMS; k++) {
			for (int j = 0; j < N_TERMS; j++)
				a[k][j] += inputs[k] * inputs[j];
			b[k] += inputs[k] * x;
		}
	}
	solve(a, b);
	memcpy(terms, b, sizeof b);
}

static double
predict(const struct fit *fit, uint32_t row, uint32_t column)
{
	double x = fit->mean + fit->rows[row][0] + fit->columns[column][0];

	for (int k = 1; k < N_TERMS; k++)
		x += fit->rows[row][k] * fit->columns[column][k];
	return x;
}

/* The mean of the known elements. */
static double
mean_of(const double *cells, size_t n)
{
	double sum = 0, n_known = 0;

	for (size_t i = 0; i < n; i++) {
		if (isnan(cells[i]))
			continue;
		sum += cells[i];
		n_known++;
	}
	return n_known > 0 ? sum / n_known : 0;
}

void
factors_complete(uint32_t n_rows, uint32_t n_columns, double ridge, double *cells)
{
	struct fit fit = {
		.n_rows = n_rows,
		.n_columns = n_columns,
		.ridge = ridge,
		.mean = mean_of(cells, (size_t)n_rows * n_columns),
		.cells = cells,
		.rows = xcalloc(n_rows + 1, sizeof *fit.rows),
		.columns = xcalloc(n_columns + 1, sizeof *fit.columns),
	};

	/* The first factors differ, or they would stay equal. */
	for (uint32_t c = 0; c < n_columns; c++)
		for (int k = 1; k < N_TERMS; k++)
			fit.columns[c][k] = FIRST * cos((double)(c + 1) * k);
	for (int sweep = 0; sweep < N_SWEEPS; sweep++) {
		for (uint32_t r = 0; r < n_rows; r++)
			fit_one(&fit, true, r);
		for (uint32_t c = 0; c < n_columns; c++)
			fit_one(&fit, false, c);
	}
	for (uint32_t r = 0; r < n_rows; r++)
		for (uint32_t c = 0; c < n_columns; c++) {
			double *cell = &cells[(size_t)r * n_columns + c];

			*cell = isnan(*cell) ? predict(&fit, r, c) : *cell;
		}
	free(fit.rows);
	free(fit.columns);
}
