/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_probe.h - finding the switches that source ports of this host pass
 *
 * Takes orders (lib/wire/probe_text.h), carries out one after the other
 * (probe_rounds.h), with packets of TCP flows that do not arrive (probe_socket.h).  What
 * may be probed is the caller's decision.
 *
 * Works behind one descriptor, which is readable when there is something to do.  One
 * thread.
 */
#ifndef COLLECTOR_PATHS_PATH_PROBE_H
#define COLLECTOR_PATHS_PATH_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/probe_text.h"

struct err;
struct path_probe;

/* Chosen: orders that wait; one takes 0.1 to 20 s. */
#define PATH_PROBE_MAX_ORDERS 64

/* 'done' gets the answer to each order; it may not call path_probe_free(). */
int path_probe_open(void (*done)(void *ctx, const struct probe_message *answer),
		    void *ctx, struct path_probe **ret_probe, struct err *err);
void path_probe_close(struct path_probe *probe); /* Accepts NULL. */

/* Returns 0; -EALREADY if this order waits or is being carried out; or -E2BIG. */
int path_probe_take(struct path_probe *probe, int64_t now_ns,
		    const struct probe_message *order);

/* For poll().  While it is readable, path_probe_step() is to be called. */
int path_probe_fd(const struct path_probe *probe);
void path_probe_step(struct path_probe *probe, int64_t now_ns);

/* A probe with this source port (network's order) is on its way, so its socket has it. */
bool path_probe_has_port(const struct path_probe *probe, uint16_t port);

struct path_probe_stats {
	size_t n_waiting; /* Orders, with the one that is being carried out. */
	uint64_t n_packets, n_found, n_unknown; /* Of ports: their path. */
};

void path_probe_stats(const struct path_probe *probe,
		      struct path_probe_stats *ret_stats);

#endif
