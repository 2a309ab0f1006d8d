/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_range.h - ports set aside as wire ports
 *
 * A wire port must not be the port of a socket.  The kernel gives no socket a port of
 * net.ipv4.ip_local_reserved_ports by itself, for IPv4 and IPv6, so the range has to be
 * in that list on each host (and in each network namespace) that has flows to move.
 * The list does not stop a program from binding such a port on purpose.
 *
 * The last quarter of the range is not for wire ports, but for sockets of new connections
 * (connect_text.h).  So a wire port is never that of a socket.  Pure.
 */
#ifndef LIB_WIRE_PORT_RANGE_H
#define LIB_WIRE_PORT_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* Below are ports of system services. */
#define PORT_RANGE_MIN 1024

/*
 * Both included, in the host's order; valid if PORT_RANGE_MIN <= first <= last.  Without
 * ports if first > last, which only port_range_connect() returns.
 */
struct port_range {
	uint16_t first, last;
};

/* 'port' is in the network's order. */
bool port_range_has(const struct port_range *range, uint16_t port);

/* Its parts: ports that flows get on the wire, and those of new connections. */
struct port_range port_range_wire(const struct port_range *range);
struct port_range
port_range_connect(const struct port_range *range); /* May be empty. */

/* Reads "61000-61999".  Returns 0, or -EINVAL with 'err' filled. */
int port_range_parse(const char *text, struct port_range *ret_range, struct err *err);

/* Writes the same; returns 'ret_text'. */
#define PORT_RANGE_BYTES 12
const char *port_range_write(const struct port_range *range,
			     char ret_text[PORT_RANGE_BYTES]);

/*
 * Checks that each port of the range is in 'reserved', the text of
 * net.ipv4.ip_local_reserved_ports ("8080,61000-61999").  Returns 0, or with 'err'
 * filled -EADDRNOTAVAIL, with the first port that is missing and a remedy, or -EINVAL
 * if the text is not such a list.  One pass if the list is in order, as the kernel
 * prints it.
 */
int port_range_check(const struct port_range *range, const char *reserved,
		     struct err *err);

#endif
