/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port_translate.h - maps of the programs that move a TCP flow to another ECMP path
 *
 * Switches choose among equally short paths by a hash of a packet's addresses and
 * ports.  The sender's egress program replaces the source port of a flow by a *wire
 * port*, and the receiver's ingress program restores the true one.  Both TCP stacks see
 * the same connection all the time, so a running flow changes its path without a
 * reconnect.
 *
 * Example: host A has the connection A:41000 to B:5001, wire port 60007; host B uses
 * wire port 60031 for its packets to A.  Each direction is a flow of its own with its
 * own entries, and is translated or not independently of the other:
 *
 *	what			A's stack	the wire	B's stack
 *	data from A to B	A:41000>B:5001	A:60007>B:5001	A:41000>B:5001
 *	ACKs from B to A	B:5001>A:41000	B:60031>A:41000	B:5001>A:41000
 *
 *	map	on	key				port
 *	out	A	A:41000 > B:5001		60007
 *	in	B	A:60007 > B:5001		41000
 *	out	B	B:5001 > A:41000		60031
 *	in	A	B:60031 > A:41000		5001
 *
 * Only the source port is replaced.  B's stack never sees 60007, so it addresses its
 * ACKs to 41000; they need no entry to arrive.  A packet with the true port on the wire
 * is always right: the receiver passes what it has no entry for.  The one dangerous
 * state is an entry in 'out' without its twin in 'in' at the other host;
 * collector/paths excludes it.
 *
 * What is translated: TCP over IPv4 with DF set and over IPv6 without extension
 * headers, with up to two VLAN tags.  Fragments pass untouched on both sides; the DF
 * bit makes sure that no router makes fragments of a translated packet.  Ports are not
 * part of TCP's pseudo header, so the checksum is updated by the difference, which is
 * right with and without checksum offload, and for large segments (GSO, GRO).
 *
 * What else sees which port:
 * - Netfilter, sockets and TCP's MD5 signatures see the true port on both hosts.
 *   Captures (AF_PACKET) see the wire port on both hosts.
 * - ICMP errors quote the wire port, so the sender's stack ignores them.  The paths of
 *   a fabric must therefore have one MTU.
 * - NAT and stateful firewalls between the hosts would drop a flow that moves.
 * - skb->hash stays as it was: queue selection, fq, RFS and counts of flows depend on
 *   it.  A veth pair carries it to the next namespace, where ECMP would take it instead
 *   of the ports; a laboratory has to clear it between host and switch.
 *
 * Order at the hooks: 'in' runs first at ingress, 'out' last at egress, so that other
 * programs see true ports.  The counting programs (flow.bpf.c) need this at ingress,
 * where they look up a packet's socket; at egress they use the socket itself.
 */
#ifndef BPF_PORT_TRANSLATE_H
#define BPF_PORT_TRANSLATE_H

#include <linux/types.h>

/* Flows in one direction.  A moving flow has two entries at its receiver. */
#define PORT_MAX_FLOWS 4096

/* Ports are in the network's order.  IPv4 addresses are mapped: ::ffff:a.b.c.d. */
struct port_flow {
	__u8 source[16], destination[16];
	__be16 source_port, destination_port;
};

struct port_entry {
	__be16 port; /* The source port to write. */
	__u16 unused[3];
	/* Of user space, here because the maps survive it. */
	__u64 number;    /* Of the order: grows with each order for a flow. */
	__s64 retire_ns; /* In 'in': CLOCK_MONOTONIC of its removal; 0: in use. */
};

#endif
