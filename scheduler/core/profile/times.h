/*
 * times.h - how long iterations take, and how much they carry, where they were aligned.
 *
 * The time of an iteration is that from end to end of its traffic (ends.h), in each
 * series by itself: ranks do not end at once.  What is told of all of them together is
 * their median, which is what a program would name.  Under contention iterations are
 * often of two kinds, held up and not, with few between, so that the middle of the order
 * is thin: the median is then the mean of the order statistics with the weights of
 * Harrell and Davis, "A new distribution-free quantile estimator" (1982), the beta
 * distribution taken as a normal one.  It is as robust as the median and jumps less.
 *
 * Where ends are not clear, as in traffic that hardly pauses, or far from the onsets, the period is told by
 * onsets: it is the mean of the middle half of the times over one iteration and over
 * two.  Pure.
 */
#ifndef SCHEDULER_CORE_PROFILE_TIMES_H
#define SCHEDULER_CORE_PROFILE_TIMES_H

#include <stddef.h>

struct alignment;
struct series_set;

struct times {
	double period_ms;    /* Near the median. */
	double period_se_ms; /* Its standard error. */
	double onset_ms;     /* The period by onsets alone. */
	double mean_ms;      /* From onset to onset, */
	double sd_ms;        /* and how much these vary. */
};

/* The alignment has at least 2 onsets.  O(series * buckets). */
void times_measure(const struct series_set *set, const struct alignment *alignment,
		   struct times *ret_times);

/*
 * Bytes of x[n] from onset to onset: the mean of the middle half.  Where a long
 * iteration was taken for two, which happens to one in fifty of contending jobs, the
 * parts do not count.
 */
double times_bytes(const struct alignment *alignment, const float *x, size_t n);

/*
 * The weighted mean of sorted x[n], n at least 1, that is near the median; 'n_free' of
 * them are independent: the more, the fewer in the middle count.  '*ret_se' is its
 * standard error by Maritz and Jarrett, "A note on estimating the variance of the sample
 * median" (1978): the standard deviation of x with the same weights.
 */
double times_middle(const double *sorted, size_t n, size_t n_free, double *ret_se);

#endif
