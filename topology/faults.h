/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults.h - faults of a fabric, as readers and checks report them
 *
 * A fault is something that a cable plan would not have: hosts that cannot reach each
 * other, a cable with one direction missing or slower, a host with another rate than
 * those beside it, a switch whose uplinks differ from those of the other switches in its
 * tier.
 */
#ifndef TOPOLOGY_FAULTS_H
#define TOPOLOGY_FAULTS_H

#include "lib/base/vec.h"

enum topo_fault_kind {
	TOPO_FAULT_DUPLICATE,   /* Found by the reader: see topo_read_opts. */
	TOPO_FAULT_UNCONNECTED, /* A node without any cable. */
	TOPO_FAULT_NO_LEAF,     /* A host with cables, but none to tier 1. */
	TOPO_FAULT_UNREACHABLE, /* Hosts without a path. */
	TOPO_FAULT_CROSSED,     /* Two cables, probably swapped at one end. */
	TOPO_FAULT_ONE_WAY,     /* A link without the other direction. */
	TOPO_FAULT_UNEVEN,      /* A cable with two capacities. */
	TOPO_FAULT_RATE,        /* A host unlike others at its switch. */
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

void topo_faults_add(struct topo_faults *faults, enum topo_fault_kind kind,
		     const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void topo_faults_fini(struct topo_faults *faults);

#endif
