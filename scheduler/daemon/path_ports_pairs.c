/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "scheduler/daemon/path_ports_priv.h"

/* Chosen: 16,384 hosts with 4 destinations each. */
#define MAX_PAIRS 65536

static struct port_flow
key_of(const struct port_flow *flow, enum port_use use)
{
	struct port_flow key = *flow;

	key.source_port = (uint16_t)use;
	return key;
}

static struct pair *
find_by_key(const struct path_ports *ports, const struct port_flow *key)
{
	struct pair *pair;

	HASH_FIND(hh, ports->pairs, key, sizeof *key, pair);
	return pair;
}

struct pair *
path_ports_find_pair(const struct path_ports *ports, const struct port_flow *flow,
		     enum port_use use)
{
	struct port_flow key = key_of(flow, use);

	return find_by_key(ports, &key);
}

void
path_ports_drop_pair(struct path_ports *ports, struct pair *pair)
{
	path_ports_end_order(ports, pair);
	HASH_DEL(ports->pairs, pair);
	vec_free(&pair->ports);
	free(pair);
}

void
path_ports_drop_pairs(struct path_ports *ports)
{
	struct pair *pair, *next;

	HASH_ITER(hh, ports->pairs, pair, next)
	path_ports_drop_pair(ports, pair);
}

/*
 * The hops where paths between the same two hosts can differ: all but the first and the
 * last, which are the leaves of the two hosts.  So leaves have to answer to nothing.
 */
static void
set_hops(struct pair *pair, size_t n_switches)
{
	size_t first = n_switches > 2 ? 2 : 1;
	size_t last = n_switches > 2 ? n_switches - 1 : n_switches;

	pair->n_switches = n_switches;
	pair->n_hops = 0;
	for (size_t hop = first; hop <= last; hop++)
		pair->hops[pair->n_hops++] = (uint8_t)hop;
}

static struct pair *
make_pair(struct path_ports *ports, int64_t now_ns, const struct port_flow *key,
	  size_t n_switches)
{
	struct pair *pair = xcalloc(1, sizeof *pair);

	pair->key = *key;
	pair->since_ns = now_ns;
	set_hops(pair, n_switches);
	HASH_ADD(hh, ports->pairs, key, sizeof pair->key, pair);
	return pair;
}

int
path_ports_get_pair(struct path_ports *ports, int64_t now_ns,
		    const struct port_flow *flow, enum port_use use, size_t n_switches,
		    struct pair **ret_pair)
{
	struct port_flow key = key_of(flow, use);
	struct pair *pair;

	if (n_switches < 1 || n_switches > PROBE_MAX_HOPS)
		return -EINVAL;
	if (!ports->topo)
		return -ENOENT;
	pair = find_by_key(ports, &key);
	if (pair && pair->n_switches != n_switches) {
		path_ports_drop_pair(ports, pair);
		pair = NULL;
	}
	if (!pair && HASH_COUNT(ports->pairs) >= MAX_PAIRS) {
		ports->counts.n_full++;
		return -E2BIG;
	}
	*ret_pair = pair ? pair : make_pair(ports, now_ns, &key, n_switches);
	return 0;
}

struct known_port *
path_ports_find_port(const struct pair *pair, uint16_t port)
{
	for (size_t i = 0; i < pair->ports.n; i++)
		if (pair->ports.items[i].port == port)
			return &pair->ports.items[i];
	return NULL;
}
