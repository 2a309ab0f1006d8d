/*
 * gittins.h - the Gittins index of a job by what it has attained, from an empirical
 * distribution of what jobs take: the chance that it ends within 'delta' more, over what
 * it is expected to take of those (Tiresias, NSDI 2019, 3.2).
 */
#ifndef POLICIES_GITTINS_H
#define POLICIES_GITTINS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"

#define GITTINS_MAX_LEARNT 1000 /* The last so many. */

struct gittins {
	VEC(double) sorted; /* What jobs took, ascending. */
	VEC(double) sums;   /* Of the first so many. */
	VEC(double) learnt; /* In the order in which they came, from 'oldest' on. */
	size_t oldest;
	bool is_given; /* Samples were handed in: nothing is learnt. */
};

void gittins_fini(struct gittins *g);
void gittins_give(struct gittins *g, const double *sorted, size_t n);
/* One more job has taken that; the oldest one is forgotten. */
void gittins_learn(struct gittins *g, double took);
/* Higher goes first; 0 past all samples.  'is_rounded': as Tiresias's simulator does. */
double gittins_rank(const struct gittins *g, double attained, double delta,
		    bool is_rounded);

#endif
