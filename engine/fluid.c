/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fluid.c - the flows and links of fluid.h; starts and stops.
 */
#include "engine/fluid.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

static void find_live_links(struct fluid *fl);
static void lay_out_members(struct fluid *fl);

void
fluid_init(struct fluid *fl, const double *capacity_bps, uint32_t n_links,
	   bool keeps_all)
{
	*fl = (struct fluid){ .n_links = n_links, .keeps_all = keeps_all };
	if (n_links)
		fl->links = aligned_alloc(64, n_links * sizeof *fl->links);
	BUG_ON(n_links && !fl->links);
	fl->slot_of_link = xcalloc(n_links + 1, sizeof *fl->slot_of_link);
	for (uint32_t l = 0; l < n_links; l++)
		fl->links[l] = (struct fluid_link){
			.capacity_bps = capacity_bps[l],
			.hot_bps = capacity_bps[l] * (1 + FLUID_REL_TOL),
		};
}

void
fluid_fini(struct fluid *fl)
{
	free(fl->links);
	free(fl->slot_of_link);
	free(fl->flows);
	free(fl->finish_ns);
	free(fl->waiting_work);
	free(fl->specs);
	vec_free(&fl->paths);
	vec_free(&fl->hops);
	vec_free(&fl->members);
	vec_free(&fl->touched);
	vec_free(&fl->started);
	fluid_free_parts(fl);
	vec_free(&fl->parts);
	vec_free(&fl->touched_parts);
	vec_free(&fl->set);
	vec_free(&fl->slots);
	vec_free(&fl->shares);
	vec_free(&fl->slots_of_flow);
	vec_free(&fl->flows_of_slot);
	vec_free(&fl->changed);
	vec_free(&fl->refilled);
}

/* Makes room for one more flow; copies by hand, since realloc() does not align. */
static void
reserve_flow(struct fluid *fl)
{
	uint32_t capacity = fl->flows_capacity * 2 + 16;
	struct fluid_flow *flows;

	if (fl->n_flows < fl->flows_capacity)
		return;
	flows = aligned_alloc(64, capacity * sizeof *flows);
	BUG_ON(!flows);
	if (fl->n_flows)
		memcpy(flows, fl->flows, fl->n_flows * sizeof *flows);
	free(fl->flows);
	fl->flows = flows;
	fl->finish_ns = xreallocarray(fl->finish_ns, capacity, sizeof *fl->finish_ns);
	fl->specs = xreallocarray(fl->specs, capacity, sizeof *fl->specs);
	fl->waiting_work =
		xreallocarray(fl->waiting_work, capacity, sizeof *fl->waiting_work);
	fl->flows_capacity = capacity;
}

/* The cap of a flow's path and own limit. */
static void
find_cap(const struct fluid *fl, struct fluid_spec *spec)
{
	spec->cap_bps = spec->own_bps;
	if (spec->blocked_bps > 0)
		spec->cap_bps = min_of(spec->cap_bps, spec->blocked_bps);
	for (uint32_t i = 0; i < spec->n_links; i++)
		spec->cap_bps = min_of(
			spec->cap_bps,
			fl->links[fl->paths.items[spec->first_link + i]].capacity_bps);
	spec->need_bps = ceil(spec->cap_bps);
}

uint32_t
fluid_add_flow(struct fluid *fl, uint32_t owner, uint32_t group, const uint32_t *links,
	       uint32_t n_links, double bytes, double cap_bps, double weight)
{
	struct fluid_spec spec = { .own_bps = cap_bps > 0 ? cap_bps : INFINITY,
				   .work = bytes * 8 * 1e9,
				   .first_link = (uint32_t)fl->paths.n,
				   .n_links = n_links,
				   .group = group };

	reserve_flow(fl);
	for (uint32_t i = 0; i < n_links; i++)
		vec_push(&fl->paths, links[i]);
	spec.part = FLUID_NONE;
	find_cap(fl, &spec);
	fl->flows[fl->n_flows] =
		(struct fluid_flow){ .weight = weight,
				     .cap_level = spec.cap_bps / weight,
				     .bottleneck = FLUID_NONE,
				     .owner = owner };
	fl->specs[fl->n_flows] = spec;
	fl->finish_ns[fl->n_flows] = INFINITY;
	fl->waiting_work[fl->n_flows] = 0;
	fluid_count_class(fl, 0, true);
	fl->is_stale = true;
	return fl->n_flows++;
}

void
fluid_retire(struct fluid *fl, uint32_t flow)
{
	BUG_ON(fl->flows[flow].is_active);
	fl->specs[flow].is_retired = true;
	fluid_count_class(fl, fl->flows[flow].priority, false);
	if (++fl->n_retired > fl->n_flows / 4)
		fl->is_stale = true;
}

void
fluid_set_capacity(struct fluid *fl, uint32_t link, double capacity_bps)
{
	fl->links[link].capacity_bps = capacity_bps;
	fl->links[link].hot_bps = capacity_bps * (1 + FLUID_REL_TOL);
	fl->has_new_caps = fl->is_stale = true;
}

void
fluid_set_path(struct fluid *fl, uint32_t flow, const uint32_t *links, uint32_t n_links,
	       double blocked_bps)
{
	struct fluid_spec *spec = &fl->specs[flow];

	/* A path that is as long as the one before takes its room. */
	if (n_links > spec->n_links) {
		spec->first_link = (uint32_t)fl->paths.n;
		for (uint32_t i = 0; i < n_links; i++)
			vec_push(&fl->paths, 0);
	}
	for (uint32_t i = 0; i < n_links; i++)
		fl->paths.items[spec->first_link + i] = links[i];
	spec->n_links = n_links;
	spec->blocked_bps = blocked_bps;
	fl->has_new_caps = fl->is_stale = true;
}

/* After changes of links or paths: the caps of all flows. */
static void
find_caps(struct fluid *fl)
{
	for (uint32_t f = 0; f < fl->n_flows; f++) {
		find_cap(fl, &fl->specs[f]);
		fl->flows[f].cap_level = fl->specs[f].cap_bps / fl->flows[f].weight;
	}
	fl->has_new_caps = false;
}

void
fluid_set_weight(struct fluid *fl, uint32_t flow, double weight)
{
	if (weight == fl->flows[flow].weight)
		return;
	/* Remembered rates hold only for the old weights. */
	if (fl->specs[flow].part != FLUID_NONE)
		fluid_dissolve_part(fl, fl->specs[flow].part);
	fl->has_new_weights = true;
	fl->flows[flow].weight = weight;
	fl->flows[flow].cap_level = fl->specs[flow].cap_bps / weight;
	if (!fl->flows[flow].is_active)
		return;
	/* As if it had left its links and come again, with what it has left. */
	fluid_leave_links(fl, flow);
	fluid_enter(fl, flow);
}

void
fluid_set_priority(struct fluid *fl, uint32_t flow, uint8_t priority)
{
	struct fluid_flow *at = &fl->flows[flow];
	uint8_t before = at->priority;

	if (priority == before)
		return;
	at->priority = priority;
	fluid_count_class(fl, before, false);
	fluid_count_class(fl, priority, true);
	/* Remembered rates hold only for one class. */
	if (fl->has_classes)
		fluid_dissolve_parts(fl);
	if (!at->is_active || fl->specs[flow].part != FLUID_NONE)
		return;
	/* As if it had left the one class and joined the other. */
	at->bottleneck = FLUID_NONE;
	fluid_touch_links(fl, at, before > priority ? before : priority, false);
	vec_push(&fl->started, flow);
}

/* ------ Which links are live ------ */

void
fluid_rebuild(struct fluid *fl)
{
	if (fl->has_new_caps)
		find_caps(fl);
	fl->has_classes = !fluid_is_of_one_class(fl);
	find_live_links(fl);
	lay_out_members(fl);
	fl->touched.n = 0;
	fl->started.n = 0;
	vec_reserve(&fl->set, fl->n_flows);
	vec_reserve(&fl->changed, fl->n_flows);
	/* One slot more than links: a solve prepares the next slot ahead. */
	fl->slots.n = fl->slots_of_flow.n = 0;
	vec_reserve(&fl->slots, fl->n_links + 1);
	vec_reserve(&fl->slots_of_flow, fl->hops.n);
	vec_reserve(&fl->shares, fl->n_links + FLUID_N_BEYOND);
	fluid_find_parts(fl);
	for (uint32_t f = 0; f < fl->n_flows; f++)
		if (fl->flows[f].is_active)
			fluid_enter(fl, f);
	fl->n_retired = 0;
	fl->is_stale = false;
}

/*
 * A flow can load each distinct link of its path with its cap; an owner can load it
 * with the largest sum of any of its groups.  A link can be exceeded if the owners
 * together exceed it.
 */
static void
find_live_links(struct fluid *fl)
{
	struct need {
		double all_bps, owner_bps, group_bps;
		uint32_t owner, group, flow;
	} *needs = xcalloc(fl->n_links ? fl->n_links : 1, sizeof *needs);

	for (uint32_t l = 0; l < fl->n_links; l++)
		needs[l].owner = needs[l].flow = FLUID_NONE;
	for (uint32_t f = 0; f < fl->n_flows; f++) {
		const struct fluid_spec *spec = &fl->specs[f];
		uint32_t owner = fl->flows[f].owner;

		for (uint32_t i = 0; !spec->is_retired && i < spec->n_links; i++) {
			struct need *need =
				&needs[fl->paths.items[spec->first_link + i]];

			if (need->flow == f)
				continue;
			if (need->owner != owner || need->group != spec->group) {
				need->owner_bps =
					max_of(need->owner_bps, need->group_bps);
				need->group_bps = 0;
			}
			if (need->owner != owner) {
				need->all_bps += need->owner_bps;
				need->owner_bps = 0;
			}
			need->flow = f;
			need->owner = owner;
			need->group = spec->group;
			need->group_bps += spec->need_bps;
		}
	}
	for (uint32_t l = 0; l < fl->n_links; l++) {
		struct fluid_link *link = &fl->links[l];
		double sum_bps = needs[l].all_bps +
				 max_of(needs[l].owner_bps, needs[l].group_bps);

		link->can_exceed = sum_bps > link->hot_bps;
		link->is_live = link->can_exceed ||
				(fl->keeps_all && needs[l].owner != FLUID_NONE);
	}
	free(needs);
}

/* Gives each flow its hops, and each live link room for all its flows. */
static void
lay_out_members(struct fluid *fl)
{
	uint32_t n_members = 0;

	for (uint32_t l = 0; l < fl->n_links; l++) {
		struct fluid_link *link = &fl->links[l];

		link->n_members = 0; /* Counts the room needed, for now. */
		link->capsum_bps = 0;
		link->is_touched = false;
		link->top_priority = 0;
		fl->slot_of_link[l] = FLUID_COLD;
	}
	fl->mark = 0;
	fl->hops.n = 0;
	for (uint32_t f = 0; f < fl->n_flows; f++) {
		const struct fluid_spec *spec = &fl->specs[f];
		struct fluid_flow *flow = &fl->flows[f];

		flow->first_hop = (uint32_t)fl->hops.n;
		flow->mark = 0;
		for (uint32_t i = 0; !spec->is_retired && i < spec->n_links; i++) {
			uint32_t l = fl->paths.items[spec->first_link + i];
			bool is_new = fl->links[l].is_live;

			for (size_t h = flow->first_hop; is_new && h < fl->hops.n; h++)
				is_new = fl->hops.items[h].link != l;
			if (!is_new)
				continue;
			vec_push(&fl->hops, ((struct fluid_hop){ .link = l }));
			fl->links[l].n_members++;
			n_members++;
		}
		flow->n_hops = (uint32_t)(fl->hops.n - flow->first_hop);
	}
	fl->members.n = 0;
	vec_reserve(&fl->members, n_members);
	for (uint32_t l = 0, first = 0; l < fl->n_links; l++) {
		fl->links[l].first = first;
		first += fl->links[l].n_members;
		fl->links[l].n_members = 0;
	}
}

/* ------ Starts and stops ------ */

void
fluid_solve(struct fluid *fl, double now_ns)
{
	bool is_due = fl->touched.n || fl->started.n;

	fl->changed.n = 0;
	fl->set.n = 0;
	if (is_due && fl->has_classes)
		fluid_solve_classes(fl, now_ns);
	else if (is_due)
		fluid_solve_touched(fl, now_ns);
	if (fl->touched_parts.n)
		fluid_solve_parts(fl, now_ns);
}

void
fluid_start_midway(struct fluid *fl, uint32_t f, double finish_ns)
{
	fluid_start(fl, f, 0);
	fl->flows[f].rate_bps = fl->specs[f].cap_bps;
	fl->finish_ns[f] = finish_ns;
}
