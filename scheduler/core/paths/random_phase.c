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

static int
compare_atoms(const void *a, const void *b)
{
	const struct atom *x = a, *y = b;

	return x->at_bps < y->at_bps ? -1 : x->at_bps > y->at_bps;
}

/* Sorts, and joins atoms at the same level; returns their number. */
static size_t
merge_equal(struct atom *atoms, size_t n)
{
	size_t n_merged = 0;

	qsort(atoms, n, sizeof *atoms, compare_atoms);
	for (size_t i = 0; i < n; i++) {
		if (n_merged > 0 && atoms[n_merged - 1].at_bps == atoms[i].at_bps)
			atoms[n_merged - 1].prob += atoms[i].prob;
		else
			atoms[n_merged++] = atoms[i];
	}
	return n_merged;
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
	size_t n = 0;

	phases->over_mass += phases->over_prob * mean_bps;
	for (size_t i = 0; i < phases->n; i++) {
		for (size_t k = 0; k < n_job; k++) {
			double at_bps = phases->at_bps[i] + job[k].at_bps;
			double prob = phases->prob[i] * job[k].prob;

			if (!(prob > 0))
				continue;
			if (at_bps < phases->capacity_bps) {
				sums[n++] = (struct atom){ at_bps, prob };
				continue;
			}
			phases->over_prob += prob;
			phases->over_mass += prob * at_bps;
		}
	}
	n = merge_equal(sums, n);
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
