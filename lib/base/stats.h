/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - means, quantiles, robust estimates and confidence intervals of samples.
 */
#ifndef LIB_BASE_STATS_H
#define LIB_BASE_STATS_H

#include <stddef.h>

/* Mean; 0 of nothing. */
double stats_mean(const double *x, size_t n);
/* Sample standard deviation (n - 1); 0 for fewer than two. */
double stats_sd(const double *x, size_t n);
/* Sorts 'x' ascending in place. */
void stats_sort(double *x, size_t n);
/*
 * The 'p' quantile (0 to 1) of sorted samples, by linear interpolation between
 * closest ranks (type 7 of Hyndman and Fan 1996); 0 of nothing.
 */
double stats_quantile(const double *sorted, size_t n, double p);
/* stats_quantile() at 0.5 of unsorted samples, which it reorders; O(n). */
double stats_median(double *x, size_t n);
/*
 * The median of sorted x[n], n at least 1, as a weighted mean of all samples (Harrell
 * and Davis, "A new distribution-free quantile estimator", 1982; the beta distribution
 * approximated by a normal one): as robust as the median, and less jumpy where few
 * samples lie in the middle.  'n_free' of the samples are independent; fewer spread the
 * weights. '*ret_se' is its standard error by Maritz and Jarrett, "A note on estimating
 * the variance of the sample median" (1978): the standard deviation of x under the same
 * weights.
 */
double stats_harrell_davis(const double *sorted, size_t n, size_t n_free,
			   double *ret_se);
/*
 * The Hodges-Lehmann estimate of location: the median of the means of all pairs.  As
 * robust as a median, and nearly as sharp as the mean for normal samples.  n at least
 * 1; of more than 512 samples only pairs less than 256 apart count.
 */
double stats_hodges_lehmann(const double *x, size_t n);
/*
 * Half width of the 95 % confidence interval of the mean by Student's t; 0 for
 * fewer than two samples.
 */
double stats_ci95(const double *x, size_t n);

#endif
