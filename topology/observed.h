/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observed.h - the cabling as nodes report it
 *
 * Every host (and every switch that runs lldpd) can report two things: the state and
 * speed of its ports (netlink), and the neighbor at each port (LLDP).  This module
 * collects the reports of many nodes and reports what changed from one to the next.
 * Pure: how reports arrive (in_lldp.h, links_netlink.h, the service's socket) and how
 * they compare with a plan (diff.h) is elsewhere.
 *
 * Names come from the wire: they are truncated to TOPO_MAX_NAME bytes, and bytes that
 * are not printable become '?'.  A name that a plan cannot have (such as a MAC address)
 * is kept and matches nothing there.
 */
#ifndef TOPOLOGY_OBSERVED_H
#define TOPOLOGY_OBSERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "topology/topo.h"

#define OBSERVED_MAX_NODES      100000
#define OBSERVED_MAX_PORTS      4096      /* Of one node. */
#define OBSERVED_MAX_NEIGHBOURS 16        /* Of one port; a hub has many. */
#define OBSERVED_MAX_ITEMS      (1 << 20) /* Ports and neighbors of all nodes. */

enum observed_state {
	OBSERVED_STATE_UNKNOWN,
	OBSERVED_STATE_UP,
	OBSERVED_STATE_DOWN,
	N_OBSERVED_STATES,
};

/* "unknown", "up", "down"; NULL-terminated. */
extern const char *const observed_state_names[N_OBSERVED_STATES + 1];

/* What a neighbor says of itself. */
enum observed_role {
	OBSERVED_ROLE_UNKNOWN,
	OBSERVED_ROLE_END,    /* It forwards nothing. */
	OBSERVED_ROLE_BRIDGE, /* It bridges or routes, as switches and hosts with
			       * containers do. */
};

/* The port at the other end. */
struct observed_neighbour {
	char node[TOPO_MAX_NAME + 1];  /* System name; without one the chassis id. */
	char port[TOPO_MAX_NAME + 1];  /* Port id. */
	char alias[TOPO_MAX_NAME + 1]; /* Port description; often the name of the
					* interface where the id is its address. */
	double bps;                    /* Reported speed of its port; 0: unknown. */
	enum observed_role role;       /* Not in JSON; ignored by comparisons. */
};

struct observed_port {
	char name[TOPO_MAX_NAME + 1];
	enum observed_state state;
	double bps;                                /* 0: unknown. */
	VEC(struct observed_neighbour) neighbours; /* Sorted, without duplicates. */
};

/* The report of one node. */
struct observed_node {
	char name[TOPO_MAX_NAME + 1];
	bool has_links;        /* It has states and speeds of ports. */
	bool has_neighbours;   /* It has neighbors, possibly none. */
	int64_t heard_us;      /* Of the last report; wall clock. */
	int64_t neighbours_us; /* Of the last one with neighbors; 0: none yet. */
	VEC(struct observed_port) ports; /* Ascending by name. */
};

/* An empty report.  Release with observed_node_fini(). */
void observed_node_init(struct observed_node *node, const char *name);
void observed_node_fini(struct observed_node *node);

/*
 * The port of that name, added if it is new; NULL if there are too many.  Valid
 * until the next call.
 */
struct observed_port *observed_node_port(struct observed_node *node, const char *name);
/* The port of that name, or NULL. */
const struct observed_port *observed_node_find_port(const struct observed_node *node,
						    const char *name);
/* Adds a neighbor, once; 'peer_port' and 'alias' may be NULL.  0 or -E2BIG. */
int observed_port_add(struct observed_port *port, const char *node,
		      const char *peer_port, const char *alias, double bps,
		      enum observed_role role);

/*
 * The most likely name of the neighbor's port: one that its own report 'own' (NULL:
 * none) has, or the description if the id is an address.  Borrowed from 'peer'; empty
 * if it has neither.
 */
const char *observed_peer_port(const struct observed_neighbour *peer,
			       const struct observed_node *own);

/* Copies 'from' as a name, truncated and printable. */
void observed_copy_name(char to[TOPO_MAX_NAME + 1], const char *from);

enum observed_change_kind {
	OBSERVED_LINK_DOWN,
	OBSERVED_LINK_UP,
	OBSERVED_SPEED,     /* Another speed than before; both known. */
	OBSERVED_NEIGHBOUR, /* The far end is another node or port. */
	N_OBSERVED_CHANGES,
};

/* Borrowed by the callback. */
struct observed_change {
	enum observed_change_kind kind;
	const char *node, *port;
	double before_bps, after_bps; /* OBSERVED_SPEED. */
	const struct observed_neighbour *before,
		*after; /* OBSERVED_NEIGHBOUR; NULL: none. */
};

struct observed;

struct observed *observed_new(void);
void observed_free(struct observed *seen); /* Accepts NULL. */

/*
 * Takes over a report, which is empty afterwards and may be released or reused.  Its
 * links or neighbors replace the earlier ones of the node; what it lacks stays as
 * before.  Calls back for each change, except for a node's first report.  Returns 0,
 * -EINVAL for a node without a name, or -E2BIG.
 */
int observed_update(struct observed *seen, struct observed_node *report,
		    void (*changed)(void *ctx, const struct observed_change *change),
		    void *ctx);

/* A number that grows whenever a report changes something. */
uint64_t observed_generation(const struct observed *seen);

/* Nodes in the order in which they first reported. */
size_t observed_n_nodes(const struct observed *seen);
const struct observed_node *observed_node(const struct observed *seen, size_t i);
/* By exact name; NULL if it never reported. */
const struct observed_node *observed_find(const struct observed *seen,
					  const char *name);

/*
 * The plan's node for a reported name: the same name, or else its part before the first
 * dot ("gpu0" for "gpu0.example.org"); or TOPO_NONE.
 */
uint32_t observed_plan_node(const struct topo *plan, const char *name);

#endif
