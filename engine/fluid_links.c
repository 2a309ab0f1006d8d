/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fluid_links.c - the lists of active flows on live links.
 */
#include "engine/fluid.h"

void
fluid_enter_links(struct fluid *fl, uint32_t f)
{
	const struct fluid_flow *flow = &fl->flows[f];
	double need_bps = fl->specs[f].need_bps;

	for (uint32_t h = flow->first_hop, end = h + flow->n_hops; h < end; h++) {
		struct fluid_hop *hop = &fl->hops.items[h];
		struct fluid_link *link = &fl->links[hop->link];

		hop->place = link->n_members++;
		fl->members.items[link->first + hop->place] =
			(struct fluid_member){ f, h };
		link->capsum_bps += need_bps;
		fluid_touch_link(fl, hop->link, link);
	}
	if (fl->has_classes)
		fluid_touch_links(fl, flow, flow->priority, false);
}

void
fluid_leave_links(struct fluid *fl, uint32_t f)
{
	const struct fluid_flow *flow = &fl->flows[f];
	double need_bps = fl->specs[f].need_bps;

	for (uint32_t h = flow->first_hop, end = h + flow->n_hops; h < end; h++) {
		const struct fluid_hop *hop = &fl->hops.items[h];
		struct fluid_link *link = &fl->links[hop->link];
		struct fluid_member *members = &fl->members.items[link->first];

		members[hop->place] = members[--link->n_members];
		fl->hops.items[members[hop->place].hop].place = hop->place;
		/* Exact for whole numbers; an empty link resets rounding drift. */
		link->capsum_bps = link->n_members ? link->capsum_bps - need_bps : 0;
		fluid_touch_link(fl, hop->link, link);
	}
	if (fl->has_classes)
		fluid_touch_links(fl, flow, flow->priority, false);
}

void
fluid_clear_links(struct fluid *fl, uint32_t f)
{
	const struct fluid_flow *flow = &fl->flows[f];

	for (uint32_t h = flow->first_hop, end = h + flow->n_hops; h < end; h++) {
		struct fluid_link *link = &fl->links[fl->hops.items[h].link];

		link->n_members = 0;
		link->capsum_bps = 0;
		fl->slot_of_link[fl->hops.items[h].link] = FLUID_COLD;
	}
}
