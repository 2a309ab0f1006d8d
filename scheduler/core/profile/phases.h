/*
 * phases.h - splits one mean iteration into phases of constant rate.
 *
 * Pure arithmetic on the folded iteration that detect.h makes.
 */
#ifndef SCHEDULER_CORE_PROFILE_PHASES_H
#define SCHEDULER_CORE_PROFILE_PHASES_H

#include <stddef.h>

#include "scheduler/core/profile/profile.h"

/* More pieces than this are not told apart, idle ones included. */
#define PHASES_MAX_PIECES 12

/*
 * Splits x[n] into at most 'max_pieces' pieces of constant value with the least
 * sum of squared errors, where each piece beyond the first costs 'penalty' (in
 * the unit of x squared).  Stores where each piece ends in ret_ends[max_pieces]
 * and returns the number of pieces.  n at least 1.  O(max_pieces * n^2).
 */
size_t phases_split(const double *x, size_t n, size_t max_pieces, double penalty,
		    size_t *ret_ends);

/*
 * Fills the phases of '*profile' from one iteration in steps of 'step_us':
 * fold_bps[n], which may begin anywhere in the iteration.  Pieces below a tenth
 * of the highest are idle and left out; the rest is scaled to carry
 * profile->bytes_per_iteration, and no rate is above 'line_bps' by more than that scaling.
 * The first phase begins at 0, after the longest idle time.
 *
 * Uses period_us and bytes_per_iteration.  Replaces the phases.  Returns the
 * step of the fold at which the first phase begins.
 */
size_t phases_fill(const double *fold_bps, size_t n, int64_t step_us, double line_bps,
		   struct profile *profile);

#endif
