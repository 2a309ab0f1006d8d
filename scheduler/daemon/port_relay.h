/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_relay.h - moves of TCP flows to other paths: orders, and messages between hosts
 *
 * The collectors at both ends of a flow agree on its wire port (lib/wire/port_message.h).
 * They have no connection to each other: each publishes its messages at its own endpoint,
 * and the relay announces them again under the topic of the other end's address.
 *
 * Only in the mode enforce: a flow of another job gets no order, and no agreement on a
 * new port.  All other messages pass in any mode.  When a job's mode stops being enforce
 * (a command, the kill switch), its flows are ordered back to their own ports.  If the
 * scheduler dies, flows stay as they are.
 *
 * An order is repeated every second until the flow's sender says that it uses the port,
 * or that it cannot; for 10 s at most.
 *
 * The relay knows the flows that have a wire port from the messages of their senders,
 * which repeat them every 30 s; so it needs no storage.
 *
 * Pure: time is an argument, output a callback.  O(1) a message, O(flows) a tick.
 */
#ifndef SCHEDULER_DAEMON_PORT_RELAY_H
#define SCHEDULER_DAEMON_PORT_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/port_message.h"

struct err;
struct port_relay;

struct port_relay_opts {
	/* The job's mode is enforce; "" is an unknown job. */
	bool (*is_enforced)(void *ctx, const char *job);
	void (*announce)(void *ctx, const char *topic, const char *text);
	void *ctx;
};

struct port_relay *port_relay_new(const struct port_relay_opts *opts);
void port_relay_free(struct port_relay *relay); /* Accepts NULL. */

/*
 * Takes a text, terminated, of 'n' bytes, of a collector.  0; -EINVAL with 'err' filled
 * for what is no message; -EPERM for an order, which only the scheduler gives.
 */
int port_relay_take(struct port_relay *relay, int64_t now_ns, const char *text,
		    size_t n, struct err *err);

/*
 * Orders a flow of a job to take a port (network's order; the flow's own: no longer to
 * be translated).  A later order for the flow replaces it.  0; -EPERM if the job's mode
 * is not enforce; -E2BIG.  Whether the hosts could do it shows port_relay_each().
 */
int port_relay_move(struct port_relay *relay, int64_t now_ns, const char *job,
		    const struct port_flow *flow, uint16_t port);

/* To be called about once a second. */
void port_relay_tick(struct port_relay *relay, int64_t now_ns);

/* Calls back for each flow that has a wire port, in the order in which they got one. */
void port_relay_each(const struct port_relay *relay,
		     void (*found)(void *ctx, const char *job,
				   const struct port_flow *flow, uint16_t port),
		     void *ctx);

struct port_relay_counts {
	size_t n_flows, n_pending; /* Now: flows with a wire port; orders. */
	uint64_t n_orders, n_passed, n_withheld, n_refused;
	uint64_t n_failed; /* Orders that were refused, or without an answer. */
	uint64_t n_full;   /* Flows and orders for which there was no room. */
};
struct port_relay_counts port_relay_counts(const struct port_relay *relay);

#endif
