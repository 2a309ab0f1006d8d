/* SPDX-License-Identifier: Apache-2.0 */
/* in_ibnet_priv.h - names and tiers of ibnetdiscover's nodes; for in_ibnet*.c */
#ifndef TOPOLOGY_IN_IBNET_PRIV_H
#define TOPOLOGY_IN_IBNET_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct topo_builder;

enum ibnet_kind {
	IBNET_SWITCH,
	IBNET_CA,
	IBNET_ROUTER,
};

struct ibnet_node {
	const char *token; /* Borrowed.  "S-0002c90200000001". */
	enum ibnet_kind kind;
	unsigned line;     /* Line of its block; 0: it has none. */
	char *description; /* Owned.  NULL: none. */
	char *name;        /* Owned.  Name of the switch, or of the adapter's host. */
	char *device;      /* Owned.  Device of an adapter: "mlx5_0". */
	uint32_t tier;     /* Tier of a switch. */
	uint32_t id;       /* In the builder; TOPO_NONE: left out. */
};

/* A cable as one of its ends reports it; nodes by number. */
struct ibnet_cable {
	uint32_t from, to;
	unsigned from_port, to_port;
	unsigned line;
	double bps;
};

void ibnet_node_fini(struct ibnet_node *node);

/*
 * Fills name and device of the nodes from their descriptions.  An adapter described as
 * "HOST DEVICE" (DEVICE such as mlx5_0 or HCA-1) is interface DEVICE of host HOST;
 * adapters of the same host are one node.  "HOST" alone is interface "ca".  A switch
 * "MF0;NAME:MODEL/U1" is named NAME, and a part of a director, "MF0;NAME:MODEL/L01/U1",
 * NAME/L01/U1.  With any other description, or one that two nodes have, a node is named
 * by its token.
 */
void ibnet_name_nodes(struct ibnet_node *nodes, size_t n);

/*
 * Fills the tiers of the switches: 1 for switches with hosts, else one more than the
 * nearest such switch.  A few hosts on a spine, such as storage, do not make it a leaf:
 * a switch with more cables to leaves than to hosts is none; the one with the most such
 * cables is judged first.
 */
void ibnet_find_tiers(struct ibnet_node *nodes, size_t n,
		      const struct ibnet_cable *cables, size_t n_cables);

/* Adds the hosts, in the order of the nodes; fills 'id' of their adapters. */
void ibnet_add_hosts(struct ibnet_node *nodes, size_t n, uint32_t n_slots,
		     struct topo_builder *builder);

/* True for adapters of hosts, not for the aggregation nodes in switches. */
bool ibnet_is_host(const struct ibnet_node *node);

#endif
