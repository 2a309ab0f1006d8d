/* SPDX-License-Identifier: Apache-2.0 */
/* gittins.c - the empirical distribution of job sizes, and indices. */
#include "policies/gittins.h"

#include <math.h>
#include <string.h>

void
gittins_fini(struct gittins *g)
{
	vec_free(&g->sorted);
	vec_free(&g->sums);
	vec_free(&g->learned);
}

static void
sum_up(struct gittins *g, size_t from)
{
	g->sums.n = from;
	for (size_t i = from; i < g->sorted.n; i++)
		vec_push(&g->sums, (i ? g->sums.items[i - 1] : 0) + g->sorted.items[i]);
}

void
gittins_give(struct gittins *g, const double *sorted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		vec_push(&g->sorted, sorted[i]);
	sum_up(g, 0);
	g->is_given = true;
}

/* Index of the first sample above 'value', or not below it. */
static size_t
find(const struct gittins *g, double value, bool or_equal)
{
	size_t low = 0, high = g->sorted.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		double at = g->sorted.items[middle];

		if (at > value || (or_equal && at == value))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void
gittins_learn(struct gittins *g, double size)
{
	size_t at, changed;

	if (g->is_given || !(size >= 0))
		return;
	at = changed = find(g, size, false);
	vec_push(&g->sorted, size);
	memmove(g->sorted.items + at + 1, g->sorted.items + at,
		(g->sorted.n - 1 - at) * sizeof *g->sorted.items);
	g->sorted.items[at] = size;
	if (g->learned.n < GITTINS_MAX_LEARNED) {
		vec_push(&g->learned, size);
	} else {
		at = find(g, g->learned.items[g->oldest], true);
		g->sorted.n--;
		memmove(g->sorted.items + at, g->sorted.items + at + 1,
			(g->sorted.n - at) * sizeof *g->sorted.items);
		g->learned.items[g->oldest] = size;
		g->oldest = (g->oldest + 1) % GITTINS_MAX_LEARNED;
		changed = at < changed ? at : changed;
	}
	sum_up(g, changed);
}

/*
 * The rank is that at a sample: the smallest one above the attained service, taken just
 * before it.  The distribution ends at the last sample.
 */
double
gittins_rank(const struct gittins *g, double attained, double delta, bool is_rounded)
{
	size_t n = g->sorted.n, from = find(g, attained, false), to;
	double value, p, e, sum;

	if (from == n)
		return 0;
	value = g->sorted.items[from];
	from = find(g, value, true);
	to = value - 1 + delta > g->sorted.items[n - 1] - 1
		     ? n - 1
		     : find(g, value - 1 + delta, false);
	if (to < from)
		to = from;
	sum = (to ? g->sums.items[to - 1] : 0) - (from ? g->sums.items[from - 1] : 0);
	p = (double)(to - from) / (double)(n - from);
	e = (sum + delta * (double)(n - to)) / (double)(n - from);
	if (is_rounded) {
		p = round(p * 1e5) / 1e5;
		e = floor(e);
	}
	if (!(e > 0))
		return 0;
	return is_rounded ? round(p * 1e6 / e * 1e4) / 1e4 : p / e;
}
