/*
 * src_replay.h - a recording, back into the sink it once came out of.
 *
 * Raw frames become bins; their packets and the other counts come from the
 * summaries between them.  Of a recording that has no raw frames the summaries'
 * totals become counters, one reading a window.
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
	 * Moved in time to begin at the first poll and played as fast as it was
	 * recorded; otherwise with its own times, one frame a poll.
	 */
	bool is_paced;
};

int src_replay_open(const struct replay_options *options, struct source **ret_source,
		    struct err *err);

#endif
