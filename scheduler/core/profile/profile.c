/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/profile/profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"

#define UNKNOWN_BPS 1e9

void
profile_fini(struct profile *profile)
{
	free(profile->job);
	free(profile->phases);
	*profile = (struct profile){ 0 };
}

void
profile_copy(const struct profile *profile, struct profile *ret_copy)
{
	*ret_copy = *profile;
	ret_copy->job = profile->job ? xstrdup(profile->job) : NULL;
	ret_copy->phases =
		xmemdup(profile->phases, profile->n_phases, sizeof *profile->phases);
}

void
profile_of_burst(int64_t period_us, int64_t burst_us, double rate_bps,
		 struct profile *ret_profile)
{
	struct profile_phase burst = { 0, burst_us,
				       rate_bps > 0 ? rate_bps : UNKNOWN_BPS };

	*ret_profile = (struct profile){
		.job = xstrdup(""),
		.period_us = period_us,
		.confidence = 1,
		.n_phases = 1,
		.phases = xmemdup(&burst, 1, sizeof burst),
	};
	profile_normalize(ret_profile, NULL);
}

static int
by_start(const void *a, const void *b)
{
	const struct profile_phase *pa = a, *pb = b;

	return (pa->start_us > pb->start_us) - (pa->start_us < pb->start_us);
}

/* The fault of a phase; NULL: none. */
static const char *
phase_fault(const struct profile_phase *phase, int64_t period_us)
{
	if (phase->start_us < 0 || phase->start_us >= period_us)
		return "a phase starts outside the period";
	if (phase->duration_us < 1)
		return "a phase lasts less than 1 us";
	if (phase->duration_us > period_us - phase->start_us)
		return "a phase ends after the period (split it where the period ends)";
	if (!(phase->rate_bps > 0))
		return "a phase has no rate (leave it out: between phases demand is zero)";
	if (phase->rate_bps > PROFILE_MAX_BPS)
		return "a phase has a rate above 1e6 Gb/s";
	return NULL;
}

int64_t
profile_error_us(double standard_error_us)
{
	return (int64_t)fmin(fmax(ceil(standard_error_us), 1),
			     (double)PROFILE_MAX_PERIOD_US);
}

/* The fault of the other fields; NULL: none. */
static const char *
figures_fault(const struct profile *profile)
{
	if (profile->period_us < 1 || profile->period_us > PROFILE_MAX_PERIOD_US)
		return "the period is not between 1 us and one hour";
	if (profile->period_error_us < 0 ||
	    profile->period_error_us > PROFILE_MAX_PERIOD_US)
		return "the period's error is not between 0 and one hour";
	if (profile->jitter_us < 0)
		return "the jitter is negative";
	if (profile->n_iterations < 0)
		return "the number of iterations is negative";
	if (!(profile->confidence >= 0 && profile->confidence <= 1))
		return "the confidence is not between 0 and 1";
	if (!(profile->bytes_per_iteration >= 0) || isinf(profile->bytes_per_iteration))
		return "the bytes of an iteration are negative or not finite";
	if (profile->n_phases > PROFILE_MAX_PHASES)
		return "there are more than 64 phases";
	return NULL;
}

static double
phase_bits(const struct profile_phase *phase)
{
	return phase->rate_bps * (double)phase->duration_us * 1e-6;
}

static double
total_bits(const struct profile *profile)
{
	double bits = 0;

	for (size_t i = 0; i < profile->n_phases; i++)
		bits += phase_bits(&profile->phases[i]);
	return bits;
}

int
profile_normalize(struct profile *profile, const char **ret_why)
{
	const char *why = figures_fault(profile);

	for (size_t i = 0; !why && i < profile->n_phases; i++)
		why = phase_fault(&profile->phases[i], profile->period_us);
	if (!why)
		sort_items(profile->phases, profile->n_phases, by_start);
	for (size_t i = 1; !why && i < profile->n_phases; i++) {
		const struct profile_phase *before = &profile->phases[i - 1];

		if (before->start_us + before->duration_us >
		    profile->phases[i].start_us)
			why = "two phases overlap";
	}
	if (why) {
		if (ret_why)
			*ret_why = why;
		return -EINVAL;
	}

	if (profile->bytes_per_iteration == 0)
		profile->bytes_per_iteration = total_bits(profile) / 8;
	return 0;
}

double
profile_mean_bps(const struct profile *profile)
{
	return total_bits(profile) / ((double)profile->period_us * 1e-6);
}

int64_t
profile_busy_us(const struct profile *profile)
{
	int64_t busy_us = 0;

	for (size_t i = 0; i < profile->n_phases; i++)
		busy_us += profile->phases[i].duration_us;
	return busy_us;
}

double
profile_duty(const struct profile *profile)
{
	return (double)profile_busy_us(profile) / (double)profile->period_us;
}

double
profile_peak_bps(const struct profile *profile)
{
	double peak_bps = 0;

	for (size_t i = 0; i < profile->n_phases; i++)
		if (profile->phases[i].rate_bps > peak_bps)
			peak_bps = profile->phases[i].rate_bps;
	return peak_bps;
}

double
profile_variation_bps(const struct profile *profile)
{
	double sum_bps = 0;

	for (size_t i = 0; i < profile->n_phases; i++) {
		const struct profile_phase *phase = &profile->phases[i];
		const struct profile_phase *next =
			&profile->phases[i + 1 < profile->n_phases ? i + 1 : 0];
		int64_t gap_us = next->start_us - phase->start_us - phase->duration_us;

		if (i + 1 == profile->n_phases)
			gap_us += profile->period_us;
		sum_bps += gap_us > 0 ? phase->rate_bps + next->rate_bps
				      : fabs(phase->rate_bps - next->rate_bps);
	}
	return sum_bps;
}
