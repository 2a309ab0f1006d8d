/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.c - comparison of the plan with the nodes' reports: the matching.
 *
 * Ends of cables ("node port") are numbered, those of the plan first, so that both
 * sides are cables between numbers.  diff_edges.c makes the seen ones out of reports.
 */
#include "topology/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sort.h"
#include "topology/diff_priv.h"

/* Plans sometimes have the capacity after line coding: 97 of 100 Gb/s. */
#define SPEED_TOLERANCE 0.05

const char *const diff_kind_names[] = { "swapped", "moved", "missing", "extra",
					"speed",   "down",  NULL };

static void
fill_end(const struct differ *d, uint32_t end, struct diff_end *to)
{
	const struct end *from = &d->ends.items[end];

	memcpy(to->node, from->node, sizeof to->node);
	memcpy(to->port, from->port, sizeof to->port);
}

static void
add_plan(const struct differ *d, struct diff_finding *f, uint32_t cable)
{
	struct diff_cable *to = &f->plan[f->n_plan++];

	fill_end(d, d->cables.items[cable].a, &to->a);
	fill_end(d, d->cables.items[cable].b, &to->b);
	to->bps = d->cables.items[cable].bps;
}

/* Fills both ends, the one of the lower tier first, as in most plans. */
static void
fill_ends(const struct differ *d, uint32_t a, uint32_t b, struct diff_cable *to)
{
	uint32_t a_node = d->ends.items[a].plan_node,
		 b_node = d->ends.items[b].plan_node;
	bool turn = a_node != TOPO_NONE && b_node != TOPO_NONE &&
		    topo_node(d->plan, a_node)->tier > topo_node(d->plan, b_node)->tier;

	fill_end(d, turn ? b : a, &to->a);
	fill_end(d, turn ? a : b, &to->b);
}

static void
add_seen(const struct differ *d, struct diff_finding *f, uint32_t edge)
{
	const struct edge *e = &d->edges.items[edge];
	struct diff_cable *to = &f->seen[f->n_seen++];

	fill_ends(d, e->a, e->b, to);
	to->bps = e->bps;
}

/* Planned cable at an end, or TOPO_NONE. */
static uint32_t
cable_at(const struct differ *d, uint32_t end)
{
	return d->ends.items[end].cable;
}

static uint32_t
other_end(uint32_t a, uint32_t b, uint32_t end)
{
	return end == a ? b : a;
}

/* ----Cables as planned ---------------------------------------------------- */

static void
match_pair(struct differ *d, uint32_t cable, uint32_t edge)
{
	d->cables.items[cable].edge = edge;
	d->edges.items[edge].cable = cable;
}

static void
match_exact(struct differ *d)
{
	for (uint32_t i = 0; i < d->cables.n; i++) {
		const struct cable *c = &d->cables.items[i];
		uint32_t edge = d->ends.items[c->a].edge;

		if (edge != TOPO_NONE && edge == d->ends.items[c->b].edge)
			match_pair(d, i, edge);
	}
}

/* True for "p0", "p17": names that readers give to ports without a name in the file. */
static bool
is_number(const char *port)
{
	return port[0] == 'p' && port[1] && !port[1 + strspn(port + 1, "0123456789")];
}

/*
 * Nodes whose ports have real names: the plan does not number them, or a reported port
 * has a name of the plan.
 */
static void
find_named(struct differ *d)
{
	for (size_t i = 0; i < d->ends.n; i++) {
		const struct end *end = &d->ends.items[i];

		if (end->cable != TOPO_NONE &&
		    (end->edge != TOPO_NONE || end->state != OBSERVED_STATE_UNKNOWN ||
		     !is_number(end->port)))
			d->is_named[end->plan_node] = true;
	}
}

/* True if a planned end may be the same as a reported one under another name. */
static bool
may_be(const struct differ *d, uint32_t planned, uint32_t seen)
{
	return planned == seen || (d->ends.items[seen].cable == TOPO_NONE &&
				   d->ends.items[planned].edge == TOPO_NONE &&
				   !d->is_named[d->ends.items[planned].plan_node]);
}

static bool
is_renamed(const struct differ *d, const struct cable *c, const struct edge *e)
{
	const struct end *ends = d->ends.items;

	if (ends[e->a].plan_node == ends[c->a].plan_node &&
	    ends[e->b].plan_node == ends[c->b].plan_node)
		return may_be(d, c->a, e->a) && may_be(d, c->b, e->b);
	if (ends[e->a].plan_node == ends[c->b].plan_node &&
	    ends[e->b].plan_node == ends[c->a].plan_node)
		return may_be(d, c->b, e->a) && may_be(d, c->a, e->b);
	return false;
}

/* A cable or an edge without a partner, by its pair of nodes. */
struct loose {
	uint64_t pair;
	uint32_t index;
};

static int
compare_loose(const void *a, const void *b)
{
	const struct loose *x = a, *y = b;

	if (x->pair != y->pair)
		return x->pair < y->pair ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static struct loose
make_loose(const struct differ *d, uint32_t a, uint32_t b, uint32_t index)
{
	uint64_t x = d->ends.items[a].plan_node, y = d->ends.items[b].plan_node;

	return (struct loose){ x < y ? x << 32 | y : y << 32 | x, index };
}

/* Pairs the remaining cables between the same two nodes, in order. */
static void
match_renamed(struct differ *d)
{
	VEC(struct loose) cables = VEC_EMPTY;
	VEC(struct loose) edges = VEC_EMPTY;
	size_t j = 0;

	find_named(d);
	for (uint32_t i = 0; i < d->cables.n; i++) {
		const struct cable *c = &d->cables.items[i];

		if (c->edge == TOPO_NONE)
			vec_push(&cables, make_loose(d, c->a, c->b, i));
	}
	for (uint32_t i = 0; i < d->edges.n; i++) {
		const struct edge *e = &d->edges.items[i];

		if (e->cable == TOPO_NONE &&
		    d->ends.items[e->a].plan_node != TOPO_NONE &&
		    d->ends.items[e->b].plan_node != TOPO_NONE)
			vec_push(&edges, make_loose(d, e->a, e->b, i));
	}
	sort_items(cables.items, cables.n, compare_loose);
	sort_items(edges.items, edges.n, compare_loose);
	for (size_t i = 0; i < edges.n; i++) {
		while (j < cables.n && cables.items[j].pair < edges.items[i].pair)
			j++;
		for (size_t k = j;
		     k < cables.n && cables.items[k].pair == edges.items[i].pair; k++) {
			struct cable *c = &d->cables.items[cables.items[k].index];

			if (c->edge != TOPO_NONE ||
			    !is_renamed(d, c, &d->edges.items[edges.items[i].index]))
				continue;
			match_pair(d, cables.items[k].index, edges.items[i].index);
			d->diff->n_renamed++;
			break;
		}
	}
	vec_free(&cables);
	vec_free(&edges);
}

/* ----Differences ------------------------------------------------------------------ */

static void
push(struct differ *d, const struct diff_finding *f)
{
	vec_push(&d->diff->findings, *f);
	d->diff->n_of_kind[f->kind]++;
}

/*
 * The edge crosses planned cables 'c' and 'c2'; whether the other crossing exists too.
 */
static void
find_swapped(struct differ *d, uint32_t edge)
{
	const struct edge *e = &d->edges.items[edge];
	struct diff_finding f = { .kind = DIFF_SWAPPED };
	uint32_t c = cable_at(d, e->a), c2 = cable_at(d, e->b);
	uint32_t far, far2, edge2;

	if (e->cable != TOPO_NONE || e->is_told || c == TOPO_NONE || c2 == TOPO_NONE ||
	    c == c2)
		return;
	far = other_end(d->cables.items[c].a, d->cables.items[c].b, e->a);
	far2 = other_end(d->cables.items[c2].a, d->cables.items[c2].b, e->b);
	edge2 = d->ends.items[far].edge;
	if (edge2 == TOPO_NONE || edge2 != d->ends.items[far2].edge ||
	    d->edges.items[edge2].cable != TOPO_NONE)
		return;
	add_plan(d, &f, c < c2 ? c : c2);
	add_plan(d, &f, c < c2 ? c2 : c);
	add_seen(d, &f, edge < edge2 ? edge : edge2);
	add_seen(d, &f, edge < edge2 ? edge2 : edge);
	d->edges.items[edge].is_told = d->edges.items[edge2].is_told = true;
	d->cables.items[c].is_told = d->cables.items[c2].is_told = true;
	push(d, &f);
}

/* True if another edge reports the cable at 'end', from its far end. */
static bool
has_edge_beyond(const struct differ *d, const struct cable *c, uint32_t end)
{
	return d->ends.items[other_end(c->a, c->b, end)].edge != TOPO_NONE;
}

/*
 * Reports an edge at the end of a planned cable that is not that cable.  If it replaces
 * two cables, the second is reported here only if no other edge reports it.
 */
static void
find_moved(struct differ *d, uint32_t edge)
{
	struct edge *e = &d->edges.items[edge];
	struct diff_finding f = { .kind = DIFF_MOVED };
	const uint32_t ends[2] = { e->a, e->b };

	if (e->cable != TOPO_NONE || e->is_told ||
	    (cable_at(d, e->a) == TOPO_NONE && cable_at(d, e->b) == TOPO_NONE))
		return;
	for (int i = 0; i < 2; i++) {
		uint32_t at = cable_at(d, ends[i]);
		struct cable *c = at == TOPO_NONE ? NULL : &d->cables.items[at];

		if (!c || c->is_told || c->edge != TOPO_NONE ||
		    (f.n_plan && has_edge_beyond(d, c, ends[i])))
			continue;
		add_plan(d, &f, at);
		c->is_told = true;
	}
	add_seen(d, &f, edge);
	e->is_told = true;
	push(d, &f);
}

static bool
is_down(const struct differ *d, uint32_t end)
{
	return d->ends.items[end].state == OBSERVED_STATE_DOWN;
}

/* True if the node at that end reported neighbors. */
static bool
is_heard(const struct differ *d, uint32_t end)
{
	return d->is_heard[d->ends.items[end].plan_node];
}

static void
find_missing(struct differ *d, uint32_t cable)
{
	struct cable *c = &d->cables.items[cable];
	struct diff_finding f = { .kind = DIFF_MISSING };

	if (c->edge != TOPO_NONE || c->is_told || is_down(d, c->a) || is_down(d, c->b))
		return;
	if (!is_heard(d, c->a) && !is_heard(d, c->b))
		return;
	add_plan(d, &f, cable);
	c->is_told = true;
	push(d, &f);
}

static void
find_extra(struct differ *d, uint32_t edge)
{
	struct edge *e = &d->edges.items[edge];
	struct diff_finding f = { .kind = DIFF_EXTRA };

	if (e->cable != TOPO_NONE || e->is_told)
		return;
	if (d->ends.items[e->a].plan_node == TOPO_NONE ||
	    d->ends.items[e->b].plan_node == TOPO_NONE) {
		d->diff->n_outside++;
		return;
	}
	add_seen(d, &f, edge);
	push(d, &f);
}

/* The speed of the ports of a planned cable; 0: unknown. */
static double
speed_of(const struct differ *d, const struct cable *c)
{
	const struct edge *e = c->edge == TOPO_NONE ? NULL : &d->edges.items[c->edge];
	double a_bps = d->ends.items[e ? e->a : c->a].bps;
	double b_bps = d->ends.items[e ? e->b : c->b].bps;

	if (a_bps > 0 && b_bps > 0)
		return a_bps < b_bps ? a_bps : b_bps;
	if (a_bps > 0 || b_bps > 0)
		return a_bps + b_bps;
	return e ? e->bps : 0;
}

static void
find_speed(struct differ *d, uint32_t cable)
{
	struct cable *c = &d->cables.items[cable];
	struct diff_finding f = { .kind = DIFF_SPEED };
	double bps = speed_of(d, c);
	uint32_t a = c->a, b = c->b;

	if (c->edge != TOPO_NONE) {
		a = d->edges.items[c->edge].a;
		b = d->edges.items[c->edge].b;
	}
	if (c->is_told || is_down(d, a) || is_down(d, b) || !(bps > 0) ||
	    fabs(bps - c->bps) <= SPEED_TOLERANCE * c->bps)
		return;
	add_plan(d, &f, cable);
	f.n_seen = 1;
	f.seen[0] = f.plan[0];
	if (c->edge != TOPO_NONE)
		fill_ends(d, a, b, &f.seen[0]);
	f.seen[0].bps = bps;
	c->is_told = true;
	push(d, &f);
}

static void
find_down(struct differ *d, uint32_t cable)
{
	struct cable *c = &d->cables.items[cable];
	struct diff_finding f = { .kind = DIFF_DOWN };
	uint32_t a = c->a, b = c->b;

	if (c->edge != TOPO_NONE) {
		a = d->edges.items[c->edge].a;
		b = d->edges.items[c->edge].b;
	}
	if (c->is_told || (!is_down(d, a) && !is_down(d, b)))
		return;
	add_plan(d, &f, cable);
	fill_end(d, is_down(d, a) ? a : b, &f.down);
	c->is_told = true;
	push(d, &f);
}

void
diff_make(const struct topo *plan, const struct observed *seen,
	  const struct diff_opts *opts, struct diff *ret_diff)
{
	struct differ d;

	*ret_diff = (struct diff){ .n_cables = 0 };
	differ_init(&d, plan, seen, opts, ret_diff);
	match_exact(&d);
	match_renamed(&d);
	for (uint32_t i = 0; i < d.edges.n; i++)
		find_swapped(&d, i);
	for (uint32_t i = 0; i < d.edges.n; i++)
		find_moved(&d, i);
	for (uint32_t i = 0; i < d.cables.n; i++)
		find_missing(&d, i);
	for (uint32_t i = 0; i < d.edges.n; i++)
		find_extra(&d, i);
	for (uint32_t i = 0; i < d.cables.n; i++)
		find_speed(&d, i);
	for (uint32_t i = 0; i < d.cables.n; i++)
		find_down(&d, i);
	ret_diff->n_cables = (uint32_t)d.cables.n;
	for (size_t i = 0; i < d.cables.n; i++)
		ret_diff->n_compared += d.cables.items[i].edge != TOPO_NONE ||
					d.cables.items[i].is_told;
	differ_fini(&d);
}

void
diff_fini(struct diff *diff)
{
	vec_free(&diff->findings);
}
