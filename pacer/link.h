/*
 * link.h - the socket from a pacer to the collector of its host, on which nobody waits.
 *
 * It is connected without waiting, and if that fails or the collector goes, again no
 * sooner than a second later and only when an iteration begins.  What cannot be sent at
 * once is lost and counted; the next packet that gets through says how many there were.
 * Of what comes, what is no order is counted and dropped; after LINK_MAX_BAD of it the
 * connection is closed as if the collector had gone.
 *
 * A program may close descriptors that it does not know and be given their numbers
 * again: before it is used, the descriptor is looked at whether it still is our socket.
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
#define LINK_RETRY_NS   INT64_C(1000000000)
#define LINK_MAX_ORDERS 16 /* Taken at once. */
#define LINK_MAX_BAD    64

struct link {
	int fd; /* -1: not connected. */
	dev_t device;
	ino_t inode; /* Of the socket. */
	char path[LINK_MAX_PATH];
	struct pace_hello hello;
	int64_t retry_at_ns;
	uint32_t sent, lost, n_connected, n_bad;
	uint32_t n_bad_now; /* Of this connection. */
};

/* A path that is too long is one where nobody listens. */
void link_init(struct link *link, const char *path, const struct pace_hello *hello);
/* Also in a child of fork(), where it stays the parent's. */
void link_close(struct link *link);

/* Connects and says HELLO if it is not, and it is time to; true if it did. */
bool link_open(struct link *link, int64_t now_ns);

/* Hands over the orders that have come, LINK_MAX_ORDERS at most. */
void link_receive(struct link *link,
		  void (*take)(void *ctx, const struct pace_order *order), void *ctx);

/* Sends a report, whose 'lost' is filled in. */
void link_send(struct link *link, struct pace_iteration *iteration);

#endif
