/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_stats.h - statistics of one link of contention.h, from the series of its jobs in the
 * window, millisecond by millisecond.
 */
#ifndef SCHEDULER_LIVE_LINK_STATS_H
#define SCHEDULER_LIVE_LINK_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "scheduler/live/contention.h"

struct traffic_map_part;

#define BITS_PER_BYTE_MS 8e3 /* 1 byte per ms in bits per second. */

/* The traffic of one job on the link. */
struct track {
	uint32_t job;
	float *bytes;     /* Owned.  [n]. */
	uint64_t *active; /* Owned.  A bit for each millisecond. */
	double sum;
};

struct link_stats {
	const struct live *live;
	const struct contention_opts *opts;
	int64_t from_ms;
	size_t n, n_words; /* Milliseconds of the window; words of a bit set. */
	uint32_t *bins;    /* Scratch, [n]. */
	double *total;     /* [n]: bytes of all. */
	uint8_t *known;    /* [n]. */
	uint8_t *n_active; /* [n]: jobs, at most 255. */
	uint64_t *over;    /* A bit for each millisecond. */
	VEC(struct track) tracks;
	struct contention_link *link; /* Being filled. */
};

/* The caller has set 'live', 'opts', 'from_ms' and 'n'; this makes the rest. */
void link_stats_init(struct link_stats *stats);
void link_stats_fini(struct link_stats *stats);

/*
 * Begins with a link and reads its parts[0 .. n). The total comes from the frames, or
 * is the sum of all parts.
 */
void link_stats_read(struct link_stats *stats, struct contention_link *link,
		     const struct traffic_map_part *parts, size_t n);
void link_stats_drop_track(struct link_stats *stats, size_t i);

/* Fills the link's known_ms and, if that is above 0, its total rates. */
void link_stats_measure_total(struct link_stats *stats);
/* Fills the rest of the link; needs known_ms above 0. */
void link_stats_measure_jobs(struct link_stats *stats);
/* Whether a computed load is above the link's capacity, over 100 ms. */
bool link_stats_is_impossible(const struct link_stats *stats);

#endif
