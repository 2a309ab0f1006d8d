/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_world.h - two hosts, a channel between their collectors, and packets in flight,
 * for the tests of wire ports
 *
 * The maps are arrays that survive a collector, as the pinned ones do.  Messages wait in
 * the channel until a test delivers, repeats or loses them, in any order.
 */
#ifndef TESTS_UNIT_PORT_WORLD_H
#define TESTS_UNIT_PORT_WORLD_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "collector/paths/port_receiver.h"
#include "collector/paths/port_sender.h"
#include "tests/unit/test.h"

#define WORLD_FLOWS    6
#define WORLD_MAP      64
#define WORLD_MESSAGES 256
#define WORLD_SECOND   INT64_C(1000000000)
#define WORLD_FIRST    61000
#define WORLD_LAST     61004

struct world_map {
	struct port_flow flows[WORLD_MAP];
	struct port_entry entries[WORLD_MAP];
	size_t n;
	bool is_failing;
};

struct world {
	int64_t now_ns;
	struct port_sender *sender;
	struct port_receiver *receiver;
	struct world_map out, in;
	struct port_flow flows[WORLD_FLOWS];
	bool is_open[WORLD_FLOWS];
	uint16_t used_port; /* By a socket of the sender; 0: none. */
	struct port_message messages[WORLD_MESSAGES];
	size_t n_messages;
};

static inline struct port_entry *
world_find(struct world_map *map, const struct port_flow *flow)
{
	for (size_t i = 0; i < map->n; i++)
		if (!memcmp(&map->flows[i], flow, sizeof *flow))
			return &map->entries[i];
	return NULL;
}

static inline int
world_put(struct world_map *map, const struct port_flow *flow,
	  const struct port_entry *entry)
{
	struct port_entry *found = world_find(map, flow);

	if (map->is_failing)
		return -ENOMEM;
	if (!found) {
		assert_true(map->n < WORLD_MAP);
		map->flows[map->n] = *flow;
		found = &map->entries[map->n++];
	}
	*found = *entry;
	return 0;
}

static inline void
world_remove(struct world_map *map, const struct port_flow *flow)
{
	struct port_entry *found = world_find(map, flow);
	size_t at;

	assert_non_null(found);
	at = (size_t)(found - map->entries);
	map->n--;
	map->flows[at] = map->flows[map->n];
	map->entries[at] = map->entries[map->n];
}

static inline int
world_put_out(void *ctx, const struct port_flow *flow, const struct port_entry *entry)
{
	return world_put(&((struct world *)ctx)->out, flow, entry);
}

static inline void
world_remove_out(void *ctx, const struct port_flow *flow)
{
	world_remove(&((struct world *)ctx)->out, flow);
}

static inline int
world_put_in(void *ctx, const struct port_flow *flow, const struct port_entry *entry)
{
	return world_put(&((struct world *)ctx)->in, flow, entry);
}

static inline void
world_remove_in(void *ctx, const struct port_flow *flow)
{
	world_remove(&((struct world *)ctx)->in, flow);
}

/* A full channel loses messages. */
static inline void
world_send(void *ctx, const struct port_message *message)
{
	struct world *world = ctx;

	if (world->n_messages < WORLD_MESSAGES)
		world->messages[world->n_messages++] = *message;
}

/* All flows are of job "7". */
static inline bool
world_is_open(void *ctx, const struct port_flow *flow, const char *job)
{
	const struct world *world = ctx;

	for (size_t i = 0; i < WORLD_FLOWS; i++)
		if (!memcmp(&world->flows[i], flow, sizeof *flow))
			return world->is_open[i] && (!*job || !strcmp(job, "7"));
	return false;
}

static inline bool
world_is_port_used(void *ctx, uint16_t port)
{
	return ((const struct world *)ctx)->used_port == port;
}

static inline void
world_start_sender(struct world *world)
{
	const struct port_sender_io io = {
		world,      world_put_out, world_remove_out,
		world_send, world_is_open, world_is_port_used
	};
	const struct port_sender_options options = { .range = { WORLD_FIRST,
								WORLD_LAST } };

	world->sender = port_sender_new(&io, &options);
	for (size_t i = 0; i < world->out.n; i++)
		port_sender_restore(world->sender, world->now_ns, i % 2 ? "7" : "",
				    &world->out.flows[i], &world->out.entries[i]);
}

static inline void
world_start_receiver(struct world *world)
{
	const struct port_receiver_io io = { world, world_put_in, world_remove_in,
					     world_send, world_is_open };
	const struct port_receiver_options options = { .range = { WORLD_FIRST,
								  WORLD_LAST } };

	world->receiver = port_receiver_new(&io, &options);
	for (size_t i = 0; i < world->in.n; i++)
		port_receiver_restore(world->receiver, world->now_ns,
				      &world->in.flows[i], &world->in.entries[i]);
}

static inline void
world_kill_sender(struct world *world)
{
	port_sender_free(world->sender);
	world_start_sender(world);
}

static inline void
world_kill_receiver(struct world *world)
{
	port_receiver_free(world->receiver);
	world_start_receiver(world);
}

/* Half of the flows go to one port, so that they can collide on the wire. */
static inline void
world_init(struct world *world)
{
	memset(world, 0, sizeof *world);
	world->now_ns = 1000 * WORLD_SECOND;
	for (size_t i = 0; i < WORLD_FLOWS; i++) {
		struct port_flow *flow = &world->flows[i];

		memcpy(flow->source, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
		memcpy(flow->destination, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\2", 16);
		flow->source_port = htons((uint16_t)(41000 + i));
		flow->destination_port = htons((uint16_t)(5001 + i % 2));
		world->is_open[i] = true;
	}
	world_start_sender(world);
	world_start_receiver(world);
}

static inline void
world_fini(struct world *world)
{
	port_sender_free(world->sender);
	port_receiver_free(world->receiver);
}

static inline struct port_message
world_take(struct world *world, size_t at)
{
	struct port_message message = world->messages[at];

	world->n_messages--;
	memmove(&world->messages[at], &world->messages[at + 1],
		(world->n_messages - at) * sizeof *world->messages);
	return message;
}

static inline void
world_deliver(struct world *world, const struct port_message *message)
{
	if (message->verb == PORT_PREPARE || message->verb == PORT_USING)
		port_receiver_message(world->receiver, world->now_ns, message);
	else
		port_sender_message(world->sender, world->now_ns, message);
}

/* Delivers everything in order, answers included. */
static inline void
world_deliver_all(struct world *world)
{
	while (world->n_messages > 0) {
		struct port_message message = world_take(world, 0);

		world_deliver(world, &message);
	}
}

static inline int
world_order(struct world *world, size_t flow, unsigned port)
{
	return port_sender_order(world->sender, world->now_ns, "7", &world->flows[flow],
				 htons((uint16_t)port));
}

/* The flow on the wire, as the sender's program makes it. */
static inline struct port_flow
world_wire(struct world *world, const struct port_flow *flow)
{
	const struct port_entry *entry = world_find(&world->out, flow);
	struct port_flow wire = *flow;

	if (entry)
		wire.source_port = entry->port;
	return wire;
}

/* The source port that the receiver's stack sees. */
static inline uint16_t
world_arrives_as(struct world *world, const struct port_flow *wire)
{
	const struct port_entry *entry = world_find(&world->in, wire);

	return entry ? entry->port : wire->source_port;
}

#endif
