/*
 * stats.h - mean, percentiles and confidence intervals of samples.
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
/* stats_quantile() at 0.5 of what is not sorted, and is left in another order; O(n). */
double stats_median(double *x, size_t n);
/*
 * Half width of the 95 % confidence interval of the mean by Student's t; 0 for
 * fewer than two samples.
 */
double stats_ci95(const double *x, size_t n);

#endif
