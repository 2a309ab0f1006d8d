/*
 * attach.h - which links of the fabric an interface is the end of.
 *
 * Telemetry names a node and one of its interfaces; the plan has links.  In this
 * order:
 *
 *	1. the plan has a cable at a port of just that name, or, for an RDMA device
 *	   such as "mlx5_0/1", at one called as what is before the slash, if the node
 *	   has no other ports called so;
 *	2. by LLDP: the interface saw a neighbour's port (or is seen by one), and the
 *	   plan has a cable there, or only one cable between the two nodes;
 *	3. the node is a host and has one cable only, and LLDP does not say that this
 *	   interface is at another one, or that another interface is at this one.
 *	   Ports of a plan from Slurm are numbered, not named, so this is what serves
 *	   there.
 *
 * Nothing else is guessed: "lo" is no end of a cable, and a host with two cables
 * and an interface that nothing is known of has none.  Works for the ports of
 * switches, too.
 */
#ifndef TOPOLOGY_ATTACH_H
#define TOPOLOGY_ATTACH_H

#include <stdint.h>

struct seen;
struct topo;

/* Directed links; TOPO_NONE: not known, or that direction does not exist. */
struct topo_attach {
	uint32_t tx; /* Out of the interface: "h0:e0>leaf0:p0". */
	uint32_t rx; /* Into it: "leaf0:p0>h0:e0". */
};

/*
 * Finds them.  'node' is a host's or a switch's name (with or without its domain),
 * 'interface' what the node calls it; 'seen' may be NULL.  O(cables of the node),
 * and by LLDP, if only its neighbour reports, O(all that was seen): keep the result.
 */
struct topo_attach topo_attach_find(const struct topo *topo, const struct seen *seen,
				    const char *node, const char *interface);

#endif
