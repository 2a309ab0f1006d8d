/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/given_ports.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

struct given_entry {
	UT_hash_handle hh, hh_wire;
	struct port_flow flow; /* True ports. */
	struct port_flow wire; /* As on the wire. */
	struct given_port port;
};

static struct given_entry *
find_entry(const struct given_ports *given, const struct port_flow *flow)
{
	struct given_entry *entry;

	HASH_FIND(hh, given->by_flow, flow, sizeof *flow, entry);
	return entry;
}

static void
drop_entry(struct given_ports *given, struct given_entry *entry)
{
	HASH_DEL(given->by_flow, entry);
	HASH_DELETE(hh_wire, given->by_wire, entry);
	free(entry);
}

void
given_ports_free(struct given_ports *given)
{
	struct given_entry *entry, *next;

	HASH_ITER(hh, given->by_flow, entry, next)
	drop_entry(given, entry);
}

struct given_port *
given_ports_find(const struct given_ports *given, const struct port_flow *flow)
{
	struct given_entry *entry = find_entry(given, flow);

	return entry ? &entry->port : NULL;
}

static struct port_flow
wire_of(const struct port_flow *flow, uint16_t port)
{
	struct port_flow wire = *flow;

	wire.source_port = port;
	return wire;
}

bool
given_ports_is_free(const struct given_ports *given, const struct port_flow *flow,
		    uint16_t port)
{
	struct port_flow wire = wire_of(flow, port);
	struct given_entry *entry;

	HASH_FIND(hh_wire, given->by_wire, &wire, sizeof wire, entry);
	return !entry;
}

void
given_ports_give(struct given_ports *given, const struct port_flow *flow, uint16_t port)
{
	struct given_entry *entry = xcalloc(1, sizeof *entry);

	entry->flow = *flow;
	entry->wire = wire_of(flow, port);
	entry->port.port = port;
	HASH_ADD(hh, given->by_flow, flow, sizeof entry->flow, entry);
	HASH_ADD(hh_wire, given->by_wire, wire, sizeof entry->wire, entry);
}

void
given_ports_take_back(struct given_ports *given, const struct port_flow *flow)
{
	struct given_entry *entry = find_entry(given, flow);

	if (entry)
		drop_entry(given, entry);
}

size_t
given_ports_count(const struct given_ports *given)
{
	return HASH_COUNT(given->by_flow);
}
