/*
 * shares.h - shares of the time of GPUs that are all alike.
 *
 * n jobs want gpus[j] of 'capacity' GPUs each, all at once, for a share x[j] of the time:
 *
 *	0 <= x[j] <= 1,   sum gpus[j] x[j] <= capacity
 *
 * Each function finds the best shares by one measure, exactly.  Where shares could be
 * larger without being worse by that measure, they are left small: shares_spread() gives
 * out what is left.  Pure; gpus[j] and capacity are above 0.
 */
#ifndef POLICIES_MATH_SHARES_H
#define POLICIES_MATH_SHARES_H

#include <stdint.h>

/* To everybody in proportion to the room it has up to all of the time. */
void shares_spread(const double *gpus, uint32_t n, double capacity, double *x);

/* The same for each, whatever its size: what one GPU's part in n is.  May not fit. */
void shares_equal(uint32_t n, double capacity, double *ret_x);

/* Largest min gpus[j] x[j] / weights[j]; NULL: all weigh 1.  Returns it. */
double shares_max_min(const double *gpus, const double *weights, uint32_t n,
		      double capacity, double *ret_x);

/* What is left to do, in seconds of all of the time, as short as can be; returns that. */
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

/* Largest sum gains[j] x[j]; jobs whose GPUs are worth the same have the same share. */
void shares_most(const double *gpus, const double *gains, uint32_t n, double capacity,
		 double *ret_x);

#endif
