/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - nonblocking socket from a pacer to the collector of its host.
 *
 * If connecting fails, or the connection ends, it retries when an iteration begins:
 * first LINK_RETRY_NS after the last attempt, then after twice the time for each
 * failure.  So a collector that was away is found again within the same time, and
 * within LINK_MAX_RETRY_NS at most.  A packet that cannot be sent at once is lost and
 * counted; the next packet that is sent reports the count.  Received packets that are
 * not orders are counted and dropped; after LINK_MAX_BAD of them the connection is
 * closed.
 *
 * A program may close descriptors that it does not know and reuse their numbers, so
 * each use first checks that the descriptor is still our socket.
 *
 * No allocation, no output.
 */
#ifndef PACER_LINK_H
#define PACER_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/wire/pace.h"

#define LINK_MAX_PATH   108 /* With terminator; the kernel's limit. */
#define LINK_MAX_ORDERS 16  /* Per call of link_receive(). */
#define LINK_MAX_BAD    64

#define LINK_RETRY_NS     INT64_C(50000000)
#define LINK_MAX_RETRY_NS INT64_C(1000000000)
/* A connection that lasts this long counts as a success. */
#define LINK_STEADY_NS INT64_C(100000000)

struct link {
	int fd; /* -1: not connected. */
	dev_t device;
	ino_t inode; /* The socket's. */
	char path[LINK_MAX_PATH];
	struct pace_hello hello;
	int64_t retry_at_ns, retry_ns; /* Earliest next attempt; current interval. */
	int64_t up_at_ns; /* When the last attempt succeeded; 0: it failed. */
	uint32_t sent, lost, n_connected, n_bad;
	uint32_t n_bad_now; /* For this connection. */
};

/* A path that is too long behaves like one without a listener. */
void link_init(struct link *link, const char *path, const struct pace_hello *hello);
/* In a child of fork(), the parent's connection stays open. */
void link_close(struct link *link);

/* Connects and sends HELLO if an attempt is due; true if it connected. */
bool link_open(struct link *link, int64_t now_ns);

/* Passes on received orders, at most LINK_MAX_ORDERS. */
void link_receive(struct link *link,
		  void (*take)(void *ctx, const struct pace_order *order), void *ctx);

/* Fills in a report's 'lost' and sends it. */
void link_send(struct link *link, struct pace_iteration *iteration);

#endif
