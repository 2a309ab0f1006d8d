/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/math/assign.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

#define NONE UINT32_MAX

struct search {
	uint32_t n_rows, n_columns;
	const double *costs;
	double *row_price, *column_price; /* cost - row - column is 0 or more. */
	uint32_t *row_of;                 /* By column; NONE: free. */
	double *distance; /* Of each column from the row searched for. */
	uint32_t *from;   /* Column before it on that path; NONE: the row. */
	uint32_t *open;   /* Columns that are not settled, in scan order. */
	uint32_t n_open;
	bool *is_settled;
};

/* Scans all columns from a row; returns the nearest open one, preferably a free one. */
static uint32_t
relax(struct search *s, uint32_t row, uint32_t at, double reached)
{
	const double *costs = s->costs + (size_t)row * s->n_columns;
	double least = INFINITY;
	uint32_t nearest = 0;

	for (uint32_t i = 0; i < s->n_open; i++) {
		uint32_t c = s->open[i];
		double distance =
			reached + costs[c] - s->row_price[row] - s->column_price[c];

		if (distance < s->distance[c]) {
			s->distance[c] = distance;
			s->from[c] = at;
		}
		if (s->distance[c] < least ||
		    (s->distance[c] <= least && s->row_of[c] == NONE)) {
			least = s->distance[c];
			nearest = i;
		}
	}
	return nearest;
}

/* Assigns a column to a row; others move along the cheapest path. */
static void
assign(struct search *s, uint32_t row)
{
	uint32_t at = NONE, next = row;
	double reached = 0;

	for (uint32_t c = 0; c < s->n_columns; c++) {
		s->distance[c] = INFINITY;
		s->is_settled[c] = false;
		s->open[c] = s->n_columns - 1 - c;
	}
	s->n_open = s->n_columns;
	for (;;) {
		uint32_t nearest = relax(s, next, at, reached);

		at = s->open[nearest];
		s->open[nearest] = s->open[--s->n_open];
		reached = s->distance[at];
		s->is_settled[at] = true;
		if (s->row_of[at] == NONE)
			break;
		next = s->row_of[at];
	}
	/* Columns nearer than the end become dearer by the difference. */
	s->row_price[row] += reached;
	for (uint32_t c = 0; c < s->n_columns; c++) {
		if (!s->is_settled[c] || s->row_of[c] == NONE)
			continue;
		s->row_price[s->row_of[c]] += reached - s->distance[c];
		s->column_price[c] -= reached - s->distance[c];
	}
	while (at != NONE) {
		uint32_t before = s->from[at];

		s->row_of[at] = before == NONE ? row : s->row_of[before];
		at = before;
	}
}

double
assign_find(uint32_t n_rows, uint32_t n_columns, const double *costs,
	    uint32_t *ret_columns)
{
	struct search s = {
		.n_rows = n_rows,
		.n_columns = n_columns,
		.costs = costs,
		.row_price = xcalloc((size_t)n_rows + 1, sizeof(double)),
		.column_price = xcalloc((size_t)n_columns + 1, sizeof(double)),
		.row_of = xcalloc((size_t)n_columns + 1, sizeof(uint32_t)),
		.distance = xcalloc((size_t)n_columns + 1, sizeof(double)),
		.from = xcalloc((size_t)n_columns + 1, sizeof(uint32_t)),
		.open = xcalloc((size_t)n_columns + 1, sizeof(uint32_t)),
		.is_settled = xcalloc((size_t)n_columns + 1, sizeof(bool)),
	};
	double sum = 0;

	for (uint32_t c = 0; c < n_columns; c++)
		s.row_of[c] = NONE;
	for (uint32_t row = 0; row < n_rows; row++)
		assign(&s, row);
	for (uint32_t c = 0; c < n_columns; c++) {
		if (s.row_of[c] == NONE)
			continue;
		ret_columns[s.row_of[c]] = c;
		sum += costs[(size_t)s.row_of[c] * n_columns + c];
	}
	free(s.row_price);
	free(s.column_price);
	free(s.row_of);
	free(s.distance);
	free(s.from);
	free(s.open);
	free(s.is_settled);
	return sum;
}
