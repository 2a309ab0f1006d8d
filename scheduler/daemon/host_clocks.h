/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_clocks.h - how far the clocks of hosts are ahead of ours, from the frames that come:
 * the one that came soonest shows it best
 *
 * Any sender may invent hosts: HOST_CLOCKS_MAX are followed, and those that are gone are
 * forgotten.  Pure: times are passed in.
 */
#ifndef SCHEDULER_DAEMON_HOST_CLOCKS_H
#define SCHEDULER_DAEMON_HOST_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/live/live.h"

struct host_clocks;
struct tele_frame;

/* Chosen: twice the hosts that live.h keeps. */
#define HOST_CLOCKS_MAX (2 * LIVE_MAX_HOSTS)

/* 'wall_ns' is our wall clock, 'now_ns' our CLOCK_MONOTONIC, in all functions. */
struct host_clocks *host_clocks_new(int64_t wall_ns, int64_t now_ns);
void host_clocks_free(struct host_clocks *clocks); /* Accepts NULL. */

/* A frame has arrived.  A step of a clock, also of ours, begins anew. */
void host_clocks_note(struct host_clocks *clocks, const struct tele_frame *frame,
		      int64_t wall_ns, int64_t now_ns);
/* How far the host is ahead, at least; false: it sent nothing lately. */
bool host_clocks_offset_ns(const struct host_clocks *clocks, const char *host,
			   int64_t now_ns, int64_t *ret_ns);
/* Forgets hosts that have been silent for minutes. */
void host_clocks_forget(struct host_clocks *clocks, int64_t now_ns);
/* Frames of hosts that are not followed, as there are too many. */
uint64_t host_clocks_n_unfollowed(const struct host_clocks *clocks);

#endif
