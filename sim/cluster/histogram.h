/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.h - a weighted histogram of values above 0, with bins of half a percent.
 *
 * Each bin keeps the mean of its values, so that few distinct values stay exact.
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

void histogram_fini(struct histogram *histogram); /* Accepts a zeroed one. */
void histogram_copy(const struct histogram *histogram, struct histogram *ret_copy);

void histogram_add(struct histogram *histogram, double value, double weight);
/* Adds all values of 'from' times 'scale', with 'weight' as their total weight. */
void histogram_add_all(struct histogram *histogram, const struct histogram *from,
		       double scale, double weight);

double histogram_weight(const struct histogram *histogram);
double
histogram_mean(const struct histogram *histogram); /* NAN if empty, as the next. */
/* The smallest value at or above the share of the weight, to half a percent. */
double histogram_quantile(const struct histogram *histogram, double share);

#endif
