/*
 * share_types.h - what rules for shares need where GPUs are of several types: a linear
 * program's numbers out of a view (math/shares_types.h).
 */
#ifndef POLICIES_SHARE_TYPES_H
#define POLICIES_SHARE_TYPES_H

#include "lib/base/vec.h"
#include "policies/math/shares_types.h"
#include "policies/view.h"

#define SHARE_TYPES_MOST_JOBS 512 /* The oldest; others have what those leave. */

struct share_types {
	VEC(double) gpus;
	VEC(double) capacity;
	VEC(double) values; /* [jobs x types] Speeds, for a rule to change. */
	struct shares_types in;
};

void share_types_fini(struct share_types *s);
void share_types_read(struct share_types *s, const struct pol_view *view,
		      const uint32_t *ids, uint32_t n);

/* On the whole cluster in turn: the mean of its speeds, by GPUs; above 0. */
double share_types_mean(const struct share_types *s, uint32_t job);

/*
 * What came of a program over the first of 'n' jobs: those behind have nothing; and if
 * r is below 0, as there was no solution, all have the same.
 */
void share_types_end(const struct share_types *s, int r, uint32_t n,
		     double *ret_shares);

/* The same time for each, of each type as many as there are of it. */
void share_types_equal(const struct share_types *s, double *ret_shares);

/*
 * For rules: seconds of its work that a job does in one, on what it asked for; 0: that
 * type is not for it, or has not as many.
 */
double share_speed(const struct pol_view *view, const struct pol_job *job,
		   uint32_t type);
/* On the type on which it is fastest; above 0: 1 where no type is for it alone. */
double share_speed_most(const struct pol_view *view, const struct pol_job *job);

#endif
