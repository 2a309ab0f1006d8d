/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_receiver.h - wire ports of the flows that this host receives
 *
 * Installs entries that senders ask for, and removes them when it is safe
 * (port_message.h): 'keep_ns' after the sender said that it uses a newer one, or
 * 'closed_ns' after this host's end of the connection has disappeared.  Never because a
 * sender is silent: its collector may be dead while its programs translate.
 *
 * A sender that says USING of an entry that is missing here (the maps were removed) gets
 * the entry, or a refusal, upon which it returns to the true port.
 *
 * Pure: time is an argument, I/O callbacks are handed in.  A call is O(entries).
 */
#ifndef COLLECTOR_PATHS_PORT_RECEIVER_H
#define COLLECTOR_PATHS_PORT_RECEIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/port_message.h"
#include "lib/wire/port_range.h"

struct port_receiver;

struct port_receiver_io {
	void *ctx;
	/*
	 * Writes an entry of the map 'in', valid for the next packet of all interfaces
	 * of the fabric.  'flow' has the wire port.  0 or -errno.
	 */
	int (*put)(void *ctx, const struct port_flow *flow,
		   const struct port_entry *entry);
	void (*remove)(void *ctx, const struct port_flow *flow);
	void (*send)(void *ctx, const struct port_message *message);
	/* This host has a TCP socket of the flow, in any state; of 'job' unless "". */
	bool (*is_open)(void *ctx, const struct port_flow *flow, const char *job);
};

struct port_receiver_options {
	struct port_range range;
	int64_t keep_ns;
	int64_t closed_ns;
};

/*
 * Chosen.  Longer than a packet is on its way: queues of switches hold milliseconds, of
 * hosts at most a second or two.
 */
#define PORT_RECEIVER_KEEP_NS INT64_C(5000000000)

/*
 * Longer than a sender repeats a segment that nothing answers: 924.6 s by default
 * (net.ipv4.tcp_retries2).  As long as the entry is there, such a sender is reset.
 */
#define PORT_RECEIVER_CLOSED_NS INT64_C(1200000000000)

struct port_receiver_stats {
	size_t n_entries, n_retired;                          /* Now. */
	uint64_t n_installed, n_removed, n_refused, n_healed; /* Since the start. */
};

/* Copies 'io' and 'options'.  Times of 0 get the values above. */
struct port_receiver *port_receiver_new(const struct port_receiver_io *io,
					const struct port_receiver_options *options);
/* Leaves the map as it is. */
void port_receiver_free(struct port_receiver *receiver);

/* Takes over an entry that the map 'in' holds from before the start. */
void port_receiver_restore(struct port_receiver *receiver, int64_t now_ns,
			   const struct port_flow *flow,
			   const struct port_entry *entry);

/*
 * A message from a sender; answers it.  Refuses ports outside of the range, flows whose
 * own ports are in it, connections that this host does not have in the message's job,
 * and wire ports that another flow has or had within 'keep_ns'.
 */
void port_receiver_message(struct port_receiver *receiver, int64_t now_ns,
			   const struct port_message *message);

/* Removes what is due.  To be called about once a second. */
void port_receiver_tick(struct port_receiver *receiver, int64_t now_ns);

/* Calls back for each entry, in the order of their installation. */
void port_receiver_each(const struct port_receiver *receiver,
			void (*found)(void *ctx, const struct port_flow *wire,
				      const struct port_entry *entry),
			void *ctx);
void port_receiver_stats(const struct port_receiver *receiver,
			 struct port_receiver_stats *ret_stats);

#endif
