/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binner.h - conversion of counters and bins into even 1 ms series
 *
 * A binner keeps one series per key (interface, job, direction, measure): a ring of the
 * last BINNER_BINS bins, and the values of summaries: totals that never decrease, the
 * largest bin of the window, gaps.
 *
 * Counters: the difference of two readings is spread evenly over the time between them,
 * in whole bytes with carried remainders, so that the bins of an interval add up to the
 * difference exactly.  A counter that decreased has wrapped if its width makes that
 * plausible (the difference modulo 2^bits fits in the interval at twice the capacity,
 * or is below a quarter of the range if the capacity is unknown).  Otherwise it was
 * reset: its new value is counted, and the interval is a gap.  An interval in which a
 * 32-bit counter can have wrapped unseen is a gap too; its difference is still counted.
 * Readings that are not newer than the last one are dropped and counted.
 *
 * Bins: added at their place.  Bins too late for the ring are added to the totals and
 * counted.
 *
 * A bin is a gap, not zero, until the source reports it as complete (for counters:
 * until a reading at or after its end).  An interval without a reading for longer than
 * BINNER_MAX_SPREAD_NS is a gap, and so is the partly observed bin of the first
 * reading.  Totals include everything counted, also in gaps.
 *
 * Memory is bounded: BINNER_MAX_SERIES keys, BINNER_MAX_CHUNKS KB of bins.  Pure: no
 * clock, no I/O.  O(1) per bin, per reading and per look-up of a key.
 */
#ifndef COLLECTOR_SERIES_BINNER_H
#define COLLECTOR_SERIES_BINNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/series/ring.h"
#include "collector/sources/source.h"

struct binner;

#define BINNER_BINS          RING_BINS /* Longest request: 4096. */
#define BINNER_MAX_SPREAD_NS INT64_C(2000000000)
#define BINNER_MAX_SERIES    65536
#define BINNER_MAX_CHUNKS    24576
/* Summaries without traffic after which a job's series is left out of them. */
#define BINNER_FORGET 60

struct binner *binner_new(void);
void binner_free(struct binner *binner); /* Accepts NULL. */

/* For wrap and reset; 0: unknown.  Interfaces below TELE_MAX_INTERFACES. */
void binner_set_capacity(struct binner *binner, uint32_t interface,
			 double capacity_bps);

/*
 * As in source_sink. -E2BIG if there are too many keys (forgotten ones make room),
 * -EINVAL for an interface out of range.
 */
int binner_counter(struct binner *binner, const struct source_key *key, int64_t time_ns,
		   uint64_t bytes, unsigned bits, const struct source_extra *extra);
int binner_bins(struct binner *binner, const struct source_key *key, int64_t first_ms,
		const uint32_t *bytes, size_t n, const struct source_extra *extra);
void binner_complete(struct binner *binner, uint32_t interface, int64_t until_ms);
void binner_gone(struct binner *binner, uint32_t interface);

/* Adds counts from before a restart to the totals of a key. */
int binner_resume(struct binner *binner, const struct source_key *key, uint64_t bytes,
		  const struct source_extra *extra);

/*
 * Fills the rows of a summary (frame->traffic) for the window of whole bins [from_ms,
 * to_ms), or the series of a raw frame; at most BINNER_BINS bins.  Interfaces and jobs
 * have the caller's numbers; rows are in the order in which keys were first seen, those
 * of whole interfaces first.  Request summaries in order of time; each resets the
 * largest backlog and number of flows.  Summaries omit jobs without traffic for
 * BINNER_FORGET summaries; raw frames omit jobs with nothing in the ring.  Their totals
 * continue if they come back, unless the table of keys was full in the meantime.
 */
void binner_summary(struct binner *binner, int64_t from_ms, int64_t to_ms,
		    struct tele_frame *frame);
void binner_raw(struct binner *binner, int64_t from_ms, int64_t to_ms,
		struct tele_frame *frame);

/*
 * The totals of series 'i' of binner_n_series(), to save over a restart; false if there
 * is none at that index.
 */
size_t binner_n_series(const struct binner *binner);
bool binner_total(const struct binner *binner, size_t i, struct source_key *ret_key,
		  uint64_t *ret_bytes, struct source_extra *ret_extra);

struct binner_counts {
	uint64_t wraps, resets;
	uint64_t backward;     /* Readings dropped as not newer than the last. */
	uint64_t late_bins;    /* Too old for the ring. */
	uint64_t gap_bins;     /* In the summaries so far. */
	uint64_t refused_keys; /* Calls for keys without room. */
	uint64_t evicted_keys; /* Forgotten series that made room. */
	uint64_t starved_bins; /* Gaps for want of memory. */
	uint64_t unsent;       /* Rows or series beyond the room of a frame. */
};
const struct binner_counts *binner_counts(const struct binner *binner);

#endif
