/*
 * check.h - what is wrong with a fabric, and what its tiers can carry.
 *
 * A fault is something that a cable plan would not have: hosts that cannot talk
 * to each other, a cable of which one direction is missing or slower, switches
 * whose uplinks differ from those of the others in their tier.
 */
#ifndef TOPOLOGY_CHECK_H
#define TOPOLOGY_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct topo;
struct routes;

enum topo_fault_kind {
	TOPO_FAULT_DUPLICATE,   /* Found by the reader: see topo_read_opts. */
	TOPO_FAULT_UNCONNECTED, /* A node without any cable. */
	TOPO_FAULT_NO_LEAF,     /* A host with cables, but none to tier 1. */
	TOPO_FAULT_UNREACHABLE, /* Hosts without an up-down path. */
	TOPO_FAULT_ONE_WAY,     /* A link without the other direction. */
	TOPO_FAULT_UNEVEN,      /* A cable with two capacities. */
	TOPO_FAULT_PARALLEL,    /* More cables to a switch above than usual. */
	TOPO_FAULT_UPLINKS,     /* Other capacity up than most of the tier. */
	N_TOPO_FAULTS,
};

/* "duplicate", "unconnected", ...; stable in JSON. */
extern const char *const topo_fault_names[N_TOPO_FAULTS + 1];

struct topo_fault {
	enum topo_fault_kind kind;
	char *text; /* Owned.  A sentence without the kind, no newline. */
};

struct topo_faults {
	VEC(struct topo_fault) list;
};

/*
 * Appends the faults of a fabric, by kind and then by node or link.  'routes'
 * belong to the same fabric.  O(nodes + links), and for reachability O(g^2)
 * for g groups of hosts with the same cabling; beyond 20,000 groups only against
 * the largest of them.
 */
void topo_check(const struct topo *topo, struct routes *routes,
		struct topo_faults *faults);
void topo_faults_add(struct topo_faults *faults, enum topo_fault_kind kind,
		     const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void topo_faults_fini(struct topo_faults *faults);

/* What one tier can carry. */
struct topo_tier {
	uint32_t tier;
	uint32_t n_nodes;
	uint32_t n_cables_up; /* Links to higher tiers. */
	double down_bps;      /* Capacity of links that enter from lower tiers. */
	double up_bps;        /* Capacity of links to higher tiers. */
	double least, most;   /* Oversubscription, down / up, of any one switch
				 * that has both; 0 if none has. */
};

/* Fills 'ret_tiers' (room for TOPO_MAX_TIER + 1) by tier; returns how many. */
size_t topo_tiers(const struct topo *topo, struct topo_tier *ret_tiers);

#endif
