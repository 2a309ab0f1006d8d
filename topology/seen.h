/*
 * seen.h - the cabling as the nodes themselves see it.
 *
 * Every host (and every switch that runs lldpd) can say two things: the state and
 * the speed of its ports (netlink), and who is at the other end of each (LLDP).
 * Reports of many nodes are gathered here; what changes from one report to the next
 * is told.  Pure: how reports come is left to others (in_lldp.h, links_netlink.h,
 * the service's socket), and so is the comparison with a plan (diff.h).
 *
 * Names come from the wire: they are cut to TOPO_MAX_NAME bytes, and what is not
 * printable is replaced by '?'.  A name that the plan cannot have (a MAC address, say)
 * is kept as it is and matches nothing there.
 */
#ifndef TOPOLOGY_SEEN_H
#define TOPOLOGY_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "topology/topo.h"

#define SEEN_MAX_NODES      100000
#define SEEN_MAX_PORTS      4096      /* Of one node. */
#define SEEN_MAX_NEIGHBOURS 16        /* Of one port; a hub in between shows many. */
#define SEEN_MAX_ITEMS      (1 << 22) /* Ports and neighbours of all nodes together. */

enum seen_state {
	SEEN_STATE_UNKNOWN,
	SEEN_STATE_UP,
	SEEN_STATE_DOWN,
	N_SEEN_STATES,
};

/* "unknown", "up", "down"; NULL-terminated. */
extern const char *const seen_state_names[N_SEEN_STATES + 1];

/* Who is at the other end. */
struct seen_neighbour {
	char node[TOPO_MAX_NAME + 1];  /* System name; without one the chassis id. */
	char port[TOPO_MAX_NAME + 1];  /* Port id. */
	char alias[TOPO_MAX_NAME + 1]; /* Port description; often the name of the
					* interface where the id is its address. */
	double bps;                    /* What it says its port runs at; 0: nothing. */
};

struct seen_port {
	char name[TOPO_MAX_NAME + 1];
	enum seen_state state;
	double bps;                            /* 0: unknown. */
	VEC(struct seen_neighbour) neighbours; /* Sorted; without doubles. */
};

/* What one node said. */
struct seen_node {
	char name[TOPO_MAX_NAME + 1];
	bool has_links;        /* States and speeds of its ports were said. */
	bool has_neighbours;   /* Neighbours were said, if only that there are none. */
	int64_t heard_us;      /* Of the last report; wall clock. */
	int64_t neighbours_us; /* Of the last one with neighbours; 0: none yet. */
	VEC(struct seen_port) ports; /* Ascending by name. */
};

/* A node with nothing said yet.  Release with seen_node_fini(). */
void seen_node_init(struct seen_node *node, const char *name);
void seen_node_fini(struct seen_node *node);

/*
 * The port of that name, added if it is new; NULL if there are too many.  Valid
 * until the next call.
 */
struct seen_port *seen_node_port(struct seen_node *node, const char *name);
/* The port of that name, or NULL. */
const struct seen_port *seen_node_find_port(const struct seen_node *node,
					    const char *name);
/* Adds a neighbour, once; 'peer_port' and 'alias' may be NULL.  0 or -E2BIG. */
int seen_port_add(struct seen_port *port, const char *node, const char *peer_port,
		  const char *alias, double bps);

/* Copies 'from' as a name: cut, and printable. */
void seen_copy_name(char to[TOPO_MAX_NAME + 1], const char *from);

enum seen_change_kind {
	SEEN_LINK_DOWN,
	SEEN_LINK_UP,
	SEEN_SPEED,     /* Another speed than before; both known. */
	SEEN_NEIGHBOUR, /* Another node or port at the other end. */
	N_SEEN_CHANGES,
};

/* Borrowed by the callback. */
struct seen_change {
	enum seen_change_kind kind;
	const char *node, *port;
	double before_bps, after_bps;                /* SEEN_SPEED. */
	const struct seen_neighbour *before, *after; /* SEEN_NEIGHBOUR; NULL: none. */
};

struct seen;

struct seen *seen_new(void);
void seen_free(struct seen *seen); /* Accepts NULL. */

/*
 * Takes over a report, which is empty then and may be released or used anew.  What it
 * says of links or of neighbours replaces what the node said of those before; the
 * other is left as it was.  Each change is told, but not a node's first words.
 * Returns 0, -EINVAL for a node without a name, or -E2BIG.
 */
int seen_update(struct seen *seen, struct seen_node *report,
		void (*changed)(void *ctx, const struct seen_change *change),
		void *ctx);

/* A number that grows whenever a report says something else than before. */
uint64_t seen_generation(const struct seen *seen);

/* Nodes in the order in which they first reported. */
size_t seen_n_nodes(const struct seen *seen);
const struct seen_node *seen_node(const struct seen *seen, size_t i);
/* By exact name; NULL if it never reported. */
const struct seen_node *seen_find(const struct seen *seen, const char *name);

/*
 * The plan's node that a name on the wire means: that very name, or else what is
 * before its first dot ("gpu0" for "gpu0.example.org"); TOPO_NONE.
 */
uint32_t seen_plan_node(const struct topo *plan, const char *name);

#endif
