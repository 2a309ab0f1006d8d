/*
 * spread.h - how often which values above 0 were seen: a histogram whose bins are half a
 * per cent wide, and which knows the mean of each, so that few values stay exact.
 */
#ifndef SIM_CLUSTER_SPREAD_H
#define SIM_CLUSTER_SPREAD_H

#include <stdint.h>

#include "lib/base/vec.h"

struct spread_bin {
	int32_t number;
	double weight, sum; /* sum: of weight times value. */
};

struct spread {
	VEC(struct spread_bin) bins; /* Ascending. */
};

void spread_fini(struct spread *spread); /* Accepts a zeroed one. */
void spread_copy(const struct spread *spread, struct spread *ret_copy);

void spread_add(struct spread *spread, double value, double weight);
/* All of 'from', times 'scale', in its proportions; 'weight' of it in all. */
void spread_add_all(struct spread *spread, const struct spread *from, double scale,
		    double weight);

double spread_weight(const struct spread *spread);
double spread_mean(const struct spread *spread); /* NAN of nothing, as the next. */
/* The smallest value that at least this share is not above, to half a per cent. */
double spread_quantile(const struct spread *spread, double share);

#endif
