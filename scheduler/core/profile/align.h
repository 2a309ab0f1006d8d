/*
 * align.h - finds where each iteration begins, given about how long one is.
 *
 * A template of one iteration is laid along the series where it fits best, in
 * distances near the period; it is then made anew as the mean of the
 * iterations so found, and so on.  What comes out is each iteration's start,
 * and with it the jitter, which folding at a fixed period would smear.  Pure.
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
			   * from the others only, so that chance gives about 0. */
};

/*
 * Aligns x[n], which repeats about each 'period' buckets.  Fewer than 3 onsets
 * mean that it does not.  O(n * min(period, 512)).  Release with
 * alignment_fini().
 */
void alignment_init(const float *x, size_t n, double period,
		    struct alignment *ret_alignment);
void alignment_fini(struct alignment *alignment); /* Accepts a zeroed one. */

/*
 * The same in steps, for who has other things to do.  'x' is borrowed by aligner_new()
 * alone.  Each step returns whether there are more; aligner_end() frees.
 */
struct aligner;
struct aligner *aligner_new(const float *x, size_t n, double period);
void aligner_free(struct aligner *aligner); /* Accepts NULL. */
bool aligner_step(struct aligner *aligner);
void aligner_end(struct aligner *aligner, struct alignment *ret_alignment);

/*
 * The share of variance that alignment_init() would about get for 'period', at a
 * fraction of its cost; 0 if the traffic does not come back.  Periods are to be
 * compared by this: a multiple of the true one explains no more, a part of it
 * less.
 */
double align_explained(const float *x, size_t n, double period);

/*
 * The Hodges-Lehmann estimate of the middle of x[n]: the median of the means of
 * all pairs.  As robust as a median, and of samples near a normal distribution
 * nearly as sharp as the mean.  n at least 1; of more than 512 values it takes
 * the pairs that are at most 256 apart.
 */
double align_middle(const double *x, size_t n);

#endif
