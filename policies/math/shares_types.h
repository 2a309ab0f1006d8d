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
 * there.  Each function finds the best shares by one measure, as a linear program.
 * They return 0, -EINVAL, -ERANGE or -ELOOP as simplex_solve(), or -E2BIG for too many
 * jobs.  Pure; gpus are above 0.
 */
#ifndef POLICIES_MATH_SHARES_TYPES_H
#define POLICIES_MATH_SHARES_TYPES_H

#include <stdint.h>

#define SHARES_MOST_CELLS (16u << 20) /* Jobs x types, and types x types. */

struct shares_types {
	uint32_t n_jobs, n_types;
	const double *gpus;     /* [n_jobs] */
	const double *capacity; /* [n_types] */
	const double *values;   /* [n_jobs x n_types] */
};

/*
 * Largest sum of values x, to 1e-10 of the largest value.  Of all optima it is the
 * analytic centre: the one with the largest product of all x and of what is left of
 * time and GPUs, of those that are not 0 in all of them.  So equal jobs get the same,
 * and interior-point solvers, such as ECOS that Gavel's code uses, end close to it.
 * O(jobs x types^2) a step, about 30 steps.
 */
int shares_types_most(const struct shares_types *in, double *ret_x);

/*
 * Largest min over j of sum values x; jobs that can run nowhere do not count.  Among the
 * best shares those with the largest sum of values x (simplex.h).  Then the rest goes to
 * all jobs in proportion to their room up to a share of 1, the first type first.
 */
int shares_types_max_min(const struct shares_types *in, double *ret_x);

/*
 * Finish-time fairness: smallest max rho[j], where values are speeds and
 *
 *	rho[j] = (elapsed_s[j] + left_s[j] / sum values x) / isolated_s[j]
 *
 * Alternates between shares and the rho that they give: finds the shares that stay
 * furthest below that rho, until it no longer decreases (Dinkelbach's method for
 * fractions, Management Science 13, 1967).  The rest as above.  'ret_rho' may be NULL.
 */
int shares_types_finish_time(const struct shares_types *in, const double *elapsed_s,
			     const double *left_s, const double *isolated_s,
			     double *ret_x, double *ret_rho);

#endif
