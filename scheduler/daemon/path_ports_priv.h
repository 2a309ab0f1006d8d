/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_ports_priv.h - pairs, ports that were probed, and orders; for path_ports*.c
 */
#ifndef SCHEDULER_DAEMON_PATH_PORTS_PRIV_H
#define SCHEDULER_DAEMON_PATH_PORTS_PRIV_H

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "lib/wire/probe_text.h"
#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

#include "scheduler/daemon/given_ports.h"
#include "scheduler/daemon/path_ports.h"

#define PATH_PORTS_MAX_TRIES 3 /* Orders with the same number. */

struct asked_host;

/* A port that was or is being probed. */
struct known_port {
	uint16_t port; /* Network's order. */
	bool is_asked; /* The answer is missing. */
	bool is_known; /* 'switches' has a node for each hop. */
	uint32_t switches[PROBE_MAX_HOPS];
};

/* What ports are for. */
enum port_use {
	USE_WIRE,
	USE_CONNECT,
	N_USES,
};

/* Source address, destination address and destination port, with their ports. */
struct pair {
	UT_hash_handle hh;
	struct port_flow key; /* Its source port is an enum port_use. */
	size_t n_switches;    /* Of the paths that are looked for. */
	uint8_t hops[PROBE_MAX_HOPS];
	size_t n_hops;
	VEC(struct known_port) ports;
	unsigned n_passed;  /* Ports of the range that were asked for. */
	int64_t since_ns;   /* Of its creation. */
	uint64_t number;    /* Of the last order. */
	unsigned n_tries;   /* Orders sent with this number; 0: none waits. */
	int64_t sent_ns;    /* Of the last of them. */
	int64_t useless_ns; /* When probing was found to be of no use... */
	bool is_useless;    /* ...which is the case until PATH_PORTS_RETRY_NS later. */
};

struct path_ports {
	struct path_ports_options options;
	struct topo *topo;        /* A reference, or NULL. */
	struct pair *pairs;       /* Owned, as the following. */
	struct asked_host *hosts; /* With at least one order. */
	struct given_ports given;
	uint64_t last_number;
	struct path_ports_counts counts;
};

/* ---- Pairs (path_ports_pairs.c) ---- */

struct pair *path_ports_find_pair(const struct path_ports *ports,
				  const struct port_flow *flow, enum port_use use);
/* As path_ports_find_pair(), but makes it.  0, -EINVAL, -ENOENT, -E2BIG. */
int path_ports_get_pair(struct path_ports *ports, int64_t now_ns,
			const struct port_flow *flow, enum port_use use,
			size_t n_switches, struct pair **ret_pair);
void path_ports_drop_pair(struct path_ports *ports, struct pair *pair);
void path_ports_drop_pairs(struct path_ports *ports);

struct known_port *path_ports_find_port(const struct pair *pair, uint16_t port);

/* ---- Orders (path_ports_orders.c) ---- */

/* The pair's host has any order; as many as it may have. */
bool path_ports_is_asked(const struct path_ports *ports, const struct pair *pair);
bool path_ports_is_busy(const struct path_ports *ports, const struct pair *pair);

/* Sends the order of the ports whose answer is missing: the first time, or again. */
void path_ports_order(struct path_ports *ports, int64_t now_ns, struct pair *pair);
void path_ports_order_again(struct path_ports *ports, int64_t now_ns,
			    struct pair *pair);
/* The pair's order, if it has one, is over. */
void path_ports_end_order(struct path_ports *ports, struct pair *pair);

/* Probes are of no use until PATH_PORTS_RETRY_NS after this time. */
void path_ports_give_up(struct path_ports *ports, struct pair *pair, int64_t since_ns);
/* Probes are of no use now. */
bool path_ports_is_resting(struct pair *pair, int64_t now_ns);

#endif
