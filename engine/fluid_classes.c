/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fluid_classes.c - strict priorities: each class gets what higher classes leave.
 *
 * The classes are solved from the highest to the lowest, each by fluid_solve.c, whose
 * capacity of link l for class k is
 *
 *	C_lk = C_l - sum of the rates of the flows of higher classes on l
 *
 * and 0 if that is less than FLUID_LEFT_TOL * C_l.  Flows of lower classes do not
 * count, and those of higher classes have their new rates already.  A flow on a link
 * with C_lk = 0 has the rate 0 and waits: it has no finish time, and its remaining work
 * is stored until it is given a rate again.
 *
 * Still only flows whose certificate can break are filled again.  For class k these
 * are the flows that started; those whose bottleneck is a link that changed in this
 * class or a higher one, that is, a flow joined or left, or has another rate; and,
 * where higher classes changed, the flows on links that they and the flows of this
 * class now exceed.  A change in a class does not concern higher classes: links
 * remember the highest class that changed.  fluid_solve.c closes and completes the set.
 *
 * A cold link can still be left out, since all caps fit on it whatever the classes are.
 *
 * Cost: as fluid_solve.c for each class that is concerned, plus O(changed links and
 * started flows) for each other class.
 */
#include "engine/fluid.h"
#include "engine/fluid_set.h"

void
fluid_touch_links(struct fluid *fl, const struct fluid_flow *flow, uint8_t priority,
		  bool only_hot)
{
	for (uint32_t h = flow->first_hop, end = h + flow->n_hops; h < end; h++) {
		uint32_t l = fl->hops.items[h].link;
		struct fluid_link *link = &fl->links[l];

		if (only_hot && fl->slot_of_link[l] == FLUID_COLD)
			continue;
		fluid_touch_link(fl, l, link);
		if (link->top_priority < priority)
			link->top_priority = priority;
	}
}

void
fluid_count_class(struct fluid *fl, uint8_t priority, bool is_in)
{
	uint32_t before = fl->n_of_class[priority];

	fl->n_of_class[priority] = is_in ? before + 1 : before - 1;
	if (before && fl->n_of_class[priority])
		return;
	fl->n_classes = 0;
	for (uint32_t c = FLUID_N_CLASSES; c-- > 0;)
		if (fl->n_of_class[c])
			fl->classes[fl->n_classes++] = (uint8_t)c;
	if (fl->n_classes <= 1 || fl->has_classes)
		return;
	fl->has_classes = true;
	/* In which class they changed was of no interest until now. */
	for (size_t i = 0; i < fl->touched.n; i++)
		fl->links[fl->touched.items[i]].top_priority = UINT8_MAX;
}

/* A flow that waits cannot be solved without classes, which have no rate 0. */
bool
fluid_is_of_one_class(const struct fluid *fl)
{
	for (uint32_t f = 0; fl->has_classes && f < fl->n_flows; f++)
		if (fl->flows[f].is_active && fl->flows[f].rate_bps <= 0)
			return false;
	return fl->n_classes <= 1;
}

void
fluid_set_class_rate(struct fluid *fl, uint32_t f, struct fluid_flow *flow,
		     double rate_bps, double now_ns)
{
	double work = fluid_work_left(fl, f, now_ns);

	if (rate_bps > 0 && flow->rate_bps > 0) {
		fluid_set_rate(fl, f, flow, rate_bps, now_ns);
		return;
	}
	fl->waiting_work[f] = work;
	fl->finish_ns[f] = rate_bps > 0 ? now_ns + work / rate_bps : INFINITY;
	flow->rate_bps = rate_bps;
	fl->changed.items[fl->changed.n++] = f;
}

/* ------ The set of a class ------ */

/* What the classes above the one that is solved leave of a link. */
static double
left_of_link(const struct fluid_link *link, double higher_bps)
{
	double left_bps = link->capacity_bps - higher_bps;

	return left_bps < FLUID_LEFT_TOL * link->capacity_bps ? 0 : left_bps;
}

/* True if the class and those above it now exceed the link. */
static bool
is_exceeded(const struct fluid *fl, const struct fluid_link *link)
{
	const struct fluid_member *members = &fl->members.items[link->first];
	double higher_bps = 0, own_bps = 0;

	for (uint32_t m = 0; m < link->n_members; m++) {
		const struct fluid_flow *flow = &fl->flows[members[m].flow];

		if (flow->priority > fl->priority)
			higher_bps += flow->rate_bps;
		else if (flow->priority == fl->priority)
			own_bps += flow->rate_bps;
	}
	return own_bps >
	       left_of_link(link, higher_bps) + FLUID_REL_TOL * link->capacity_bps;
}

static void
choose_on_link(struct fluid *fl, uint32_t l, double now_ns)
{
	const struct fluid_link *link = &fl->links[l];
	const struct fluid_member *members = &fl->members.items[link->first];
	bool takes_all;

	if (link->top_priority < fl->priority)
		return;
	takes_all = link->top_priority > fl->priority &&
		    fl->slot_of_link[l] != FLUID_COLD && is_exceeded(fl, link);
	for (uint32_t m = 0; m < link->n_members; m++) {
		const struct fluid_flow *flow = &fl->flows[members[m].flow];

		if (flow->priority == fl->priority && !fluid_is_in_set(fl, flow) &&
		    (takes_all || flow->bottleneck == l))
			fluid_consider(fl, members[m].flow, true, now_ns);
	}
}

void
fluid_choose_class(struct fluid *fl, double now_ns)
{
	for (size_t i = 0; i < fl->touched.n; i++)
		choose_on_link(fl, fl->touched.items[i], now_ns);
	for (size_t i = 0; i < fl->started.n; i++) {
		uint32_t f = fl->started.items[i];
		const struct fluid_flow *flow = &fl->flows[f];

		if (flow->is_active && flow->priority == fl->priority &&
		    !fluid_is_in_set(fl, flow))
			fluid_consider(fl, f, true, now_ns);
	}
}

/* As scan_link() of fluid_solve.c, for a class. */
void
fluid_scan_class(struct fluid *fl, uint32_t s)
{
	struct fluid_slot *slot = &fl->slots.items[s];
	const struct fluid_link *link = &fl->links[slot->link];
	const struct fluid_member *members = &fl->members.items[link->first];
	double higher_bps = 0, frozen_bps = 0, all_weight = 0, left_bps;

	slot->first_flow = (uint32_t)fl->flows_of_slot.n;
	slot->weight = 0;
	slot->frozen_max_level = 0;
	for (uint32_t m = 0; m < link->n_members; m++) {
		const struct fluid_flow *flow = &fl->flows[members[m].flow];

		if (flow->priority > fl->priority)
			higher_bps += flow->rate_bps;
		if (flow->priority != fl->priority)
			continue;
		if (flow->bottleneck == slot->link && !fluid_is_in_set(fl, flow))
			fluid_join_set(fl, members[m].flow, s);
		all_weight += flow->weight;
		if (fluid_is_in_set(fl, flow)) {
			vec_push(&fl->flows_of_slot, flow->place);
			slot->weight += flow->weight;
		} else {
			frozen_bps += flow->rate_bps;
			slot->frozen_max_level =
				max_of(slot->frozen_max_level, flow->level);
		}
	}
	left_bps = left_of_link(link, higher_bps);
	slot->n_flows = (uint32_t)fl->flows_of_slot.n - slot->first_flow;
	slot->free_bps = max_of(left_bps - frozen_bps, 0);
	slot->is_stale = false;
	if (slot->frozen_max_level * slot->weight > slot->free_bps &&
	    slot->frozen_max_level * all_weight > left_bps)
		fluid_pull_above(
			fl, s,
			max_of(slot->free_bps / slot->weight, left_bps / all_weight));
}

/* ------ All classes ------ */

static void
untouch(struct fluid_link *link)
{
	link->is_touched = false;
	link->top_priority = 0;
}

/* Updates which touched links are hot; keeps those that are or were. */
static void
find_hot_links(struct fluid *fl)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < fl->touched.n; i++) {
		uint32_t l = fl->touched.items[i];
		struct fluid_link *link = &fl->links[l];
		bool was_hot = fl->slot_of_link[l] != FLUID_COLD;
		bool is_hot = link->capsum_bps > link->hot_bps;

		fl->slot_of_link[l] = is_hot ? FLUID_NONE : FLUID_COLD;
		fl->touched.items[n_kept] = l;
		n_kept += is_hot || was_hot;
		if (!is_hot && !was_hot)
			untouch(link);
	}
	fl->touched.n = n_kept;
}

static void
solve_class(struct fluid *fl, double now_ns)
{
	size_t n_changed = fl->changed.n;

	fluid_solve_touched(fl, now_ns);
	for (size_t i = 0; i < fl->set.n; i++)
		vec_push(&fl->refilled, fl->set.items[i].flow);
	/* Lower classes are concerned where a flow of this one has another rate. */
	for (size_t i = n_changed; i < fl->changed.n; i++)
		fluid_touch_links(fl, &fl->flows[fl->changed.items[i]], fl->priority,
				  true);
}

void
fluid_solve_classes(struct fluid *fl, double now_ns)
{
	fluid_next_mark(fl);
	find_hot_links(fl);
	fl->refilled.n = 0;
	fl->is_by_class = true;
	for (uint32_t c = 0; c < fl->n_classes; c++) {
		fl->priority = fl->classes[c];
		solve_class(fl, now_ns);
	}
	fl->is_by_class = false;
	for (size_t i = 0; i < fl->touched.n; i++)
		untouch(&fl->links[fl->touched.items[i]]);
	fl->touched.n = 0;
	fl->started.n = 0;
	/* The sets of all classes are the result; no flow is in two. */
	fl->set.n = fl->refilled.n;
	for (size_t i = 0; i < fl->refilled.n; i++)
		fl->set.items[i].flow = fl->refilled.items[i];
}
