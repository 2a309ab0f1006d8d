/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer_constraints.c - the constraints between jobs, and the groups that they connect.
 */
#include <math.h>
#include <string.h>

#include "scheduler/core/control/control_constants.h"
#include "scheduler/core/control/steer_internal.h"

typedef VEC(struct node *) node_vec;

static bool
is_sound(const struct steer_constraint *e)
{
	return e->a != e->b && e->modulus_us > 0 && e->lo_us >= 0 &&
	       e->lo_us < e->modulus_us && e->hi_us >= e->lo_us &&
	       e->hi_us - e->lo_us < e->modulus_us;
}

static struct peer
peer_of(const struct steer_constraint *e, struct node *b)
{
	struct peer peer = {
		.other = b,
		.is_a = true,
		.modulus_ns = 1e3 * (double)e->modulus_us,
		.lo_ns = 1e3 * (double)e->lo_us,
		.hi_ns = 1e3 * (double)e->hi_us,
		.overload = e->cost > 0 ? fmin(e->cost, 1) : 1,
	};

	peer.hold_ns = peer.lo_ns;
	peer.held_ns = fmax(0, peer.modulus_ns - peer.hi_ns);
	return peer;
}

/* The same constraint, from the other job's side. */
static struct peer
peer_mirrored(struct peer peer, struct node *a)
{
	double hold_ns = peer.hold_ns;

	peer.other = a;
	peer.is_a = false;
	peer.hold_ns = peer.held_ns;
	peer.held_ns = hold_ns;
	return peer;
}

static struct peer *
find_peer(struct node *node, const struct node *other)
{
	for (size_t i = 0; i < node->peers.n; i++)
		if (node->peers.items[i].other == other)
			return &node->peers.items[i];
	return NULL;
}

static bool
is_near(const struct peer *x, const struct peer *y)
{
	double most_ns = STEER_SAME_FRAC * x->modulus_ns;

	return x->is_a == y->is_a && fabs(x->modulus_ns - y->modulus_ns) <= most_ns &&
	       fabs(x->lo_ns - y->lo_ns) <= most_ns &&
	       fabs(x->hi_ns - y->hi_ns) <= most_ns &&
	       fabs(x->overload - y->overload) <= STEER_SAME_FRAC;
}

/* True if the pair was given before, perhaps with a and b exchanged. */
static bool
is_repeated(const struct steer_constraint *constraints, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if ((constraints[k].a == constraints[i].a &&
		     constraints[k].b == constraints[i].b) ||
		    (constraints[k].a == constraints[i].b &&
		     constraints[k].b == constraints[i].a))
			return true;
	return false;
}

/* True if the jobs already have these constraints, or nearly. */
static bool
has_constraints(struct steer *s, const uint32_t *jobs, size_t n_jobs,
		const struct steer_constraint *constraints, size_t n_constraints)
{
	bool are_there = true;
	size_t n_ends = 0, n_there = 0;

	for (size_t i = 0; i < n_jobs; i++) {
		struct node *node = node_find(s, jobs[i]);

		if (!node || node->mark)
			continue;
		node->mark = 1;
		n_there += node->peers.n;
	}
	for (size_t i = 0; i < n_constraints && are_there; i++) {
		struct node *a = node_find(s, constraints[i].a);
		struct node *b = node_find(s, constraints[i].b);
		struct peer peer;
		const struct peer *old;

		if (!a || !b || !is_sound(&constraints[i]) ||
		    is_repeated(constraints, i))
			continue;
		peer = peer_of(&constraints[i], b);
		old = find_peer(a, b);
		are_there = old && is_near(old, &peer);
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
put_peer(struct node *node, struct peer peer)
{
	struct peer *old = find_peer(node, peer.other);

	if (!old) {
		vec_push(&node->peers, peer);
		return;
	}
	if (old->hold_ns != peer.hold_ns || old->held_ns != peer.held_ns ||
	    old->overload != peer.overload)
		node->chosen_period_ns = 0; /* Turns must be chosen again. */
	node->leader->group.unfit_until_ns = 0;
	peer.wants_turns = old->wants_turns;
	*old = peer;
}

static void
put_constraint(struct node *a, struct node *b, const struct steer_constraint *e)
{
	struct peer peer = peer_of(e, b);

	put_peer(a, peer);
	put_peer(b, peer_mirrored(peer, a));
}

/* ------ Groups ------ */

/* Lists all jobs connected to the first, nearest first. */
static void
list_all(struct node *first)
{
	struct node *last = first;

	first->next = NULL;
	first->mark = 1;
	for (struct node *n = first; n; n = n->next) {
		for (size_t i = 0; i < n->peers.n; i++) {
			struct node *other = n->peers.items[i].other;

			if (other->mark)
				continue;
			other->mark = 1;
			other->next = NULL;
			last = last->next = other;
		}
	}
}

/* Forms new groups of these jobs, without measured costs. */
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
		group_count(leader);
	}
}

/* Removes all constraints of the job. */
static void
clear_peers(struct node *node)
{
	for (size_t i = 0; i < node->peers.n; i++) {
		struct node *other = node->peers.items[i].other;
		const struct peer *back = find_peer(other, node);

		if (back)
			other->peers.items[back - other->peers.items] =
				other->peers.items[--other->peers.n];
	}
	node->peers.n = 0;
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
		      const struct steer_constraint *constraints, size_t n_constraints)
{
	node_vec touched = VEC_EMPTY;
	bool are_same = has_constraints(s, jobs, n_jobs, constraints, n_constraints);

	for (size_t i = 0; i < n_jobs && !are_same; i++) {
		struct node *node = node_find(s, jobs[i]);

		if (!node)
			continue;
		/* Its group may fall apart. */
		for (struct node *n = node->leader; n; n = n->next)
			touch(n, &touched);
		for (size_t k = 0; k < node->peers.n; k++)
			touch(node->peers.items[k].other, &touched);
	}
	for (size_t i = 0; i < touched.n; i++)
		touched.items[i]->mark = 0;
	for (size_t i = 0; i < n_jobs && !are_same; i++) {
		struct node *node = node_find(s, jobs[i]);

		if (node)
			clear_peers(node);
	}
	for (size_t i = 0; i < n_constraints; i++) {
		struct node *a = node_find(s, constraints[i].a);
		struct node *b = node_find(s, constraints[i].b);

		if (!a || !b || !is_sound(&constraints[i]) ||
		    is_repeated(constraints, i))
			continue;
		put_constraint(a, b, &constraints[i]);
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
