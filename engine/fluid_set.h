/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fluid_set.h - the set of flows that a solve fills again.
 *
 * Between fluid_solve.c, which chooses a set, closes and fills it, and gives its flows
 * their rates, and fluid_classes.c, which chooses one for each class of priority.
 */
#ifndef ENGINE_FLUID_SET_H
#define ENGINE_FLUID_SET_H

#include "engine/fluid.h"

/* Begins a solve: no flow is in the set, and 'set' is to be emptied. */
void fluid_next_mark(struct fluid *fl);

/* True if a class is solved.  The compiler is to favor solves without classes. */
static inline bool
fluid_is_by_class(const struct fluid *fl)
{
	return __builtin_expect(fl->is_by_class, false);
}

/* Also for a flow that fluid_consider() gave its cap. */
static inline bool
fluid_is_in_set(const struct fluid *fl, const struct fluid_flow *flow)
{
	return flow->mark == fl->mark;
}

/* 'from_slot': the slot whose scan lists the flow, or FLUID_NONE. */
static inline void
fluid_join_set(struct fluid *fl, uint32_t f, uint32_t from_slot)
{
	struct fluid_flow *flow = &fl->flows[f];
	struct fluid_open *open = &fl->set.items[fl->set.n];

	flow->mark = fl->mark;
	flow->place = (uint32_t)fl->set.n++;
	open->flow = f;
	open->from_slot = from_slot;
	open->weight = flow->weight;
	open->cap_level = flow->cap_level;
}

/* fluid_classes.c: as fluid_set_rate(), also from and to 0. */
void fluid_set_class_rate(struct fluid *fl, uint32_t f, struct fluid_flow *flow,
			  double rate_bps, double now_ns);

/* Lets a flow whose certificate is gone join the set, or gives it its cap. */
static inline void
fluid_consider(struct fluid *fl, uint32_t f, bool is_by_class, double now_ns)
{
	struct fluid_flow *flow = &fl->flows[f];
	const struct fluid_hop *hops = &fl->hops.items[flow->first_hop];

	for (uint32_t h = 0; h < flow->n_hops; h++) {
		if (fl->slot_of_link[hops[h].link] != FLUID_COLD) {
			fluid_join_set(fl, f, FLUID_NONE);
			return;
		}
	}
	flow->mark = fl->mark;
	flow->bottleneck = FLUID_NONE;
	flow->level = flow->cap_level;
	if (is_by_class)
		fluid_set_class_rate(fl, f, flow, fl->specs[f].cap_bps, now_ns);
	else
		fluid_set_rate(fl, f, flow, fl->specs[f].cap_bps, now_ns);
}

/* Draws in the frozen flows of a slot, of the class, that are above 'level'. */
void fluid_pull_above(struct fluid *fl, uint32_t slot, double level);
/* fluid_classes.c: chooses the set of a class. */
void fluid_choose_class(struct fluid *fl, double now_ns);
/* Goes through the flows of the class on a slot's link. */
void fluid_scan_class(struct fluid *fl, uint32_t slot);

#endif
