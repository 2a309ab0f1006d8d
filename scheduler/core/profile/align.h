/* SPDX-License-Identifier: Apache-2.0 */
/*
 * align.h - onset of each iteration, from an estimate of the period.
 *
 * A template of one iteration is placed along the series where it fits best, at
 * distances near the period.  The mean of the iterations found becomes the next
 * template, and so on. The result is each iteration's onset, and so its jitter, which
 * folding at a fixed period would smear.  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_ALIGN_H
#define SCHEDULER_CORE_PROFILE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>

struct alignment {
	size_t n_onsets;
	double *onsets;   /* Owned.  Ascending, in buckets, with fractions.  Each
			   * lies in the quiet before its iteration's traffic. */
	double explained; /* Share of the series' variance that the mean iteration
			   * explains, at most 1: each iteration is predicted
			   * from the others only, so that noise gives about 0. */
};

void alignment_fini(struct alignment *alignment); /* Accepts a zeroed one. */

/*
 * Aligns x[n], which repeats about every 'period' buckets, in steps of bounded work:
 * aligner_step() until it returns false, then aligner_end(), which frees the aligner.
 * No onsets mean that x does not repeat; otherwise there are at least 3.  'x' is
 * borrowed by aligner_new() alone.  O(n * min(period, 512)).  Release the alignment
 * with alignment_fini().
 */
struct aligner;
struct aligner *aligner_new(const float *x, size_t n, double period);
void aligner_free(struct aligner *aligner); /* Accepts NULL. */
bool aligner_step(struct aligner *aligner);
void aligner_end(struct aligner *aligner, struct alignment *ret_alignment);

/*
 * An estimate of the alignment's 'explained' at a fraction of its cost; 0 if the
 * traffic does not repeat.  Compares periods: a multiple of the true one explains no
 * more, a fraction of it less.
 */
double align_explained(const float *x, size_t n, double period);

#endif
