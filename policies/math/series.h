/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series.h - statistics of evenly sampled series: correlation, autocorrelation, and a
 * first-order forecast.  A series that does not vary has none of them.
 */
#ifndef POLICIES_MATH_SERIES_H
#define POLICIES_MATH_SERIES_H

#include <stdint.h>

/* Pearson's correlation of n samples; NAN if x or y does not vary. */
double series_correlation(const double *x, const double *y, uint32_t n);
/*
 * sum (x_i - m) (x_{i+lag} - m) / sum (x_i - m)^2, with m the mean of all; NAN if x does
 * not vary.
 */
double series_autocorrelation(const double *x, uint32_t n, uint32_t lag);
/*
 * The value 'lag' samples after the last one: mu + phi x_n, with the least squares of
 * x_{i+lag} on x_i.  The mean of the later samples if the earlier ones do not vary.
 */
double series_forecast(const double *x, uint32_t n, uint32_t lag);

#endif
