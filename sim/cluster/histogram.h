/*
 * histogram.h - how often which values above 0 were seen: a histogram whose bins are half a
 * per cent wide, and which knows the mean of each, so that few values stay exact.
 */
#ifndef SIM_CLUSTER_HISTOGRAM_H
#define SIM_CLUSTER_HISTOGRAM_H

#include <stdint.h>

#include "lib/base/vec.h"

struct histogram_bin {
	int32_t number;
	double weight, sum; /* sum: of weight times value. */
};

struct histogram {
	VEC(struct histogram_bin) bins; /* Ascending. */
};

void histogram_fini(struct histogram *spread); /* Accepts a zeroed one. */
void histogram_copy(const struct histogram *spread, struct histogram *ret_copy);

void histogram_add(struct histogram *spread, double value, double weight);
/* All of 'from', times 'scale', in its proportions; 'weight' of it in all. */
void histogram_add_all(struct histogram *spread, const struct histogram *from,
		       double scale, double weight);

double histogram_weight(const struct histogram *spread);
double
histogram_mean(const struct histogram *spread); /* NAN of nothing, as the next. */
/* The smallest value that at least this share is not above, to half a per cent. */
double histogram_quantile(const struct histogram *spread, double share);

#endif
