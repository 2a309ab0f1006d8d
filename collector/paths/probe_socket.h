/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_socket.h - one packet of a TCP flow that a switch on its path answers
 *
 * A connect() with a small hop limit sends one SYN with the flow's addresses and ports.
 * The switch where the limit ends answers with an ICMP "time exceeded", which the kernel
 * puts into the error queue of the socket (IP_RECVERR): no raw socket, no privileges.
 * traceroute(8) does so with '-M tcpconn'.
 *
 * The caller closes the socket before TCP would send again, which is after a second.
 *
 * A program may own a socket with the same port, as SO_REUSEADDR is set here and there;
 * but not with the same port, destination and destination port.
 */
#ifndef COLLECTOR_PATHS_PROBE_SOCKET_H
#define COLLECTOR_PATHS_PROBE_SOCKET_H

#include <stdint.h>

#include "bpf/port_translate.h"

/*
 * Sends a packet of the flow with this hop limit.  Returns a descriptor, which is to be
 * closed, and that poll() reports (an error, or ready for output) as soon as there is an
 * answer; or -errno.
 */
int probe_socket_send(const struct port_flow *flow, uint8_t hop);

/*
 * The same with a UDP datagram; if it arrives at a port that nothing listens on,
 * probe_socket_read() returns -EISCONN.  Close with close().
 */
int probe_socket_datagram(const struct port_flow *flow, uint8_t hop);

/*
 * Reads the answer.  Returns 1 with the address of the switch; 0 if there is none yet;
 * -EISCONN if the packet arrived at the destination; or another -errno: a host or switch
 * says that the destination cannot be reached.
 */
int probe_socket_read(int fd, uint8_t ret_address[16]);

/*
 * Closes the descriptor.  If the packet arrived, the destination is told at once that
 * there is no connection.
 */
void probe_socket_close(int fd);

/* The address that this host sends from to a destination.  0, or -errno. */
int probe_socket_source(const uint8_t destination[16], uint16_t destination_port,
			uint8_t ret_source[16]);

#endif
