/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_nl.h - NETLINK_RDMA messages: devices and their hardware counters
 *
 * RDMA_NLDEV_CMD_STAT_GET queries the driver each time, whereas the files in
 * hw_counters/ are cached for up to 10 ms.  Builds requests and parses replies as in
 * Linux's include/uapi/rdma/rdma_netlink.h; opens no socket.  Pure.
 */
#ifndef COLLECTOR_SOURCES_RDMA_RDMA_NL_H
#define COLLECTOR_SOURCES_RDMA_RDMA_NL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RDMA_NL_MAX_REQUEST 64
#define RDMA_NL_MAX_NAME    63

/* One counter of a device or of one process. */
struct rdma_nl_counter {
	uint32_t device, port;
	bool has_pid; /* Bound to queue pairs of this process. */
	uint32_t pid, id;
	char name[RDMA_NL_MAX_NAME + 1];
	uint64_t value;
};

struct rdma_nl_handler {
	void *ctx;
	/* Either may be NULL. */
	void (*device)(void *ctx, uint32_t index, const char *name, uint32_t n_ports);
	void (*counter)(void *ctx, const struct rdma_nl_counter *counter);
};

/* Write a request to buffer[RDMA_NL_MAX_REQUEST]; return its length. */
size_t rdma_nl_ask_devices(uint8_t *buffer, uint32_t sequence);
/* All hardware counters of a port. */
size_t rdma_nl_ask_port(uint8_t *buffer, uint32_t sequence, uint32_t device,
			uint32_t port);
/* The counters bound to queue pairs, of all devices. */
size_t rdma_nl_ask_bound(uint8_t *buffer, uint32_t sequence);

/*
 * Parses the messages in bytes[n], except those of another sequence number.  Returns 1
 * if the reply has ended, 0 if more follows, or the negative errno of the kernel;
 * -EBADMSG for a malformed message.
 */
int rdma_nl_parse(const uint8_t *bytes, size_t n, uint32_t sequence,
		  const struct rdma_nl_handler *handler);

#endif
