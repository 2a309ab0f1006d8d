/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fluid_solve.c - fills the flows again whose rate an event may have changed.
 *
 * Water-filling of a set A of flows, all others being frozen at their rates.
 * With the residual R_l = C_l - sum of frozen rates on l (at least 0) and W_l
 * the weights of the flows of A on l that are not yet fixed:
 *
 *	lambda = min over l of R_l / W_l
 *	if some open flow has cap_f / w_f <= lambda, it is fixed at its cap,
 *	else the open flows of the minimal l are fixed at rate w_f * lambda,
 *	and R and W of the links of fixed flows shrink; until none is open.
 *
 * The set A begins with the flows that started and those whose bottleneck is a
 * link that flows joined or left.  (A flow that meets no hot link is given its
 * cap at once.)  A is closed: on a hot link l of a flow of A, the flows whose
 * bottleneck is l are in A, too.  So a frozen flow always keeps its certificate:
 * no flow of A crosses its bottleneck.  What may fail is the certificate of a
 * flow of A: link l was filled at lambda_l, but carries a frozen flow at a
 * higher level.  Such frozen flows join A, A is closed and filled again, until
 * there are none.  Then every flow has its certificate, and the allocation is
 * the max-min fair one.  A only grows, so this ends.
 *
 * To save fillings, frozen flows join at once that are above a lower bound of
 * lambda_l:  with W the weights of the flows of A on l, and W' those of all its
 * flows,  lambda_l >= max(R_l / W, C_l / W').
 *
 * Cost:  O(members of the links that A meets + fillings * those links).
 * A set of tens of flows takes some microseconds, less of which goes into sums
 * than into branches that no CPU predicts: is this flow frozen, has this link a
 * slot.  The inner loops have none; they multiply ignored terms by 0.
 *
 * With classes of priority, fluid_classes.c does this for one class at a time: C_l is
 * then what higher classes leave, and flows of other classes do not count.
 */
#include <float.h>

#include "engine/fluid.h"
#include "engine/fluid_set.h"
#include "lib/base/alloc.h"

static void find_hot_links(struct fluid *fl);
static void choose_set(struct fluid *fl, double now_ns);
static void close_set(struct fluid *fl);
static void fill(struct fluid *fl);
static bool pull_broken(struct fluid *fl);
static void commit(struct fluid *fl, double now_ns);

/* By bool: whether to count, and the share of a slot that is done. */
static const double ONE_IF[] = { 0, 1 };
static const double INFINITY_IF[] = { 0, INFINITY };

/* Marks of flows are compared for equality only; all are 0 after a rebuild. */
void
fluid_next_mark(struct fluid *fl)
{
	if (++fl->mark)
		return;
	for (uint32_t f = 0; f < fl->n_flows; f++)
		fl->flows[f].mark = 0;
	fl->mark = 1;
}

void
fluid_solve_touched(struct fluid *fl, double now_ns)
{
	fl->set.n = 0;
	if (fluid_is_by_class(fl)) {
		fluid_choose_class(fl, now_ns);
	} else {
		fluid_next_mark(fl);
		find_hot_links(fl);
		choose_set(fl, now_ns);
	}
	if (!fl->set.n)
		return;
	fl->slots.n = 0;
	fl->slots_of_flow.n = 0;
	fl->flows_of_slot.n = 0;
	fl->n_tabled = 0;
	do {
		close_set(fl);
		fill(fl);
		fl->n_passes++;
	} while (pull_broken(fl));
	fl->n_solves++;
	fl->n_set_sum += fl->set.n;
	commit(fl, now_ns);
}

/* ------ The set ------ */

/* Updates which touched links are hot; keeps those that are or were. */
static void
find_hot_links(struct fluid *fl)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < fl->touched.n; i++) {
		uint32_t l = fl->touched.items[i];
		struct fluid_link *link = &fl->links[l];
		bool was_hot = fl->slot_of_link[l] != FLUID_COLD;

		link->is_touched = false;
		fl->slot_of_link[l] =
			link->capsum_bps > link->hot_bps ? FLUID_NONE : FLUID_COLD;
		fl->touched.items[n_kept] = l;
		n_kept += was_hot;
	}
	fl->touched.n = n_kept;
}

static void
choose_set(struct fluid *fl, double now_ns)
{
	for (size_t i = 0; i < fl->touched.n; i++) {
		uint32_t l = fl->touched.items[i];
		const struct fluid_link *link = &fl->links[l];
		const struct fluid_member *members = &fl->members.items[link->first];

		for (uint32_t m = 0; m < link->n_members; m++) {
			const struct fluid_flow *flow = &fl->flows[members[m].flow];

			if (flow->bottleneck == l && !fluid_is_in_set(fl, flow))
				fluid_consider(fl, members[m].flow, false, now_ns);
		}
	}
	for (size_t i = 0; i < fl->started.n; i++) {
		uint32_t f = fl->started.items[i];
		struct fluid_flow *flow = &fl->flows[f];

		if (flow->is_active && !fluid_is_in_set(fl, flow))
			fluid_consider(fl, f, false, now_ns);
	}
	fl->touched.n = 0;
	fl->started.n = 0;
}

/*
 * Finds the hot links of the flows that joined the set, and gives each a slot
 * if it has none.  Without a branch, which could not be predicted: the next slot
 * is always prepared, and taken or not.
 */
static void
tabulate(struct fluid *fl)
{
	uint32_t n_slots = (uint32_t)fl->slots.n,
		 n_hops = (uint32_t)fl->slots_of_flow.n;
	uint32_t n_set = (uint32_t)fl->set.n, *slot_of_link = fl->slot_of_link;
	uint32_t *slots_of_flow = fl->slots_of_flow.items;
	struct fluid_slot *slots = fl->slots.items;

	for (uint32_t i = fl->n_tabled; i < n_set; i++) {
		struct fluid_open *open = &fl->set.items[i];
		const struct fluid_flow *flow = &fl->flows[open->flow];
		const struct fluid_hop *hop = &fl->hops.items[flow->first_hop];
		const struct fluid_hop *end = hop + flow->n_hops;
		uint32_t from_slot = open->from_slot;

		open->first_slot = n_hops;
		for (; hop < end; hop++) {
			uint32_t l = hop->link, s = slot_of_link[l];
			bool is_new = s == FLUID_NONE;

			if (s == FLUID_COLD)
				continue;
			s = is_new ? n_slots : s;
			slot_of_link[l] = s;
			slots[n_slots].link = l;
			slots[n_slots].is_stale = false;
			n_slots += is_new;
			/* The slot's list has a flow that joined from its scan. */
			slots[s].is_stale |= s != from_slot;
			slots_of_flow[n_hops++] = s;
		}
		open->n_slots = n_hops - open->first_slot;
	}
	fl->n_tabled = n_set;
	fl->slots.n = n_slots;
	fl->slots_of_flow.n = n_hops;
}

/*
 * Goes through the flows on a slot's link: sums up what is frozen, lists what
 * is in the set, and draws in those whose bottleneck it is.
 */
static void
scan_link(struct fluid *fl, uint32_t s)
{
	struct fluid_slot *slot = &fl->slots.items[s];
	const struct fluid_link *link = &fl->links[slot->link];
	const struct fluid_member *members = &fl->members.items[link->first];
	double frozen_bps = 0, max_level = 0, weight = 0, all_weight = 0;
	uint32_t n_members = link->n_members, *list, l = slot->link, mark = fl->mark;

	vec_reserve(&fl->flows_of_slot, n_members);
	slot->first_flow = (uint32_t)fl->flows_of_slot.n;
	list = &fl->flows_of_slot.items[slot->first_flow];
	for (uint32_t m = 0; m < n_members; m++) {
		const struct fluid_flow *flow = &fl->flows[members[m].flow];
		bool is_frozen = flow->mark != mark;
		double frozen;

		/* Taken at most once per flow and solve, unlike the code below. */
		if (flow->bottleneck == l && is_frozen) {
			fluid_join_set(fl, members[m].flow, s);
			is_frozen = false;
		}
		frozen = ONE_IF[is_frozen];
		*list = flow->place;
		list += !is_frozen;
		all_weight += flow->weight;
		weight += flow->weight - frozen * flow->weight;
		frozen_bps += frozen * flow->rate_bps;
		max_level = max_of(max_level, frozen * flow->level);
	}
	slot->n_flows = (uint32_t)(list - fl->flows_of_slot.items) - slot->first_flow;
	fl->flows_of_slot.n += slot->n_flows;
	slot->weight = weight;
	slot->free_bps = max_of(link->capacity_bps - frozen_bps, 0);
	slot->frozen_max_level = max_level;
	slot->is_stale = false;
	if (max_level * weight > slot->free_bps &&
	    max_level * all_weight > link->capacity_bps)
		fluid_pull_above(fl, s,
				 max_of(slot->free_bps / weight,
					link->capacity_bps / all_weight));
}

void
fluid_pull_above(struct fluid *fl, uint32_t s, double level)
{
	const struct fluid_slot *slot = &fl->slots.items[s];
	const struct fluid_link *link = &fl->links[slot->link];
	bool is_by_class = fluid_is_by_class(fl);

	level *= 1 + FLUID_REL_TOL;
	for (uint32_t m = 0; m < link->n_members; m++) {
		uint32_t f = fl->members.items[link->first + m].flow;
		const struct fluid_flow *flow = &fl->flows[f];

		if (is_by_class && flow->priority != fl->priority)
			continue;
		if (!fluid_is_in_set(fl, flow) && flow->level > level)
			fluid_join_set(fl, f, FLUID_NONE);
	}
}

/*
 * What a scan draws in is tabulated at once: a slot that is still to be scanned
 * then lists it the first time.
 */
static void
close_set(struct fluid *fl)
{
	bool is_open = true;

	tabulate(fl);
	while (is_open) {
		is_open = false;
		for (uint32_t s = 0; s < fl->slots.n; s++) {
			if (!fl->slots.items[s].is_stale)
				continue;
			if (fluid_is_by_class(fl))
				fluid_scan_class(fl, s);
			else
				scan_link(fl, s);
			if (fl->n_tabled == fl->set.n)
				continue;
			is_open = true;
			tabulate(fl);
		}
	}
}

/* Draws in frozen flows above the level at which a link filled; true if any. */
static bool
pull_broken(struct fluid *fl)
{
	size_t n_before = fl->set.n;

	for (uint32_t s = 0; s < fl->slots.n; s++) {
		const struct fluid_slot *slot = &fl->slots.items[s];

		if (slot->frozen_max_level > slot->fill_level * (1 + FLUID_REL_TOL))
			fluid_pull_above(fl, s, slot->fill_level);
	}
	return fl->set.n > n_before;
}

static void
commit(struct fluid *fl, double now_ns)
{
	bool is_by_class = fluid_is_by_class(fl);

	for (size_t s = 0; s < fl->slots.n; s++)
		fl->slot_of_link[fl->slots.items[s].link] = FLUID_NONE;
	for (size_t i = 0; i < fl->set.n; i++) {
		const struct fluid_open *open = &fl->set.items[i];
		struct fluid_flow *flow = &fl->flows[open->flow];
		double rate_bps = open->level * open->weight;

		flow->level = open->level;
		flow->bottleneck = open->bottleneck;
		if (!(fabs(rate_bps - flow->rate_bps) > FLUID_REL_TOL / 10 * rate_bps))
			continue;
		if (is_by_class)
			fluid_set_class_rate(fl, open->flow, flow, rate_bps, now_ns);
		else
			fluid_set_rate(fl, open->flow, flow, rate_bps, now_ns);
	}
}

/* ------ Water-filling ------ */

/*
 * Fixes an open flow at 'level', and updates its links, except the one of slot
 * 'filled', which is done.
 */
static inline void
fix_flow(struct fluid *fl, struct fluid_open *open, double level, uint32_t bottleneck,
	 uint32_t filled)
{
	double rate_bps = level * open->weight;
	const uint32_t *slots = &fl->slots_of_flow.items[open->first_slot];

	open->level = level;
	open->bottleneck = bottleneck;
	open->is_fixed = true;
	fl->n_open--;
	for (uint32_t i = 0; i < open->n_slots; i++) {
		struct fluid_slot *slot = &fl->slots.items[slots[i]];

		if (slots[i] == filled)
			continue;
		slot->n_open--;
		slot->open_bps -= rate_bps;
		slot->open_weight -= open->weight;
		fl->shares.items[slots[i]] =
			max_of(slot->open_bps, 0) / max_of(slot->open_weight, DBL_MIN) +
			INFINITY_IF[!slot->n_open];
	}
}

/* Fixes the open flows whose cap is at most 'level'; returns the least cap left. */
static double
fix_capped(struct fluid *fl, double level)
{
	double least = INFINITY;

	for (size_t i = 0; i < fl->set.n; i++) {
		struct fluid_open *open = &fl->set.items[i];

		if (open->is_fixed)
			continue;
		if (open->cap_level <= level)
			fix_flow(fl, open, open->cap_level, FLUID_NONE, FLUID_NONE);
		else
			least = min_of(least, open->cap_level);
	}
	return least;
}

/* Opens all slots and flows of the set; returns the least of the flows' caps. */
static double
open_set(struct fluid *fl)
{
	double least = INFINITY;

	for (size_t s = 0; s < fl->slots.n; s++) {
		struct fluid_slot *slot = &fl->slots.items[s];

		slot->open_bps = slot->free_bps;
		slot->open_weight = slot->weight;
		slot->n_open = slot->n_flows;
		slot->fill_level = INFINITY;
		fl->shares.items[s] = slot->open_bps / slot->open_weight;
	}
	for (size_t s = fl->slots.n; s < fl->slots.n + FLUID_N_BEYOND; s++)
		fl->shares.items[s] = INFINITY;
	for (size_t i = 0; i < fl->set.n; i++) {
		fl->set.items[i].is_fixed = false;
		least = min_of(least, fl->set.items[i].cap_level);
	}
	return least;
}

/* All flows of the set meet one and the same hot link, and it limits them. */
static void
fill_one(struct fluid *fl, double level)
{
	struct fluid_slot *slot = &fl->slots.items[0];

	slot->fill_level = level;
	for (size_t i = 0; i < fl->set.n; i++) {
		fl->set.items[i].level = level;
		fl->set.items[i].bottleneck = slot->link;
	}
}

/*
 * The least of 'n' shares, at least one.  Four chains of minima run in parallel; the
 * three shares beyond the end are INFINITY for that.
 */
static inline double
least_share(const double *shares, uint32_t n)
{
	double a = shares[0], b = shares[1], c = shares[2], d = shares[3];

	for (uint32_t s = 4; s < n; s += 4) {
		a = min_of(a, shares[s]);
		b = min_of(b, shares[s + 1]);
		c = min_of(c, shares[s + 2]);
		d = min_of(d, shares[s + 3]);
	}
	return min_of(min_of(a, b), min_of(c, d));
}

static void
fill(struct fluid *fl)
{
	double least_cap = open_set(fl);
	uint32_t n_slots = (uint32_t)fl->slots.n;
	double *shares = fl->shares.items;

	if (n_slots == 1 && least_cap > shares[0]) {
		fill_one(fl, shares[0]);
		return;
	}
	fl->n_open = (uint32_t)fl->set.n;
	while (fl->n_open) {
		double level = least_share(shares, n_slots);
		uint32_t best = 0;
		struct fluid_slot *slot;
		const uint32_t *flows;

		if (least_cap <= level) {
			least_cap = fix_capped(fl, level);
			continue;
		}
		while (shares[best] != level)
			best++;
		slot = &fl->slots.items[best];
		slot->fill_level = level;
		shares[best] = INFINITY;
		flows = &fl->flows_of_slot.items[slot->first_flow];
		for (uint32_t i = 0; i < slot->n_flows; i++) {
			struct fluid_open *open = &fl->set.items[flows[i]];

			if (!open->is_fixed)
				fix_flow(fl, open, level, slot->link, best);
		}
	}
}
