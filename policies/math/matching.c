/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/math/matching.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"

/*
 * Rounding error of reduced costs, relative to the largest weight. It counts as zero
 * once a search takes longer than it should, because duals hardly change any more.
 */
#define NOTHING   (16 * DBL_EPSILON)
#define MAX_STEPS 8 /* Times the number of nodes. */

/*
 * Nodes are numbered from 1: first the vertices, then blossoms, which are odd cycles of
 * nodes; 0 is none. A node is outer, inner, or not reached in the present search.
 */
enum label {
	FREE = -1,
	OUTER = 0,
	INNER = 1
};

struct ends {
	uint32_t u, v; /* Vertices; u in the node of the row.  0: no edge. */
};

struct graph {
	uint32_t n, n_all, n_max; /* Vertices; nodes so far, and at most. */
	const double *weights;
	double most, nothing;
	struct ends *edges; /* [from * n_max + to]: the cheapest between nodes. */
	double *dual;       /* By node. */
	uint32_t *mate;     /* Vertex at the far end of its matched edge. */
	uint32_t *slack;    /* Outer vertex with the cheapest edge to it. */
	uint32_t *top;      /* The outermost blossom that has it; 0: taken apart. */
	uint32_t *parent;   /* Vertex from which it was reached. */
	uint32_t *seen, n_seen;
	uint32_t *within; /* [blossom * n_max + vertex]: petal that has the vertex. */
	int8_t *label;
	VEC(uint32_t) * petals; /* By node. */
	VEC(uint32_t) queue;    /* Outer vertices whose edges are not scanned yet. */
	size_t head;
	VEC(uint32_t) nested; /* Of enqueue(). */
};

static struct ends *
edge(const struct graph *g, uint32_t a, uint32_t b)
{
	return &g->edges[(size_t)a * g->n_max + b];
}

static uint32_t *
within(const struct graph *g, uint32_t blossom, uint32_t vertex)
{
	return &g->within[(size_t)blossom * g->n_max + vertex];
}

/* Reduced cost: 0 for edges that may be matched. */
static double
cost(const struct graph *g, const struct ends *e)
{
	double w = g->weights[(size_t)(e->u - 1) * g->n + e->v - 1];

	return g->dual[e->u] + g->dual[e->v] - 2 * w;
}

static bool
is_tight(const struct graph *g, const struct ends *e)
{
	return cost(g, e) <= g->nothing;
}

static void
offer_slack(struct graph *g, uint32_t vertex, uint32_t x)
{
	if (!g->slack[x] ||
	    cost(g, edge(g, vertex, x)) < cost(g, edge(g, g->slack[x], x)))
		g->slack[x] = vertex;
}

static void
find_slack(struct graph *g, uint32_t x)
{
	g->slack[x] = 0;
	for (uint32_t u = 1; u <= g->n; u++)
		if (edge(g, u, x)->u && g->top[u] != x && g->label[g->top[u]] == OUTER)
			offer_slack(g, u, x);
}

/* Queues all its vertices, those of inner blossoms last. */
static void
enqueue(struct graph *g, uint32_t x)
{
	g->nested.n = 0;
	vec_push(&g->nested, x);
	for (size_t i = 0; i < g->nested.n; i++) {
		x = g->nested.items[i];
		if (x <= g->n)
			vec_push(&g->queue, x);
		for (size_t k = 0; k < g->petals[x].n; k++)
			vec_push(&g->nested, g->petals[x].items[k]);
	}
}

static void
set_top(struct graph *g, uint32_t x, uint32_t top)
{
	g->top[x] = top;
	for (size_t i = 0; x > g->n && i < g->petals[x].n; i++)
		set_top(g, g->petals[x].items[i], top);
}

static void
swap(uint32_t *a, uint32_t *b)
{
	uint32_t c = *a;

	*a = *b;
	*b = c;
}

static void
reverse(uint32_t *items, size_t n)
{
	for (size_t i = 0; i + 1 < n - i; i++)
		swap(&items[i], &items[n - 1 - i]);
}

/*
 * The number of petals from the base to this one along the even side; reverses the
 * cycle if needed.
 */
static size_t
walk_to(struct graph *g, uint32_t blossom, uint32_t petal)
{
	uint32_t *items = g->petals[blossom].items;
	size_t n = g->petals[blossom].n, i = 0;

	while (items[i] != petal)
		i++;
	if (i % 2 == 0)
		return i;
	reverse(items + 1, n - 1);
	return n - i;
}

/* Matches 'u' by its edge to 'v', and inside a blossom its petals. */
static void
match(struct graph *g, uint32_t u, uint32_t v)
{
	struct ends e = *edge(g, u, v);
	uint32_t petal, *items;
	size_t n, base;

	g->mate[u] = e.v;
	if (u <= g->n)
		return;
	petal = *within(g, u, e.u);
	base = walk_to(g, u, petal);
	items = g->petals[u].items;
	n = g->petals[u].n;
	for (size_t i = 0; i < base; i++)
		match(g, items[i], items[i ^ 1]);
	match(g, petal, v);
	/* The new base comes first. */
	reverse(items, base);
	reverse(items + base, n - base);
	reverse(items, n);
}

/* Swaps matched and unmatched edges from here to the root. */
static void
augment(struct graph *g, uint32_t u, uint32_t v)
{
	for (;;) {
		uint32_t next = g->top[g->mate[u]];

		match(g, u, v);
		if (!next)
			return;
		v = next;
		u = g->top[g->parent[next]];
		match(g, v, u);
	}
}

/* The node where the paths to the roots meet; 0: none. */
static uint32_t
find_meeting(struct graph *g, uint32_t u, uint32_t v)
{
	for (g->n_seen++; u || v; swap(&u, &v)) {
		if (!u)
			continue;
		if (g->seen[u] == g->n_seen)
			return u;
		g->seen[u] = g->n_seen;
		u = g->top[g->mate[u]];
		if (u)
			u = g->top[g->parent[u]];
	}
	return 0;
}

/* Adds the petals on the path from x to the base; inner ones become outer. */
static void
add_path(struct graph *g, uint32_t blossom, uint32_t x, uint32_t base)
{
	while (x != base) {
		uint32_t y = g->top[g->mate[x]];

		vec_push(&g->petals[blossom], x);
		vec_push(&g->petals[blossom], y);
		enqueue(g, y);
		x = g->top[g->parent[y]];
	}
}

/* The edges of a new blossom are the cheapest of its petals. */
static void
inherit(struct graph *g, uint32_t blossom)
{
	for (uint32_t x = 0; x <= g->n_all; x++)
		*edge(g, blossom, x) = *edge(g, x, blossom) = (struct ends){ 0 };
	for (uint32_t x = 1; x <= g->n; x++)
		*within(g, blossom, x) = 0;
	for (size_t i = 0; i < g->petals[blossom].n; i++) {
		uint32_t petal = g->petals[blossom].items[i];

		for (uint32_t x = 1; x <= g->n_all; x++) {
			const struct ends *e = edge(g, petal, x);

			if (!e->u || (edge(g, blossom, x)->u &&
				      cost(g, e) >= cost(g, edge(g, blossom, x))))
				continue;
			*edge(g, blossom, x) = *e;
			*edge(g, x, blossom) = *edge(g, x, petal);
		}
		for (uint32_t x = 1; x <= g->n; x++)
			if (*within(g, petal, x))
				*within(g, blossom, x) = petal;
	}
}

static void
shrink(struct graph *g, uint32_t u, uint32_t base, uint32_t v)
{
	uint32_t b = g->n + 1;

	while (b <= g->n_all && g->top[b])
		b++;
	if (b > g->n_all)
		g->n_all = b;
	g->dual[b] = 0;
	g->label[b] = OUTER;
	g->parent[b] = g->parent[base];
	g->mate[b] = g->mate[base];
	g->petals[b].n = 0;
	vec_push(&g->petals[b], base);
	add_path(g, b, u, base);
	reverse(g->petals[b].items + 1, g->petals[b].n - 1);
	add_path(g, b, v, base);
	set_top(g, b, b);
	inherit(g, b);
	find_slack(g, b);
}

/* Expands an inner blossom without a dual; its petals become nodes of their own. */
static void
expand(struct graph *g, uint32_t b)
{
	uint32_t *items = g->petals[b].items, entry;
	size_t base;

	for (size_t i = 0; i < g->petals[b].n; i++)
		set_top(g, items[i], items[i]);
	entry = *within(g, b, edge(g, b, g->parent[b])->u);
	base = walk_to(g, b, entry);
	for (size_t i = 0; i < base; i += 2) {
		uint32_t inner = items[i], outer = items[i + 1];

		g->parent[inner] = edge(g, outer, inner)->u;
		g->label[inner] = INNER;
		g->label[outer] = OUTER;
		g->slack[inner] = 0;
		find_slack(g, outer);
		enqueue(g, outer);
	}
	g->label[entry] = INNER;
	g->parent[entry] = g->parent[b];
	for (size_t i = base + 1; i < g->petals[b].n; i++) {
		g->label[items[i]] = FREE;
		find_slack(g, items[i]);
	}
	g->top[b] = 0;
}

/* Follows a tight edge out of an outer node; true if the matching has grown. */
static bool
follow(struct graph *g, const struct ends *e)
{
	uint32_t from = e->u, u = g->top[e->u], v = g->top[e->v];

	if (g->label[v] == FREE) {
		uint32_t next = g->top[g->mate[v]];

		g->parent[v] = from;
		g->label[v] = INNER;
		g->slack[v] = g->slack[next] = 0;
		g->label[next] = OUTER;
		enqueue(g, next);
	} else if (g->label[v] == OUTER) {
		uint32_t base = find_meeting(g, u, v);

		if (!base) {
			augment(g, u, v);
			augment(g, v, u);
			return true;
		}
		shrink(g, u, base, v);
	}
	return false;
}

static bool
scan(struct graph *g)
{
	while (g->head < g->queue.n) {
		uint32_t u = g->queue.items[g->head++];

		if (g->label[g->top[u]] == INNER)
			continue;
		for (uint32_t v = 1; v <= g->n; v++) {
			struct ends e = *edge(g, u, v);

			if (!e.u || g->top[u] == g->top[v])
				continue;
			if (!is_tight(g, &e))
				offer_slack(g, u, g->top[v]);
			else if (follow(g, &e))
				return true;
		}
	}
	return false;
}

/* How far duals can change until there is a new tight edge or event. */
static double
find_step(const struct graph *g)
{
	double step = INFINITY;

	for (uint32_t b = g->n + 1; b <= g->n_all; b++)
		if (g->top[b] == b && g->label[b] == INNER)
			step = fmin(step, g->dual[b] / 2);
	for (uint32_t x = 1; x <= g->n_all; x++) {
		if (g->top[x] != x || !g->slack[x])
			continue;
		if (g->label[x] == FREE)
			step = fmin(step, cost(g, edge(g, g->slack[x], x)));
		else if (g->label[x] == OUTER)
			step = fmin(step, cost(g, edge(g, g->slack[x], x)) / 2);
	}
	return step;
}

/* False: matching another vertex gains nothing. */
static bool
change_duals(struct graph *g, double step)
{
	for (uint32_t u = 1; u <= g->n; u++) {
		if (g->label[g->top[u]] == OUTER) {
			if (g->dual[u] <= step + g->nothing)
				return false;
			g->dual[u] -= step;
		} else if (g->label[g->top[u]] == INNER) {
			g->dual[u] += step;
		}
	}
	for (uint32_t b = g->n + 1; b <= g->n_all; b++) {
		if (g->top[b] != b)
			continue;
		if (g->label[b] == OUTER)
			g->dual[b] += 2 * step;
		else if (g->label[b] == INNER)
			g->dual[b] -= 2 * step;
	}
	return true;
}

/* Searches from all free vertices; true if the matching has grown by one. */
static bool
grow(struct graph *g)
{
	g->queue.n = g->head = 0;
	for (uint32_t x = 1; x <= g->n_all; x++) {
		g->label[x] = FREE;
		g->slack[x] = 0;
		if (g->top[x] != x || g->mate[x])
			continue;
		g->parent[x] = 0;
		g->label[x] = OUTER;
		enqueue(g, x);
	}
	if (!g->queue.n)
		return false;
	g->nothing = 0;
	for (uint32_t n_steps = 0;; n_steps++) {
		if (n_steps == MAX_STEPS * g->n_max)
			g->nothing = g->most * NOTHING;
		if (scan(g))
			return true;
		if (!change_duals(g, find_step(g)))
			return false;
		g->queue.n = g->head = 0;
		for (uint32_t x = 1; x <= g->n_all; x++) {
			struct ends e;

			if (g->top[x] != x || !g->slack[x] || g->top[g->slack[x]] == x)
				continue;
			e = *edge(g, g->slack[x], x);
			if (is_tight(g, &e) && follow(g, &e))
				return true;
		}
		for (uint32_t b = g->n + 1; b <= g->n_all; b++)
			if (g->top[b] == b && g->label[b] == INNER &&
			    g->dual[b] <= g->nothing)
				expand(g, b);
	}
}

static void
begin(struct graph *g, uint32_t n, const double *weights)
{
	/* At most n/2 blossoms exist at once. */
	*g = (struct graph){
		.n = n, .n_all = n, .n_max = n + n / 2 + 2, .weights = weights
	};
	g->edges = xcalloc((size_t)g->n_max * g->n_max, sizeof *g->edges);
	g->within = xcalloc((size_t)g->n_max * g->n_max, sizeof *g->within);
	g->dual = xcalloc(g->n_max, sizeof *g->dual);
	g->mate = xcalloc(g->n_max, sizeof *g->mate);
	g->slack = xcalloc(g->n_max, sizeof *g->slack);
	g->top = xcalloc(g->n_max, sizeof *g->top);
	g->parent = xcalloc(g->n_max, sizeof *g->parent);
	g->seen = xcalloc(g->n_max, sizeof *g->seen);
	g->label = xcalloc(g->n_max, sizeof *g->label);
	g->petals = xcalloc(g->n_max, sizeof *g->petals);
	for (uint32_t u = 1; u <= n; u++) {
		g->top[u] = u;
		*within(g, u, u) = u;
		for (uint32_t v = 1; v <= n; v++) {
			double w = weights[(size_t)(u - 1) * n + v - 1];

			if (u == v || !(w > 0))
				continue;
			*edge(g, u, v) = (struct ends){ u, v };
			g->most = fmax(g->most, w);
		}
	}
	for (uint32_t u = 1; u <= n; u++)
		g->dual[u] = g->most;
}

static void
end(struct graph *g)
{
	for (uint32_t x = 0; x < g->n_max; x++)
		vec_free(&g->petals[x]);
	vec_free(&g->queue);
	vec_free(&g->nested);
	free(g->edges);
	free(g->within);
	free(g->dual);
	free(g->mate);
	free(g->slack);
	free(g->top);
	free(g->parent);
	free(g->seen);
	free(g->label);
	free(g->petals);
}

void
matching_find(uint32_t n, const double *weights, uint32_t *ret_mates)
{
	struct graph g;

	begin(&g, n, weights);
	while (grow(&g))
		continue;
	/*
	 * Rounding may make equal costs differ in one place and not in another; then
	 * two vertices can have the same mate. A vertex that its mate does not name
	 * stays alone.
	 */
	for (uint32_t u = 1; u <= n; u++)
		ret_mates[u - 1] = g.mate[u] && g.mate[g.mate[u]] == u ? g.mate[u] - 1
								       : MATCHING_NONE;
	end(&g);
}
