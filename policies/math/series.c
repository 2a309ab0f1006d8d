/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/math/series.h"

#include <math.h>

static double
mean(const double *x, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / n : 0;
}

/* Sum of products of deviations from 'x_mean' and 'y_mean'. */
static double
products(const double *x, double x_mean, const double *y, double y_mean, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (x[i] - x_mean) * (y[i] - y_mean);
	return sum;
}

double
series_correlation(const double *x, const double *y, uint32_t n)
{
	double x_mean = mean(x, n), y_mean = mean(y, n);
	double xx = products(x, x_mean, x, x_mean, n);
	double yy = products(y, y_mean, y, y_mean, n);

	if (!(xx > 0) || !(yy > 0))
		return NAN;
	return products(x, x_mean, y, y_mean, n) / sqrt(xx * yy);
}

double
series_autocorrelation(const double *x, uint32_t n, uint32_t lag)
{
	double m = mean(x, n), all = products(x, m, x, m, n);

	if (!(all > 0) || lag >= n)
		return NAN;
	return products(x, m, x + lag, m, n - lag) / all;
}

double
series_forecast(const double *x, uint32_t n, uint32_t lag)
{
	uint32_t n_pairs = n > lag ? n - lag : 0;
	double before = mean(x, n_pairs), after = mean(x + (n - n_pairs), n_pairs);
	double all = products(x, before, x, before, n_pairs);

	if (!(all > 0))
		return after;
	return after +
	       products(x, before, x + lag, after, n_pairs) / all * (x[n - 1] - before);
}
