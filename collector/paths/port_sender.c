/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/port_sender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

struct sender_flow {
	UT_hash_handle hh;     /* By 'flow'. */
	struct port_flow flow; /* True ports. */
	char job[TELE_MAX_NAME + 1];
	/* In the map; port 0: no entry. */
	uint16_t used_port;
	uint64_t used_number;
	int64_t used_since_ns;
	bool is_settled; /* The receiver knows it. */
	/* Asked for; port 0: nothing. */
	uint16_t wanted_port;
	uint64_t wanted_number;
	int64_t wanted_since_ns;
	int64_t next_send_ns, wait_ns;
};

struct port_sender {
	struct port_sender_io io;
	struct port_sender_options options;
	struct sender_flow *flows; /* Owned.  In order of their first order. */
	struct port_sender_stats stats;
};

/* ---- Flows ----------------------------------------------------------------------- */

static struct sender_flow *
find_flow(const struct port_sender *sender, const struct port_flow *flow)
{
	struct sender_flow *found;

	HASH_FIND(hh, sender->flows, flow, sizeof *flow, found);
	return found;
}

static struct sender_flow *
add_flow(struct port_sender *sender, const struct port_flow *flow)
{
	struct sender_flow *f = xcalloc(1, sizeof *f);

	f->flow = *flow;
	HASH_ADD(hh, sender->flows, flow, sizeof f->flow, f);
	return f;
}

static void
drop_flow(struct port_sender *sender, struct sender_flow *f)
{
	HASH_DEL(sender->flows, f);
	free(f);
}

static bool
is_own_port(const struct sender_flow *f, uint16_t port)
{
	return port == f->flow.source_port;
}

/* The flow would look the same as 'other' on the wire. */
static bool
is_same_on_wire(const struct sender_flow *other, const struct port_flow *flow,
		uint16_t port)
{
	return (other->used_port == port || other->wanted_port == port) &&
	       other->flow.destination_port == flow->destination_port &&
	       !memcmp(other->flow.source, flow->source, sizeof flow->source) &&
	       !memcmp(other->flow.destination, flow->destination,
		       sizeof flow->destination);
}

static bool
is_taken(const struct port_sender *sender, const struct port_flow *flow, uint16_t port)
{
	for (const struct sender_flow *f = sender->flows; f; f = f->hh.next)
		if (memcmp(&f->flow, flow, sizeof *flow) != 0 &&
		    is_same_on_wire(f, flow, port))
			return true;
	return false;
}

/* ---- Sending --------------------------------------------------------------------- */

static void
send_message(const struct port_sender *sender, const struct sender_flow *f,
	     enum port_verb verb)
{
	struct port_message message = { .verb = verb, .flow = f->flow };

	message.port = verb == PORT_PREPARE ? f->wanted_port : f->used_port;
	message.number = verb == PORT_PREPARE ? f->wanted_number : f->used_number;
	memcpy(message.job, f->job, sizeof message.job);
	sender->io.send(sender->io.ctx, &message);
}

/* Sends what the flow's state calls for, and plans the next time. */
static void
send_now(const struct port_sender *sender, struct sender_flow *f, int64_t now_ns)
{
	if (f->wanted_port)
		send_message(sender, f, PORT_PREPARE);
	if (f->used_port && (!f->wanted_port || !f->is_settled))
		send_message(sender, f, PORT_USING);
	f->next_send_ns = now_ns + f->wait_ns;
	f->wait_ns *= 2;
	if (f->wait_ns > sender->options.refresh_ns)
		f->wait_ns = sender->options.refresh_ns;
}

static void
send_anew(const struct port_sender *sender, struct sender_flow *f, int64_t now_ns)
{
	f->wait_ns = sender->options.retry_ns;
	send_now(sender, f, now_ns);
}

static uint64_t
next_number(const struct port_sender *sender, const struct sender_flow *f,
	    int64_t now_ns)
{
	uint64_t number = (uint64_t)(now_ns + sender->options.wall_offset_ns) / 1000;

	if (number <= f->used_number)
		number = f->used_number + 1;
	if (number <= f->wanted_number)
		number = f->wanted_number + 1;
	return number;
}

/* Writes the map; from here on packets have this port. */
static void
use(struct port_sender *sender, struct sender_flow *f, int64_t now_ns, uint16_t port,
    uint64_t number)
{
	struct port_entry entry = { .port = port, .number = number };

	f->wanted_port = 0;
	if (sender->io.put(sender->io.ctx, &f->flow, &entry) < 0) {
		sender->stats.n_failed++;
		if (!f->used_port)
			drop_flow(sender, f);
		return;
	}
	if (f->used_port != port)
		sender->stats.n_moves++;
	f->used_port = port;
	f->used_number = number;
	f->used_since_ns = now_ns;
	f->is_settled = false;
	send_anew(sender, f, now_ns);
}

static void
use_own_port(struct port_sender *sender, struct sender_flow *f, int64_t now_ns)
{
	use(sender, f, now_ns, f->flow.source_port, next_number(sender, f, now_ns));
}

/* The entry of a flow that has its own port may go at any time. */
static void
forget_own_port(struct port_sender *sender, struct sender_flow *f)
{
	sender->io.remove(sender->io.ctx, &f->flow);
	f->used_port = 0;
	if (!f->wanted_port)
		drop_flow(sender, f);
}

/* ---- Interface ------------------------------------------------------------------- */

struct port_sender *
port_sender_new(const struct port_sender_io *io,
		const struct port_sender_options *options)
{
	struct port_sender *sender = xcalloc(1, sizeof *sender);

	sender->io = *io;
	sender->options = *options;
	if (!sender->options.retry_ns)
		sender->options.retry_ns = PORT_SENDER_RETRY_NS;
	if (!sender->options.refresh_ns)
		sender->options.refresh_ns = PORT_SENDER_REFRESH_NS;
	if (!sender->options.give_up_ns)
		sender->options.give_up_ns = PORT_SENDER_GIVE_UP_NS;
	return sender;
}

void
port_sender_free(struct port_sender *sender)
{
	struct sender_flow *f, *next;

	if (!sender)
		return;
	HASH_ITER(hh, sender->flows, f, next)
	drop_flow(sender, f);
	free(sender);
}

void
port_sender_restore(struct port_sender *sender, int64_t now_ns, const char *job,
		    const struct port_flow *flow, const struct port_entry *entry)
{
	struct sender_flow *f = find_flow(sender, flow);

	if (!f)
		f = add_flow(sender, flow);
	if (*job)
		tele_set_name(f->job, job);
	f->used_port = entry->port;
	f->used_number = entry->number;
	f->used_since_ns = now_ns;
	f->is_settled = false;
	f->wait_ns = sender->options.retry_ns;
	f->next_send_ns = now_ns;
}

/* So that the scheduler knows; no entry has a number below 0, so none is retired. */
static void
say_own_port(const struct port_sender *sender, const char *job,
	     const struct port_flow *flow)
{
	struct port_message message = { .verb = PORT_USING,
					.flow = *flow,
					.port = flow->source_port };

	tele_set_name(message.job, job);
	sender->io.send(sender->io.ctx, &message);
}

int
port_sender_order(struct port_sender *sender, int64_t now_ns, const char *job,
		  const struct port_flow *flow, uint16_t port)
{
	struct sender_flow *f = find_flow(sender, flow);
	bool is_end = port == flow->source_port;

	if (is_end) {
		if (f)
			use_own_port(sender, f, now_ns);
		else
			say_own_port(sender, job, flow);
		return 0;
	}
	if (!port_range_has(&sender->options.range, port) ||
	    port_range_has(&sender->options.range, flow->source_port))
		return -ERANGE;
	if (!*job || !sender->io.is_open(sender->io.ctx, flow, job))
		return -ENOENT;
	if (is_taken(sender, flow, port) ||
	    sender->io.is_port_used(sender->io.ctx, port))
		return -EADDRINUSE;
	if (f && (f->wanted_port ? f->wanted_port : f->used_port) == port) {
		send_anew(sender, f, now_ns);
		return 0;
	}
	if (!f) {
		if (HASH_COUNT(sender->flows) >= PORT_MAX_FLOWS)
			return -ENOSPC;
		f = add_flow(sender, flow);
	}
	tele_set_name(f->job, job);
	f->wanted_number = next_number(sender, f, now_ns);
	f->wanted_port = port;
	f->wanted_since_ns = now_ns;
	sender->stats.n_orders++;
	send_anew(sender, f, now_ns);
	return 0;
}

static void
take_refusal(struct port_sender *sender, struct sender_flow *f, int64_t now_ns,
	     const struct port_message *message)
{
	if (f->wanted_port == message->port && f->wanted_number == message->number) {
		f->wanted_port = 0;
		sender->stats.n_refused++;
		if (!f->used_port)
			drop_flow(sender, f);
	} else if (f->used_port == message->port && f->used_number == message->number &&
		   !is_own_port(f, f->used_port)) {
		/* The receiver has lost the entry: packets must not wait for it. */
		sender->stats.n_refused++;
		use_own_port(sender, f, now_ns);
	}
}

static void
take_settled(struct port_sender *sender, struct sender_flow *f, int64_t now_ns,
	     const struct port_message *message)
{
	if (!f->used_port || f->used_number != message->number)
		return;
	f->is_settled = true;
	if (!is_own_port(f, f->used_port)) {
		if (!f->wanted_port)
			f->next_send_ns = now_ns + sender->options.refresh_ns;
		return;
	}
	forget_own_port(sender, f);
}

void
port_sender_message(struct port_sender *sender, int64_t now_ns,
		    const struct port_message *message)
{
	struct sender_flow *f = find_flow(sender, &message->flow);

	if (!f)
		return;
	switch (message->verb) {
	case PORT_READY:
		if (f->wanted_port && f->wanted_port == message->port &&
		    f->wanted_number == message->number)
			use(sender, f, now_ns, f->wanted_port, f->wanted_number);
		break;
	case PORT_REFUSED:
		take_refusal(sender, f, now_ns, message);
		break;
	case PORT_SETTLED:
		take_settled(sender, f, now_ns, message);
		break;
	case PORT_MOVE:
	case PORT_PREPARE:
	case PORT_USING:
		break;
	}
}

/* Gives up orders without an answer; false if nothing of the flow is left. */
static bool
check_order(struct port_sender *sender, struct sender_flow *f, int64_t now_ns)
{
	if (!f->wanted_port || now_ns - f->wanted_since_ns < sender->options.give_up_ns)
		return true;
	f->wanted_port = 0;
	sender->stats.n_given_up++;
	if (f->used_port)
		return true;
	drop_flow(sender, f);
	return false;
}

/* The connection has ended: back to its own port, then nothing. */
static void
release(struct port_sender *sender, struct sender_flow *f, int64_t now_ns)
{
	if (!is_own_port(f, f->used_port))
		use_own_port(sender, f, now_ns);
	else if (now_ns - f->used_since_ns >= sender->options.give_up_ns)
		forget_own_port(sender, f);
	else
		send_now(sender, f, now_ns);
}

void
port_sender_tick(struct port_sender *sender, int64_t now_ns)
{
	struct sender_flow *f, *next;

	HASH_ITER(hh, sender->flows, f, next)
	{
		if (!check_order(sender, f, now_ns) || now_ns < f->next_send_ns)
			continue;
		if (f->used_port && !sender->io.is_open(sender->io.ctx, &f->flow, ""))
			release(sender, f, now_ns);
		else
			send_now(sender, f, now_ns);
	}
}

uint16_t
port_sender_wire_port(const struct port_sender *sender, const struct port_flow *flow)
{
	const struct sender_flow *f = find_flow(sender, flow);

	return f && f->used_port ? f->used_port : flow->source_port;
}

void
port_sender_each(const struct port_sender *sender,
		 void (*found)(void *ctx, const struct port_flow *flow, const char *job,
			       uint16_t port),
		 void *ctx)
{
	for (const struct sender_flow *f = sender->flows; f; f = f->hh.next)
		if (f->used_port)
			found(ctx, &f->flow, f->job, f->used_port);
}

void
port_sender_release(struct port_sender *sender, int64_t now_ns)
{
	struct sender_flow *f, *next;

	HASH_ITER(hh, sender->flows, f, next)
	use_own_port(sender, f, now_ns);
}

void
port_sender_stats(const struct port_sender *sender, struct port_sender_stats *ret_stats)
{
	*ret_stats = sender->stats;
	ret_stats->n_flows = HASH_COUNT(sender->flows);
	ret_stats->n_translated = 0;
	for (const struct sender_flow *f = sender->flows; f; f = f->hh.next)
		if (f->used_port && !is_own_port(f, f->used_port))
			ret_stats->n_translated++;
}
