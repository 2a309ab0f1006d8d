#include "sim/cluster/histogram.h"

#include <math.h>
#include <string.h>

#define BIN_WIDTH 0.005

void
histogram_fini(struct histogram *spread)
{
	vec_free(&spread->bins);
}

void
histogram_copy(const struct histogram *spread, struct histogram *ret_copy)
{
	*ret_copy = (struct histogram){ 0 };
	vec_reserve(&ret_copy->bins, spread->bins.n + 1);
	for (size_t i = 0; i < spread->bins.n; i++)
		vec_push(&ret_copy->bins, spread->bins.items[i]);
}

/* Where the bin is, or would be. */
static size_t
find(const struct histogram *spread, int32_t number)
{
	size_t from = 0, to = spread->bins.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (spread->bins.items[mid].number < number)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

void
histogram_add(struct histogram *spread, double value, double weight)
{
	int32_t number;
	size_t at;

	if (!(value > 0) || !isfinite(value) || !(weight > 0))
		return;
	number = (int32_t)floor(log(value) / log1p(BIN_WIDTH));
	at = find(spread, number);
	if (at == spread->bins.n || spread->bins.items[at].number != number) {
		vec_push(&spread->bins, ((struct histogram_bin){ 0 }));
		memmove(spread->bins.items + at + 1, spread->bins.items + at,
			(spread->bins.n - 1 - at) * sizeof *spread->bins.items);
		spread->bins.items[at] = (struct histogram_bin){ .number = number };
	}
	spread->bins.items[at].weight += weight;
	spread->bins.items[at].sum += weight * value;
}

void
histogram_add_all(struct histogram *spread, const struct histogram *from, double scale,
		  double weight)
{
	double all = histogram_weight(from);

	for (size_t i = 0; i < from->bins.n; i++) {
		const struct histogram_bin *bin = &from->bins.items[i];

		histogram_add(spread, scale * bin->sum / bin->weight,
			      weight * bin->weight / all);
	}
}

double
histogram_weight(const struct histogram *spread)
{
	double sum = 0;

	for (size_t i = 0; i < spread->bins.n; i++)
		sum += spread->bins.items[i].weight;
	return sum;
}

double
histogram_mean(const struct histogram *spread)
{
	double sum = 0, weight = histogram_weight(spread);

	for (size_t i = 0; i < spread->bins.n; i++)
		sum += spread->bins.items[i].sum;
	return weight > 0 ? sum / weight : NAN;
}

double
histogram_quantile(const struct histogram *spread, double share)
{
	double wanted = share * histogram_weight(spread) * (1 - 1e-12), sum = 0;

	for (size_t i = 0; i < spread->bins.n; i++) {
		const struct histogram_bin *bin = &spread->bins.items[i];

		sum += bin->weight;
		if (sum >= wanted)
			return bin->sum / bin->weight;
	}
	return NAN;
}
