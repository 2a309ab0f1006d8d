/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/math/genetic.h"

#include <string.h>

#include "lib/base/alloc.h"
#include "policies/math/genetic_priv.h"

/* ---- Plans ----------------------------------------------------------------------- */

static struct plan *
plan_new(const struct genetic *g)
{
	struct plan *plan = xcalloc(1, sizeof *plan);

	plan->cells =
		xcalloc((size_t)g->n_rows * g->n_columns + 1, sizeof *plan->cells);
	plan->n_units = xcalloc(g->n_rows + 1, sizeof *plan->n_units);
	plan->n_columns = xcalloc(g->n_rows + 1, sizeof *plan->n_columns);
	plan->worths = xcalloc(g->n_rows + 1, sizeof *plan->worths);
	return plan;
}

static void
plan_free(struct plan *plan)
{
	free(plan->cells);
	free(plan->n_units);
	free(plan->n_columns);
	free(plan->worths);
	free(plan);
}

static struct plan *
take_spare(struct genetic *g)
{
	return g->spare.n ? g->spare.items[--g->spare.n] : plan_new(g);
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
	free(genetic->is_changed);
	free(genetic->holders);
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
	g->holders = xreallocarray(g->holders, n_rows + 1, sizeof *g->holders);
	g->is_changed = xreallocarray(g->is_changed, n_rows + 1, sizeof *g->is_changed);
	g->n_rows = n_rows;
	g->n_columns = n_columns;
	for (size_t i = 0; i < g->spare.n; i++)
		plan_free(g->spare.items[i]);
	g->spare.n = 0;
	for (size_t i = 0; i < old.plans.n; i++) {
		struct plan *before = old.plans.items[i], *plan = plan_new(g);

		for (uint32_t row = 0; row < n_rows; row++)
			if (from[row] < old.n_rows)
				memcpy(genetic_row_of(g, plan, row),
				       genetic_row_of(&old, before, from[row]),
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

/* ---- Selection ------------------------------------------------------------------- */

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

static bool
is_as_now(const struct search *s, const struct plan *plan, uint32_t row)
{
	return plan->n_units[row] == s->now->n_units[row] &&
	       memcmp(genetic_row_of(s->g, plan, row),
		      s->p->now + (size_t)row * s->p->n_columns,
		      s->p->n_columns * sizeof *s->p->now) == 0;
}

static void
judge(const struct search *s, struct plan *plan)
{
	const struct genetic_problem *p = s->p;

	plan->worth = 0;
	plan->n_pieces = 0;
	for (uint32_t row = 0; row < p->n_rows; row++) {
		if (s->g->is_changed[row])
			plan->worths[row] =
				p->worth(p->ctx, row, plan->n_units[row],
					 plan->n_columns[row], is_as_now(s, plan, row));
		plan->worth += plan->worths[row];
		plan->n_pieces += plan->n_columns[row];
	}
	plan->is_hashed = false;
}

static int
compare_hashes(const struct genetic *g, struct plan *x, struct plan *y)
{
	struct plan *both[] = { x, y };

	for (int i = 0; i < 2; i++) {
		if (!both[i]->is_hashed)
			both[i]->hash = hash_of(g, both[i]);
		both[i]->is_hashed = true;
	}
	return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Not by address, so that the order is reproducible. */
static int
compare(const void *a, const void *b, void *ctx)
{
	struct plan *x = *(struct plan *const *)a, *y = *(struct plan *const *)b;

	if (x->worth != y->worth)
		return x->worth > y->worth ? -1 : 1;
	if (x->n_pieces != y->n_pieces)
		return x->n_pieces < y->n_pieces ? -1 : 1;
	return compare_hashes(ctx, x, y);
}

/* Keeps the best 'n', no two equal; the others are spare. */
static void
select_best(struct genetic *g, uint32_t n)
{
	uint32_t n_kept = 0;

	qsort_r(g->plans.items, g->plans.n, sizeof *g->plans.items, compare, g);
	for (size_t i = 0; i < g->plans.n; i++) {
		struct plan *plan = g->plans.items[i];

		if (n_kept == n ||
		    (n_kept && compare(&plan, &g->plans.items[n_kept - 1], g) == 0))
			vec_push(&g->spare, plan);
		else
			g->plans.items[n_kept++] = plan;
	}
	g->plans.n = n_kept;
}

/* The better of two: plans are sorted. */
static const struct plan *
draw_parent(const struct search *s)
{
	uint32_t n = (uint32_t)s->g->plans.n;
	uint32_t a = genetic_draw(s->rng, n), b = genetic_draw(s->rng, n);

	return s->g->plans.items[a < b ? a : b];
}

static void
breed(const struct search *s, uint32_t n_plans)
{
	struct genetic *g = s->g;
	size_t n_parents = g->plans.n;
	VEC(struct plan *) children = VEC_EMPTY;

	while (children.n < n_plans) {
		const struct plan *a = draw_parent(s), *b = draw_parent(s);
		uint32_t point = genetic_draw(s->rng, s->p->n_rows);

		for (int i = 0; i < 2; i++) {
			struct plan *child = take_spare(g);

			genetic_cross(s, i ? b : a, i ? a : b, point, child);
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

static struct plan *
plan_of_now(const struct search *s)
{
	struct plan *plan = take_spare(s->g);

	memcpy(plan->cells, s->p->now,
	       (size_t)s->p->n_rows * s->p->n_columns * sizeof *plan->cells);
	return plan;
}

void
genetic_search(struct genetic *genetic, const struct genetic_problem *problem,
	       const struct genetic_opts *opts, struct rng *rng)
{
	struct search s = { .g = genetic, .p = problem, .rng = rng };
	struct genetic *g = genetic;
	uint32_t idle = 0;
	struct plan *now = plan_of_now(&s);

	s.now = now;
	for (uint32_t c = 0; c < problem->n_columns; c++)
		if (genetic_capacity(&s, c) > s.most_capacity)
			s.most_capacity = genetic_capacity(&s, c);
	genetic_sum(&s, now);
	judge(&s, now);
	vec_push(&g->plans, plan_of_now(&s));
	for (size_t i = 0; i < g->plans.n; i++) {
		genetic_sum(&s, g->plans.items[i]);
		genetic_mend(&s, g->plans.items[i]);
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
	vec_push(&g->spare, now);
}
