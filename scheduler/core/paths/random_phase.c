/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/paths/random_phase.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/profile/profile.h"

/* One value of a random demand. */
struct atom {
	double at_bps, prob;
};

void
random_phase_init(struct random_phase *phases, double capacity_bps)
{
	*phases = (struct random_phase){ .capacity_bps = capacity_bps, .n = 1 };
	phases->at_bps = xcalloc(1, sizeof *phases->at_bps);
	phases->prob = xcalloc(1, sizeof *phases->prob);
	phases->prob[0] = 1;
}

void
random_phase_fini(struct random_phase *phases)
{
	free(phases->at_bps);
	free(phases->prob);
	*phases = (struct random_phase){ 0 };
}

/* The demand of one job at a random moment; at most phases + 1 atoms. */
static size_t
profile_atoms(const struct profile *profile, double factor, struct atom *ret_atoms)
{
	double period_us = (double)profile->period_us;
	double idle = 1;
	size_t n = 1;

	for (size_t i = 0; i < profile->n_phases; i++) {
		const struct profile_phase *phase = &profile->phases[i];
		double prob = (double)phase->duration_us / period_us;

		ret_atoms[n++] = (struct atom){ factor * phase->rate_bps, prob };
		idle -= prob;
	}
	ret_atoms[0] = (struct atom){ 0, idle > 0 ? idle : 0 };
	return n;
}

/*
 * Fills 'ret_sums' with the sums of one atom of 'phases' and one of 'job' that are below
 * the capacity, ascending, those at the same level joined; returns their number.  For
 * each atom of the job the sums ascend by themselves, so these runs are merged.
 * O(sums * n_job), and jobs have few atoms.
 */
static size_t
merge_sums(const struct random_phase *phases, const struct atom *job, size_t n_job,
	   struct atom *ret_sums)
{
	size_t next[PROFILE_MAX_PHASES + 1] = { 0 }; /* By atom of the job: its run. */
	size_t n = 0;

	for (;;) {
		double least_bps = phases->capacity_bps, prob;
		size_t run = n_job;

		/* Among equals the one with the first atom of 'phases'. */
		for (size_t k = 0; k < n_job; k++) {
			double at_bps;

			if (next[k] == phases->n)
				continue;
			at_bps = phases->at_bps[next[k]] + job[k].at_bps;
			if (at_bps < least_bps || (run < n_job && at_bps == least_bps &&
						   next[k] < next[run])) {
				least_bps = at_bps;
				run = k;
			}
		}
		if (run == n_job)
			return n;
		prob = phases->prob[next[run]++] * job[run].prob;
		if (!(prob > 0))
			continue;
		if (n > 0 && ret_sums[n - 1].at_bps == least_bps)
			ret_sums[n - 1].prob += prob;
		else
			ret_sums[n++] = (struct atom){ least_bps, prob };
	}
}

/* Moves sorted atoms below 'capacity_bps' to the grid; keeps the mean. */
static void
to_grid(struct random_phase *phases, const struct atom *atoms, size_t n)
{
	double step_bps = phases->capacity_bps / RANDOM_PHASE_BINS;

	phases->n = RANDOM_PHASE_BINS + 1;
	phases->at_bps = xcalloc(phases->n, sizeof *phases->at_bps);
	phases->prob = xcalloc(phases->n, sizeof *phases->prob);
	for (size_t i = 0; i < phases->n; i++)
		phases->at_bps[i] = (double)i * step_bps;
	for (size_t i = 0; i < n; i++) {
		double place = atoms[i].at_bps / step_bps;
		size_t low = (size_t)place;
		double rest;

		if (low >= RANDOM_PHASE_BINS)
			low = RANDOM_PHASE_BINS - 1;
		rest = place - (double)low;
		phases->prob[low] += (1 - rest) * atoms[i].prob;
		phases->prob[low + 1] += rest * atoms[i].prob;
	}
	/* Atoms moved to the capacity itself are no longer below it. */
	phases->n--;
	phases->over_prob += phases->prob[RANDOM_PHASE_BINS];
	phases->over_mass += phases->prob[RANDOM_PHASE_BINS] * phases->capacity_bps;
}

void
random_phase_add(struct random_phase *phases, const struct profile *profile,
		 double factor)
{
	struct atom job[PROFILE_MAX_PHASES + 1];
	size_t n_job = profile_atoms(profile, factor, job);
	struct atom *sums = xcalloc(phases->n * n_job, sizeof *sums);
	double mean_bps = factor * profile_mean_bps(profile);
	size_t n = merge_sums(phases, job, n_job, sums);

	phases->over_mass += phases->over_prob * mean_bps;
	for (size_t i = 0; i < phases->n; i++) {
		for (size_t k = 0; k < n_job; k++) {
			double at_bps = phases->at_bps[i] + job[k].at_bps;
			double prob = phases->prob[i] * job[k].prob;

			if (!(prob > 0) || at_bps < phases->capacity_bps)
				continue;
			phases->over_prob += prob;
			phases->over_mass += prob * at_bps;
		}
	}
	free(phases->at_bps);
	free(phases->prob);
	if (n > RANDOM_PHASE_EXACT) {
		to_grid(phases, sums, n);
	} else {
		phases->n = n;
		phases->at_bps = xcalloc(n + 1, sizeof *phases->at_bps);
		phases->prob = xcalloc(n + 1, sizeof *phases->prob);
		for (size_t i = 0; i < n; i++) {
			phases->at_bps[i] = sums[i].at_bps;
			phases->prob[i] = sums[i].prob;
		}
	}
	free(sums);
}

double
random_phase_excess_bps(const struct random_phase *phases)
{
	double excess_bps =
		phases->over_mass - phases->over_prob * phases->capacity_bps;

	return excess_bps > 0 ? excess_bps : 0;
}

double
random_phase_excess_with_bps(const struct random_phase *phases,
			     const struct profile *profile, double factor)
{
	struct atom job[PROFILE_MAX_PHASES + 1];
	size_t n_job = profile_atoms(profile, factor, job);
	double excess_bps = phases->over_mass -
			    phases->over_prob * phases->capacity_bps +
			    phases->over_prob * factor * profile_mean_bps(profile);

	for (size_t i = 0; i < phases->n; i++) {
		for (size_t k = 0; k < n_job; k++) {
			double over_bps = phases->at_bps[i] + job[k].at_bps -
					  phases->capacity_bps;

			if (over_bps > 0)
				excess_bps += phases->prob[i] * job[k].prob * over_bps;
		}
	}
	return excess_bps > 0 ? excess_bps : 0;
}
