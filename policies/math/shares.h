/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shares.h - shares of time on GPUs of one type.
 *
 * n jobs want gpus[j] of 'capacity' GPUs each, as a gang, for a share x[j] of the
 * time:
 *
 *	0 <= x[j] <= 1,   sum gpus[j] x[j] <= capacity
 *
 * Each function finds the best shares by one measure, exactly.  Shares that could grow
 * without changing that measure stay small: shares_spread() hands out the rest.  Pure;
 * gpus[j] and capacity are above 0.
 */
#ifndef POLICIES_MATH_SHARES_H
#define POLICIES_MATH_SHARES_H

#include <stdint.h>

/* Adds the rest, in proportion to each job's room up to a share of 1. */
void shares_spread(const double *gpus, uint32_t n, double capacity, double *x);

/* The same share for each job, whatever its size: capacity / n.  May not fit. */
void shares_equal(uint32_t n, double capacity, double *ret_x);

/* Largest min gpus[j] x[j] / weights[j]; NULL: all weights are 1.  Returns it. */
double shares_max_min(const double *gpus, const double *weights, uint32_t n,
		      double capacity, double *ret_x);

/* Least makespan of the remaining work, in seconds of full time; returns it. */
double shares_makespan(const double *gpus, const double *left_s, uint32_t n,
		       double capacity, double *ret_x);

/*
 * Finish-time fairness: smallest max rho[j], where
 *
 *	rho[j] = (elapsed_s[j] + left_s[j] / x[j]) / isolated_s[j]
 *
 * by bisection, as x[j] falls with rho.  isolated_s[j] above 0.  Returns that rho.
 */
double shares_finish_time(const double *gpus, const double *elapsed_s,
			  const double *left_s, const double *isolated_s, uint32_t n,
			  double capacity, double *ret_x);

/* Largest sum gains[j] x[j]; jobs of equal gain per GPU have equal shares. */
void shares_most(const double *gpus, const double *gains, uint32_t n, double capacity,
		 double *ret_x);

#endif
