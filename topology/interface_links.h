/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interface_links.h - the links of the fabric that an interface is the end of
 *
 * Telemetry names a node and one of its interfaces; the plan has links.  The rules, in
 * order:
 *
 *	1. the plan has a cable at a port of exactly that name, or, for an RDMA device
 *	   such as "mlx5_0/1", at a port named as the part before the slash, if the node
 *	   has no other ports of that name;
 *	2. by LLDP: the interface saw a neighbor's port (or was seen by one), and the
 *	   plan has a cable there, or only one cable between the two nodes;
 *	3. the node is a host with only one cable, and LLDP does not place this interface
 *	   at another cable, or another interface at this one.  A plan from Slurm has
 *	   numbers instead of port names, so this rule applies there.
 *
 * Anything else has no link: "lo", or an unknown interface of a host with two cables.
 * The rules also work for ports of switches.
 */
#ifndef TOPOLOGY_INTERFACE_LINKS_H
#define TOPOLOGY_INTERFACE_LINKS_H

#include <stdint.h>

struct observed;
struct topo;

/* Directed links; TOPO_NONE: not known, or that direction does not exist. */
struct topo_interface_links {
	uint32_t tx; /* Out of the interface: "h0:e0>leaf0:p0". */
	uint32_t rx; /* Into it: "leaf0:p0>h0:e0". */
};

/*
 * Finds the links.  'node' is a host's or a switch's name (with or without its domain),
 * 'interface' the node's name for it; 'seen' may be NULL.  O(cables of the node), and
 * by LLDP, if only its neighbor reports, O(all reports): keep the result.
 */
struct topo_interface_links topo_interface_links(const struct topo *topo,
						 const struct observed *seen,
						 const char *node,
						 const char *interface);

#endif
