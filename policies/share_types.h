/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_types.h - share rules on several types of GPUs: the input of a linear program
 * (math/shares_types.h), from a view.
 */
#ifndef POLICIES_SHARE_TYPES_H
#define POLICIES_SHARE_TYPES_H

#include "lib/base/vec.h"
#include "policies/math/shares_types.h"
#include "policies/view.h"

/* Limit: the oldest jobs; the others get the GPUs left over. */
#define SHARE_TYPES_MAX_JOBS 512

struct share_types {
	VEC(double) gpus;
	VEC(double) capacity;
	VEC(double) values; /* [jobs x types] Speeds; a rule may change them. */
	struct shares_types in;
};

void share_types_fini(struct share_types *s);
void share_types_read(struct share_types *s, const struct pol_view *view,
		      const uint32_t *ids, uint32_t n);

/* A job's mean speed over the types, weighted by their GPUs; above 0. */
double share_types_mean(const struct share_types *s, uint32_t job);

/*
 * Completes the shares of 'n' jobs after a program over the first of them: the others
 * get nothing.  If r is below 0 there was no solution, and all get equal shares.
 */
void share_types_end(const struct share_types *s, int r, uint32_t n,
		     double *ret_shares);

/* Gives each job the same time, on each type in proportion to its GPUs. */
void share_types_equal(const struct share_types *s, double *ret_shares);

/*
 * Seconds of its work that a job does in one second with the requested GPUs, of a type;
 * 0: it cannot use that type, or the type has too few GPUs.
 */
double share_speed(const struct pol_view *view, const struct pol_job *job,
		   uint32_t type);
/* The speed on its fastest type; above 0: 1 where no single type suffices. */
double share_speed_most(const struct pol_view *view, const struct pol_job *job);

#endif
