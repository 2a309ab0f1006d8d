/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/probe_distance.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/paths/probe_socket.h"

#define UNUSED_PORT 33434 /* As traceroute(8) uses. */
#define MAX_TRIES   3
#define WAIT_MS     1100 /* Linux answers a host once a second, after 6. */

/* Returns 1: a switch answered; 0: none did; -EISCONN: the datagram arrived; -errno. */
static int
probe_hop(const struct port_flow *flow, uint8_t hop)
{
	struct pollfd poll_fd = { .fd = probe_socket_datagram(flow, hop) };
	uint8_t address[16];
	int rc;

	if (poll_fd.fd < 0)
		return poll_fd.fd;
	rc = poll(&poll_fd, 1, WAIT_MS) < 0 ? -errno : 0;
	if (rc == 0)
		rc = probe_socket_read(poll_fd.fd, address);
	close(poll_fd.fd);
	return rc;
}

int
probe_distance(const uint8_t destination[16], unsigned max)
{
	struct port_flow flow = { .destination_port = htons(UNUSED_PORT) };
	int rc = probe_socket_source(destination, flow.destination_port, flow.source);

	if (rc < 0)
		return rc;
	memcpy(flow.destination, destination, sizeof flow.destination);
	for (unsigned hop = 1; hop <= max; hop++) {
		rc = 0;
		for (int i = 0; rc == 0 && i < MAX_TRIES; i++)
			rc = probe_hop(&flow, (uint8_t)hop);
		if (rc != 1)
			return rc < 0 && rc != -EISCONN ? rc : (int)hop - 1;
	}
	return (int)max;
}
