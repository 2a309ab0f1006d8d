/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gittins.h - the Gittins index of a job by its attained service.
 *
 * From an empirical distribution of job sizes: the probability that the job ends within
 * 'delta' more service, over the service it is expected to use of that (Tiresias, NSDI
 * 2019, section 3.2).
 */
#ifndef POLICIES_GITTINS_H
#define POLICIES_GITTINS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"

#define GITTINS_MAX_LEARNED 1000 /* The distribution is that of the last 1000 jobs. */

struct gittins {
	VEC(double) sorted;  /* Job sizes, ascending. */
	VEC(double) sums;    /* Prefix sums of 'sorted'. */
	VEC(double) learned; /* A ring, in order of arrival; starts at 'oldest'. */
	size_t oldest;
	bool is_given; /* Samples were supplied: nothing is learned. */
};

void gittins_fini(struct gittins *g);
void gittins_give(struct gittins *g, const double *sorted, size_t n);
/* Adds the size of a job that ended; drops the oldest.  O(GITTINS_MAX_LEARNED). */
void gittins_learn(struct gittins *g, double size);
/*
 * The index: higher goes first; 0 beyond all samples.  'is_rounded': rounded as in
 * Tiresias's simulator.  O(log samples).
 */
double gittins_rank(const struct gittins *g, double attained, double delta,
		    bool is_rounded);

#endif
