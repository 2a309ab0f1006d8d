/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - traffic of one iteration of a training job.
 *
 * A profile repeats every 'period_us'.  Within a period it is a list of phases of
 * constant rate; between phases the demand is zero.  Rates are those of one host
 * interface in one direction: the mean over the job's ranks, with the job alone on the
 * fabric. topology/collective.h has the multiple of that rate that the job puts on each
 * link.
 *
 * Pure.  detect.h finds a profile in a capture; same_period.h says which periods are one;
 * profile_json.h reads and writes files.
 */
#ifndef SCHEDULER_CORE_PROFILE_PROFILE_H
#define SCHEDULER_CORE_PROFILE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

/* Limits of profiles from outside. */
#define PROFILE_MAX_PHASES    64
#define PROFILE_MAX_PERIOD_US INT64_C(3600000000) /* One hour. */
#define PROFILE_MAX_BPS       1e15

/* Estimates that differ by less in period and in bytes of an iteration count as the
 * same profile, and nothing is solved again.  Chosen by hand. */
#define PROFILE_SAME_PERIOD_FRAC 0.01
#define PROFILE_SAME_BYTES_FRAC  0.05

struct profile_phase {
	int64_t start_us;    /* In [0, period_us). */
	int64_t duration_us; /* At least 1; start + duration <= period_us. */
	double rate_bps;     /* Bits per second, above 0. */
};

struct profile {
	char *job;                  /* Owned.  The job's name. */
	int64_t period_us;          /* At least 1. */
	int64_t period_error_us;    /* Standard error of the period; 0: not known. */
	int64_t jitter_us;          /* Standard deviation of the iteration time. */
	int64_t n_iterations;       /* In the capture; 0 if not from one. */
	double confidence;          /* 0 to 1: see detect.h. */
	double bytes_per_iteration; /* Of one interface in one direction. */
	size_t n_phases;
	struct profile_phase *phases; /* Owned.  In time order, disjoint. */
};

/* Accepts a zeroed one. */
void profile_fini(struct profile *profile);

/* Makes '*ret_copy' a deep copy of '*profile'. */
void profile_copy(const struct profile *profile, struct profile *ret_copy);

/*
 * Makes the profile of a declared job, which sends one burst at the beginning of each
 * iteration: without a name, with confidence 1 and no jitter.  A 'rate_bps' of 0 is
 * unknown, and taken as 1 Gb/s.  'burst_us' is from 1 to 'period_us', which is at most
 * PROFILE_MAX_PERIOD_US.
 */
void profile_of_burst(int64_t period_us, int64_t burst_us, double rate_bps,
		      struct profile *ret_profile);

/* A measured period's error in whole microseconds: at least 1, as the period is. */
int64_t profile_error_us(double standard_error_us);

/*
 * Sorts and checks the phases and fills 'bytes_per_iteration' if it is 0.  Returns 0,
 * or -EINVAL with a static text of the fault in '*ret_why' (which may be NULL).
 */
int profile_normalize(struct profile *profile, const char **ret_why);

/* Mean rate over one period, bits per second. */
double profile_mean_bps(const struct profile *profile);

/* How long the job sends in an iteration; and as a share of the period. */
int64_t profile_busy_us(const struct profile *profile);
double profile_duty(const struct profile *profile);

/* Largest rate of any phase; 0 without phases. */
double profile_peak_bps(const struct profile *profile);

/*
 * Total variation of the rate over one period, bits per second: the sum of all steps up
 * and down, including the one from the end of the period to its beginning.
 */
double profile_variation_bps(const struct profile *profile);

#endif
