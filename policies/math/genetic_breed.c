/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "policies/math/genetic_priv.h"

/* Probability times 2^32: a row returns to 'now', or loses elements; each of these. */
#define ONE_IN_TEN 429496729u
#define NONE       UINT32_MAX

/* ---- Breeding -------------------------------------------------------------------- */

static void
count_row(const struct genetic *g, struct plan *plan, uint32_t row)
{
	const uint16_t *cells = genetic_row_of(g, plan, row);
	uint32_t n_units = 0, n_columns = 0;

	for (uint32_t c = 0; c < g->n_columns; c++) {
		n_units += cells[c];
		n_columns += cells[c] > 0;
	}
	plan->n_units[row] = n_units;
	plan->n_columns[row] = n_columns;
	g->is_changed[row] = true;
}

static void
lose(const struct search *s, struct plan *plan, uint32_t row)
{
	uint16_t *cells = genetic_row_of(s->g, plan, row);

	if (!plan->n_units[row])
		return;
	for (uint32_t c = 0; c < s->p->n_columns; c++)
		if (cells[c] && (uint32_t)rng_next(s->rng) < ONE_IN_TEN)
			cells[c] = 0;
	count_row(s->g, plan, row);
}

static void
inherit(const struct genetic *g, const struct plan *parent, uint32_t first, uint32_t n,
	struct plan *child)
{
	memcpy(genetic_row_of(g, child, first), genetic_row_of(g, parent, first),
	       (size_t)n * g->n_columns * sizeof *child->cells);
	memcpy(child->n_units + first, parent->n_units + first,
	       n * sizeof *child->n_units);
	memcpy(child->n_columns + first, parent->n_columns + first,
	       n * sizeof *child->n_columns);
	memcpy(child->worths + first, parent->worths + first,
	       n * sizeof *child->worths);
}

/* Rows of one plan up to 'point', then of the other; some are changed. */
static void
cross(const struct search *s, const struct plan *one, const struct plan *other,
      uint32_t point, struct plan *child)
{
	uint32_t n = s->p->n_rows;

	inherit(s->g, one, 0, point, child);
	inherit(s->g, other, point, n - point, child);
	memset(s->g->is_changed, 0, n * sizeof *s->g->is_changed);
	for (uint32_t row = 0; row < n; row++) {
		uint64_t dice = rng_next(s->rng);

		if ((uint32_t)dice < ONE_IN_TEN)
			inherit(s->g, s->now, row, 1, child);
		if (dice >> 32 < ONE_IN_TEN)
			lose(s, child, row);
	}
}

/* In order; a row that loses all elements is still in it. */
static void
list_holders(struct genetic *g, const struct plan *plan)
{
	g->n_holders = 0;
	for (uint32_t row = 0; row < g->n_rows; row++)
		if (plan->n_units[row])
			g->holders[g->n_holders++] = row;
}

/* Units left in each column; below 0: too many are taken. */
static void
count_left(const struct search *s, const struct plan *plan)
{
	struct genetic *g = s->g;

	for (uint32_t c = 0; c < g->n_columns; c++)
		g->left[c] = (int32_t)genetic_capacity(s, c);
	for (uint32_t i = 0; i < g->n_holders; i++) {
		const uint16_t *cells = genetic_row_of(g, plan, g->holders[i]);

		for (uint32_t c = 0; c < g->n_columns; c++)
			g->left[c] -= cells[c];
	}
}

static void
give(const struct search *s, struct plan *plan, uint32_t row, uint32_t column,
     uint32_t n_units)
{
	uint16_t *cell = genetic_row_of(s->g, plan, row) + column;

	plan->n_columns[row] += !*cell && n_units;
	s->g->is_changed[row] = true;
	plan->n_units[row] += n_units;
	*cell = (uint16_t)(*cell + n_units);
	s->g->left[column] -= (int32_t)n_units;
}

static void
grow_one(const struct search *s, struct plan *plan, uint32_t row, uint32_t column)
{
	uint16_t *cell = genetic_row_of(s->g, plan, row) + column;
	uint32_t most = genetic_capacity(s, column);

	if (*cell < most)
		give(s, plan, row, column, genetic_draw(s->rng, most - *cell + 1));
}

/* Gives free units of a column to a random row, and to one that has some. */
static void
grow(const struct search *s, struct plan *plan)
{
	struct genetic *g = s->g;
	uint32_t n = g->n_columns;

	memset(g->n_there, 0, n * sizeof *g->n_there);
	for (uint32_t i = 0; i < g->n_holders; i++) {
		uint32_t row = g->holders[i];
		const uint16_t *cells = genetic_row_of(g, plan, row);

		for (uint32_t c = 0; c < n; c++)
			if (cells[c] && g->left[c] > 0 &&
			    !genetic_draw(s->rng, ++g->n_there[c]))
				g->one_there[c] = row;
	}
	for (uint32_t c = 0; c < n; c++) {
		if (g->left[c] <= 0)
			continue;
		grow_one(s, plan, genetic_draw(s->rng, g->n_rows), c);
		if (g->n_there[c])
			grow_one(s, plan, g->one_there[c], c);
	}
}

/* ---- Repair ---------------------------------------------------------------------- */

/* Of exclusive rows in a column the first keeps it. */
static void
keep_alone(const struct search *s, struct plan *plan)
{
	struct genetic *g = s->g;

	for (uint32_t c = 0; c < g->n_columns; c++)
		g->owner[c] = NONE;
	for (uint32_t i = 0; s->p->exclusive && i < g->n_holders; i++) {
		uint32_t row = g->holders[i];
		uint16_t *cells = genetic_row_of(g, plan, row);
		bool has_lost = false;

		if (plan->n_columns[row] < 2)
			continue;
		for (uint32_t c = 0; c < g->n_columns; c++) {
			if (!cells[c])
				continue;
			if (g->owner[c] == NONE) {
				g->owner[c] = row;
			} else {
				g->left[c] += cells[c];
				cells[c] = 0;
				has_lost = true;
			}
		}
		if (has_lost)
			count_row(g, plan, row);
	}
}

static void
shuffle_columns(const struct search *s)
{
	uint32_t *order = s->g->order;

	for (uint32_t c = 0; c < s->g->n_columns; c++) {
		uint32_t at = genetic_draw(s->rng, c + 1);

		order[c] = order[at];
		order[at] = c;
	}
}

static void
cut_row(const struct search *s, struct plan *plan, uint32_t row)
{
	const struct genetic_row *limits = &s->p->rows[row];
	uint16_t *cells = genetic_row_of(s->g, plan, row);
	uint32_t left = limits->most, left_columns = limits->max_columns;

	if (plan->n_units[row] <= left && plan->n_columns[row] <= left_columns)
		return;
	shuffle_columns(s);
	for (uint32_t i = 0; i < s->g->n_columns; i++) {
		uint16_t *cell = &cells[s->g->order[i]], before = *cell;

		if (*cell > left)
			*cell = (uint16_t)left;
		if (!left_columns)
			*cell = 0;
		left -= *cell;
		left_columns -= *cell > 0;
		s->g->left[s->g->order[i]] += before - *cell;
	}
	count_row(s->g, plan, row);
}

/* Where a column has too few units, rows are served in order. */
static void
cut_columns(const struct search *s, struct plan *plan)
{
	struct genetic *g = s->g;

	for (uint32_t c = 0; c < g->n_columns; c++) {
		uint32_t left = genetic_capacity(s, c);

		if (g->left[c] >= 0)
			continue;
		for (uint32_t i = 0; i < g->n_holders; i++) {
			uint32_t row = g->holders[i];
			uint16_t *cell = genetic_row_of(g, plan, row) + c;

			if (*cell > left) {
				g->is_changed[row] = true;
				plan->n_units[row] -= *cell - left;
				plan->n_columns[row] -= !left;
				*cell = (uint16_t)left;
			}
			left -= *cell;
		}
		g->left[c] = (int32_t)left;
	}
}

static void
empty_row(const struct search *s, struct plan *plan, uint32_t row)
{
	uint16_t *cells = genetic_row_of(s->g, plan, row);

	for (uint32_t c = 0; c < s->g->n_columns; c++) {
		s->g->left[c] += cells[c];
		cells[c] = 0;
		if (s->g->owner[c] == row)
			s->g->owner[c] = NONE;
	}
	plan->n_units[row] = plan->n_columns[row] = 0;
	s->g->is_changed[row] = true;
}

/* A column with room for all of the row, preferably one where it is first; or NONE. */
static uint32_t
find_column(const struct search *s, const uint16_t *cells, uint32_t n_units)
{
	uint32_t n = s->g->n_columns, at = genetic_draw(s->rng, n), found = NONE;

	if (n_units > s->most_capacity)
		return NONE;
	for (uint32_t i = 0; i < n; i++, at = at + 1 < n ? at + 1 : 0) {
		if (s->g->left[at] + cells[at] < (int64_t)n_units)
			continue;
		if (cells[at])
			return at;
		if (found == NONE)
			found = at;
	}
	return found;
}

/*
 * The column with most room and no other exclusive row, or NONE. No column has more
 * room than 'most', so the first with as much is taken.
 */
static uint32_t
find_emptiest(const struct search *s, uint32_t row, int32_t most)
{
	const struct genetic *g = s->g;
	uint32_t n = g->n_columns, at = genetic_draw(s->rng, n), found = NONE;
	int32_t best = 0;

	for (uint32_t i = 0; i < n && best < most; i++, at = at + 1 < n ? at + 1 : 0) {
		if (g->left[at] <= best ||
		    (g->owner[at] != NONE && g->owner[at] != row))
			continue;
		best = g->left[at];
		found = at;
	}
	return found;
}

/* Fills the row completely, or not at all. */
static void
fill_row(const struct search *s, struct plan *plan, uint32_t row)
{
	const struct genetic_row *limits = &s->p->rows[row];
	uint32_t least = limits->least, column;
	int32_t most = (int32_t)s->most_capacity;

	if (!plan->n_units[row] || plan->n_units[row] >= least)
		return;
	column = find_column(s, genetic_row_of(s->g, plan, row), least);
	empty_row(s, plan, row);
	if (column != NONE) {
		give(s, plan, row, column, least);
		return;
	}
	while (plan->n_units[row] < least &&
	       plan->n_columns[row] < limits->max_columns) {
		uint32_t more = least - plan->n_units[row];

		column = find_emptiest(s, row, most);
		if (column == NONE)
			break;
		most = s->g->left[column];
		if (s->g->left[column] < (int64_t)more)
			more = (uint32_t)s->g->left[column];
		give(s, plan, row, column, more);
		if (s->p->exclusive)
			s->g->owner[column] = row;
	}
	if (plan->n_units[row] < least)
		empty_row(s, plan, row);
}

void
genetic_mend(const struct search *s, struct plan *plan)
{
	struct genetic *g = s->g;

	list_holders(g, plan);
	keep_alone(s, plan);
	for (uint32_t i = 0; i < g->n_holders; i++)
		cut_row(s, plan, g->holders[i]);
	cut_columns(s, plan);
	for (uint32_t i = 0; i < g->n_holders; i++)
		fill_row(s, plan, g->holders[i]);
}

void
genetic_sum(const struct search *s, struct plan *plan)
{
	for (uint32_t row = 0; row < s->p->n_rows; row++)
		count_row(s->g, plan, row);
	list_holders(s->g, plan);
	count_left(s, plan);
}

void
genetic_cross(const struct search *s, const struct plan *one, const struct plan *other,
	      uint32_t point, struct plan *child)
{
	cross(s, one, other, point, child);
	list_holders(s->g, child);
	count_left(s, child);
	grow(s, child);
	genetic_mend(s, child);
}
