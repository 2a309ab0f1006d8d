/*
 * binner.h - even 1 ms series out of whatever a source can say.
 *
 * One binner keeps one series for each key (interface, job, direction, measure)
 * that it was given, as a ring of the last BINNER_BINS bins, and what is needed for
 * summaries: totals that never go back, the largest bin of the window, gaps.
 *
 * From cumulative counters: the difference of two readings is spread evenly over
 * the time between them, whole bytes only, the remainders carried on, so that the
 * bins of an interval add up to the difference exactly.  A counter that went back
 * has wrapped if its width makes that plausible (the difference modulo 2^bits
 * fits in the interval at twice the capacity, or is below a quarter of the range
 * for an unknown capacity), and was reset otherwise: then what it shows now is
 * counted, and the interval is marked as a gap.  Readings at or before the last one
 * are dropped and counted.
 *
 * From bins: added where they belong; too late for the ring is counted as lost.
 *
 * A bin is a gap, not zero, until the source has said that it is complete; an
 * interval without a reading for longer than BINNER_MAX_SPREAD_NS is a gap.
 *
 * Pure: no clock, no I/O.  O(1) for each bin and reading, O(1) to find a key.
 */
#ifndef COLLECTOR_BINNER_H
#define COLLECTOR_BINNER_H

#include <stddef.h>
#include <stdint.h>

#include "collector/source.h"

struct binner;

#define BINNER_BINS          4096 /* Of a ring: what may be asked for at once. */
#define BINNER_MAX_SPREAD_NS INT64_C(2000000000)
#define BINNER_MAX_SERIES    65536

struct binner *binner_new(void);
void binner_free(struct binner *binner); /* Accepts NULL. */

/* For wrap and reset; 0: unknown. */
void binner_set_capacity(struct binner *binner, uint32_t interface,
			 double capacity_bps);

/* What source_sink says, in the same words.  -E2BIG if there are too many keys. */
int binner_counter(struct binner *binner, const struct source_key *key, int64_t time_ns,
		   uint64_t bytes, unsigned bits, const struct source_extra *extra);
int binner_bins(struct binner *binner, const struct source_key *key, int64_t first_ms,
		const uint32_t *bytes, size_t n, const struct source_extra *extra);
void binner_complete(struct binner *binner, uint32_t interface, int64_t until_ms);
void binner_gone(struct binner *binner, uint32_t interface);

/* Adds to the totals of a key what was counted before a restart. */
int binner_resume(struct binner *binner, const struct source_key *key, uint64_t bytes,
		  const struct source_extra *extra);

/*
 * Fills the rows of a summary (frame->traffic) for the window of whole bins
 * [from_ms, to_ms), or the series of a raw frame.  Interfaces and jobs are the
 * caller's numbers.  Series that were silent and are old news are left out of raw
 * frames; keys that had no traffic for 'BINNER_FORGET' windows are forgotten.
 */
void binner_summary(struct binner *binner, int64_t from_ms, int64_t to_ms,
		    struct tele_frame *frame);
void binner_raw(struct binner *binner, int64_t from_ms, int64_t to_ms,
		struct tele_frame *frame);

struct binner_counts {
	uint64_t wraps, resets;
	uint64_t backward;  /* Readings dropped as older than the last. */
	uint64_t late_bins; /* Too old for the ring. */
	uint64_t gap_bins;
	uint64_t refused_keys;
};
const struct binner_counts *binner_counts(const struct binner *binner);

#endif
