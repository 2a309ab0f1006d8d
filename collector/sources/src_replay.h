/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_replay.h - a recording as a source
 *
 * Raw frames become bins; packets and the other counts come from the summaries between
 * them.  If the recording has no raw frames, the summaries' totals become counters, one
 * reading per window.
 */
#ifndef COLLECTOR_SOURCES_SRC_REPLAY_H
#define COLLECTOR_SOURCES_SRC_REPLAY_H

#include <stdbool.h>

struct err;
struct source;

struct replay_options {
	const char *file; /* Borrowed until open returns. */
	const char *host; /* The one to replay; NULL: the first, others are an error. */
	/*
	 * Shifted in time to begin at the first poll and played at the recorded pace;
	 * otherwise with recorded times, one frame a poll.
	 */
	bool is_paced;
};

int src_replay_open(const struct replay_options *options, struct source **ret_source,
		    struct err *err);

#endif
