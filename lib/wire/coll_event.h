/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coll_event.h - one collective, as a small packet to the collector of the host
 *
 * Senders are antiphase-events, which watches MPI and gloo from outside, and the NCCL
 * profiler plug-in, which runs inside a job and so must stay minimal: no allocation, no
 * waiting, no output, and of our code only these two files.  An event that cannot be sent
 * (no collector, or the queue to it is full: some 250 packets by default,
 * net.core.wmem_default) is dropped and counted, and the next packet that gets through
 * reports the count.
 *
 * All fields are little endian, at the offsets in coll_event.c.  The job follows from the
 * sender's process, as the kernel knows it, unless the sender may report for other
 * processes: see collector/jobs/event_socket.h.
 */
#ifndef LIB_WIRE_COLL_EVENT_H
#define LIB_WIRE_COLL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLL_EVENT_BYTES        48
#define COLL_EVENT_VERSION      1
#define COLL_EVENT_DEFAULT_PATH "/run/antiphase/sockets/events.sock"
#define COLL_EVENT_PATH_ENV     "ANTIPHASE_EVENTS"
#define COLL_EVENT_MAX_PATH     108 /* With its terminator; of the kernel. */

struct coll_event {
	uint8_t source;           /* enum tele_event_source. */
	bool is_launch;           /* It was only enqueued then. */
	uint32_t pid;             /* 0: the sender's own. */
	int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; equal if one is known. */
	uint64_t bytes;           /* Of the message; 0: unknown. */
	uint64_t
		lost; /* Events that this sender had to drop so far; see coll_event_send(). */
};

void coll_event_encode(const struct coll_event *event,
		       uint8_t ret_bytes[COLL_EVENT_BYTES]);

/*
 * Returns 0; -EBADMSG for what is no event or cannot be (it ends before it begins, or
 * after TELE_MAX_NS), -EPROTONOSUPPORT for another version.
 */
int coll_event_decode(const uint8_t *bytes, size_t n, struct coll_event *ret_event);

struct coll_event_sender {
	int fd; /* SOCK_SEQPACKET; -1: could not be made. */
	bool is_connected;
	char path[COLL_EVENT_MAX_PATH];
	uint64_t sent, lost;
};

/*
 * Gets ready to send to 'path'; NULL: what $ANTIPHASE_EVENTS says, or the default.
 * Returns 0 or -errno; after an error the sender may be used, but all is lost.
 */
int coll_event_sender_init(struct coll_event_sender *sender, const char *path);
void coll_event_sender_fini(struct coll_event_sender *sender);

/*
 * Sends without waiting; 'event->lost' is what was lost before, plus the sender's own
 * count.  Returns 0 or -errno, then counted in 'sender->lost'.
 */
int coll_event_send(struct coll_event_sender *sender, const struct coll_event *event);

#endif
