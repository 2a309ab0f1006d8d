/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/profile/series.h"

#include <stdlib.h>

#include "lib/base/alloc.h"

void
series_init(struct series_set *set, size_t n_series, size_t n_buckets)
{
	*set = (struct series_set){ .n_buckets = n_buckets, .n_series = n_series };
	set->ids = xcalloc(n_series ? n_series : 1, sizeof *set->ids);
	set->bytes = xcalloc(n_series * n_buckets + 1, sizeof *set->bytes);
}

void
series_fini(struct series_set *set)
{
	free(set->ids);
	free(set->bytes);
	*set = (struct series_set){ 0 };
}

float *
series_row(const struct series_set *set, size_t s)
{
	return set->bytes + s * set->n_buckets;
}

void
series_mean(const struct series_set *set, float *ret_mean)
{
	for (size_t t = 0; t < set->n_buckets; t++)
		ret_mean[t] = 0;
	for (size_t s = 0; s < set->n_series; s++) {
		const float *row = series_row(set, s);

		for (size_t t = 0; t < set->n_buckets; t++)
			ret_mean[t] += row[t];
	}
	for (size_t t = 0; set->n_series > 1 && t < set->n_buckets; t++)
		ret_mean[t] /= (float)set->n_series;
}

void
series_smooth(const float *x, size_t n, size_t width, float *ret_smooth)
{
	size_t half = width / 2, from = 0, to = 0;
	double sum = 0;

	/* [from, to) is [t - half, t + half] cut to [0, n). */
	for (size_t t = 0; t < n; t++) {
		while (to < n && to <= t + half)
			sum += x[to++];
		while (from + half < t)
			sum -= x[from++];
		ret_smooth[t] = (float)(sum / (double)(to - from));
	}
}
