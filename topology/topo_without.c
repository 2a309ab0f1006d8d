/* SPDX-License-Identifier: Apache-2.0 */
/* topo_without.c - a fabric without some of its links. */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "topology/topo.h"

/* Adds link 'id' and perhaps its reverse; returns how many. */
static uint32_t
add_cable(struct topo_builder *b, const struct topo *topo, uint32_t id, bool has_back)
{
	const struct topo_link *l = topo_link(topo, id);
	double back_bps = has_back ? topo_link(topo, l->reverse)->capacity_bps : 0;

	BUG_ON(topo_builder_cable(b, l->from, l->from_port, l->to, l->to_port,
				  l->capacity_bps, back_bps) < 0);
	return 1 + has_back;
}

struct topo_builder *
topo_builder_from(const struct topo *topo, const bool *is_left_out, uint32_t *ret_ids)
{
	struct topo_builder *b = topo_builder_new(topo_name(topo));
	uint32_t n = 0, node;

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		const struct topo_node *is = topo_node(topo, i);
		int r = is->kind == TOPO_HOST
				? topo_builder_host(b, is->name, is->n_slots, &node)
				: topo_builder_switch(b, is->name, is->tier, &node);

		BUG_ON(r < 0 || node != i);
		if (is->is_scale_up)
			BUG_ON(topo_builder_scale_up(b, node) < 0);
	}
	for (uint32_t tier = 1; tier <= TOPO_MAX_TIER; tier++)
		BUG_ON(topo_builder_balance(b, tier, topo_balance(topo, tier)) < 0);
	BUG_ON(topo_builder_routing(b, topo_routing(topo)) < 0);
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		uint32_t back = topo_link(topo, i)->reverse;
		bool has_back =
			back != TOPO_NONE && !(is_left_out && is_left_out[back]);

		/* The first of two directions adds both. */
		if ((is_left_out && is_left_out[i]) || (has_back && back < i))
			continue;
		if (ret_ids)
			ret_ids[n] = i;
		if (ret_ids && has_back)
			ret_ids[n + 1] = back;
		n += add_cable(b, topo, i, has_back);
	}
	return b;
}

struct topo *
topo_without(const struct topo *topo, const bool *is_left_out, uint32_t **ret_ids)
{
	*ret_ids = xcalloc((size_t)topo_n_links(topo) + 1, sizeof **ret_ids);
	return topo_builder_finish(topo_builder_from(topo, is_left_out, *ret_ids));
}
