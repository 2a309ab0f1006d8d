/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phases.h - phases of constant rate in a mean iteration.
 *
 * Works on the fold (mean iteration) that detect.c makes.  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_PHASES_H
#define SCHEDULER_CORE_PROFILE_PHASES_H

#include <stddef.h>

#include "scheduler/core/profile/profile.h"

/* The most pieces of a fold, idle ones included. */
#define PHASES_MAX_PIECES 12

/*
 * Splits x[n] into at most 'max_pieces' pieces of constant value with the least sum of
 * squared errors, where each piece beyond the first costs 'penalty' (in the unit of x
 * squared).  Stores the end of each piece in ret_ends[max_pieces] and returns the
 * number of pieces.  n at least 1.  O(max_pieces * n^2).
 */
size_t phases_split(const double *x, size_t n, size_t max_pieces, double penalty,
		    size_t *ret_ends);

/*
 * Replaces the phases of '*profile' by those of fold_bps[n], one iteration in steps of
 * 'step_us' that may begin anywhere in the iteration.  Pieces below a tenth of the
 * highest are idle and left out; the others are scaled to carry
 * profile->bytes_per_iteration, and exceed 'line_bps' by no more than that scaling.
 * The first phase begins at 0, after the longest idle time.  Uses period_us and
 * bytes_per_iteration.  Returns the step of the fold where the first phase begins.
 */
size_t phases_fill(const double *fold_bps, size_t n, int64_t step_us, double line_bps,
		   struct profile *profile);

#endif
