/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iteration_times.h - duration and bytes of aligned iterations.
 *
 * The time of an iteration is measured from end to end of its traffic
 * (iteration_ends.h), in each series separately, because ranks do not end at once.  The
 * period is the median of all these times, estimated by Harrell and Davis: contending
 * jobs often have two kinds of iterations, delayed and not, with few between, and the
 * sample median jumps between them.
 *
 * The period is measured by onsets instead where ends are unclear, as in traffic that
 * hardly pauses, or disagree with onsets: it is then the mean of the middle half of the
 * times over one iteration and over two.  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_ITERATION_TIMES_H
#define SCHEDULER_CORE_PROFILE_ITERATION_TIMES_H

#include <stddef.h>

struct alignment;
struct series_set;

struct iteration_times {
	double period_ms;    /* Near the median. */
	double period_se_ms; /* Standard error of the median. */
	double onset_ms;     /* The period by onsets alone. */
	double mean_ms;      /* From onset to onset. */
	double sd_ms;        /* Of the times from onset to onset. */
};

/* The alignment has at least 2 onsets.  O(series * buckets). */
void iteration_times_measure(const struct series_set *set,
			     const struct alignment *alignment,
			     struct iteration_times *ret_times);

/*
 * How far the iterations differ, in bytes of x[n] and in time: the distance from the
 * tenth to the ninetieth hundredth of all, as a share of the median.  What is cut out of
 * a steady flow has bytes in proportion to its time; iterations have the same bytes,
 * however long they take.
 */
struct iteration_spread {
	double bytes, times;
};

void iteration_times_spread(const struct alignment *alignment, const float *x, size_t n,
			    struct iteration_spread *ret_spread);

/*
 * Bytes of x[n] from onset to onset: the mean of the middle half.  The outer quarters
 * hold long iterations that were taken for two, which happens to one in fifty of
 * contending jobs.
 */
double iteration_times_bytes(const struct alignment *alignment, const float *x,
			     size_t n);

#endif
