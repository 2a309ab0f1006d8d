/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iteration_ends.h - when each iteration of one series ends.
 *
 * A program's iteration ends when its last transfer ends; the next one begins with
 * computing.  The time between two ends is therefore what the program itself calls its
 * iteration time.  The time between two onsets of traffic is not: where jobs contend, a
 * delayed transfer counts in another distance than the computing before it.
 *
 * All iterations of a job carry about the same bytes, however long they take.  So the
 * next end is searched where 80 to 120 % of these bytes have passed since the last end,
 * and lies where the deepest quiet of that stretch begins.  A transfer that stalls or
 * takes twice as long is then not taken for two iterations.  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_ITERATION_ENDS_H
#define SCHEDULER_CORE_PROFILE_ITERATION_ENDS_H

#include <stddef.h>

struct iteration_ends {
	size_t n;
	double *at;   /* Owned.  Ascending, in buckets, with fractions. */
	double clear; /* Share of ends followed by a quiet of about the usual length. */
};

/*
 * Finds the ends in x[n], from the one before or at bucket 'quiet' on.  'bytes' is the
 * sum of one iteration.  O(n).  Release with iteration_ends_fini().
 */
void iteration_ends_init(const float *x, size_t n, size_t quiet, double bytes,
			 struct iteration_ends *ret_ends);
void iteration_ends_fini(struct iteration_ends *ends); /* Accepts a zeroed one. */

#endif
