/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shares_types.h - shares of time on GPUs of several types (Gavel, OSDI 2020).
 *
 * n jobs want gpus[j] GPUs each, as a gang on one type, for shares x[j][t] of the
 * time:
 *
 *	x >= 0,   sum over t of x[j][t] <= 1,   sum over j of gpus[j] x[j][t] <= capacity[t]
 *
 * values[j][t] is the value to a job of all the time on that type; 0: it cannot run
 * there.  Each function finds the best shares by one measure, as a linear program
 * (simplex.h), and among those the ones with the largest sum of values x.  Then the
 * rest goes to all jobs in proportion to their room up to a share of 1, the first type
 * first.  They return 0 or simplex_solve()'s error, -E2BIG for too many jobs.  Pure;
 * gpus and capacities are above 0.
 */
#ifndef POLICIES_MATH_SHARES_TYPES_H
#define POLICIES_MATH_SHARES_TYPES_H

#include <stdint.h>

struct shares_types {
	uint32_t n_jobs, n_types;
	const double *gpus;     /* [n_jobs] */
	const double *capacity; /* [n_types] */
	const double *values;   /* [n_jobs x n_types] */
};

/* Largest min over j of sum values x; jobs that can run nowhere do not count. */
int shares_types_max_min(const struct shares_types *in, double *ret_x);
/* Largest sum of values x. */
int shares_types_most(const struct shares_types *in, double *ret_x);

/*
 * Finish-time fairness: smallest max rho[j], where values are speeds and
 *
 *	rho[j] = (elapsed_s[j] + left_s[j] / sum values x) / isolated_s[j]
 *
 * Alternates between shares and the rho that they give: finds the shares that stay
 * furthest below that rho, until it no longer decreases (Dinkelbach's method for
 * fractions, Management Science 13, 1967). 'ret_rho' may be NULL.
 */
int shares_types_finish_time(const struct shares_types *in, const double *elapsed_s,
			     const double *left_s, const double *isolated_s,
			     double *ret_x, double *ret_rho);

#endif
