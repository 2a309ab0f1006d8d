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
 *	and R and W of the links of what was fixed shrink; until none is open.
 *
 * The set A begins with the flows that started and those whose bottleneck is a
 * link that flows joined or left.  After a filling, a frozen flow g on a link l
 * of A has lost its certificate if
 *
 *	l was full at level lambda_l, and level_g > lambda_l,
 *	  or l is g's bottleneck and level_g < lambda_l;
 *	l was not full, is g's bottleneck, and has capacity left over, or
 *	  carries a flow of A at a higher level than g's.
 *
 * Such flows join A, and A is filled again, until none is left.  Then every
 * flow has its certificate, so the allocation is the max-min fair one.  A only
 * grows, so this ends; in practice after 1.1 to 1.6 fillings.
 *
 * When few flows are active, A is at once everything that hot links connect:
 * nothing is frozen and nothing needs to be certified.
 */
#include "lib/base/alloc.h"
#include "sim/engine/fluid.h"

/* With so few active flows, whole components are solved. */
#define COMPONENT_MAX_FLOWS 48

static void choose_set(struct fluid *fl, double now_ns);
static void tabulate(struct fluid *fl, uint32_t first_in_set);
static void scan_link(struct fluid *fl, struct fluid_slot *slot);
static void fill(struct fluid *fl);
static bool pull_broken(struct fluid *fl);
static void commit(struct fluid *fl, double now_ns);

/*
 * Marks of flows: mark: in the set and open; mark + 1: in the set and fixed;
 * less: frozen.
 */
static inline bool
is_in_set(const struct fluid *fl, const struct fluid_flow *flow)
{
	return flow->mark >= fl->mark;
}

static inline void
join_set(struct fluid *fl, uint32_t f)
{
	fl->flows[f].mark = fl->mark;
	fl->set.items[fl->set.n++] = f;
}

void
fluid_solve(struct fluid *fl, double now_ns)
{
	uint32_t n_tabled = 0;

	fl->changed.n = 0;
	fl->set.n = 0;
	if (!fl->touched.n && !fl->started.n)
		return;

	fl->set.n = 0;
	vec_reserve(&fl->set, fl->n_flows);
	vec_reserve(&fl->changed, fl->n_flows);
	if (fl->mark > UINT32_MAX - 4) {
		for (uint32_t f = 0; f < fl->n_flows; f++)
			fl->flows[f].mark = 0;
		for (uint32_t l = 0; l < fl->n_links; l++)
			fl->links[l].mark = 0;
		fl->mark = 0;
	}
	fl->mark += 2;
	fl->slots.n = 0;
	fl->is_local = fl->n_active > COMPONENT_MAX_FLOWS;
	choose_set(fl, now_ns);
	if (!fl->set.n)
		return;
	do {
		tabulate(fl, n_tabled);
		n_tabled = (uint32_t)fl->set.n;
		fill(fl);
		fl->n_passes++;
	} while (fl->is_local && pull_broken(fl));
	fl->n_solves++;
	fl->n_set_sum += fl->set.n;
	commit(fl, now_ns);
}

/* Gives 'f' its new rate, and the finish time that follows. */
static inline void
set_rate(struct fluid *fl, uint32_t f, double rate_bps, double now_ns)
{
	struct fluid_flow *flow = &fl->flows[f];
	double old_bps = flow->rate_bps;

	fl->finish_ns[f] = now_ns + (fl->finish_ns[f] - now_ns) * (old_bps / rate_bps);
	flow->rate_bps = rate_bps;
	fl->changed.items[fl->changed.n++] = f;
}

/* The first A.  A flow that meets no hot link gets its cap and is done. */
static void
choose_set(struct fluid *fl, double now_ns)
{
	for (size_t i = 0; i < fl->touched.n; i++) {
		uint32_t l = fl->touched.items[i];
		struct fluid_link *link = &fl->links[l];
		const struct fluid_member *members = &fl->members.items[link->first];
		bool was_hot = link->is_hot;

		link->is_touched = false;
		link->is_hot =
			link->capsum_bps > link->capacity_bps * (1 + FLUID_REL_TOL);
		if (!was_hot)
			continue;
		for (uint32_t m = 0; m < link->n_members; m++) {
			const struct fluid_flow *flow = &fl->flows[members[m].flow];

			if (flow->bottleneck == l && !is_in_set(fl, flow))
				join_set(fl, members[m].flow);
		}
	}
	for (size_t i = 0; i < fl->started.n; i++) {
		uint32_t f = fl->started.items[i];
		struct fluid_flow *flow = &fl->flows[f];
		bool meets_hot = false;

		if (!flow->is_active || is_in_set(fl, flow))
			continue;
		for (uint32_t h = 0; h < flow->n_hops; h++)
			meets_hot |= fl->links[fl->hops.items[flow->first_hop + h].link]
					     .is_hot;
		if (meets_hot) {
			join_set(fl, f);
		} else {
			flow->level = flow->cap_level;
			set_rate(fl, f, fl->specs[f].cap_bps, now_ns);
		}
	}
	fl->touched.n = 0;
	fl->started.n = 0;
}

/* Enters the hot links of the flows from 'first_in_set' on into the table. */
static void
tabulate(struct fluid *fl, uint32_t first_in_set)
{
	size_t n_old = fl->slots.n;

	for (size_t i = first_in_set; i < fl->set.n; i++) {
		const struct fluid_flow *flow = &fl->flows[fl->set.items[i]];

		for (uint32_t h = 0; h < flow->n_hops; h++) {
			uint32_t l = fl->hops.items[flow->first_hop + h].link;
			struct fluid_link *link = &fl->links[l];

			if (!link->is_hot)
				continue;
			if (link->mark == fl->mark) {
				fl->slots.items[link->slot].is_stale = true;
				continue;
			}
			link->mark = fl->mark;
			link->slot = (uint32_t)fl->slots.n;
			vec_push(&fl->slots,
				 ((struct fluid_slot){ .link = l, .is_stale = true }));
			if (fl->is_local)
				continue;
			for (uint32_t m = 0; m < link->n_members; m++) {
				uint32_t f = fl->members.items[link->first + m].flow;

				if (!is_in_set(fl, &fl->flows[f]))
					join_set(fl, f);
			}
		}
	}
	vec_reserve(&fl->shares, fl->slots.n);
	for (size_t s = 0; s < fl->slots.n; s++)
		if (s >= n_old || fl->slots.items[s].is_stale)
			scan_link(fl, &fl->slots.items[s]);
}

/* Sums up what frozen flows take of the link of 'slot'. */
static void
scan_link(struct fluid *fl, struct fluid_slot *slot)
{
	const struct fluid_link *link = &fl->links[slot->link];
	const struct fluid_member *members = &fl->members.items[link->first];
	double frozen_bps = 0, max_level = 0, min_level = INFINITY;

	for (uint32_t m = 0; m < link->n_members; m++) {
		const struct fluid_flow *flow = &fl->flows[members[m].flow];

		if (is_in_set(fl, flow))
			continue;
		frozen_bps += flow->rate_bps;
		max_level = fmax(max_level, flow->level);
		if (flow->bottleneck == slot->link)
			min_level = fmin(min_level, flow->level);
	}
	slot->frozen_bps = frozen_bps;
	slot->frozen_max_level = max_level;
	slot->frozen_min_level = min_level;
	slot->is_stale = false;
}

/* ------ Water-filling ------ */

/* Fixes an open flow of the set at 'level', and lets its links know. */
static inline void
fix_flow(struct fluid *fl, struct fluid_flow *flow, double level, uint32_t bottleneck)
{
	double rate_bps = level * flow->weight;

	flow->level = level;
	flow->bottleneck = bottleneck;
	flow->mark = fl->mark + 1;
	for (uint32_t h = 0; h < flow->n_hops; h++) {
		const struct fluid_link *link =
			&fl->links[fl->hops.items[flow->first_hop + h].link];
		struct fluid_slot *slot;

		if (!link->is_hot)
			continue;
		slot = &fl->slots.items[link->slot];
		slot->level = level;
		slot->n_open--;
		slot->residual_bps -= rate_bps;
		slot->weight_sum -= flow->weight;
		if (!slot->n_open)
			fl->shares.items[link->slot] = INFINITY;
		else
			fl->shares.items[link->slot] =
				fmax(slot->residual_bps, 0) / slot->weight_sum;
	}
}

/* Fixes the open flows whose cap is at most 'level'; returns the least cap left. */
static double
fix_capped(struct fluid *fl, double level)
{
	double least = INFINITY;

	for (size_t i = 0; i < fl->set.n; i++) {
		struct fluid_flow *flow = &fl->flows[fl->set.items[i]];

		if (flow->mark != fl->mark)
			continue;
		if (flow->cap_level <= level)
			fix_flow(fl, flow, flow->cap_level, FLUID_NONE);
		else
			least = fmin(least, flow->cap_level);
	}
	return least;
}

/* Opens all flows of the set; returns the least of their caps. */
static double
open_set(struct fluid *fl)
{
	double least = INFINITY;

	for (size_t s = 0; s < fl->slots.n; s++) {
		struct fluid_slot *slot = &fl->slots.items[s];

		slot->residual_bps =
			fl->links[slot->link].capacity_bps - slot->frozen_bps;
		slot->weight_sum = 0;
		slot->n_open = 0;
		slot->is_filled = false;
	}
	for (size_t i = 0; i < fl->set.n; i++) {
		struct fluid_flow *flow = &fl->flows[fl->set.items[i]];

		flow->mark = fl->mark;
		least = fmin(least, flow->cap_level);
		for (uint32_t h = 0; h < flow->n_hops; h++) {
			const struct fluid_link *link =
				&fl->links[fl->hops.items[flow->first_hop + h].link];

			if (!link->is_hot)
				continue;
			fl->slots.items[link->slot].weight_sum += flow->weight;
			fl->slots.items[link->slot].n_open++;
		}
	}
	for (size_t s = 0; s < fl->slots.n; s++) {
		const struct fluid_slot *slot = &fl->slots.items[s];

		fl->shares.items[s] = fmax(slot->residual_bps, 0) / slot->weight_sum;
	}
	return least;
}

static void
fill(struct fluid *fl)
{
	double least_cap = open_set(fl);
	size_t n = fl->slots.n;

	for (;;) {
		double level = INFINITY;
		size_t best = 0;
		struct fluid_slot *slot;
		const struct fluid_link *link;

		for (size_t s = 0; s < n; s++) {
			double share = fl->shares.items[s];

			best = share < level ? s : best;
			level = share < level ? share : level;
		}
		if (least_cap <= level) {
			if (least_cap == INFINITY)
				break;
			least_cap = fix_capped(fl, level);
			continue;
		}
		slot = &fl->slots.items[best];
		link = &fl->links[slot->link];
		slot->is_filled = true;
		for (uint32_t m = 0; slot->n_open; m++) {
			struct fluid_flow *flow =
				&fl->flows[fl->members.items[link->first + m].flow];

			if (flow->mark == fl->mark)
				fix_flow(fl, flow, level, slot->link);
		}
	}
}

/* ------ Certificates of the frozen flows ------ */

static bool
is_broken(const struct fluid_flow *flow, const struct fluid_slot *slot, bool has_left)
{
	double tol = FLUID_REL_TOL * slot->level;
	bool is_ours = flow->bottleneck == slot->link;

	if (slot->is_filled)
		return flow->level > slot->level + tol ||
		       (is_ours && flow->level < slot->level - tol);
	return is_ours && (has_left || flow->level < slot->level - tol);
}

/* Pulls frozen flows into the set that lost their certificate; any? */
static bool
pull_broken(struct fluid *fl)
{
	size_t n_before = fl->set.n;

	for (size_t s = 0; s < fl->slots.n; s++) {
		const struct fluid_slot *slot = &fl->slots.items[s];
		const struct fluid_link *link = &fl->links[slot->link];
		double tol = FLUID_REL_TOL * slot->level;
		bool has_left = slot->residual_bps > FLUID_REL_TOL * link->capacity_bps;

		if (slot->is_filled
			    ? slot->frozen_max_level <= slot->level + tol &&
				      slot->frozen_min_level >= slot->level - tol
			    : slot->frozen_min_level == INFINITY ||
				      (!has_left &&
				       slot->frozen_min_level >= slot->level - tol))
			continue;
		for (uint32_t m = 0; m < link->n_members; m++) {
			uint32_t f = fl->members.items[link->first + m].flow;

			if (!is_in_set(fl, &fl->flows[f]) &&
			    is_broken(&fl->flows[f], slot, has_left))
				join_set(fl, f);
		}
	}
	return fl->set.n > n_before;
}

static void
commit(struct fluid *fl, double now_ns)
{
	for (size_t i = 0; i < fl->set.n; i++) {
		uint32_t f = fl->set.items[i];
		const struct fluid_flow *flow = &fl->flows[f];
		double rate_bps = flow->level * flow->weight;

		if (fabs(rate_bps - flow->rate_bps) > FLUID_REL_TOL / 10 * rate_bps)
			set_rate(fl, f, rate_bps, now_ns);
	}
}
