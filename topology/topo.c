/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topo.c - the fabric snapshot and its builder.
 *
 * Names of nodes and ports are interned, so a link takes 40 bytes whatever its name.  A
 * table from (node, port) to the link that leaves there serves two purposes: it finds
 * ports that are cabled twice, and links by their name.
 */
#include "topology/topo.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "topology/address_table.h"
#include "topology/routing.h"

_Static_assert(ADDRESS_TABLE_NONE == TOPO_NONE, "an address of no node");

const char *const topo_balance_names[] = { "hash", "spray", "adaptive", NULL };

/* From a 64-bit key to a link, open addressing with linear probing. */
struct port_map {
	uint64_t *keys;  /* Owned.  node << 32 | port. */
	uint32_t *links; /* Owned.  TOPO_NONE: the slot is free. */
	size_t n;
	size_t n_slots; /* A power of two, or 0. */
};

struct topo_builder {
	char *name;                      /* Owned. */
	struct strtab *node_names;       /* Owned.  Number of a name is its node id. */
	struct strtab *port_names;       /* Owned. */
	VEC(struct topo_node) nodes;     /* Names belong to 'node_names'. */
	VEC(struct topo_link) links;     /* Port names belong to 'port_names'. */
	struct port_map out, in;         /* Links that leave, and enter, at a port. */
	struct address_table *addresses; /* Owned. */
	enum topo_balance balances[TOPO_MAX_TIER + 1]; /* By tier. */
	struct topo_routing routing;
};

struct topo {
	unsigned n_refs;
	char *name;                /* Owned. */
	struct strtab *node_names; /* Owned. */
	struct strtab *port_names; /* Owned. */
	struct topo_node *nodes;   /* Owned. */
	struct topo_link *links;   /* Owned. */
	uint32_t n_nodes, n_links, n_hosts;
	uint32_t *hosts;        /* Owned.  Node ids, ascending. */
	uint32_t *host_numbers; /* Owned.  By node: its index in 'hosts', or NONE. */
	uint32_t *leaves;       /* Owned.  By node: see topo_leaf_of(). */
	uint32_t *out_first;    /* Owned.  n_nodes + 1: see 'out_links'. */
	uint32_t *out_links;    /* Owned.  Of node i: [first[i], first[i + 1]). */
	struct port_map out;
	struct address_table *addresses;               /* Owned. */
	enum topo_balance balances[TOPO_MAX_TIER + 1]; /* By tier. */
	struct topo_routing routing;
};

/* Slot of 'key', or the free one where it would go. */
static size_t
port_map_slot(const struct port_map *map, uint64_t key)
{
	size_t slot = rng_mix(key) & (map->n_slots - 1);

	while (map->links[slot] != TOPO_NONE && map->keys[slot] != key)
		slot = (slot + 1) & (map->n_slots - 1);
	return slot;
}

static uint32_t
port_map_find(const struct port_map *map, uint64_t key)
{
	return map->n_slots ? map->links[port_map_slot(map, key)] : TOPO_NONE;
}

static void
port_map_grow(struct port_map *map)
{
	struct port_map old = *map;

	map->n_slots = old.n_slots ? old.n_slots * 2 : 64;
	map->keys = xcalloc(map->n_slots, sizeof *map->keys);
	map->links = xcalloc(map->n_slots, sizeof *map->links);
	memset(map->links, 0xff, map->n_slots * sizeof *map->links);
	for (size_t i = 0; i < old.n_slots; i++) {
		if (old.links[i] != TOPO_NONE) {
			size_t slot = port_map_slot(map, old.keys[i]);

			map->keys[slot] = old.keys[i];
			map->links[slot] = old.links[i];
		}
	}
	free(old.keys);
	free(old.links);
}

/* 'key' must be new. */
static void
port_map_add(struct port_map *map, uint64_t key, uint32_t link)
{
	size_t slot;

	if (2 * (map->n + 1) > map->n_slots)
		port_map_grow(map);
	slot = port_map_slot(map, key);
	map->keys[slot] = key;
	map->links[slot] = link;
	map->n++;
}

static void
port_map_fini(struct port_map *map)
{
	free(map->keys);
	free(map->links);
}

/* Building. */

struct topo_builder *
topo_builder_new(const char *name)
{
	struct topo_builder *b = xcalloc(1, sizeof *b);

	b->name = xstrdup(name);
	b->node_names = strtab_new();
	b->port_names = strtab_new();
	b->addresses = address_table_new();
	return b;
}

void
topo_builder_free(struct topo_builder *b)
{
	if (!b)
		return;
	free(b->name);
	strtab_free(b->node_names);
	strtab_free(b->port_names);
	vec_free(&b->nodes);
	vec_free(&b->links);
	port_map_fini(&b->out);
	port_map_fini(&b->in);
	address_table_free(b->addresses);
	free(b);
}

bool
topo_name_is_valid(const char *name)
{
	static const char more[] = "._-/+@";
	size_t length = 0;

	for (; name[length]; length++) {
		char c = name[length];

		if (length == TOPO_MAX_NAME)
			return false;
		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && !strchr(more, c))
			return false;
	}
	return length > 0;
}

static int
add_node(struct topo_builder *b, const char *name, struct topo_node node,
	 uint32_t *ret_node)
{
	uint32_t id;

	if (!topo_name_is_valid(name))
		return -EINVAL;
	if (strtab_find(b->node_names, name) != STRTAB_NONE)
		return -EEXIST;
	if (b->nodes.n == TOPO_MAX_NODES)
		return -E2BIG;
	id = strtab_intern(b->node_names, name);
	node.name = strtab_name(b->node_names, id);
	vec_push(&b->nodes, node);
	*ret_node = id;
	return 0;
}

int
topo_builder_host(struct topo_builder *b, const char *name, uint32_t n_slots,
		  uint32_t *ret_node)
{
	struct topo_node node = { .kind = TOPO_HOST, .n_slots = n_slots };

	if (n_slots > TOPO_MAX_SLOTS)
		return -EINVAL;
	return add_node(b, name, node, ret_node);
}

int
topo_builder_switch(struct topo_builder *b, const char *name, uint32_t tier,
		    uint32_t *ret_node)
{
	struct topo_node node = { .kind = TOPO_SWITCH, .tier = tier };

	if (tier < 1 || tier > TOPO_MAX_TIER)
		return -EINVAL;
	return add_node(b, name, node, ret_node);
}

int
topo_builder_scale_up(struct topo_builder *b, uint32_t switch_node)
{
	if (switch_node >= b->nodes.n || b->nodes.items[switch_node].tier != 1 ||
	    b->routing.method != TOPO_UP_DOWN)
		return -EINVAL;
	b->nodes.items[switch_node].is_scale_up = true;
	return 0;
}

int
topo_builder_balance(struct topo_builder *b, uint32_t tier, enum topo_balance balance)
{
	if (tier < 1 || tier > TOPO_MAX_TIER || balance >= TOPO_N_BALANCES)
		return -EINVAL;
	b->balances[tier] = balance;
	return 0;
}

enum topo_balance
topo_builder_tier_balance(const struct topo_builder *b, uint32_t tier)
{
	return b->balances[tier];
}

int
topo_builder_routing(struct topo_builder *b, const struct topo_routing *routing)
{
	uint32_t n_switches = 0, n_upper = 0;

	for (size_t i = 0; i < b->nodes.n; i++) {
		if (b->nodes.items[i].is_scale_up && routing->method != TOPO_UP_DOWN)
			return -EINVAL;
		n_switches += b->nodes.items[i].kind == TOPO_SWITCH;
		n_upper += b->nodes.items[i].tier > 1;
	}
	if (topo_routing_check(routing, n_switches, n_upper, NULL) < 0)
		return -EINVAL;
	b->routing = *routing;
	return 0;
}

int
topo_builder_address(struct topo_builder *b, uint32_t switch_node,
		     const uint8_t address[16])
{
	if (switch_node >= b->nodes.n ||
	    b->nodes.items[switch_node].kind != TOPO_SWITCH)
		return -EINVAL;
	return address_table_add(b->addresses, switch_node, address);
}

static bool
capacity_is_valid(double bps)
{
	return bps >= 0 && bps <= TOPO_MAX_BPS; /* False for NaN. */
}

static uint64_t
port_key(uint32_t node, uint32_t port)
{
	return (uint64_t)node << 32 | port;
}

/* Adds one direction; its ports are known to be free for it. */
static uint32_t
add_link(struct topo_builder *b, uint32_t from, uint32_t from_port, uint32_t to,
	 uint32_t to_port, double bps)
{
	uint32_t id = (uint32_t)b->links.n;
	uint32_t back = port_map_find(&b->out, port_key(to, to_port));
	const struct topo_link link = {
		.from = from,
		.to = to,
		.from_port = strtab_name(b->port_names, from_port),
		.to_port = strtab_name(b->port_names, to_port),
		.reverse = TOPO_NONE,
		.capacity_bps = bps,
	};

	vec_push(&b->links, link);
	if (back != TOPO_NONE && b->links.items[back].to == from &&
	    b->links.items[back].to_port == link.from_port) {
		b->links.items[back].reverse = id;
		b->links.items[id].reverse = back;
	}
	port_map_add(&b->out, port_key(from, from_port), id);
	port_map_add(&b->in, port_key(to, to_port), id);
	return id;
}

int
topo_builder_cable(struct topo_builder *b, uint32_t a, const char *a_port, uint32_t z,
		   const char *z_port, double forth_bps, double back_bps)
{
	uint32_t a_id, z_id;

	if (a >= b->nodes.n || z >= b->nodes.n || a == z ||
	    !topo_name_is_valid(a_port) || !topo_name_is_valid(z_port) ||
	    !capacity_is_valid(forth_bps) || !capacity_is_valid(back_bps) ||
	    (forth_bps == 0 && back_bps == 0))
		return -EINVAL;
	if ((b->nodes.items[a].is_scale_up && b->nodes.items[z].kind == TOPO_SWITCH) ||
	    (b->nodes.items[z].is_scale_up && b->nodes.items[a].kind == TOPO_SWITCH))
		return -EINVAL;
	if (b->links.n + 2 > TOPO_MAX_LINKS)
		return -E2BIG;
	a_id = strtab_intern(b->port_names, a_port);
	z_id = strtab_intern(b->port_names, z_port);
	if (forth_bps > 0 && (port_map_find(&b->out, port_key(a, a_id)) != TOPO_NONE ||
			      port_map_find(&b->in, port_key(z, z_id)) != TOPO_NONE))
		return -EEXIST;
	if (back_bps > 0 && (port_map_find(&b->out, port_key(z, z_id)) != TOPO_NONE ||
			     port_map_find(&b->in, port_key(a, a_id)) != TOPO_NONE))
		return -EEXIST;
	if (forth_bps > 0)
		add_link(b, a, a_id, z, z_id, forth_bps);
	if (back_bps > 0)
		add_link(b, z, z_id, a, a_id, back_bps);
	return 0;
}

uint32_t
topo_builder_find(const struct topo_builder *b, const char *name)
{
	uint32_t id = strtab_find(b->node_names, name);

	return id == STRTAB_NONE ? TOPO_NONE : id;
}

/* Sorts the links by the node they leave, keeping their order. */
static void
index_links(struct topo *topo)
{
	uint32_t *next;

	topo->out_first = xcalloc((size_t)topo->n_nodes + 1, sizeof *topo->out_first);
	topo->out_links = xcalloc((size_t)topo->n_links + 1, sizeof *topo->out_links);
	for (uint32_t i = 0; i < topo->n_links; i++)
		topo->out_first[topo->links[i].from + 1]++;
	for (uint32_t i = 0; i < topo->n_nodes; i++)
		topo->out_first[i + 1] += topo->out_first[i];
	next = xmemdup(topo->out_first, (size_t)topo->n_nodes + 1, sizeof *next);
	for (uint32_t i = 0; i < topo->n_links; i++)
		topo->out_links[next[topo->links[i].from]++] = i;
	free(next);
}

static void
index_hosts(struct topo *topo)
{
	topo->hosts = xcalloc((size_t)topo->n_nodes + 1, sizeof *topo->hosts);
	topo->host_numbers = xcalloc((size_t)topo->n_nodes + 1, sizeof(uint32_t));
	topo->leaves = xcalloc((size_t)topo->n_nodes + 1, sizeof *topo->leaves);
	for (uint32_t i = 0; i < topo->n_nodes; i++) {
		topo->leaves[i] = topo->host_numbers[i] = TOPO_NONE;
		if (topo->nodes[i].kind != TOPO_HOST)
			continue;
		topo->host_numbers[i] = topo->n_hosts;
		topo->hosts[topo->n_hosts++] = i;
		for (uint32_t j = topo->out_first[i]; j < topo->out_first[i + 1]; j++) {
			uint32_t to = topo->links[topo->out_links[j]].to;

			if (topo->nodes[to].tier == 1 && !topo->nodes[to].is_scale_up &&
			    to < topo->leaves[i])
				topo->leaves[i] = to;
		}
	}
}

struct topo *
topo_builder_finish(struct topo_builder *b)
{
	struct topo *topo = xcalloc(1, sizeof *topo);

	topo->n_refs = 1;
	topo->name = b->name;
	topo->node_names = b->node_names;
	topo->port_names = b->port_names;
	topo->nodes = b->nodes.items;
	topo->n_nodes = (uint32_t)b->nodes.n;
	topo->links = b->links.items;
	topo->n_links = (uint32_t)b->links.n;
	topo->out = b->out;
	topo->addresses = b->addresses;
	memcpy(topo->balances, b->balances, sizeof topo->balances);
	topo->routing = b->routing;
	port_map_fini(&b->in);
	free(b);
	index_links(topo);
	index_hosts(topo);
	return topo;
}

/* The snapshot. */

struct topo *
topo_ref(struct topo *topo)
{
	topo->n_refs++;
	return topo;
}

void
topo_unref(struct topo *topo)
{
	if (!topo || --topo->n_refs)
		return;
	free(topo->name);
	strtab_free(topo->node_names);
	strtab_free(topo->port_names);
	free(topo->nodes);
	free(topo->links);
	free(topo->hosts);
	free(topo->host_numbers);
	free(topo->leaves);
	free(topo->out_first);
	free(topo->out_links);
	port_map_fini(&topo->out);
	address_table_free(topo->addresses);
	free(topo);
}

const char *
topo_name(const struct topo *topo)
{
	return topo->name;
}

uint32_t
topo_n_nodes(const struct topo *topo)
{
	return topo->n_nodes;
}

uint32_t
topo_n_links(const struct topo *topo)
{
	return topo->n_links;
}

uint32_t
topo_n_hosts(const struct topo *topo)
{
	return topo->n_hosts;
}

const struct topo_node *
topo_node(const struct topo *topo, uint32_t node)
{
	BUG_ON(node >= topo->n_nodes);
	return &topo->nodes[node];
}

const struct topo_link *
topo_link(const struct topo *topo, uint32_t link)
{
	BUG_ON(link >= topo->n_links);
	return &topo->links[link];
}

enum topo_balance
topo_balance(const struct topo *topo, uint32_t tier)
{
	return tier <= TOPO_MAX_TIER ? topo->balances[tier] : TOPO_BALANCE_HASH;
}

const struct topo_routing *
topo_routing(const struct topo *topo)
{
	return &topo->routing;
}

uint32_t
topo_find_address(const struct topo *topo, const uint8_t address[16])
{
	return address_table_node(topo->addresses, address);
}

const struct address_table *
topo_addresses(const struct topo *topo)
{
	return topo->addresses;
}

const uint32_t *
topo_hosts(const struct topo *topo, size_t *ret_n)
{
	*ret_n = topo->n_hosts;
	return topo->hosts;
}

uint32_t
topo_host_number(const struct topo *topo, uint32_t node)
{
	return node < topo->n_nodes ? topo->host_numbers[node] : TOPO_NONE;
}

const uint32_t *
topo_links_out(const struct topo *topo, uint32_t node, size_t *ret_n)
{
	BUG_ON(node >= topo->n_nodes);
	*ret_n = topo->out_first[node + 1] - topo->out_first[node];
	return topo->out_links + topo->out_first[node];
}

double
topo_line_bps(const struct topo *topo, const uint32_t *hosts, size_t n)
{
	double least_bps = 0;
	bool is_scale_up = n > 1;

	for (size_t i = 1; i < n && is_scale_up; i++)
		is_scale_up = topo_scale_up_of(topo, hosts[0], hosts[i]) != TOPO_NONE;
	for (size_t i = 0; i < n; i++) {
		size_t n_links;
		const uint32_t *links = topo_links_out(topo, hosts[i], &n_links);
		double bps = 0;

		for (size_t k = 0; k < n_links; k++)
			if (topo->nodes[topo->links[links[k]].to].is_scale_up ==
				    is_scale_up &&
			    topo->links[links[k]].capacity_bps > bps)
				bps = topo->links[links[k]].capacity_bps;
		if (bps > 0 && (!(least_bps > 0) || bps < least_bps))
			least_bps = bps;
	}
	return least_bps;
}

uint32_t
topo_find_node(const struct topo *topo, const char *name)
{
	uint32_t id = strtab_find(topo->node_names, name);

	return id == STRTAB_NONE ? TOPO_NONE : id;
}

/*
 * Reads "node:port" up to 'end' (exclusive).  Returns false if there is no
 * such node or no port of that name anywhere.
 */
static bool
find_port(const struct topo *topo, const char *text, const char *end,
	  uint32_t *ret_node, uint32_t *ret_port)
{
	const char *colon = memchr(text, ':', (size_t)(end - text));
	char node[TOPO_MAX_NAME + 1], port[TOPO_MAX_NAME + 1];
	size_t node_length, port_length;

	if (!colon)
		return false;
	node_length = (size_t)(colon - text);
	port_length = (size_t)(end - colon - 1);
	if (node_length > TOPO_MAX_NAME || port_length > TOPO_MAX_NAME)
		return false;
	memcpy(node, text, node_length);
	node[node_length] = '\0';
	memcpy(port, colon + 1, port_length);
	port[port_length] = '\0';
	*ret_node = strtab_find(topo->node_names, node);
	*ret_port = strtab_find(topo->port_names, port);
	return *ret_node != STRTAB_NONE && *ret_port != STRTAB_NONE;
}

uint32_t
topo_find_link(const struct topo *topo, const char *name)
{
	const char *arrow = strchr(name, '>');
	uint32_t from, from_port, to, to_port, link;

	if (!arrow || !find_port(topo, name, arrow, &from, &from_port) ||
	    !find_port(topo, arrow + 1, arrow + strlen(arrow), &to, &to_port))
		return TOPO_NONE;
	link = port_map_find(&topo->out, port_key(from, from_port));
	if (link == TOPO_NONE || topo->links[link].to != to ||
	    topo->links[link].to_port != strtab_name(topo->port_names, to_port))
		return TOPO_NONE;
	return link;
}

void
topo_link_name(const struct topo *topo, uint32_t link, struct strbuf *out)
{
	const struct topo_link *l = topo_link(topo, link);

	strbuf_puts(out, topo->nodes[l->from].name);
	strbuf_putc(out, ':');
	strbuf_puts(out, l->from_port);
	strbuf_putc(out, '>');
	strbuf_puts(out, topo->nodes[l->to].name);
	strbuf_putc(out, ':');
	strbuf_puts(out, l->to_port);
}

uint32_t
topo_scale_up_of(const struct topo *topo, uint32_t a, uint32_t b)
{
	size_t n_a, n_b;
	const uint32_t *a_out = topo_links_out(topo, a, &n_a);
	const uint32_t *b_out = topo_links_out(topo, b, &n_b);

	for (size_t i = 0; i < n_a; i++) {
		uint32_t to = topo->links[a_out[i]].to;

		for (size_t k = 0; topo->nodes[to].is_scale_up && k < n_b; k++)
			if (topo->links[b_out[k]].to == to)
				return to;
	}
	return TOPO_NONE;
}

uint32_t
topo_leaf_of(const struct topo *topo, uint32_t host)
{
	return host < topo->n_nodes ? topo->leaves[host] : TOPO_NONE;
}
