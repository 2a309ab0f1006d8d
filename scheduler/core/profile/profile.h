/*
 * profile.h - what one iteration of a training job puts on the wire.
 *
 * A profile is periodic: it repeats every 'period_us'.  Within a period it is
 * a list of phases of constant rate; between phases the demand is zero.
 *
 * Rates are those of one host interface in one direction, the mean over the
 * job's ranks, with the job alone on the fabric.  topology/collective.h says
 * what multiple of that rate the job puts on each link.
 *
 * Everything here is pure.  Finding a profile in a capture is detect.h;
 * reading and writing profile files is profile_json.h.
 */
#ifndef SCHEDULER_CORE_PROFILE_PROFILE_H
#define SCHEDULER_CORE_PROFILE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

/* Sizes that a profile from outside may not exceed. */
#define PROFILE_MAX_PHASES    64
#define PROFILE_MAX_PERIOD_US INT64_C(3600000000) /* One hour. */
#define PROFILE_MAX_BPS       1e15

struct profile_phase {
	int64_t start_us;    /* In [0, period_us). */
	int64_t duration_us; /* At least 1; start + duration <= period_us. */
	double rate_bps;     /* Bits per second, above 0. */
};

struct profile {
	char *job;                  /* Owned.  The job's name. */
	int64_t period_us;          /* At least 1. */
	int64_t jitter_us;          /* Standard deviation of the iteration time. */
	int64_t n_iterations;       /* Seen in the capture; 0 if not from one. */
	double confidence;          /* 0 to 1: see detect.h. */
	double bytes_per_iteration; /* Of one interface in one direction. */
	size_t n_phases;
	struct profile_phase *phases; /* Owned.  In time order, disjoint. */
};

/* Releases what '*profile' owns and leaves it zeroed.  Accepts zeroed ones. */
void profile_fini(struct profile *profile);

/* Makes '*ret_copy' a deep copy of '*profile'. */
void profile_copy(const struct profile *profile, struct profile *ret_copy);

/*
 * Makes the profile of a job that sends in one burst at the begin of each iteration, at
 * 'rate_bps' (not above 0: nobody knows, and it is 1 Gb/s), without a name, as somebody
 * declares it: with confidence 1 and no jitter.  'burst_us' is to be from 1 to
 * 'period_us', and that at most PROFILE_MAX_PERIOD_US.
 */
void profile_of_burst(int64_t period_us, int64_t burst_us, double rate_bps,
		      struct profile *ret_profile);

/*
 * Sorts and checks the phases and fills 'bytes_per_iteration' if it is 0.
 * Returns 0 or -EINVAL, with a static text of what is wrong in '*ret_why'
 * (ret_why may be NULL).
 */
int profile_normalize(struct profile *profile, const char **ret_why);

/* Mean rate over one period, bits per second. */
double profile_mean_bps(const struct profile *profile);

/* Largest rate of any phase, 0 if there is none. */
double profile_peak_bps(const struct profile *profile);

/*
 * Total variation of the rate over one period, bits per second: the sum of the
 * heights of all steps up and down, the one at the turn of the period included.
 */
double profile_variation_bps(const struct profile *profile);

#endif
