/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair.h - exact excess of two jobs on one link, by their time shift.
 *
 * See overlap.h for the formula.  With n1 and n2 phases there are at most
 * 4 n1 n2 bends; they are sorted and swept twice: O(n1 n2 log(n1 n2)) whatever
 * the periods are, in integers, with no common multiple and no grid.  Two periods that
 * are one but for the error of their measurement count as one: same_period.h.
 */
#ifndef SCHEDULER_CORE_SOLVE_PAIR_H
#define SCHEDULER_CORE_SOLVE_PAIR_H

#include <stdint.h>

struct profile;

/* The demand of a job on a link. */
struct pair_job {
	const struct profile *profile; /* Borrowed. */
	double factor; /* Demand on the link / the profile's rate; above 0. */
};

struct pair_optimum {
	double min_excess_bps;  /* At 'shift_us'. */
	double mean_excess_bps; /* Over all shifts, as with random phases. */
	double score;           /* CASSINI's: 1 - min_excess / capacity. */
	int64_t period_us;      /* gcd: shifts that differ by it are the same. */
	int64_t shift_us;       /* Of 'b' against 'a'; in [0, period). */
	int64_t slack_us;       /* Half width: shift +- slack is equivalent. */
};

/*
 * Finds the shift of 'b' that minimizes the mean excess over 'capacity_bps'.
 * Of several best shifts it is the center of the widest plateau, of several
 * widest ones the first; excesses within 2^-40 of the capacity count as equal.
 * Returns 0, or -EINVAL if the capacity or a factor is not positive.
 */
int pair_optimize(const struct pair_job *a, const struct pair_job *b,
		  double capacity_bps, struct pair_optimum *ret_optimum);

/* The mean excess if 'b' is later by 'shift_us', exactly. */
double pair_excess_bps(const struct pair_job *a, const struct pair_job *b,
		       int64_t shift_us, double capacity_bps);

/*
 * No shift gains more over the mean of all shifts than
 * gcd(Ta,Tb) / 4 * min_j TV_j / T_j, with TV_j the total variation of job j's
 * demand in an iteration (derived and checked for this project).  O(n).  Where
 * it is small against the capacity, shifting is provably worthless.
 */
double pair_gain_bound_bps(const struct pair_job *a, const struct pair_job *b);

#endif
