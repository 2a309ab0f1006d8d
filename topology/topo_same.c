/* SPDX-License-Identifier: Apache-2.0 */
/* topo_same.c - whether two snapshots describe the same fabric; their digest. */
#include <string.h>

#include "lib/base/rng.h"
#include "topology/address_table.h"
#include "topology/routing.h"
#include "topology/topo.h"

static bool
are_addresses_same(const struct address_table *a, const struct address_table *b,
		   uint32_t node)
{
	uint32_t x = address_table_first(a, node), y = address_table_first(b, node);

	while (x != ADDRESS_TABLE_NONE && y != ADDRESS_TABLE_NONE) {
		if (strcmp(address_table_text(a, x), address_table_text(b, y)) != 0)
			return false;
		x = address_table_next(a, x);
		y = address_table_next(b, y);
	}
	return x == y;
}

static bool
is_node_same(const struct topo *a, const struct topo *b, uint32_t id)
{
	const struct topo_node *x = topo_node(a, id), *y = topo_node(b, id);

	return x->kind == y->kind && x->tier == y->tier && x->n_slots == y->n_slots &&
	       x->is_scale_up == y->is_scale_up && !strcmp(x->name, y->name) &&
	       are_addresses_same(topo_addresses(a), topo_addresses(b), id);
}

static bool
is_link_same(const struct topo_link *x, const struct topo_link *y)
{
	bool is_faster = x->capacity_bps > y->capacity_bps;
	bool is_slower = x->capacity_bps < y->capacity_bps;

	return x->from == y->from && x->to == y->to && x->reverse == y->reverse &&
	       !is_faster && !is_slower && !strcmp(x->from_port, y->from_port) &&
	       !strcmp(x->to_port, y->to_port);
}

bool
topo_is_same(const struct topo *a, const struct topo *b)
{
	if (topo_n_nodes(a) != topo_n_nodes(b) || topo_n_links(a) != topo_n_links(b))
		return false;
	for (uint32_t i = 0; i < topo_n_nodes(a); i++)
		if (!is_node_same(a, b, i))
			return false;
	for (uint32_t i = 0; i < topo_n_links(a); i++)
		if (!is_link_same(topo_link(a, i), topo_link(b, i)))
			return false;
	for (uint32_t tier = 1; tier <= TOPO_MAX_TIER; tier++)
		if (topo_balance(a, tier) != topo_balance(b, tier))
			return false;
	return topo_routing_is_same(topo_routing(a), topo_routing(b));
}

/* ---- The digest ------------------------------------------------------------------ */

static uint64_t
mix(uint64_t digest, uint64_t value)
{
	return rng_mix(digest ^ value);
}

static uint64_t
mix_text(uint64_t digest, const char *text)
{
	for (; *text; text++)
		digest = mix(digest, (unsigned char)*text);
	/* No character: "ab" and "c" differ from "a" and "bc". */
	return mix(digest, 256);
}

static uint64_t
mix_addresses(uint64_t digest, const struct address_table *addresses, uint32_t node)
{
	for (uint32_t i = address_table_first(addresses, node); i != ADDRESS_TABLE_NONE;
	     i = address_table_next(addresses, i))
		digest = mix_text(digest, address_table_text(addresses, i));
	return digest;
}

uint64_t
topo_digest(const struct topo *topo)
{
	uint64_t digest = mix(topo_n_nodes(topo), topo_n_links(topo));

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		const struct topo_node *node = topo_node(topo, i);

		digest = mix(mix(mix(digest, node->kind), node->tier), node->n_slots);
		if (node->is_scale_up)
			digest = mix(digest, 1);
		digest = mix_addresses(mix_text(digest, node->name),
				       topo_addresses(topo), i);
	}
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);

		digest = mix(mix(mix(digest, link->from), link->to), link->reverse);
		digest = mix(digest, (uint64_t)link->capacity_bps);
		digest = mix_text(mix_text(digest, link->from_port), link->to_port);
	}
	for (uint32_t tier = 1; tier <= TOPO_MAX_TIER; tier++)
		digest = mix(digest, topo_balance(topo, tier));
	if (topo_routing(topo)->method != TOPO_UP_DOWN)
		digest = topo_routing_mix(topo_routing(topo), digest);
	return digest;
}
