/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect_offers.h - offers of source ports to the next connections of jobs
 *
 * Which path a port takes depends on the destination port, so it is known only for
 * destinations to which a job has had a connection: hosts say which of these they opened
 * with a socket that had no port (flow_text.h).  As soon as such a connection is on its
 * chosen path (path_orders.h), ports that take the job's paths to this destination are
 * looked for (path_ports_connect()) and offered to its host (connect_text.h), so that
 * the next connection takes its path from the first packet on.
 *
 * An offer has CONNECT_OFFERS_PORTS ports, or as many as the plan has flows between the
 * two hosts, CONNECT_MAX_PORTS at most: in turn for each of the paths.  It outlives the
 * connection: it is repeated as long as the job has this plan, for
 * CONNECT_OFFERS_KEEP_NS after the last report.  It is withdrawn when the job's mode is
 * no longer enforce, or its advice ends.  If this process dies, it ends by itself.
 *
 * Two jobs of a host that connect to the same destination and port are offered the same
 * ports; the host gives them to the first.
 *
 * Pure: time is an argument, input and output are callbacks.  A tick takes O(offers),
 * and reads at most about CONNECT_OFFERS_ROWS reported flows.
 */
#ifndef SCHEDULER_DAEMON_CONNECT_OFFERS_H
#define SCHEDULER_DAEMON_CONNECT_OFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/connect_text.h"
#include "scheduler/daemon/path_orders.h"

struct connect_offers;
struct flow_row;
struct flow_table;

/* Chosen: a peer that connects again has some connections, which end within a minute. */
#define CONNECT_OFFERS_PORTS 4
/* Chosen: 1,000 hosts with 16 destinations each. */
#define CONNECT_OFFERS_MAX     16384
#define CONNECT_OFFERS_ROWS    5000
#define CONNECT_OFFERS_KEEP_NS INT64_C(3600000000000)
/* Chosen: how often an offer that is complete is looked at again. */
#define CONNECT_OFFERS_LOOK_NS INT64_C(10000000000)

struct connect_offers_opts {
	/* As of path_orders. */
	struct path_wishes (*wishes)(void *ctx, const char *job);
	/* As path_orders_is_settled(), path_orders_paths() and path_ports_connect(). */
	bool (*is_settled)(void *ctx, const struct port_flow *flow);
	size_t (*paths)(void *ctx, int64_t now_ns, const char *host,
			const struct flow_row *row, struct path_switches *ret_paths,
			size_t max);
	size_t (*find_ports)(void *ctx, int64_t now_ns, const struct port_flow *flow,
			     const struct path_switches *path, uint16_t *ret_ports,
			     size_t max);
	void (*announce)(void *ctx, const char *topic, const char *text);
	void *ctx;
};

/* Copies 'opts'. */
struct connect_offers *connect_offers_new(const struct connect_offers_opts *opts);
void connect_offers_free(struct connect_offers *offers); /* Accepts NULL. */

/* To be called about once a second. */
void connect_offers_tick(struct connect_offers *offers, int64_t now_ns,
			 const struct flow_table *flows);

struct connect_offers_counts {
	size_t n_offers, n_ports; /* Now. */
	uint64_t n_full;          /* Times that there was no room for an offer. */
};
struct connect_offers_counts connect_offers_counts(const struct connect_offers *offers);

#endif
