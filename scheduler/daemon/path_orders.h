/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_orders.h - orders that put live TCP flows on the paths that advice has chosen
 *
 * Advice names a path for each flow of a job between two hosts (advice_path.h).  Hosts
 * report the connections that they have (flow_table.h).  This module joins the two:
 *
 * - A connection belongs to the advised flows from its host to the host that reports its
 *   destination address as a source.  Where advice has several flows between two hosts
 *   (several connections to each peer), a new connection gets the one with the fewest
 *   bytes so far, and keeps it.  One that has a wire port already, from before a start,
 *   gets one whose path this port takes.
 * - The wire port that takes the flow's path is asked for ('find_port', path_ports.h).  A
 *   connection that has it already gets no order; nor does one whose own port takes the
 *   path, because it was chosen when the connection was opened (connect_offers.h).
 * - When the advice is withdrawn, connections that were moved get their own ports back.
 *   Where a job's mode stops being enforce, port_relay.h does that.
 *
 * Left alone are connections to hosts that report none, between hosts that advice does
 * not name, and on the only path between two hosts.
 *
 * Cost of an order: about six messages, and some segments that are sent again because
 * packets on the old and the new path overtake each other.  So there are at most
 * PATH_ORDERS_A_TICK in a tick; how often a plan changes is limited by the advisor
 * ('path_changes').  An order without effect is repeated after PATH_ORDERS_WAIT_NS, then
 * after twice that, and so on up to PATH_ORDERS_REST_NS.
 *
 * After a start, connections that have a wire port keep it until their job has paths
 * again; then those on other paths are moved.  The paths of jobs are stored (persist.h).
 *
 * Pure: time is an argument, input and output are callbacks.  A tick takes O(reported
 * flows), at most about PATH_ORDERS_ROWS of them; the next one goes on from there.
 */
#ifndef SCHEDULER_DAEMON_PATH_ORDERS_H
#define SCHEDULER_DAEMON_PATH_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/port_message.h"
#include "topology/route.h"

struct advice_path;
struct flow_row;
struct flow_table;
struct path_orders;
struct topo;

/* Chosen: 100 orders are 600 messages; a job of 1,000 connections takes 10 s. */
#define PATH_ORDERS_A_TICK 100
/* Chosen: 10,000 jobs of eight connections are read in some 16 s. */
#define PATH_ORDERS_ROWS 5000
/*
 * Chosen: the relay gives an order up after 10 s, and the next report of the host is at
 * most 5 s later.
 */
#define PATH_ORDERS_WAIT_NS INT64_C(20000000000)
#define PATH_ORDERS_REST_NS INT64_C(640000000000)

enum path_wish {
	PATH_WISH_WAIT,   /* Nothing is known now: leave the job's flows as they are. */
	PATH_WISH_OFF,    /* The mode is not enforce: the relay sends flows back. */
	PATH_WISH_NONE,   /* No path is chosen: flows get their own ports back. */
	PATH_WISH_CHOSEN, /* 'paths' are. */
};

struct path_wishes {
	enum path_wish wish;
	const struct advice_path *paths; /* Borrowed until the next change of advice. */
	size_t n_paths;
	uint64_t revision; /* Changes with 'paths'. */
};

struct path_orders_opts {
	/* What is wished for a job, by its name in the reports. */
	struct path_wishes (*wishes)(void *ctx, const char *job);
	/* As path_ports_takes_wire(), _find(), _give() and _release(). */
	int (*takes_wire)(void *ctx, int64_t now_ns, const struct port_flow *flow,
			  const uint32_t *switches, size_t n_switches);
	int (*find_port)(void *ctx, int64_t now_ns, const struct port_flow *flow,
			 const uint32_t *switches, size_t n_switches,
			 uint16_t *ret_port);
	void (*give_port)(void *ctx, const struct port_flow *flow, uint16_t port);
	void (*release_port)(void *ctx, const struct port_flow *flow);
	/* As path_ports_takes_own(). */
	bool (*takes_own)(void *ctx, const struct port_flow *flow,
			  const uint32_t *switches, size_t n_switches);
	/* As port_relay_move(). */
	int (*move)(void *ctx, int64_t now_ns, const char *job,
		    const struct port_flow *flow, uint16_t port);
	void *ctx;
};

/* Copies 'opts'.  Without a fabric there are no orders. */
struct path_orders *path_orders_new(const struct path_orders_opts *opts);
void path_orders_free(struct path_orders *orders); /* Accepts NULL. */

/* The fabric has changed.  Takes a reference to 'topo'; NULL: there is none. */
void path_orders_set_fabric(struct path_orders *orders, struct topo *topo);

/* Gives the orders that are due.  To be called about once a second. */
void path_orders_tick(struct path_orders *orders, int64_t now_ns,
		      const struct flow_table *flows);

/*
 * The paths that advice has chosen for connections of the row's job from 'host' to the
 * row's destination: one for each advised flow, 'max' at most.  Returns their number; 0
 * also if there is only one path.
 */
struct path_switches {
	uint32_t switches[ROUTE_MAX_HOPS];
	size_t n;
};

size_t path_orders_paths(struct path_orders *orders, int64_t now_ns,
			 const struct flow_table *flows, const char *host,
			 const struct flow_row *row, struct path_switches *ret_paths,
			 size_t max);

/* The flow is on its chosen path, as its host has reported. */
bool path_orders_is_settled(const struct path_orders *orders,
			    const struct port_flow *flow);
/* The state of a flow: a word, "" if it has no wish. */
const char *path_orders_state(const struct path_orders *orders,
			      const struct port_flow *flow);

struct path_orders_counts {
	size_t n_wanted;             /* Flows now with a chosen path, */
	size_t n_settled;            /* of these: on it, as their hosts report. */
	uint64_t n_orders, n_undone; /* Orders to take a path, and to leave it. */
	uint64_t n_failed;           /* Orders without effect. */
	uint64_t n_unknown;          /* Times that no port was found for a path. */
};
struct path_orders_counts path_orders_counts(const struct path_orders *orders);

#endif
