/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * connect_port.h - maps of the programs that give new TCP connections their source port
 *
 * Where it is known beforehand which source port takes a wanted path, a connection can
 * have this port from its first packet on, and needs no translation
 * (port_translate.h).  User space puts such ports into 'offers'; a program at connect()
 * takes one out and binds the socket to it.
 *
 *	jobs	id of a control group > number of its job
 *	offers	job, destination, destination port, index > port
 *	seen	destination, destination port: a connect() that could have had a port
 *
 * An entry of 'offers' is of one use: the program that removes it has the port, and user
 * space puts it back only when no socket has the port any more.  So two connections to
 * one destination never have the same port, also with SO_REUSEADDR, for which bind()
 * would allow it and connect() would fail.
 *
 * Only sockets without a port get one: those of TCP, in the network namespace of the
 * collector, of processes in a control group of 'jobs'.  If bind() fails, the next port
 * is tried, CONNECT_MAX_TRIES in all; without success the kernel chooses, as it does
 * without the programs.  connect() itself is never refused.
 *
 * The programs end with the process that loaded them: nothing is pinned.
 */
#ifndef BPF_CONNECT_PORT_H
#define BPF_CONNECT_PORT_H

#include <linux/types.h>

/* Chosen: ports of a job for a destination. */
#define CONNECT_MAX_PORTS 16
/* Chosen: a bind() takes about a microsecond. */
#define CONNECT_MAX_TRIES 4
/* Chosen: destinations of all jobs of a host, with CONNECT_MAX_PORTS each. */
#define CONNECT_MAX_OFFERS  1024
#define CONNECT_MAX_CGROUPS 16384
/* Chosen: destinations that are remembered, of all processes. */
#define CONNECT_MAX_SEEN 4096
/* Levels of control groups, from the root, in which a job is looked for. */
#define CONNECT_MAX_DEPTH 12

/* IPv4 addresses are mapped: ::ffff:a.b.c.d. */
struct connect_end {
	__u8 address[16];
	__be16 port;
	__u16 unused;
};

struct connect_key {
	struct connect_end to;
	__u32 job;
	__u32 index; /* Below CONNECT_MAX_PORTS; the lowest one is taken first. */
};

struct connect_counts {
	__u64 n_given;  /* Connections that got a port. */
	__u64 n_in_use; /* Times that a port could not be bound. */
};

#endif
