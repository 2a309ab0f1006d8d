/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster/histogram.h"

#include <math.h>
#include <string.h>

#define BIN_WIDTH 0.005

void
histogram_fini(struct histogram *histogram)
{
	vec_free(&histogram->bins);
}

void
histogram_copy(const struct histogram *histogram, struct histogram *ret_copy)
{
	*ret_copy = (struct histogram){ 0 };
	vec_reserve(&ret_copy->bins, histogram->bins.n + 1);
	for (size_t i = 0; i < histogram->bins.n; i++)
		vec_push(&ret_copy->bins, histogram->bins.items[i]);
}

/* The place of the bin, existing or not. */
static size_t
find(const struct histogram *histogram, int32_t number)
{
	size_t from = 0, to = histogram->bins.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (histogram->bins.items[mid].number < number)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

void
histogram_add(struct histogram *histogram, double value, double weight)
{
	int32_t number;
	size_t at;

	if (!(value > 0) || !isfinite(value) || !(weight > 0))
		return;
	number = (int32_t)floor(log(value) / log1p(BIN_WIDTH));
	at = find(histogram, number);
	if (at == histogram->bins.n || histogram->bins.items[at].number != number) {
		vec_push(&histogram->bins, ((struct histogram_bin){ 0 }));
		memmove(histogram->bins.items + at + 1, histogram->bins.items + at,
			(histogram->bins.n - 1 - at) * sizeof *histogram->bins.items);
		histogram->bins.items[at] = (struct histogram_bin){ .number = number };
	}
	histogram->bins.items[at].weight += weight;
	histogram->bins.items[at].sum += weight * value;
}

void
histogram_add_all(struct histogram *histogram, const struct histogram *from,
		  double scale, double weight)
{
	double all = histogram_weight(from);

	for (size_t i = 0; i < from->bins.n; i++) {
		const struct histogram_bin *bin = &from->bins.items[i];

		histogram_add(histogram, scale * bin->sum / bin->weight,
			      weight * bin->weight / all);
	}
}

double
histogram_weight(const struct histogram *histogram)
{
	double sum = 0;

	for (size_t i = 0; i < histogram->bins.n; i++)
		sum += histogram->bins.items[i].weight;
	return sum;
}

double
histogram_mean(const struct histogram *histogram)
{
	double sum = 0, weight = histogram_weight(histogram);

	for (size_t i = 0; i < histogram->bins.n; i++)
		sum += histogram->bins.items[i].sum;
	return weight > 0 ? sum / weight : NAN;
}

double
histogram_quantile(const struct histogram *histogram, double share)
{
	double wanted = share * histogram_weight(histogram) * (1 - 1e-12), sum = 0;

	for (size_t i = 0; i < histogram->bins.n; i++) {
		const struct histogram_bin *bin = &histogram->bins.items[i];

		sum += bin->weight;
		if (sum >= wanted)
			return bin->sum / bin->weight;
	}
	return NAN;
}
