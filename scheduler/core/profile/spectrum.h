/*
 * spectrum.h - autocorrelation and amplitude spectrum of a job's series, pooled.
 *
 * Pooling means that each series counts the same whatever its rate, and that
 * what the ranks have in common (the iteration) adds up while what they have
 * not (noise) does not.  By FFT (kissfft).  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_SPECTRUM_H
#define SCHEDULER_CORE_PROFILE_SPECTRUM_H

#include <stddef.h>

#include "scheduler/core/profile/series.h"

struct spectrum_maker;

struct spectrum {
	size_t n;         /* Buckets that were looked at in one piece. */
	float *acf;       /* Owned.  [n]: r at lag 0 (where it is 1) to n - 1. */
	size_t m;         /* Length of the transform behind 'amplitude'. */
	float *amplitude; /* Owned.  [m / 2 + 1]: at frequency k / m per bucket. */
};

/*
 * Series longer than this many buckets are looked at in pieces, as the period of a
 * job does not stay the same for ever.
 */
#define SPECTRUM_MAX_PIECE 60000

/*
 * Fills 'ret_spectrum'; returns false if no series varies at all.  Series
 * without variance do not count.  O(series * n log n).  Release with
 * spectrum_fini().
 */
bool spectrum_init(const struct series_set *set, struct spectrum *ret_spectrum);
void spectrum_fini(struct spectrum *spectrum); /* Accepts a zeroed one. */

/*
 * The same in steps, for who has other things to do.  A maker keeps its tables from
 * one spectrum to the next.  'set' is borrowed until spectrum_end(), or until another
 * one is begun instead.  Each step, of a series or less, returns whether there are more.
 */
struct spectrum_maker *spectrum_maker_new(void);
void spectrum_maker_free(struct spectrum_maker *maker); /* Accepts NULL. */
void spectrum_begin(struct spectrum_maker *maker, const struct series_set *set);
bool spectrum_step(struct spectrum_maker *maker);
bool spectrum_end(struct spectrum_maker *maker, struct spectrum *ret_spectrum);

#endif
