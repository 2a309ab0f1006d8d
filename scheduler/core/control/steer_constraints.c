/*
 * steer_constraints.c - the edges between jobs, and which of them hang together.
 */
#include <math.h>
#include <string.h>

#include "scheduler/core/control/steer_internal.h"

/*
 * An edge that differs by less, of its modulus or in cost, is the same one, refined.
 */
#define SAME_FRAC 0.1

typedef VEC(struct node *) node_vec;

static bool
is_sound_edge(const struct steer_edge *e)
{
	return e->a != e->b && e->modulus_us > 0 && e->lo_us >= 0 &&
	       e->lo_us < e->modulus_us && e->hi_us >= e->lo_us &&
	       e->hi_us - e->lo_us < e->modulus_us;
}

static struct bond
bond_of(const struct steer_edge *e, struct node *b)
{
	struct bond bond = {
		.other = b,
		.is_a = true,
		.modulus_ns = 1e3 * (double)e->modulus_us,
		.lo_ns = 1e3 * (double)e->lo_us,
		.hi_ns = 1e3 * (double)e->hi_us,
		.overload = e->cost > 0 ? fmin(e->cost, 1) : 1,
	};

	bond.hold_ns = bond.lo_ns;
	bond.held_ns = fmax(0, bond.modulus_ns - bond.hi_ns);
	return bond;
}

/* The same, as the other end sees it. */
static struct bond
bond_turned(struct bond bond, struct node *a)
{
	double hold_ns = bond.hold_ns;

	bond.other = a;
	bond.is_a = false;
	bond.hold_ns = bond.held_ns;
	bond.held_ns = hold_ns;
	return bond;
}

static struct bond *
find_bond(struct node *node, const struct node *other)
{
	for (size_t i = 0; i < node->bonds.n; i++)
		if (node->bonds.items[i].other == other)
			return &node->bonds.items[i];
	return NULL;
}

static bool
is_near(const struct bond *x, const struct bond *y)
{
	double most_ns = SAME_FRAC * x->modulus_ns;

	return x->is_a == y->is_a && fabs(x->modulus_ns - y->modulus_ns) <= most_ns &&
	       fabs(x->lo_ns - y->lo_ns) <= most_ns &&
	       fabs(x->hi_ns - y->hi_ns) <= most_ns &&
	       fabs(x->overload - y->overload) <= SAME_FRAC;
}

/* Told before, as the view of its other end. */
static bool
is_repeated(const struct steer_edge *edges, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if ((edges[k].a == edges[i].a && edges[k].b == edges[i].b) ||
		    (edges[k].a == edges[i].b && edges[k].b == edges[i].a))
			return true;
	return false;
}

/* True if the jobs' edges are these already, or nearly. */
static bool
has_edges(struct steer *s, const uint32_t *jobs, size_t n_jobs,
	  const struct steer_edge *edges, size_t n_edges)
{
	bool are_there = true;
	size_t n_ends = 0, n_there = 0;

	for (size_t i = 0; i < n_jobs; i++) {
		struct node *node = node_find(s, jobs[i]);

		if (!node || node->mark)
			continue;
		node->mark = 1;
		n_there += node->bonds.n;
	}
	for (size_t i = 0; i < n_edges && are_there; i++) {
		struct node *a = node_find(s, edges[i].a);
		struct node *b = node_find(s, edges[i].b);
		struct bond bond;
		const struct bond *old;

		if (!a || !b || !is_sound_edge(&edges[i]) || is_repeated(edges, i))
			continue;
		bond = bond_of(&edges[i], b);
		old = find_bond(a, b);
		are_there = old && is_near(old, &bond);
		n_ends += a->mark + b->mark;
	}
	for (size_t i = 0; i < n_jobs; i++) {
		struct node *node = node_find(s, jobs[i]);

		if (node)
			node->mark = 0;
	}
	return are_there && n_ends == n_there;
}

static void
put_bond(struct node *node, struct bond bond)
{
	struct bond *old = find_bond(node, bond.other);

	if (!old) {
		vec_push(&node->bonds, bond);
		return;
	}
	if (old->hold_ns != bond.hold_ns || old->held_ns != bond.held_ns ||
	    old->overload != bond.overload)
		node->chosen_period_ns = 0; /* To be chosen again. */
	node->leader->group.unfit_until_ns = 0;
	bond.wants_turns = old->wants_turns;
	*old = bond;
}

static void
put_edge(struct node *a, struct node *b, const struct steer_edge *e)
{
	struct bond bond = bond_of(e, b);

	put_bond(a, bond);
	put_bond(b, bond_turned(bond, a));
}

/* ------ Groups ------ */

/* All that hang together with the job, as a list, the nearest first. */
static void
list_all(struct node *first)
{
	struct node *last = first;

	first->next = NULL;
	first->mark = 1;
	for (struct node *n = first; n; n = n->next) {
		for (size_t i = 0; i < n->bonds.n; i++) {
			struct node *other = n->bonds.items[i].other;

			if (other->mark)
				continue;
			other->mark = 1;
			other->next = NULL;
			last = last->next = other;
		}
	}
}

/* Makes groups of them; these have learned nothing. */
static void
regroup(struct node *first)
{
	struct node *leader = first, *rest;

	list_all(first);
	for (; leader; leader = rest) {
		struct node *last = leader;

		for (size_t n = 1;; n++) {
			last->leader = leader;
			last->mark = 0;
			if (n == STEER_MAX_GROUP || !last->next)
				break;
			last = last->next;
		}
		rest = last->next;
		last->next = NULL;
		group_forget(leader);
	}
}

/* Takes all edges of the job away; each that had one stands alone for now. */
static void
clear_bonds(struct node *node)
{
	for (size_t i = 0; i < node->bonds.n; i++) {
		struct node *other = node->bonds.items[i].other;
		const struct bond *back = find_bond(other, node);

		if (back)
			other->bonds.items[back - other->bonds.items] =
				other->bonds.items[--other->bonds.n];
	}
	node->bonds.n = 0;
}

static void
touch(struct node *node, node_vec *touched)
{
	if (!node->mark)
		vec_push(touched, node);
	node->mark = 1;
}

void
steer_set_constraints(struct steer *s, const uint32_t *jobs, size_t n_jobs,
		      const struct steer_edge *edges, size_t n_edges)
{
	node_vec touched = VEC_EMPTY;
	bool are_same = has_edges(s, jobs, n_jobs, edges, n_edges);

	for (size_t i = 0; i < n_jobs && !are_same; i++) {
		struct node *node = node_find(s, jobs[i]);

		if (!node)
			continue;
		/* Who is in a group with it may no longer be. */
		for (struct node *n = node->leader; n; n = n->next)
			touch(n, &touched);
		for (size_t k = 0; k < node->bonds.n; k++)
			touch(node->bonds.items[k].other, &touched);
	}
	for (size_t i = 0; i < touched.n; i++)
		touched.items[i]->mark = 0;
	for (size_t i = 0; i < n_jobs && !are_same; i++) {
		struct node *node = node_find(s, jobs[i]);

		if (node)
			clear_bonds(node);
	}
	for (size_t i = 0; i < n_edges; i++) {
		struct node *a = node_find(s, edges[i].a);
		struct node *b = node_find(s, edges[i].b);

		if (!a || !b || !is_sound_edge(&edges[i]) || is_repeated(edges, i))
			continue;
		put_edge(a, b, &edges[i]);
		if (!are_same) {
			vec_push(&touched, a);
			vec_push(&touched, b);
		}
	}
	for (size_t i = 0; i < touched.n; i++)
		touched.items[i]->leader = NULL;
	for (size_t i = 0; i < touched.n; i++)
		if (!touched.items[i]->leader)
			regroup(touched.items[i]);
	vec_free(&touched);
}
