#include "scheduler/policy/math/genetic.h"

#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"

/* How often, of 2^32: a row is as it is now; it loses elements, each one so often. */
#define ONE_IN_TEN 429496729u
#define NOBODY     UINT32_MAX

struct plan {
	uint16_t *cells;               /* [n_rows][n_columns] */
	uint32_t *n_units, *n_columns; /* Of each row. */
	double worth;
	uint32_t n_pieces; /* Elements above 0. */
	uint64_t hash;
};

struct genetic {
	uint32_t n_rows, n_columns;
	VEC(struct plan *) plans; /* Best first. */
	VEC(struct plan *) spare; /* Of the same size. */
	/* Of the one that is mended: what is left of columns, and who is alone there. */
	int32_t *left;
	uint32_t *owner;
	uint32_t *n_there, *one_there; /* Rows of a column, and one of them. */
	uint32_t *order;               /* Of columns, drawn. */
};

struct search {
	struct genetic *g;
	const struct genetic_problem *p;
	struct rng *rng;
};

/* ---- Plans -------------------------------------------------------------------------------- */

static struct plan *
plan_new(const struct genetic *g)
{
	struct plan *plan = xcalloc(1, sizeof *plan);

	plan->cells =
		xcalloc((size_t)g->n_rows * g->n_columns + 1, sizeof *plan->cells);
	plan->n_units = xcalloc(g->n_rows + 1, sizeof *plan->n_units);
	plan->n_columns = xcalloc(g->n_rows + 1, sizeof *plan->n_columns);
	return plan;
}

static void
plan_free(struct plan *plan)
{
	free(plan->cells);
	free(plan->n_units);
	free(plan->n_columns);
	free(plan);
}

static struct plan *
take_spare(struct genetic *g)
{
	return g->spare.n ? g->spare.items[--g->spare.n] : plan_new(g);
}

static uint16_t *
row_of(const struct genetic *g, const struct plan *plan, uint32_t row)
{
	return plan->cells + (size_t)row * g->n_columns;
}

struct genetic *
genetic_new(void)
{
	return xcalloc(1, sizeof(struct genetic));
}

static void
drop_all(struct genetic *g)
{
	for (size_t i = 0; i < g->plans.n; i++)
		plan_free(g->plans.items[i]);
	for (size_t i = 0; i < g->spare.n; i++)
		plan_free(g->spare.items[i]);
	g->plans.n = g->spare.n = 0;
}

void
genetic_free(struct genetic *genetic)
{
	if (!genetic)
		return;
	drop_all(genetic);
	vec_free(&genetic->plans);
	vec_free(&genetic->spare);
	free(genetic->left);
	free(genetic->owner);
	free(genetic->n_there);
	free(genetic->one_there);
	free(genetic->order);
	free(genetic);
}

void
genetic_carry(struct genetic *genetic, const uint32_t *from, uint32_t n_rows,
	      uint32_t n_columns)
{
	struct genetic *g = genetic, old = *genetic;

	if (n_columns != old.n_columns) {
		drop_all(g);
		old.plans.n = 0;
		g->left = xreallocarray(g->left, n_columns + 1, sizeof *g->left);
		g->owner = xreallocarray(g->owner, n_columns + 1, sizeof *g->owner);
		g->n_there =
			xreallocarray(g->n_there, n_columns + 1, sizeof *g->n_there);
		g->one_there = xreallocarray(g->one_there, n_columns + 1,
					     sizeof *g->one_there);
		g->order = xreallocarray(g->order, n_columns + 1, sizeof *g->order);
	}
	g->n_rows = n_rows;
	g->n_columns = n_columns;
	for (size_t i = 0; i < g->spare.n; i++)
		plan_free(g->spare.items[i]);
	g->spare.n = 0;
	for (size_t i = 0; i < old.plans.n; i++) {
		struct plan *before = old.plans.items[i], *plan = plan_new(g);

		for (uint32_t row = 0; row < n_rows; row++)
			if (from[row] < old.n_rows)
				memcpy(row_of(g, plan, row),
				       row_of(&old, before, from[row]),
				       n_columns * sizeof *plan->cells);
		plan_free(before);
		g->plans.items[i] = plan;
	}
}

uint32_t
genetic_count(const struct genetic *genetic)
{
	return (uint32_t)genetic->plans.n;
}

const uint16_t *
genetic_matrix(const struct genetic *genetic, uint32_t i, double *ret_worth)
{
	*ret_worth = genetic->plans.items[i]->worth;
	return genetic->plans.items[i]->cells;
}

/* ---- Breeding ----------------------------------------------------------------------------- */

static uint32_t
draw(struct rng *rng, uint32_t n)
{
	return (uint32_t)(((rng_next(rng) >> 32) * n) >> 32);
}

/* The better of two: plans are in order. */
static const struct plan *
draw_parent(const struct search *s)
{
	uint32_t n = (uint32_t)s->g->plans.n;
	uint32_t a = draw(s->rng, n), b = draw(s->rng, n);

	return s->g->plans.items[a < b ? a : b];
}

static void
lose(const struct search *s, uint16_t *row)
{
	for (uint32_t c = 0; c < s->p->n_columns; c++)
		if (row[c] && (uint32_t)rng_next(s->rng) < ONE_IN_TEN)
			row[c] = 0;
}

/* Rows of one up to 'point', then of the other; some are changed. */
static void
cross(const struct search *s, const struct plan *one, const struct plan *other,
      uint32_t point, struct plan *child)
{
	size_t n = s->p->n_columns, first = (size_t)point * n;
	size_t all = (size_t)s->p->n_rows * n;

	memcpy(child->cells, one->cells, first * sizeof *child->cells);
	memcpy(child->cells + first, other->cells + first,
	       (all - first) * sizeof *child->cells);
	for (uint32_t row = 0; row < s->p->n_rows; row++) {
		uint64_t dice = rng_next(s->rng);
		uint16_t *cells = row_of(s->g, child, row);

		if ((uint32_t)dice < ONE_IN_TEN)
			memcpy(cells, s->p->now + row * n, n * sizeof *cells);
		if (dice >> 32 < ONE_IN_TEN)
			lose(s, cells);
	}
}

/* What fits into an element. */
static uint32_t
capacity_of(const struct search *s, uint32_t column)
{
	uint32_t capacity = s->p->capacities[column];

	return capacity < UINT16_MAX ? capacity : UINT16_MAX;
}

/* What is left of columns; below 0: too much is taken. */
static void
count_left(const struct search *s, const struct plan *plan)
{
	struct genetic *g = s->g;

	for (uint32_t c = 0; c < g->n_columns; c++)
		g->left[c] = (int32_t)capacity_of(s, c);
	for (uint32_t row = 0; row < g->n_rows; row++) {
		const uint16_t *cells = row_of(g, plan, row);

		for (uint32_t c = 0; c < g->n_columns; c++)
			g->left[c] -= cells[c];
	}
}

static void
grow_one(const struct search *s, struct plan *plan, uint32_t row, uint32_t column)
{
	uint16_t *cell = row_of(s->g, plan, row) + column;
	uint32_t most = capacity_of(s, column);

	if (*cell < most)
		*cell = (uint16_t)(*cell + draw(s->rng, most - *cell + 1));
}

/* Where something is left: one row, and one of those that are there. */
static void
grow(const struct search *s, struct plan *plan)
{
	struct genetic *g = s->g;
	uint32_t n = g->n_columns;

	count_left(s, plan);
	memset(g->n_there, 0, n * sizeof *g->n_there);
	for (uint32_t row = 0; row < g->n_rows; row++) {
		const uint16_t *cells = row_of(g, plan, row);

		for (uint32_t c = 0; c < n; c++)
			if (cells[c] && g->left[c] > 0 &&
			    !draw(s->rng, ++g->n_there[c]))
				g->one_there[c] = row;
	}
	for (uint32_t c = 0; c < n; c++) {
		if (g->left[c] <= 0)
			continue;
		grow_one(s, plan, draw(s->rng, g->n_rows), c);
		if (g->n_there[c])
			grow_one(s, plan, g->one_there[c], c);
	}
}

/* ---- Mending ------------------------------------------------------------------------------ */

static void
count_row(const struct genetic *g, struct plan *plan, uint32_t row)
{
	const uint16_t *cells = row_of(g, plan, row);
	uint32_t n_units = 0, n_columns = 0;

	for (uint32_t c = 0; c < g->n_columns; c++) {
		n_units += cells[c];
		n_columns += cells[c] > 0;
	}
	plan->n_units[row] = n_units;
	plan->n_columns[row] = n_columns;
}

/* Of those on several columns the first has it. */
static void
keep_alone(const struct search *s, struct plan *plan)
{
	struct genetic *g = s->g;

	for (uint32_t c = 0; c < g->n_columns; c++)
		g->owner[c] = NOBODY;
	for (uint32_t row = 0; s->p->alone && row < g->n_rows; row++) {
		uint16_t *cells = row_of(g, plan, row);

		if (plan->n_columns[row] < 2)
			continue;
		for (uint32_t c = 0; c < g->n_columns; c++) {
			if (cells[c] && g->owner[c] == NOBODY)
				g->owner[c] = row;
			else
				cells[c] = 0;
		}
		count_row(g, plan, row);
	}
}

static void
shuffle_columns(const struct search *s)
{
	uint32_t *order = s->g->order;

	for (uint32_t c = 0; c < s->g->n_columns; c++) {
		uint32_t at = draw(s->rng, c + 1);

		order[c] = order[at];
		order[at] = c;
	}
}

static void
cut_row(const struct search *s, struct plan *plan, uint32_t row)
{
	const struct genetic_row *limits = &s->p->rows[row];
	uint16_t *cells = row_of(s->g, plan, row);
	uint32_t left = limits->most, left_columns = limits->max_columns;

	if (plan->n_units[row] <= left && plan->n_columns[row] <= left_columns)
		return;
	shuffle_columns(s);
	for (uint32_t i = 0; i < s->g->n_columns; i++) {
		uint16_t *cell = &cells[s->g->order[i]];

		if (*cell > left)
			*cell = (uint16_t)left;
		if (!left_columns)
			*cell = 0;
		left -= *cell;
		left_columns -= *cell > 0;
	}
	count_row(s->g, plan, row);
}

/* Rows are served in order, where a column has too little. */
static void
cut_columns(const struct search *s, struct plan *plan)
{
	struct genetic *g = s->g;

	for (uint32_t c = 0; c < g->n_columns; c++) {
		uint32_t left = capacity_of(s, c);

		if (g->left[c] >= 0)
			continue;
		for (uint32_t row = 0; row < g->n_rows; row++) {
			uint16_t *cell = row_of(g, plan, row) + c;

			if (*cell > left) {
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
	uint16_t *cells = row_of(s->g, plan, row);

	for (uint32_t c = 0; c < s->g->n_columns; c++) {
		s->g->left[c] += cells[c];
		cells[c] = 0;
		if (s->g->owner[c] == row)
			s->g->owner[c] = NOBODY;
	}
	plan->n_units[row] = plan->n_columns[row] = 0;
}

/* One column that has room for all of it, those where it is first; or NOBODY. */
static uint32_t
find_column(const struct search *s, const uint16_t *cells, uint32_t n_units)
{
	uint32_t n = s->g->n_columns, at = draw(s->rng, n), found = NOBODY;

	for (uint32_t i = 0; i < n; i++, at = at + 1 < n ? at + 1 : 0) {
		if (s->g->left[at] + cells[at] < (int64_t)n_units)
			continue;
		if (cells[at])
			return at;
		if (found == NOBODY)
			found = at;
	}
	return found;
}

/* Where most is left, and nobody else is alone; or NOBODY. */
static uint32_t
find_emptiest(const struct search *s, uint32_t row)
{
	const struct genetic *g = s->g;
	uint32_t n = g->n_columns, at = draw(s->rng, n), found = NOBODY;

	for (uint32_t i = 0; i < n; i++, at = at + 1 < n ? at + 1 : 0)
		if (g->left[at] > 0 &&
		    (g->owner[at] == NOBODY || g->owner[at] == row) &&
		    (found == NOBODY || g->left[at] > g->left[found]))
			found = at;
	return found;
}

static void
give(const struct search *s, struct plan *plan, uint32_t row, uint32_t column,
     uint32_t n_units)
{
	uint16_t *cell = row_of(s->g, plan, row) + column;

	plan->n_columns[row] += !*cell;
	plan->n_units[row] += n_units;
	*cell = (uint16_t)(*cell + n_units);
	s->g->left[column] -= (int32_t)n_units;
}

/* All of it, or nothing. */
static void
fill_row(const struct search *s, struct plan *plan, uint32_t row)
{
	const struct genetic_row *limits = &s->p->rows[row];
	uint32_t least = limits->least, column;

	if (!plan->n_units[row] || plan->n_units[row] >= least)
		return;
	column = find_column(s, row_of(s->g, plan, row), least);
	empty_row(s, plan, row);
	if (column != NOBODY) {
		give(s, plan, row, column, least);
		return;
	}
	while (plan->n_units[row] < least &&
	       plan->n_columns[row] < limits->max_columns) {
		uint32_t more = least - plan->n_units[row];

		column = find_emptiest(s, row);
		if (column == NOBODY)
			break;
		if (s->g->left[column] < (int64_t)more)
			more = (uint32_t)s->g->left[column];
		give(s, plan, row, column, more);
		if (s->p->alone)
			s->g->owner[column] = row;
	}
	if (plan->n_units[row] < least)
		empty_row(s, plan, row);
}

static void
mend(const struct search *s, struct plan *plan)
{
	struct genetic *g = s->g;

	for (uint32_t row = 0; row < g->n_rows; row++)
		count_row(g, plan, row);
	keep_alone(s, plan);
	for (uint32_t row = 0; row < g->n_rows; row++)
		cut_row(s, plan, row);
	count_left(s, plan);
	cut_columns(s, plan);
	for (uint32_t row = 0; row < g->n_rows; row++)
		fill_row(s, plan, row);
}

/* ---- Selection ---------------------------------------------------------------------------- */

static uint64_t
hash_of(const struct genetic *g, const struct plan *plan)
{
	size_t n = (size_t)g->n_rows * g->n_columns, i = 0;
	uint64_t hash = n;

	for (; i + 4 <= n; i += 4) {
		uint64_t word;

		memcpy(&word, plan->cells + i, sizeof word);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (; i < n; i++)
		hash = rng_mix(hash ^ plan->cells[i]);
	return hash;
}

static void
judge(const struct search *s, struct plan *plan)
{
	const struct genetic_problem *p = s->p;

	plan->worth = 0;
	plan->n_pieces = 0;
	for (uint32_t row = 0; row < p->n_rows; row++) {
		bool is_now = memcmp(row_of(s->g, plan, row),
				     p->now + (size_t)row * p->n_columns,
				     p->n_columns * sizeof *p->now) == 0;

		plan->worth += p->worth(p->ctx, row, plan->n_units[row],
					plan->n_columns[row], is_now);
		plan->n_pieces += plan->n_columns[row];
	}
	plan->hash = hash_of(s->g, plan);
}

/* Not by address: so that it is the same each time. */
static int
compare(const void *a, const void *b)
{
	const struct plan *x = *(struct plan *const *)a, *y = *(struct plan *const *)b;

	if (x->worth != y->worth)
		return x->worth > y->worth ? -1 : 1;
	if (x->n_pieces != y->n_pieces)
		return x->n_pieces < y->n_pieces ? -1 : 1;
	return (x->hash > y->hash) - (x->hash < y->hash);
}

/* The best 'n' of them, no two of them equal; the rest is spare. */
static void
select_best(struct genetic *g, uint32_t n)
{
	uint32_t n_kept = 0;

	qsort(g->plans.items, g->plans.n, sizeof *g->plans.items, compare);
	for (size_t i = 0; i < g->plans.n; i++) {
		struct plan *plan = g->plans.items[i];

		if (n_kept == n ||
		    (n_kept && compare(&plan, &g->plans.items[n_kept - 1]) == 0))
			vec_push(&g->spare, plan);
		else
			g->plans.items[n_kept++] = plan;
	}
	g->plans.n = n_kept;
}

static void
breed(const struct search *s, uint32_t n_plans)
{
	struct genetic *g = s->g;
	size_t n_parents = g->plans.n;
	VEC(struct plan *) children = VEC_EMPTY;

	while (children.n < n_plans) {
		const struct plan *a = draw_parent(s), *b = draw_parent(s);
		uint32_t point = draw(s->rng, s->p->n_rows);

		for (int i = 0; i < 2; i++) {
			struct plan *child = take_spare(g);

			cross(s, i ? b : a, i ? a : b, point, child);
			grow(s, child);
			mend(s, child);
			judge(s, child);
			vec_push(&children, child);
		}
	}
	vec_reserve(&g->plans, children.n);
	for (size_t i = 0; i < children.n; i++)
		g->plans.items[n_parents + i] = children.items[i];
	g->plans.n += children.n;
	vec_free(&children);
	select_best(g, n_plans);
}

void
genetic_search(struct genetic *genetic, const struct genetic_problem *problem,
	       const struct genetic_opts *opts, struct rng *rng)
{
	struct search s = { .g = genetic, .p = problem, .rng = rng };
	struct genetic *g = genetic;
	uint32_t idle = 0;
	struct plan *now;

	now = take_spare(g);
	memcpy(now->cells, problem->now,
	       (size_t)problem->n_rows * problem->n_columns * sizeof *now->cells);
	vec_push(&g->plans, now);
	for (size_t i = 0; i < g->plans.n; i++) {
		mend(&s, g->plans.items[i]);
		judge(&s, g->plans.items[i]);
	}
	select_best(g, opts->n_plans);
	for (uint32_t k = 0; problem->n_rows && k < opts->n_generations; k++) {
		double best = g->plans.items[0]->worth;

		breed(&s, opts->n_plans);
		idle = g->plans.items[0]->worth > best ? 0 : idle + 1;
		if (idle >= opts->n_idle)
			break;
	}
}
