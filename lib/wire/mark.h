/*
 * mark.h - one collective, from whoever saw it to the collector of its host: a small
 * datagram on a Unix socket.
 *
 * Senders are antiphase-marks, which sees MPI and gloo from outside, and the NCCL
 * profiler plugin, which runs inside a job.  So this is as little as possible: no
 * allocation, no waiting, no output, nothing of ours but these two files.  What
 * cannot be sent (no collector, its queue full: net.unix.max_dgram_qlen, by default
 * 10 datagrams) is dropped and counted, and the next datagram that gets through says
 * how many there were.
 *
 * All fields are little endian, at the offsets in mark.c.  Whose collective it was
 * is known from the sender's credentials, unless the sender is one that may speak
 * for others: see collector/marks_in.h.
 */
#ifndef LIB_WIRE_MARK_H
#define LIB_WIRE_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MARK_BYTES        48
#define MARK_VERSION      1
#define MARK_DEFAULT_PATH "/run/antiphase/marks.sock"
#define MARK_PATH_ENV     "ANTIPHASE_MARKS"
#define MARK_MAX_PATH     108 /* With its terminator; of the kernel. */

struct mark {
	uint8_t source;           /* enum tele_mark_source. */
	bool is_launch;           /* It was only enqueued then. */
	uint32_t pid;             /* 0: the sender's own. */
	int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; equal if one is known. */
	uint64_t bytes;           /* Of the message; 0: unknown. */
	uint64_t lost; /* Marks that this sender had to drop so far; see mark_send(). */
};

void mark_encode(const struct mark *mark, uint8_t ret_bytes[MARK_BYTES]);

/*
 * Returns 0; -EBADMSG for what is no mark or cannot be (it ends before it begins, or
 * after TELE_MAX_NS), -EPROTONOSUPPORT for another version.
 */
int mark_decode(const uint8_t *bytes, size_t n, struct mark *ret_mark);

struct mark_sender {
	int fd; /* -1: could not be made; everything is lost. */
	char path[MARK_MAX_PATH];
	uint64_t sent, lost;
};

/*
 * Gets ready to send to 'path'; NULL: what $ANTIPHASE_MARKS says, or the default.
 * Returns 0 or -errno; after an error the sender may be used, but all is lost.
 */
int mark_sender_init(struct mark_sender *sender, const char *path);
void mark_sender_fini(struct mark_sender *sender);

/*
 * Sends without waiting; 'mark->lost' is what was lost before, plus the sender's own
 * count.  Returns 0 or -errno, then counted in 'sender->lost'.
 */
int mark_send(struct mark_sender *sender, const struct mark *mark);

#endif
