#include "scheduler/core/advise/random_phase.h"

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
random_phase_init(struct random_phase *chance, double capacity_bps)
{
	*chance = (struct random_phase){ .capacity_bps = capacity_bps, .n = 1 };
	chance->at_bps = xcalloc(1, sizeof *chance->at_bps);
	chance->prob = xcalloc(1, sizeof *chance->prob);
	chance->prob[0] = 1;
}

void
random_phase_fini(struct random_phase *chance)
{
	free(chance->at_bps);
	free(chance->prob);
	*chance = (struct random_phase){ 0 };
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

/* Sorts, and makes one atom of those at the same place; returns their number. */
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

/* Moves sorted atoms below 'capacity_bps' to the grid, the mean kept. */
static void
to_grid(struct random_phase *chance, const struct atom *atoms, size_t n)
{
	double step_bps = chance->capacity_bps / RANDOM_PHASE_BINS;

	chance->n = RANDOM_PHASE_BINS + 1;
	chance->at_bps = xcalloc(chance->n, sizeof *chance->at_bps);
	chance->prob = xcalloc(chance->n, sizeof *chance->prob);
	for (size_t i = 0; i < chance->n; i++)
		chance->at_bps[i] = (double)i * step_bps;
	for (size_t i = 0; i < n; i++) {
		double place = atoms[i].at_bps / step_bps;
		size_t low = (size_t)place;
		double rest;

		if (low >= RANDOM_PHASE_BINS)
			low = RANDOM_PHASE_BINS - 1;
		rest = place - (double)low;
		chance->prob[low] += (1 - rest) * atoms[i].prob;
		chance->prob[low + 1] += rest * atoms[i].prob;
	}
	/* What came to lie on the capacity itself is no longer below it. */
	chance->n--;
	chance->over_prob += chance->prob[RANDOM_PHASE_BINS];
	chance->over_mass += chance->prob[RANDOM_PHASE_BINS] * chance->capacity_bps;
}

void
random_phase_add(struct random_phase *chance, const struct profile *profile,
		 double factor)
{
	struct atom job[PROFILE_MAX_PHASES + 1];
	size_t n_job = profile_atoms(profile, factor, job);
	struct atom *sums = xcalloc(chance->n * n_job, sizeof *sums);
	double mean_bps = factor * profile_mean_bps(profile);
	size_t n = 0;

	chance->over_mass += chance->over_prob * mean_bps;
	for (size_t i = 0; i < chance->n; i++) {
		for (size_t k = 0; k < n_job; k++) {
			double at_bps = chance->at_bps[i] + job[k].at_bps;
			double prob = chance->prob[i] * job[k].prob;

			if (!(prob > 0))
				continue;
			if (at_bps < chance->capacity_bps) {
				sums[n++] = (struct atom){ at_bps, prob };
				continue;
			}
			chance->over_prob += prob;
			chance->over_mass += prob * at_bps;
		}
	}
	n = merge_equal(sums, n);
	free(chance->at_bps);
	free(chance->prob);
	if (n > RANDOM_PHASE_EXACT) {
		to_grid(chance, sums, n);
	} else {
		chance->n = n;
		chance->at_bps = xcalloc(n + 1, sizeof *chance->at_bps);
		chance->prob = xcalloc(n + 1, sizeof *chance->prob);
		for (size_t i = 0; i < n; i++) {
			chance->at_bps[i] = sums[i].at_bps;
			chance->prob[i] = sums[i].prob;
		}
	}
	free(sums);
}

double
random_phase_excess_bps(const struct random_phase *chance)
{
	double excess_bps =
		chance->over_mass - chance->over_prob * chance->capacity_bps;

	return excess_bps > 0 ? excess_bps : 0;
}

double
random_phase_excess_with_bps(const struct random_phase *chance,
			     const struct profile *profile, double factor)
{
	struct atom job[PROFILE_MAX_PHASES + 1];
	size_t n_job = profile_atoms(profile, factor, job);
	double excess_bps = chance->over_mass -
			    chance->over_prob * chance->capacity_bps +
			    chance->over_prob * factor * profile_mean_bps(profile);

	for (size_t i = 0; i < chance->n; i++) {
		for (size_t k = 0; k < n_job; k++) {
			double over_bps = chance->at_bps[i] + job[k].at_bps -
					  chance->capacity_bps;

			if (over_bps > 0)
				excess_bps += chance->prob[i] * job[k].prob * over_bps;
		}
	}
	return excess_bps > 0 ? excess_bps : 0;
}
