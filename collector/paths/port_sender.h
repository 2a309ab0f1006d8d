/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_sender.h - wire ports of the flows that this host sends
 *
 * Carries out orders of the form "flow F of job J uses wire port P": asks the receiver
 * to install it, then installs it here, then lets the receiver retire the one before
 * (port_message.h).  A flow keeps the port that it has until the receiver has agreed to
 * the new one.  An order for the flow's own port ends the translation.
 *
 * A flow whose connection has ended is released in the same way.  A host that restarts
 * its collector hands in what the maps hold, by port_sender_restore(), before anything
 * else.
 *
 * Pure: time is an argument, I/O callbacks are handed in.  A call is O(1), except for
 * port_sender_tick() and port_sender_order(), O(flows).
 */
#ifndef COLLECTOR_PATHS_PORT_SENDER_H
#define COLLECTOR_PATHS_PORT_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/port_message.h"
#include "lib/wire/port_range.h"

struct port_sender;

struct port_sender_io {
	void *ctx;
	/* Writes an entry of the map 'out', valid for the next packet.  0 or -errno. */
	int (*put)(void *ctx, const struct port_flow *flow,
		   const struct port_entry *entry);
	void (*remove)(void *ctx, const struct port_flow *flow);
	void (*send)(void *ctx, const struct port_message *message);
	/* This host has a TCP socket of the flow, in any state; of 'job' unless "". */
	bool (*is_open)(void *ctx, const struct port_flow *flow, const char *job);
	/* A socket of this host has this local port, in the network's order. */
	bool (*is_port_used)(void *ctx, uint16_t port);
};

struct port_sender_options {
	struct port_range range;
	/* Wall clock minus CLOCK_MONOTONIC: keeps numbers growing after a reboot. */
	int64_t wall_offset_ns;
	int64_t retry_ns;   /* Repeats unanswered messages; doubles up to 'refresh'. */
	int64_t refresh_ns; /* Repeats USING of settled flows, which heals peers. */
	int64_t give_up_ns; /* Of an order without an answer. */
};

/* Chosen: answers take milliseconds; a collector restarts within seconds. */
#define PORT_SENDER_RETRY_NS   INT64_C(200000000)
#define PORT_SENDER_REFRESH_NS INT64_C(30000000000)
#define PORT_SENDER_GIVE_UP_NS INT64_C(10000000000)

/* Counts since the start. */
struct port_sender_stats {
	size_t n_flows, n_translated; /* Now. */
	uint64_t n_orders, n_moves, n_refused, n_given_up, n_failed;
};

/* Copies 'io' and 'options'.  Times of 0 get the values above. */
struct port_sender *port_sender_new(const struct port_sender_io *io,
				    const struct port_sender_options *options);
/* Leaves the map as it is. */
void port_sender_free(struct port_sender *sender);

/* Takes over an entry that the map 'out' holds from before the start; "": no job. */
void port_sender_restore(struct port_sender *sender, int64_t now_ns, const char *job,
			 const struct port_flow *flow, const struct port_entry *entry);

/*
 * Moves a flow to a port (network's order).  A newer order replaces an older one; the
 * same order again repeats the message that it has led to.  Returns 0 if it was started
 * or is in effect already; -ERANGE for a port outside of
 * the range, or a flow whose own ports are in it; -ENOENT if this host has no such
 * connection of the job; -EADDRINUSE if a socket or another flow to the same
 * destination has the port; -ENOSPC if there are PORT_MAX_FLOWS.
 */
int port_sender_order(struct port_sender *sender, int64_t now_ns, const char *job,
		      const struct port_flow *flow, uint16_t port);

/* A message from a receiver; ignores what is late or not for a sender. */
void port_sender_message(struct port_sender *sender, int64_t now_ns,
			 const struct port_message *message);

/* To be called every 'retry_ns' or so. */
void port_sender_tick(struct port_sender *sender, int64_t now_ns);

/* The port that the flow has on the wire (network's order). */
uint16_t port_sender_wire_port(const struct port_sender *sender,
			       const struct port_flow *flow);
/* Calls back for each flow with an entry, in the order of their first orders. */
void port_sender_each(const struct port_sender *sender,
		      void (*found)(void *ctx, const struct port_flow *flow,
				    const char *job, uint16_t port),
		      void *ctx);
/* Gives all flows their own ports back: port_sender_order() for each. */
void port_sender_release(struct port_sender *sender, int64_t now_ns);
void port_sender_stats(const struct port_sender *sender,
		       struct port_sender_stats *ret_stats);

#endif
