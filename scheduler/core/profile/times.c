/*
 * times.c - the distances of ends, or else of onsets.
 */
#include "scheduler/core/profile/times.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/align.h"
#include "scheduler/core/profile/ends.h"
#include "scheduler/core/profile/series.h"

#define MIN_CLEAR 0.9 /* Share of the ends of a series: see ends.h. */
#define MAX_OFF   0.2 /* By ends and by onsets: farther apart, ends are not believed. */

double
times_bytes(const struct alignment *alignment, const float *x, size_t n)
{
	const double *onsets = alignment->onsets;
	size_t n_times = alignment->n_onsets - 1, from = n_times / 4;
	double *bytes = xcalloc(n_times, sizeof *bytes), mean;

	for (size_t k = 0; k < n_times; k++) {
		size_t end = (size_t)lround(onsets[k + 1]);

		for (size_t t = (size_t)lround(fmax(onsets[k], 0)); t < end && t < n;
		     t++)
			bytes[k] += x[t];
	}
	stats_sort(bytes, n_times);
	mean = stats_mean(bytes + from, n_times - 2 * from);
	free(bytes);
	return mean;
}

double
times_middle(const double *sorted, size_t n, size_t n_free, double *ret_se)
{
	/* Of the beta distribution with (n_free + 1) / 2 twice. */
	double sd = 0.5 / sqrt((double)n_free + 2), sum = 0, weights = 0;
	double median = sorted[n / 2], squares = 0;

	for (size_t k = 0; k < n; k++) {
		double off = (((double)k + 0.5) / (double)n - 0.5) / sd;
		double weight = exp(-0.5 * off * off);

		sum += weight * (sorted[k] - median);
		squares += weight * pow(sorted[k] - median, 2);
		weights += weight;
	}
	sum /= weights;
	*ret_se = sqrt(fmax(squares / weights - sum * sum, 0));
	return median + sum;
}

/* The times from end to end in each series whose ends are clear; their number. */
static size_t
by_ends(const struct series_set *set, const struct alignment *alignment,
	double *ret_times)
{
	size_t n = 0, quiet = (size_t)lround(fmax(alignment->onsets[0], 0));

	for (size_t s = 0; s < set->n_series; s++) {
		const float *x = series_row(set, s);
		struct ends ends;

		ends_init(x, set->n_buckets, quiet,
			  times_bytes(alignment, x, set->n_buckets), &ends);
		for (size_t k = 1; ends.clear >= MIN_CLEAR && k < ends.n; k++)
			ret_times[n++] = ends.at[k] - ends.at[k - 1];
		ends_fini(&ends);
	}
	return n;
}

/* The times from onset to onset over 'stride' iterations, of one; their number. */
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

/*
 * An onset that is found late makes one time longer and the next shorter, so that over
 * two iterations it counts half.
 */
static double
middle_half(const struct alignment *alignment, double *times)
{
	size_t n = by_onsets(alignment, 1, times), cut;

	n += by_onsets(alignment, 2, times + n);
	cut = n / 4;
	stats_sort(times, n);
	return stats_mean(times + cut, n - 2 * cut);
}

void
times_measure(const struct series_set *set, const struct alignment *alignment,
	      struct times *ret_times)
{
	size_t n_onsets = alignment->n_onsets, n;
	double middle_ms, se_ms;
	double *times =
		xcalloc(set->n_series * set->n_buckets + 2 * n_onsets, sizeof *times);

	n = by_onsets(alignment, 1, times);
	ret_times->mean_ms = stats_mean(times, n);
	ret_times->sd_ms = stats_sd(times, n);
	stats_sort(times, n);
	times_middle(times, n, n, &ret_times->period_se_ms);
	ret_times->onset_ms = middle_half(alignment, times);
	ret_times->period_ms = ret_times->onset_ms;
	n = by_ends(set, alignment, times);
	if (n > 0) {
		stats_sort(times, n);
		middle_ms = times_middle(times, n, n_onsets - 1, &se_ms);
		if (fabs(middle_ms / ret_times->onset_ms - 1) <= MAX_OFF) {
			ret_times->period_ms = middle_ms;
			/* Two times or one do not say how much they vary. */
			if (n > 2)
				ret_times->period_se_ms = se_ms;
		}
	}
	free(times);
}
