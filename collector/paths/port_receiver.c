/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/port_receiver.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

struct receiver_entry {
	UT_hash_handle hh;     /* By 'wire'. */
	struct port_flow wire; /* With the wire port. */
	struct port_entry entry;
	int64_t closed_since_ns; /* -1: the connection exists. */
};

struct port_receiver {
	struct port_receiver_io io;
	struct port_receiver_options options;
	struct receiver_entry *entries; /* Owned. */
	struct port_receiver_stats stats;
};

static struct receiver_entry *
find_entry(const struct port_receiver *receiver, const struct port_flow *wire)
{
	struct receiver_entry *found;

	HASH_FIND(hh, receiver->entries, wire, sizeof *wire, found);
	return found;
}

static struct receiver_entry *
add_entry(struct port_receiver *receiver, const struct port_flow *wire,
	  const struct port_entry *entry)
{
	struct receiver_entry *e = xcalloc(1, sizeof *e);

	e->wire = *wire;
	e->entry = *entry;
	e->closed_since_ns = -1;
	HASH_ADD(hh, receiver->entries, wire, sizeof e->wire, e);
	return e;
}

static void
drop_entry(struct port_receiver *receiver, struct receiver_entry *e)
{
	HASH_DEL(receiver->entries, e);
	free(e);
}

/* The same flow with another source port. */
static struct port_flow
with_port(const struct port_flow *flow, uint16_t port)
{
	struct port_flow other = *flow;

	other.source_port = port;
	return other;
}

static bool
is_of_flow(const struct receiver_entry *e, const struct port_flow *flow)
{
	struct port_flow own = with_port(&e->wire, e->entry.port);

	return !memcmp(&own, flow, sizeof own);
}

static void
answer(const struct port_receiver *receiver, const struct port_message *message,
       enum port_verb verb)
{
	struct port_message reply = *message;

	reply.verb = verb;
	receiver->io.send(receiver->io.ctx, &reply);
}

static bool
is_acceptable(const struct port_receiver *receiver, const struct port_message *message)
{
	const struct port_range *range = &receiver->options.range;

	return port_range_has(range, message->port) &&
	       !port_range_has(range, message->flow.source_port) && *message->job &&
	       HASH_COUNT(receiver->entries) < 2 * PORT_MAX_FLOWS &&
	       receiver->io.is_open(receiver->io.ctx, &message->flow, message->job);
}

/* Makes the entry of a message, or extends it.  False if that is impossible. */
static bool
install(struct port_receiver *receiver, const struct port_message *message)
{
	struct port_entry entry = { .port = message->flow.source_port,
				    .number = message->number };
	struct port_flow wire = with_port(&message->flow, message->port);
	struct receiver_entry *e = find_entry(receiver, &wire);

	if (e && !is_of_flow(e, &message->flow))
		return false;
	if (!e && !is_acceptable(receiver, message))
		return false;
	if (receiver->io.put(receiver->io.ctx, &wire, &entry) < 0)
		return false;
	if (e) {
		e->entry = entry;
		return true;
	}
	add_entry(receiver, &wire, &entry);
	receiver->stats.n_installed++;
	return true;
}

static void
take_prepare(struct port_receiver *receiver, const struct port_message *message)
{
	struct port_flow wire = with_port(&message->flow, message->port);
	const struct receiver_entry *e = find_entry(receiver, &wire);

	if (e && is_of_flow(e, &message->flow)) {
		/* Late: a newer order has extended or retired the entry. */
		if (e->entry.number > message->number ||
		    (e->entry.number == message->number && e->entry.retire_ns))
			return;
		if (e->entry.number == message->number) {
			answer(receiver, message, PORT_READY);
			return;
		}
	}
	if (install(receiver, message)) {
		answer(receiver, message, PORT_READY);
		return;
	}
	receiver->stats.n_refused++;
	answer(receiver, message, PORT_REFUSED);
}

/* Retires the flow's entries before 'number'; false if one could not be written. */
static bool
retire_before(struct port_receiver *receiver, int64_t now_ns,
	      const struct port_flow *flow, uint64_t number)
{
	bool is_done = true;

	for (struct receiver_entry *e = receiver->entries; e; e = e->hh.next) {
		struct port_entry entry = e->entry;

		if (entry.number >= number || entry.retire_ns || !is_of_flow(e, flow))
			continue;
		entry.retire_ns = now_ns + receiver->options.keep_ns;
		if (receiver->io.put(receiver->io.ctx, &e->wire, &entry) < 0)
			is_done = false;
		else
			e->entry = entry;
	}
	return is_done;
}

static void
take_using(struct port_receiver *receiver, int64_t now_ns,
	   const struct port_message *message)
{
	struct port_flow wire = with_port(&message->flow, message->port);
	const struct receiver_entry *e = find_entry(receiver, &wire);
	bool is_own = message->port == message->flow.source_port;

	if (!is_own && (!e || !is_of_flow(e, &message->flow) ||
			e->entry.number < message->number)) {
		if (!install(receiver, message)) {
			receiver->stats.n_refused++;
			answer(receiver, message, PORT_REFUSED);
			return;
		}
		receiver->stats.n_healed++;
	}
	if (retire_before(receiver, now_ns, &message->flow, message->number))
		answer(receiver, message, PORT_SETTLED);
}

/* ---- Interface ------------------------------------------------------------------- */

struct port_receiver *
port_receiver_new(const struct port_receiver_io *io,
		  const struct port_receiver_options *options)
{
	struct port_receiver *receiver = xcalloc(1, sizeof *receiver);

	receiver->io = *io;
	receiver->options = *options;
	if (!receiver->options.keep_ns)
		receiver->options.keep_ns = PORT_RECEIVER_KEEP_NS;
	if (!receiver->options.closed_ns)
		receiver->options.closed_ns = PORT_RECEIVER_CLOSED_NS;
	return receiver;
}

void
port_receiver_free(struct port_receiver *receiver)
{
	struct receiver_entry *e, *next;

	if (!receiver)
		return;
	HASH_ITER(hh, receiver->entries, e, next)
	drop_entry(receiver, e);
	free(receiver);
}

void
port_receiver_restore(struct port_receiver *receiver, int64_t now_ns,
		      const struct port_flow *flow, const struct port_entry *entry)
{
	struct receiver_entry *e = find_entry(receiver, flow);

	(void)now_ns;
	if (e)
		e->entry = *entry;
	else
		add_entry(receiver, flow, entry);
}

void
port_receiver_message(struct port_receiver *receiver, int64_t now_ns,
		      const struct port_message *message)
{
	if (message->verb == PORT_PREPARE)
		take_prepare(receiver, message);
	else if (message->verb == PORT_USING)
		take_using(receiver, now_ns, message);
}

/* Whether the entry is due: retired for long enough, or its connection gone. */
static bool
is_due(const struct port_receiver *receiver, struct receiver_entry *e, int64_t now_ns)
{
	struct port_flow flow = with_port(&e->wire, e->entry.port);

	if (e->entry.retire_ns)
		return now_ns >= e->entry.retire_ns;
	if (receiver->io.is_open(receiver->io.ctx, &flow, ""))
		e->closed_since_ns = -1;
	else if (e->closed_since_ns < 0)
		e->closed_since_ns = now_ns;
	return e->closed_since_ns >= 0 &&
	       now_ns - e->closed_since_ns >= receiver->options.closed_ns;
}

void
port_receiver_tick(struct port_receiver *receiver, int64_t now_ns)
{
	struct receiver_entry *e, *next;

	HASH_ITER(hh, receiver->entries, e, next)
	{
		if (!is_due(receiver, e, now_ns))
			continue;
		receiver->io.remove(receiver->io.ctx, &e->wire);
		drop_entry(receiver, e);
		receiver->stats.n_removed++;
	}
}

void
port_receiver_each(const struct port_receiver *receiver,
		   void (*found)(void *ctx, const struct port_flow *wire,
				 const struct port_entry *entry),
		   void *ctx)
{
	for (const struct receiver_entry *e = receiver->entries; e; e = e->hh.next)
		found(ctx, &e->wire, &e->entry);
}

void
port_receiver_stats(const struct port_receiver *receiver,
		    struct port_receiver_stats *ret_stats)
{
	*ret_stats = receiver->stats;
	ret_stats->n_entries = HASH_COUNT(receiver->entries);
	ret_stats->n_retired = 0;
	for (const struct receiver_entry *e = receiver->entries; e; e = e->hh.next)
		ret_stats->n_retired += e->entry.retire_ns != 0;
}
