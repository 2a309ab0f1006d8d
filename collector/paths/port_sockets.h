/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_sockets.h - the TCP sockets of this host, as far as wire ports depend on them
 *
 * Asks the kernel (sock_diag(7)) about the network namespace in which the process runs:
 * connections of containers with a network namespace of their own are not found, and so
 * are never moved.  Needs no privileges.
 */
#ifndef COLLECTOR_PATHS_PORT_SOCKETS_H
#define COLLECTOR_PATHS_PORT_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/port_translate.h"

struct err;
struct port_sockets;

/* Returns 0, or -errno with 'err' filled. */
int port_sockets_open(struct port_sockets **ret_sockets, struct err *err);
void port_sockets_close(struct port_sockets *sockets); /* Accepts NULL. */

/*
 * Finds the socket of a flow (true ports) whose source ('is_sender') or destination is
 * this host, in any state except listening.  Returns 1 and stores the id of its control
 * group, 0 if the kernel does not say; 0 if there is no such socket; or -errno.
 */
int port_sockets_find(struct port_sockets *sockets, const struct port_flow *flow,
		      bool is_sender, uint64_t *ret_cgroup);

/* An established connection, as the flow that this host sends. */
struct port_socket {
	struct port_flow flow;
	uint64_t cgroup; /* 0: unknown. */
	uint64_t bytes;  /* Acknowledged by the other end. */
};

/* Calls back for each.  0 or -errno.  O(sockets), a few ms for 10,000. */
int port_sockets_each(struct port_sockets *sockets,
		      void (*found)(void *ctx, const struct port_socket *socket),
		      void *ctx);

/* True if a socket has this local port (network's order), or if that is unknown. */
bool port_sockets_has_port(uint16_t port);

#endif
