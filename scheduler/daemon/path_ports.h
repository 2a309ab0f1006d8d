/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_ports.h - which source port takes which path, as probes of the hosts found it
 *
 * The hash of switches is not known in general.  So the source host of a flow probes:
 * it sends packets with the flow's addresses and destination port, a wire port as the
 * source port, and a small hop limit; the switches that answer are the path of this
 * port (lib/wire/probe_text.h, collector/paths/path_probe.h).  This module orders the
 * probes, a few ports at a time, keeps the answers by source address, destination
 * address and destination port, and gives each wire port to one flow only.
 *
 * Ports of new connections (port_range_connect()) are probed likewise, and kept apart:
 * path_ports_connect() lists them, and gives them to none.
 *
 * Addresses of switches come from the fabric (topo_find_address()).  A switch without
 * addresses in the fabric, or one that does not answer, is never taken to be on a path:
 * "not known" is an answer.
 *
 * The port that a flow has already is probed first, by itself and up to three times:
 * otherwise a lost answer would give it another port for the same path.
 *
 * Answers are kept until path_ports_forget() or for PATH_PORTS_KEEP_NS.  Pure: time is
 * an argument, output a callback.  O(ports of the pair) a call.
 */
#ifndef SCHEDULER_DAEMON_PATH_PORTS_H
#define SCHEDULER_DAEMON_PATH_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/port_message.h"
#include "lib/wire/port_range.h"

struct err;
struct path_ports;
struct topo;

/*
 * Chosen: ports of one order.  A Linux router answers 6 packets of a host at once and then
 * one a second, so with two paths most orders are answered at once.
 */
#define PATH_PORTS_BATCH 8
/*
 * Chosen: ports that are probed for two addresses and a destination port.  With 32 paths
 * one of them is missed in 2 % of cases: (31/32)^128.
 */
#define PATH_PORTS_MAX_PROBED 128
/* Chosen: a route may change without a change of the fabric that we are told of. */
#define PATH_PORTS_KEEP_NS INT64_C(3600000000000)
/*
 * Chosen: without an answer the order is repeated after this time; 8 ports take 4 s at
 * most (collector/paths/path_probe.h).  Three orders are sent.
 */
#define PATH_PORTS_WAIT_NS INT64_C(30000000000)
/*
 * Chosen: orders that a host has at a time, which it carries out one by one; others wait
 * here, so that an order that the host has is answered before it is repeated.
 */
#define PATH_PORTS_ORDERS_A_HOST 2
/* Chosen: hosts that did not answer, or whose answer is of no use, are asked again. */
#define PATH_PORTS_RETRY_NS INT64_C(60000000000)

struct path_ports_options {
	/* The wire ports of the host that has this address; false: not known (yet). */
	bool (*range_of)(void *ctx, const uint8_t address[16],
			 struct port_range *ret_range);
	/* Publishes an order for the collector of the source. */
	void (*announce)(void *ctx, const char *topic, const char *text);
	void *ctx;
};

/* Copies 'options'.  Without a fabric (path_ports_forget()) no port is found. */
struct path_ports *path_ports_new(const struct path_ports_options *options);
void path_ports_free(struct path_ports *ports); /* Accepts NULL. */

/*
 * Finds a wire port (network's order) for a flow, which has its true ports, so that its
 * packets pass exactly the 'n_switches' switches (node ids, in the order in which
 * packets pass them), and gives it to the flow.  The flow keeps it until
 * path_ports_release() or a call with other switches that returns 0; the same call
 * again returns the same port.
 *
 * Returns 0.
 * -EAGAIN: probes were asked for; call again in a second.
 * -ENOENT: enough ports were probed and none that is free takes the path; or the host
 *  or the switches do not answer; or there is no fabric.
 * -EINVAL: no switches, or more than PROBE_MAX_HOPS.
 * -E2BIG: too many pairs of addresses.
 */
int path_ports_find(struct path_ports *ports, int64_t now_ns,
		    const struct port_flow *flow, const uint32_t *switches,
		    size_t n_switches, uint16_t *ret_port);

/*
 * Stores up to 'max' ports (network's order) with which new connections to the flow's
 * destination take these switches, and returns their number.  If there are fewer, probes
 * are asked for, but only while no other order waits for the host.  The flow's source
 * port does not matter.
 */
size_t path_ports_connect(struct path_ports *ports, int64_t now_ns,
			  const struct port_flow *flow, const uint32_t *switches,
			  size_t n_switches, uint16_t *ret_ports, size_t max);

/* The flow's own source port is one of those, and is known to take these switches. */
bool path_ports_takes_own(const struct path_ports *ports, const struct port_flow *flow,
			  const uint32_t *switches, size_t n_switches);

/*
 * Whether the wire port that a flow was given takes these switches: 1 or 0; or, as for
 * path_ports_find(), -EAGAIN; -ENOENT: not known.
 */
int path_ports_takes_wire(struct path_ports *ports, int64_t now_ns,
			  const struct port_flow *flow, const uint32_t *switches,
			  size_t n_switches);

/*
 * The flow no longer uses its wire port, so that others may get it.  Call it when the
 * connection has ended, or has its own port back.  Nothing if it has none.
 */
void path_ports_release(struct path_ports *ports, const struct port_flow *flow);

/*
 * Says that a flow has this wire port already, as port_relay_each() tells after a start.
 * Nothing if the flow has one.
 */
void path_ports_give(struct path_ports *ports, const struct port_flow *flow,
		     uint16_t port);

/*
 * Takes a text, terminated, of 'n' bytes, of a collector.  0, or -EINVAL with 'err'
 * filled.  Answers that nothing waits for are ignored.
 */
int path_ports_take(struct path_ports *ports, int64_t now_ns, const char *text,
		    size_t n, struct err *err);

/* To be called about once a second: repeats orders, forgets what is too old. */
void path_ports_tick(struct path_ports *ports, int64_t now_ns);

/*
 * The fabric may have changed: forgets all answers, unless it is the same
 * (topo_is_same()).  Flows keep the ports that they have.
 * Takes a reference to 'topo'; NULL: there is none.
 */
void path_ports_forget(struct path_ports *ports, struct topo *topo);

struct path_ports_counts {
	size_t n_pairs, n_probed,
		n_given;  /* Now: source, destination and port; ports. */
	size_t n_waiting; /* Orders without an answer. */
	uint64_t n_orders, n_answers, n_refused; /* Texts; refused: not valid. */
	/* Probed ports whose path is not known: no answer; an address not in the fabric. */
	uint64_t n_silent, n_unnamed;
	uint64_t n_full; /* Times that there was no room for a pair. */
};
struct path_ports_counts path_ports_counts(const struct path_ports *ports);

#endif
