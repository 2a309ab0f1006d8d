/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_ports.h - source ports that the next connections of this host's jobs get
 *
 * Keeps what the scheduler offers (connect_text.h) and hands each port out once: a port
 * is put into the kernel (io.put) if no socket has it.  A connection takes it out.  It is
 * put in again when the connection's socket is gone, also from TIME_WAIT.
 *
 * A port for a destination is in one offer only, so no two jobs get the same.  Offers
 * that are not repeated end after CONNECT_KEEP_NS.
 *
 * Pure: time is an argument, I/O callbacks are handed in.  O(offers) a call.
 */
#ifndef COLLECTOR_PATHS_CONNECT_PORTS_H
#define COLLECTOR_PATHS_CONNECT_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/connect_text.h"
#include "lib/wire/port_range.h"

struct connect_ports;

struct connect_ports_io {
	void *ctx;
	/* As in connect_hook.h. */
	int (*put)(void *ctx, const struct connect_key *key, uint16_t port);
	void (*remove)(void *ctx, const struct connect_key *key);
	bool (*has)(void *ctx, const struct connect_key *key);
	/* A socket of this host has this local port (network's order). */
	bool (*is_port_used)(void *ctx, uint16_t port);
};

/* 'range' is that of port_range_connect().  Copies both. */
struct connect_ports *connect_ports_new(const struct connect_ports_io *io,
					const struct port_range *range);
/* Leaves the kernel as it is.  Accepts NULL. */
void connect_ports_free(struct connect_ports *ports);

/*
 * Replaces the offer for this job and destination; its ports are put in by the next
 * connect_ports_tick().  Returns 0; -ERANGE, and nothing
 * changes, if a port is not of the range; -E2BIG if there are CONNECT_MAX_OFFERS.
 */
int connect_ports_take(struct connect_ports *ports, int64_t now_ns,
		       const struct connect_message *message);

/* Puts in what is free, and ends what is old.  To be called about once a second. */
void connect_ports_tick(struct connect_ports *ports, int64_t now_ns);

/* The number of a job in keys, from 1; 0: it has no offer. */
uint32_t connect_ports_job(const struct connect_ports *ports, const char *job);

/*
 * Calls back for each offer, in the order in which they came, with those of its ports
 * that no connection has now.
 */
void connect_ports_each(const struct connect_ports *ports,
			void (*found)(void *ctx, const struct connect_message *offer),
			void *ctx);
size_t connect_ports_n(const struct connect_ports *ports);

#endif
