/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_phase.h - mean excess of a link whose jobs have random phases.
 *
 * If every job's phase is independent and uniform, the demands D_j(t) at one
 * moment are independent random variables, each the profile's rates weighted
 * by their durations.  A 'struct random_phase' is the distribution of their sum on
 * one link, and its expected excess
 *
 *	mu = E[max(0, sum_j D_j - C)]
 *
 * is the mean, over all shifts, of the link's mean excess (the mu of the
 * pair formula in pair.h, for any number of jobs).  Where the periods have
 * no useful common measure it is also the excess at every shift.
 *
 * What a shift can gain over mu for a pair of periods T1 and T2 is at most
 *
 *	(g / 4) min(TV_1 / T1, TV_2 / T2),    g = gcd(T1, T2),
 *
 * with TV the total variation of the demand over one iteration: see
 * pair_gain_bound_bps() in solve/pair.h.
 *
 * Sums of at most RANDOM_PHASE_EXACT atoms are exact.  Above that, atoms below the
 * capacity are moved to a grid of RANDOM_PHASE_BINS points, each split over its two
 * neighbors so that the mean stays; all atoms above the capacity are one,
 * which is exact, as max(0, x - C) is linear there and demands are not
 * negative.
 */
#ifndef SCHEDULER_CORE_PATHS_RANDOM_PHASE_H
#define SCHEDULER_CORE_PATHS_RANDOM_PHASE_H

#include <stddef.h>
#include <stdint.h>

struct profile;

#define RANDOM_PHASE_BINS  64
#define RANDOM_PHASE_EXACT 256 /* Atoms below the capacity. */

struct random_phase {
	double capacity_bps;
	double over_prob; /* Probability of the atom at or above the capacity. */
	double over_mass; /* Its probability times its mean. */
	size_t n;
	double *at_bps; /* Owned.  Below the capacity, ascending. */
	double *prob;   /* Owned.  Of each. */
};

/* Starts with no job: all probability at 0.  Release with random_phase_fini(). */
void random_phase_init(struct random_phase *phases, double capacity_bps);
void random_phase_fini(struct random_phase *phases); /* Accepts a zeroed one. */

/* Adds a job that puts 'factor' times its profile on the link. */
void random_phase_add(struct random_phase *phases, const struct profile *profile,
		      double factor);

/* Expected excess over the capacity, bits per second. */
double random_phase_excess_bps(const struct random_phase *phases);

/* The excess with one more job, without adding it. */
double random_phase_excess_with_bps(const struct random_phase *phases,
				    const struct profile *profile, double factor);

#endif
