/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spectrum.h - pooled autocorrelation and amplitude spectrum of a job's series.
 *
 * Pooling gives each series the same weight whatever its rate.  What the ranks have in
 * common (the iteration) adds up; what differs (noise) does not.  By FFT (kissfft).
 * Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_SPECTRUM_H
#define SCHEDULER_CORE_PROFILE_SPECTRUM_H

#include <stddef.h>

#include "scheduler/core/profile/series.h"

struct spectrum_maker;

struct spectrum {
	size_t n;         /* Buckets of a piece. */
	float *acf;       /* Owned.  [n]: r at lag 0 (where it is 1) to n - 1. */
	size_t m;         /* Length of the transform behind 'amplitude'. */
	float *amplitude; /* Owned.  [m / 2 + 1]: at frequency k / m per bucket. */
};

/* Longer series are analyzed in pieces, since a job's period drifts. */
#define SPECTRUM_MAX_PIECE 60000

void spectrum_fini(struct spectrum *spectrum); /* Accepts a zeroed one. */

/*
 * Makes a spectrum in steps of one series or less: spectrum_begin(), spectrum_step()
 * until it returns false, spectrum_end().  A maker keeps its tables from one spectrum
 * to the next. 'set' is borrowed until spectrum_end() or the next spectrum_begin().
 * spectrum_end() returns false if no series varies; those without variance do not
 * count.  O(series * n log n).  Release the spectrum with spectrum_fini().
 */
struct spectrum_maker *spectrum_maker_new(void);
void spectrum_maker_free(struct spectrum_maker *maker); /* Accepts NULL. */
void spectrum_begin(struct spectrum_maker *maker, const struct series_set *set);
bool spectrum_step(struct spectrum_maker *maker);
bool spectrum_end(struct spectrum_maker *maker, struct spectrum *ret_spectrum);

#endif
