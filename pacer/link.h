/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - the socket from a pacer to the collector of its host; never blocks
 *
 * It connects without waiting.  If that fails, or the connection ends, it retries when an
 * iteration begins: at the earliest LINK_RETRY_NS after the last attempt, and after twice
 * the time for each failure.  So a collector is found again within as much time as it was
 * away, and LINK_MAX_RETRY_NS at most.  A packet that cannot be sent at once is lost and
 * counted; the next packet that gets through reports the count.  Received packets that are
 * not orders are counted and dropped; after LINK_MAX_BAD of them the connection is closed
 * as if the collector had gone.
 *
 * A program may close descriptors that it does not know, and reuse their numbers: before
 * each use, the descriptor is checked to still be our socket.
 *
 * No allocation, no output.
 */
#ifndef PACER_LINK_H
#define PACER_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/wire/pace.h"

#define LINK_MAX_PATH   108 /* With its terminator; of the kernel. */
#define LINK_MAX_ORDERS 16  /* Taken at once. */
#define LINK_MAX_BAD    64

#define LINK_RETRY_NS     INT64_C(50000000)
#define LINK_MAX_RETRY_NS INT64_C(1000000000)
/* A connection that was up for so long was not in vain. */
#define LINK_STEADY_NS INT64_C(100000000)

struct link {
	int fd; /* -1: not connected. */
	dev_t device;
	ino_t inode; /* Of the socket. */
	char path[LINK_MAX_PATH];
	struct pace_hello hello;
	int64_t retry_at_ns, retry_ns; /* Not sooner; and so long after the last. */
	int64_t up_at_ns; /* The last attempt was not in vain; 0: it was. */
	uint32_t sent, lost, n_connected, n_bad;
	uint32_t n_bad_now; /* Of this connection. */
};

/* A path that is too long behaves like one without a listener. */
void link_init(struct link *link, const char *path, const struct pace_hello *hello);
/* Also in a child of fork(), where it stays the parent's. */
void link_close(struct link *link);

/* Connects and sends HELLO if it is time to; true if it did. */
bool link_open(struct link *link, int64_t now_ns);

/* Passes on received orders, at most LINK_MAX_ORDERS. */
void link_receive(struct link *link,
		  void (*take)(void *ctx, const struct pace_order *order), void *ctx);

/* Sends a report, whose 'lost' is filled in. */
void link_send(struct link *link, struct pace_iteration *iteration);

#endif
