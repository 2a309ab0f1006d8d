/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/canonical_order.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/sort.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/joint.h"

#define N_ROUNDS 3

struct ranked {
	uint64_t hash;
	uint32_t job;
};

static uint64_t
mix(uint64_t hash, uint64_t x)
{
	return rng_mix(hash ^ rng_mix(x));
}

static uint64_t
mix_double(uint64_t hash, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return mix(hash, bits);
}

static uint64_t
hash_profile(const struct profile *profile)
{
	uint64_t hash = mix(0, (uint64_t)profile->period_us);

	for (size_t i = 0; i < profile->n_phases; i++) {
		hash = mix(hash, (uint64_t)profile->phases[i].start_us);
		hash = mix(hash, (uint64_t)profile->phases[i].duration_us);
		hash = mix_double(hash, profile->phases[i].rate_bps);
	}
	return hash;
}

/* Mixes into every job its links, and into these all their jobs. */
static void
refine(const struct joint_problem *problem, uint64_t *hash, uint64_t *sum)
{
	memset(sum, 0, problem->n_jobs * sizeof *sum);
	for (size_t l = 0; l < problem->n_links; l++) {
		const struct joint_link *link = &problem->links[l];
		const struct joint_load *loads = &problem->loads[link->first_load];
		uint64_t link_hash = mix_double(1, link->capacity_bps);

		link_hash = mix_double(link_hash, link->weight);
		/* Sums do not depend on the order of their terms. */
		for (uint32_t i = 0; i < link->n_loads; i++)
			link_hash += mix_double(hash[loads[i].job], loads[i].factor);
		for (uint32_t i = 0; i < link->n_loads; i++)
			sum[loads[i].job] += mix_double(link_hash, loads[i].factor);
	}
	for (size_t j = 0; j < problem->n_jobs; j++)
		hash[j] = mix(hash[j], sum[j]);
}

static int
compare_ranked(const void *a_, const void *b_)
{
	const struct ranked *a = a_, *b = b_;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->job < b->job ? -1 : a->job > b->job;
}

void
canonical_order(const struct joint_problem *problem, const bool *movable,
		uint32_t *ret_order, uint64_t *ret_hash)
{
	size_t n = problem->n_jobs;
	struct ranked *ranked = xcalloc(n + 1, sizeof *ranked);
	uint64_t *hash = xcalloc(n + 1, sizeof *hash);
	uint64_t *sum = xcalloc(n + 1, sizeof *sum);

	for (size_t j = 0; j < n; j++)
		hash[j] =
			mix(hash_profile(problem->profiles[j]), movable && !movable[j]);
	for (int i = 0; i < N_ROUNDS; i++)
		refine(problem, hash, sum);
	for (uint32_t j = 0; j < n; j++)
		ranked[j] = (struct ranked){ hash[j], j };
	sort_items(ranked, n, compare_ranked);
	for (size_t j = 0; j < n; j++) {
		ret_order[j] = ranked[j].job;
		ret_hash[j] = ranked[j].hash;
	}
	free(hash);
	free(ranked);
	free(sum);
}
