/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/port_relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/wire/port_text.h"
#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

/* Senders repeat PORT_USING every 30 s.  Chosen: three of them are missing. */
#define FORGET_NS INT64_C(100000000000)
/* Chosen: between orders to go back to the own port. */
#define REPEAT_NS INT64_C(5000000000)
/* Chosen: of an order; collectors answer within milliseconds and restart in seconds. */
#define RETRY_NS   INT64_C(1000000000)
#define GIVE_UP_NS INT64_C(10000000000)
/*
 * Chosen: 50 MB; as many as flow_table.h keeps. Beyond that flows are moved, but not
 * listed.
 */
#define MAX_FLOWS 262144

struct relayed_flow {
	UT_hash_handle hh;
	struct port_flow flow;
	char job[TELE_MAX_NAME + 1];
	uint16_t port;
	int64_t heard_ns, ordered_ns;
};

struct flow_order {
	UT_hash_handle hh;
	struct port_flow flow;
	char job[TELE_MAX_NAME + 1];
	uint16_t port;
	int64_t since_ns, sent_ns;
};

struct port_relay {
	struct port_relay_opts opts;
	struct relayed_flow *flows; /* Owned, as the orders. */
	struct flow_order *orders;
	struct port_relay_counts counts;
};

struct port_relay *
port_relay_new(const struct port_relay_opts *opts)
{
	struct port_relay *relay = xcalloc(1, sizeof *relay);

	relay->opts = *opts;
	return relay;
}

static void
drop_flow(struct port_relay *relay, struct relayed_flow *f)
{
	HASH_DEL(relay->flows, f);
	free(f);
}

static void
drop_order(struct port_relay *relay, struct flow_order *o)
{
	HASH_DEL(relay->orders, o);
	free(o);
}

void
port_relay_free(struct port_relay *relay)
{
	struct relayed_flow *f, *next;
	struct flow_order *o, *next_order;

	if (!relay)
		return;
	HASH_ITER(hh, relay->flows, f, next)
	drop_flow(relay, f);
	HASH_ITER(hh, relay->orders, o, next_order)
	drop_order(relay, o);
	free(relay);
}

/* ---- Sending --------------------------------------------------------------------- */

static void
announce(const struct port_relay *relay, const struct port_message *message,
	 const char *text)
{
	char topic[PORT_TOPIC_BYTES];

	port_text_topic(message, topic);
	relay->opts.announce(relay->opts.ctx, topic, text);
}

static void
send_message(const struct port_relay *relay, const struct port_message *message)
{
	char *text = port_text_write(message);

	announce(relay, message, text);
	free(text);
}

static void
send_order(struct port_relay *relay, const char *job, const struct port_flow *flow,
	   uint16_t port)
{
	struct port_message message = { .verb = PORT_MOVE,
					.flow = *flow,
					.port = port };

	tele_set_name(message.job, job);
	send_message(relay, &message);
}

/* ---- Orders ---------------------------------------------------------------------- */

/* A refusal may be of the port that was asked for before. */
static void
note_answer(struct port_relay *relay, const struct port_message *message)
{
	struct flow_order *o;

	HASH_FIND(hh, relay->orders, &message->flow, sizeof message->flow, o);
	if (!o || o->port != message->port)
		return;
	relay->counts.n_failed += message->verb == PORT_REFUSED;
	drop_order(relay, o);
}

static void
tick_orders(struct port_relay *relay, int64_t now_ns)
{
	struct flow_order *o, *next;

	HASH_ITER(hh, relay->orders, o, next)
	{
		if (now_ns - o->since_ns >= GIVE_UP_NS ||
		    !relay->opts.is_enforced(relay->opts.ctx, o->job)) {
			relay->counts.n_failed++;
			drop_order(relay, o);
		} else if (now_ns - o->sent_ns >= RETRY_NS) {
			o->sent_ns = now_ns;
			send_order(relay, o->job, &o->flow, o->port);
		}
	}
}

/* ---- Flows that have a wire port ------------------------------------------------- */

static struct relayed_flow *
find_flow(const struct port_relay *relay, const struct port_flow *flow)
{
	struct relayed_flow *found;

	HASH_FIND(hh, relay->flows, flow, sizeof *flow, found);
	return found;
}

/* A sender that was restarted may not know the job of its flow. */
static void
note_use(struct port_relay *relay, int64_t now_ns, const struct port_message *message)
{
	struct relayed_flow *f = find_flow(relay, &message->flow);

	if (message->port == message->flow.source_port) {
		if (f)
			drop_flow(relay, f);
		return;
	}
	if (!f) {
		if (HASH_COUNT(relay->flows) >= MAX_FLOWS) {
			relay->counts.n_full++;
			return;
		}
		f = xcalloc(1, sizeof *f);
		f->flow = message->flow;
		f->ordered_ns = now_ns - REPEAT_NS;
		HASH_ADD(hh, relay->flows, flow, sizeof f->flow, f);
	}
	f->port = message->port;
	f->heard_ns = now_ns;
	if (*message->job)
		strcpy(f->job, message->job);
}

/* ---- Interface ------------------------------------------------------------------- */

int
port_relay_take(struct port_relay *relay, int64_t now_ns, const char *text, size_t n,
		struct err *err)
{
	struct port_message message;

	if (port_text_parse(text, n, &message, err) < 0) {
		relay->counts.n_refused++;
		return -EINVAL;
	}
	if (message.verb == PORT_MOVE) {
		relay->counts.n_refused++;
		err_set(err, NULL, 0, 0, "only the scheduler orders moves");
		return -EPERM;
	}
	if (message.verb == PORT_PREPARE &&
	    !relay->opts.is_enforced(relay->opts.ctx, message.job)) {
		relay->counts.n_withheld++;
		message.verb = PORT_REFUSED;
		note_answer(relay, &message);
		send_message(relay, &message);
		return 0;
	}
	if (message.verb == PORT_USING)
		note_use(relay, now_ns, &message);
	if (message.verb == PORT_USING || message.verb == PORT_REFUSED)
		note_answer(relay, &message);
	announce(relay, &message, text);
	relay->counts.n_passed++;
	return 0;
}

int
port_relay_move(struct port_relay *relay, int64_t now_ns, const char *job,
		const struct port_flow *flow, uint16_t port)
{
	struct flow_order *o;

	if (!relay->opts.is_enforced(relay->opts.ctx, job))
		return -EPERM;
	HASH_FIND(hh, relay->orders, flow, sizeof *flow, o);
	if (!o && HASH_COUNT(relay->orders) >= MAX_FLOWS) {
		relay->counts.n_full++;
		return -E2BIG;
	}
	if (!o) {
		o = xcalloc(1, sizeof *o);
		o->flow = *flow;
		HASH_ADD(hh, relay->orders, flow, sizeof o->flow, o);
	}
	tele_set_name(o->job, job);
	o->port = port;
	o->since_ns = o->sent_ns = now_ns;
	relay->counts.n_orders++;
	send_order(relay, job, flow, port);
	return 0;
}

void
port_relay_tick(struct port_relay *relay, int64_t now_ns)
{
	struct relayed_flow *f, *next;

	tick_orders(relay, now_ns);
	HASH_ITER(hh, relay->flows, f, next)
	{
		if (now_ns - f->heard_ns >= FORGET_NS) {
			drop_flow(relay, f);
		} else if (now_ns - f->ordered_ns >= REPEAT_NS &&
			   !relay->opts.is_enforced(relay->opts.ctx, f->job)) {
			f->ordered_ns = now_ns;
			relay->counts.n_orders++;
			send_order(relay, f->job, &f->flow, f->flow.source_port);
		}
	}
}

void
port_relay_each(const struct port_relay *relay,
		void (*found)(void *ctx, const char *job, const struct port_flow *flow,
			      uint16_t port),
		void *ctx)
{
	for (const struct relayed_flow *f = relay->flows; f; f = f->hh.next)
		found(ctx, f->job, &f->flow, f->port);
}

struct port_relay_counts
port_relay_counts(const struct port_relay *relay)
{
	struct port_relay_counts counts = relay->counts;

	counts.n_flows = HASH_COUNT(relay->flows);
	counts.n_pending = HASH_COUNT(relay->orders);
	return counts;
}
