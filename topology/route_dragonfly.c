/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route_dragonfly.c - minimal paths of a dragonfly, and Valiant's detours.
 *
 * For every last router d there are two distances for each router v:
 *
 *	down(v) = links from v to d within their group
 *	all(v)  = down(v) in the group of d; elsewhere the least of 1 + down(w) over cables
 *	          v > w into that group, and 1 + all(w) over cables within the group of v
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "topology/route.h"
#include "topology/route_priv.h"

static uint32_t
group_of(const struct routes *r, uint32_t v)
{
	return v / r->group_size;
}

/*
 * Lowers the distances within each group until no cable there makes one shorter.  Groups
 * are small, and a pass over all cables lowers by one step at least.
 */
static void
relax(const struct routes *r, uint8_t *distances)
{
	bool has_changed = true;

	while (has_changed) {
		has_changed = false;
		for (uint32_t v = 0; v < r->n_switches; v++) {
			for (uint32_t i = r->hop_first[v]; i < r->hop_first[v + 1];
			     i++) {
				uint32_t w = r->hops[i].to;

				if (group_of(r, v) != group_of(r, w) ||
				    distances[w] >= ROUTE_MAX_HOPS ||
				    distances[w] + 1 >= distances[v])
					continue;
				distances[v] = (uint8_t)(distances[w] + 1);
				has_changed = true;
			}
		}
	}
}

void
route_dragonfly_fill(const struct routes *r, struct route_table *t)
{
	uint32_t last = group_of(r, t->leaf);

	t->down[t->leaf] = 0;
	relax(r, t->down);
	for (uint32_t v = 0; v < r->n_switches; v++) {
		t->all[v] = t->down[v];
		for (uint32_t i = r->hop_first[v];
		     i < r->hop_first[v + 1] && group_of(r, v) != last; i++) {
			uint32_t w = r->hops[i].to;

			if (group_of(r, w) == last && t->down[w] < ROUTE_MAX_HOPS &&
			    t->down[w] + 1 < t->all[v])
				t->all[v] = (uint8_t)(t->down[w] + 1);
		}
	}
	relax(r, t->all);
}

/* One way into a third group: perhaps a hop within the group, then one out of it. */
struct detour {
	uint32_t group;
	const struct route_hop *local; /* NULL: the router has the cable itself. */
	const struct route_hop *global;
};

struct detours {
	VEC(struct detour) list;
};

/* Adds the cables of router 'w' to third groups. */
static void
add_cables(const struct routes *r, const struct route_table *t, uint32_t w,
	   const struct route_hop *local, struct detours *detours)
{
	for (uint32_t i = r->hop_first[w]; i < r->hop_first[w + 1]; i++) {
		const struct route_hop *hop = &r->hops[i];
		uint32_t group = group_of(r, hop->to);

		if (group != group_of(r, w) && group != group_of(r, t->leaf) &&
		    t->all[hop->to] < ROUTE_MAX_HOPS / 2)
			vec_push(&detours->list,
				 ((struct detour){ group, local, hop }));
	}
}

static int
compare_detours(const void *a, const void *b)
{
	const struct detour *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	/* The router's own cables first, which are shorter. */
	if (!x->local != !y->local)
		return !x->local ? -1 : 1;
	if (x->local && x->local != y->local)
		return x->local < y->local ? -1 : 1;
	return x->global < y->global ? -1 : x->global > y->global;
}

/* The end of the detours from 'first' on that are as short, into the same group. */
static size_t
end_of_alike(const struct detours *detours, size_t first)
{
	const struct detour *items = detours->list.items;
	size_t end = first + 1;

	while (end < detours->list.n && items[end].group == items[first].group &&
	       !items[end].local == !items[first].local)
		end++;
	return end;
}

/* The next group's first detour. */
static size_t
next_group(const struct detours *detours, size_t first)
{
	size_t end = first + 1;

	while (end < detours->list.n &&
	       detours->list.items[end].group == detours->list.items[first].group)
		end++;
	return end;
}

size_t
route_dragonfly_detour(const struct routes *r, const struct route_table *t, uint32_t v,
		       struct route_choice *choice, uint32_t *ret_links,
		       uint32_t *ret_v)
{
	struct detours detours = { VEC_EMPTY };
	const struct detour *chosen;
	size_t first = 0, n_links = 0;
	uint64_t n_groups = 0, skip;

	if (group_of(r, v) == group_of(r, t->leaf))
		return 0;
	add_cables(r, t, v, NULL, &detours);
	for (uint32_t i = r->hop_first[v]; i < r->hop_first[v + 1]; i++)
		if (group_of(r, r->hops[i].to) == group_of(r, v))
			add_cables(r, t, r->hops[i].to, &r->hops[i], &detours);
	if (!detours.list.n)
		return 0;
	qsort(detours.list.items, detours.list.n, sizeof *detours.list.items,
	      compare_detours);
	for (size_t i = 0; i < detours.list.n; i = next_group(&detours, i))
		n_groups++;
	/* The last router chooses nothing, so its draw is free. */
	for (skip = route_choose(r, t->leaf, choice, n_groups); skip > 0; skip--)
		first = next_group(&detours, first);
	chosen =
		&detours.list.items[first + route_choose(r, v, choice,
							 end_of_alike(&detours, first) -
								 first)];
	if (chosen->local)
		ret_links[n_links++] = chosen->local->link;
	ret_links[n_links++] = chosen->global->link;
	*ret_v = chosen->global->to;
	vec_free(&detours.list);
	return n_links;
}
