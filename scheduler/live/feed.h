/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - frames from all sources: the bus, recordings, standard input.
 *
 * A source is "tcp://HOST:PORT" or "ipc://PATH" (the bus), the name of a recording, or
 * "-" (a recording on standard input). All buses together are one subscription; several
 * recordings are merged by the wall clock time of their frames; at equal times the
 * first source comes first. This is the only part of scheduler/live that does input or
 * output.
 */
#ifndef SCHEDULER_LIVE_FEED_H
#define SCHEDULER_LIVE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/bus.h"

struct err;
struct feed;
struct loop;
struct tele_frame;

#define FEED_MAX_SOURCES 64

/*
 * Opens 'n' sources; none: those of $ANTIPHASE_BUS, divided by commas, or the bus's
 * default endpoint.  'keys' is a directory of keys for the bus, or NULL.  Returns 0
 * or a negative errno with 'err' filled; -EHOSTUNREACH: the host of a bus has no address.
 */
int feed_open(const char *const *sources, size_t n, const char *keys,
	      struct feed **ret_feed, struct err *err);
void feed_close(struct feed *feed); /* Accepts NULL. */

/*
 * Takes the next frame, borrowed until the next call.  Returns 1; 0 if there was
 * none for 'timeout_ns' (buses only); -ENODATA at the end of the last recording;
 * -EINTR after a signal; or another negative errno with 'err' filled.
 */
int feed_next(struct feed *feed, int64_t timeout_ns,
	      const struct tele_frame **ret_frame, struct err *err);

/*
 * Calls 'ready' from 'loop' when a bus may have frames: take them with timeout 0 until
 * there is none. Recordings never wait.
 */
void feed_join(struct feed *feed, struct loop *loop, void (*ready)(void *ctx),
	       void *ctx);

/*
 * Calls 'on_text' during feed_next() for texts of the buses under topics that begin with
 * one of 'prefixes' (bus_sub_on_texts()).  0 or -errno.
 */
int feed_on_texts(struct feed *feed, const char *const *prefixes, bus_text_fn *on_text,
		  void *ctx);

/* Whether any source is a bus, so that frames have no end. */
bool feed_is_live(const struct feed *feed);
/* The sources as given, divided by ", ". */
const char *feed_name(const struct feed *feed);

struct feed_counts {
	uint64_t frames;
	uint64_t gaps, damaged, foreign; /* Of the buses. */
	uint64_t misnamed, duplicates;   /* Likewise; see bus.h. */
	uint64_t skipped_bytes; /* Of recordings: bytes outside whole frames. */
};
struct feed_counts feed_counts(const struct feed *feed);

#endif
