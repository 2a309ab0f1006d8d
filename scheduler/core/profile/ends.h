/*
 * ends.h - when each iteration of one series ends.
 *
 * A program's iteration is over when its last transfer is, and the next one begins
 * with computing: from one end of traffic to the next is what the program itself would
 * name its iteration time.  From one beginning of traffic to the next is not: where
 * jobs contend, a transfer that is held up falls into another distance than the
 * computing before it.
 *
 * Iterations of a job carry about the same bytes, however long they take.  So the end of
 * each is looked for where 80 to 120 % of these have passed since the last one, and is
 * where the deepest quiet in that stretch begins.  Neither a transfer that stalls nor one
 * that takes twice as long is then taken for two iterations.  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_ENDS_H
#define SCHEDULER_CORE_PROFILE_ENDS_H

#include <stddef.h>

struct ends {
	size_t n;
	double *at;   /* Owned.  Ascending, in buckets, with fractions. */
	double clear; /* The share of them that a quiet follows that is not far
		       * shorter than most. */
};

/*
 * Finds the ends in x[n]: the one that bucket 'quiet' lies behind, and all after it.
 * 'bytes' is the sum of one iteration.  O(n).  Release with ends_fini().
 */
void ends_init(const float *x, size_t n, size_t quiet, double bytes,
	       struct ends *ret_ends);
void ends_fini(struct ends *ends); /* Accepts a zeroed one. */

#endif
