/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topo.h - the fabric: hosts, switches, and the cables between their ports
 *
 * A snapshot is immutable and reference-counted, so that a reader keeps one while the
 * next is built.  Nodes and links have dense ids from 0, in the order in which the
 * builder got them.  A full-duplex cable is two directed links, one each way, named as
 * on the cable: "leaf1:p3>spine0:p1".
 *
 * Tiers count from the hosts: a host is tier 0, a leaf 1, a spine 2, and so on.
 *
 *	struct topo_builder *b = topo_builder_new("lab");
 *	uint32_t leaf, host;
 *
 *	topo_builder_switch(b, "leaf0", 1, &leaf);
 *	topo_builder_host(b, "h0", 8, &host);
 *	topo_builder_cable(b, host, "p0", leaf, "p0", 50e9, 50e9);
 *	topo = topo_builder_finish(b);
 *
 * Memory and time are linear in nodes and links.
 */
#ifndef TOPOLOGY_TOPO_H
#define TOPOLOGY_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

#define TOPO_NONE      UINT32_MAX /* "No node", "no link". */
#define TOPO_MAX_NODES 1000000
#define TOPO_MAX_LINKS 8000000
#define TOPO_MAX_NAME  63   /* Characters of a node or port name. */
#define TOPO_MAX_SLOTS 1024 /* Of one host. */
#define TOPO_MAX_TIER  16
#define TOPO_MAX_BPS   1e15 /* Of one link. */

enum topo_kind {
	TOPO_HOST,
	TOPO_SWITCH,
};

/*
 * How a switch chooses among several equally short next links.  Where it does not hash,
 * these links act as one: a flow loads each with its share (route.h).
 */
enum topo_balance {
	TOPO_BALANCE_HASH,     /* One link a flow, by a hash (ECMP). */
	TOPO_BALANCE_SPRAY,    /* Packet by packet over all of them. */
	TOPO_BALANCE_ADAPTIVE, /* By their load, packet or flowlet. */
	TOPO_N_BALANCES,
};

/* "hash", "spray", "adaptive"; NULL-terminated. */
extern const char *const topo_balance_names[TOPO_N_BALANCES + 1];

/*
 * How paths are found.  Switch number i is the i-th switch of the fabric, in the order of
 * their ids.
 */
enum topo_method {
	TOPO_UP_DOWN, /* Up the tiers, then down. */
	/*
	 * All switches are of tier 1, in a ring, or a torus of two or three dimensions:
	 * number x + dims[0] * (y + dims[1] * z) is at (x, y, z), and has cables to its
	 * neighbors in each dimension only.
	 */
	TOPO_TORUS,
	/*
	 * All switches are routers of tier 1 in groups of the same size: the first ones
	 * are group 0, and so on.  Paths are minimal, with at most one cable between
	 * groups; or Valiant's, over a third group.
	 */
	TOPO_DRAGONFLY,
	TOPO_N_METHODS,
};

/* "up-down", "torus", "dragonfly"; NULL-terminated. */
extern const char *const topo_method_names[TOPO_N_METHODS + 1];

#define TOPO_MAX_DIMS 3

struct topo_routing {
	enum topo_method method;
	uint32_t n_dims; /* Of a torus: 1 to TOPO_MAX_DIMS; the others are 1. */
	uint32_t dims[TOPO_MAX_DIMS];
	uint32_t n_groups; /* Of a dragonfly, at least 2; else 0. */
	bool is_valiant;   /* Of a dragonfly: not minimal.  Its switches must hash. */
};

struct topo_node {
	const char *name; /* Borrowed from the snapshot; unique in it. */
	enum topo_kind kind;
	uint32_t tier;    /* 0 for hosts. */
	uint32_t n_slots; /* GPUs, or places for workers; 0 for switches. */
	bool is_scale_up; /* A switch of tier 1: see topo_builder_scale_up(). */
};

struct topo_link {
	uint32_t from, to;               /* Node ids. */
	const char *from_port, *to_port; /* Borrowed from the snapshot. */
	uint32_t reverse;                /* The other direction, or TOPO_NONE. */
	double capacity_bps;             /* Above 0. */
};

struct address_table;
struct topo;
struct topo_builder;

/* Building. */

struct topo_builder *topo_builder_new(const char *name);
void topo_builder_free(struct topo_builder *builder); /* Accepts NULL. */

/*
 * Add a node.  Return 0, -EEXIST if the name is taken, -EINVAL if the name is
 * empty, too long or has a character other than letters, digits and "._-/+@",
 * or a number is out of range, -E2BIG if there are too many.
 */
int topo_builder_host(struct topo_builder *builder, const char *name, uint32_t n_slots,
		      uint32_t *ret_node);
int topo_builder_switch(struct topo_builder *builder, const char *name, uint32_t tier,
			uint32_t *ret_node);

/*
 * Says that a switch of tier 1 is the switch of a scale-up domain, as NVSwitches are: its
 * hosts reach each other over it alone, and no other host.  Not in a torus.  Returns 0 or
 * -EINVAL.
 */
int topo_builder_scale_up(struct topo_builder *builder, uint32_t switch_node);

/*
 * Says how the switches of a tier balance; the default is TOPO_BALANCE_HASH.  Returns 0
 * or -EINVAL for a tier that is not 1 to TOPO_MAX_TIER or an unknown balance.
 */
int topo_builder_balance(struct topo_builder *builder, uint32_t tier,
			 enum topo_balance balance);

enum topo_balance topo_builder_tier_balance(const struct topo_builder *builder,
					    uint32_t tier);

/*
 * Says how paths are found, for the switches that are there already; the default is
 * TOPO_UP_DOWN.  topo_routing_check() (routing.h) says what must hold.  Returns 0 or
 * -EINVAL.
 */
int topo_builder_routing(struct topo_builder *builder,
			 const struct topo_routing *routing);

/*
 * Adds an IP address of a switch (lib/base/address.h).  Returns 0, -EINVAL for a node
 * that is no switch, -EEXIST if a node has the address already, or -E2BIG.
 */
int topo_builder_address(struct topo_builder *builder, uint32_t switch_node,
			 const uint8_t address[16]);

/* True for 1 to TOPO_MAX_NAME letters, digits and "._-/+@". */
bool topo_name_is_valid(const char *name);

/*
 * Adds a cable between two ports.  'forth_bps' is the capacity from a to b,
 * 'back_bps' that from b to a; a 0 leaves that direction out, and a later call
 * for the same two ports may add it.  Returns 0, -EEXIST if a port has a cable
 * in that direction already, -EINVAL or -E2BIG.
 */
int topo_builder_cable(struct topo_builder *builder, uint32_t a, const char *a_port,
		       uint32_t b, const char *b_port, double forth_bps,
		       double back_bps);

/* Id of the node of that name, or TOPO_NONE. */
uint32_t topo_builder_find(const struct topo_builder *builder, const char *name);

/* Takes the builder.  Returns a new snapshot with one reference. */
struct topo *topo_builder_finish(struct topo_builder *builder);

/* The snapshot. */

struct topo *topo_ref(struct topo *topo);
void topo_unref(struct topo *topo); /* Accepts NULL. */

const char *topo_name(const struct topo *topo);
uint32_t topo_n_nodes(const struct topo *topo);
uint32_t topo_n_links(const struct topo *topo);
uint32_t topo_n_hosts(const struct topo *topo);
const struct topo_node *topo_node(const struct topo *topo, uint32_t node);
const struct topo_link *topo_link(const struct topo *topo, uint32_t link);

/* How switches of that tier balance; TOPO_BALANCE_HASH for a tier without any. */
enum topo_balance topo_balance(const struct topo *topo, uint32_t tier);

/* Borrowed. */
const struct topo_routing *topo_routing(const struct topo *topo);

/* The switch that has this IP address, or TOPO_NONE. */
uint32_t topo_find_address(const struct topo *topo, const uint8_t address[16]);
/* The addresses of all switches.  Borrowed. */
const struct address_table *topo_addresses(const struct topo *topo);

/* The hosts' node ids, ascending; '*ret_n' of them.  Borrowed. */
const uint32_t *topo_hosts(const struct topo *topo, size_t *ret_n);

/* Index of a host in topo_hosts(); TOPO_NONE if it is not a host. */
uint32_t topo_host_number(const struct topo *topo, uint32_t node);

/* The links out of a node, ascending; '*ret_n' of them.  Borrowed. */
const uint32_t *topo_links_out(const struct topo *topo, uint32_t node, size_t *ret_n);

/*
 * The slowest of the hosts' fastest interfaces, which limits a ring on them: those to
 * scale-up switches if all hosts share one, else the others.  Ignores hosts without
 * links; 0 if no host has links.
 */
double topo_line_bps(const struct topo *topo, const uint32_t *hosts, size_t n);

/* The same nodes and links with the same ids, except for the fabric's name.  O(fabric). */
bool topo_is_same(const struct topo *a, const struct topo *b);
/*
 * A number of what topo_is_same() compares: equal for equal fabrics, and most likely
 * different for others.  O(fabric).
 */
uint64_t topo_digest(const struct topo *topo);

/*
 * A new builder with the nodes of 'topo', which keep their ids, and its links without
 * those left out (NULL: none): link i of it is link 'ret_ids'[i] of 'topo' (room for all;
 * may be NULL).  Without IP addresses.  O(fabric).
 */
struct topo_builder *topo_builder_from(const struct topo *topo, const bool *is_left_out,
				       uint32_t *ret_ids);
/* The same as a new snapshot; free '*ret_ids' with free(). */
struct topo *topo_without(const struct topo *topo, const bool *is_left_out,
			  uint32_t **ret_ids);

/* Id of the node or link of that name, or TOPO_NONE.  O(1) on average. */
uint32_t topo_find_node(const struct topo *topo, const char *name);
uint32_t topo_find_link(const struct topo *topo, const char *name);

/* Appends "leaf1:p3>spine0:p1". */
void topo_link_name(const struct topo *topo, uint32_t link, struct strbuf *out);

/* A scale-up switch that both hosts have links to, or TOPO_NONE. */
uint32_t topo_scale_up_of(const struct topo *topo, uint32_t a, uint32_t b);

/*
 * The leaf of a host: its switch of tier 1 that is no scale-up switch (the one of smallest
 * id, if several), or TOPO_NONE.
 */
uint32_t topo_leaf_of(const struct topo *topo, uint32_t host);

#endif
