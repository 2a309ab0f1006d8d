/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/profile/iteration_times.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/align.h"
#include "scheduler/core/profile/detect_constants.h"
#include "scheduler/core/profile/iteration_ends.h"
#include "scheduler/core/profile/series.h"

/* Mean of the middle half of x[n], which is sorted here. */
static double
middle_half(double *x, size_t n)
{
	size_t cut = n / 4;

	stats_sort(x, n);
	return stats_mean(x + cut, n - 2 * cut);
}

/* The bytes from onset to onset, in a new array. */
static double *
bytes_of(const struct alignment *alignment, const float *x, size_t n)
{
	const double *onsets = alignment->onsets;
	size_t n_times = alignment->n_onsets - 1;
	double *bytes = xcalloc(n_times, sizeof *bytes);

	for (size_t k = 0; k < n_times; k++) {
		size_t end = (size_t)lround(onsets[k + 1]);

		for (size_t t = (size_t)lround(fmax(onsets[k], 0)); t < end && t < n;
		     t++)
			bytes[k] += x[t];
	}
	return bytes;
}

double
iteration_times_bytes(const struct alignment *alignment, const float *x, size_t n)
{
	double *bytes = bytes_of(alignment, x, n);
	double mean = middle_half(bytes, alignment->n_onsets - 1);

	free(bytes);
	return mean;
}

/* Sorts x[n]. */
static double
spread_of(double *x, size_t n)
{
	double median;

	stats_sort(x, n);
	median = stats_quantile(x, n, 0.5);
	return median > 0 ? (stats_quantile(x, n, 0.9) - stats_quantile(x, n, 0.1)) /
				    median
			  : (double)INFINITY;
}

void
iteration_times_spread(const struct alignment *alignment, const float *x, size_t n,
		       struct iteration_spread *ret_spread)
{
	size_t n_times = alignment->n_onsets - 1;
	double *values = bytes_of(alignment, x, n);

	ret_spread->bytes = spread_of(values, n_times);
	for (size_t k = 0; k < n_times; k++)
		values[k] = alignment->onsets[k + 1] - alignment->onsets[k];
	ret_spread->times = spread_of(values, n_times);
	free(values);
}

/* Fills the times from end to end in each series with clear ends; their number. */
static size_t
by_ends(const struct series_set *set, const struct alignment *alignment,
	double *ret_times)
{
	size_t n = 0, quiet = (size_t)lround(fmax(alignment->onsets[0], 0));

	for (size_t s = 0; s < set->n_series; s++) {
		const float *x = series_row(set, s);
		struct iteration_ends ends;

		iteration_ends_init(x, set->n_buckets, quiet,
				    iteration_times_bytes(alignment, x, set->n_buckets),
				    &ends);
		for (size_t k = 1; ends.clear >= MIN_CLEAR && k < ends.n; k++)
			ret_times[n++] = ends.at[k] - ends.at[k - 1];
		iteration_ends_fini(&ends);
	}
	return n;
}

/*
 * Fills times from onset to onset over 'stride' iterations, per iteration; their
 * number.
 */
static size_t
by_onsets(const struct alignment *alignment, size_t stride, double *ret_times)
{
	size_t n = 0;

	for (size_t k = 0; k + stride < alignment->n_onsets; k++)
		ret_times[n++] =
			(alignment->onsets[k + stride] - alignment->onsets[k]) /
			(double)stride;
	return n;
}

void
iteration_times_measure(const struct series_set *set, const struct alignment *alignment,
			struct iteration_times *ret_times)
{
	size_t n_onsets = alignment->n_onsets, n;
	double *times =
		xcalloc(set->n_series * set->n_buckets + 2 * n_onsets, sizeof *times);
	double median_ms, se_ms;

	n = by_onsets(alignment, 1, times);
	ret_times->mean_ms = stats_mean(times, n);
	ret_times->sd_ms = stats_sd(times, n);
	/* A late onset makes one time longer and the next shorter: over two, half. */
	n += by_onsets(alignment, 2, times + n);
	ret_times->onset_ms = middle_half(times, n);
	ret_times->period_ms = ret_times->onset_ms;
	n = by_onsets(alignment, 1, times);
	stats_sort(times, n);
	stats_harrell_davis(times, n, n, &ret_times->period_se_ms);

	n = by_ends(set, alignment, times);
	if (n > 0) {
		stats_sort(times, n);
		/* Series see the same iterations: their times are not independent. */
		median_ms = stats_harrell_davis(times, n, n_onsets - 1, &se_ms);
		if (fabs(median_ms / ret_times->onset_ms - 1) <= MAX_ENDS_OFF) {
			ret_times->period_ms = median_ms;
			/* Fewer than three times do not show how much they vary. */
			if (n > 2)
				ret_times->period_se_ms = se_ms;
		}
	}
	free(times);
}
