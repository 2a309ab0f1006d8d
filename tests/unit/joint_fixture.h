/* SPDX-License-Identifier: Apache-2.0 */
/* joint_fixture.h - random joint problems, and their excess computed step by step */
#ifndef TESTS_UNIT_JOINT_FIXTURE_H
#define TESTS_UNIT_JOINT_FIXTURE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/joint.h"
#include "tests/unit/test.h"

#define FIXTURE_MAX_JOBS   64
#define FIXTURE_MAX_LINKS  128
#define FIXTURE_MAX_LOADS  512
#define FIXTURE_MAX_PHASES 12
#define FIXTURE_C          100e9

struct fixture {
	struct joint_problem problem;
	struct profile profiles[FIXTURE_MAX_JOBS];
	const struct profile *pointers[FIXTURE_MAX_JOBS];
	struct profile_phase phases[FIXTURE_MAX_JOBS][FIXTURE_MAX_PHASES];
	struct joint_link links[FIXTURE_MAX_LINKS];
	struct joint_load loads[FIXTURE_MAX_LOADS];
	size_t n_loads;
};

static inline void
fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof *f);
	for (size_t j = 0; j < FIXTURE_MAX_JOBS; j++) {
		f->pointers[j] = &f->profiles[j];
		f->profiles[j].phases = f->phases[j];
	}
	f->problem.profiles = f->pointers;
	f->problem.links = f->links;
	f->problem.loads = f->loads;
}

/* Adds a job of one phase; returns its number. */
static inline uint32_t
fixture_add_on_off(struct fixture *f, int64_t period_us, int64_t start_us,
		   int64_t up_us, double rate_bps)
{
	size_t j = f->problem.n_jobs++;

	f->profiles[j].period_us = period_us;
	f->profiles[j].n_phases = 1;
	f->phases[j][0] = (struct profile_phase){ start_us, up_us, rate_bps };
	return (uint32_t)j;
}

/* Adds a job of one to 'max_phases' phases in slots of its period. */
static inline uint32_t
fixture_add_random(struct fixture *f, struct rng *rng, int64_t period_us,
		   size_t max_phases, double duty, double max_bps)
{
	size_t j = f->problem.n_jobs++, n = 1 + rng_below(rng, max_phases);

	f->profiles[j].period_us = period_us;
	f->profiles[j].n_phases = n;
	for (size_t i = 0; i < n; i++) {
		struct profile_phase *phase = &f->phases[j][i];
		int64_t from_us = period_us * (int64_t)i / (int64_t)n;
		int64_t slot_us = period_us * (int64_t)(i + 1) / (int64_t)n - from_us;
		double part = fmin(1, 2 * duty * rng_uniform(rng));

		phase->duration_us = (int64_t)(part * (double)(slot_us - 1)) + 1;
		phase->start_us =
			from_us +
			(int64_t)rng_below(
				rng, (uint64_t)(slot_us + 1 - phase->duration_us));
		phase->rate_bps = max_bps * (0.2 + 0.8 * rng_uniform(rng));
	}
	return (uint32_t)j;
}

/* Begins a link; later loads are added to this link. */
static inline void
fixture_add_link(struct fixture *f)
{
	size_t l = f->problem.n_links++;

	f->links[l] = (struct joint_link){ (uint32_t)l, (uint32_t)f->n_loads, 0,
					   FIXTURE_C, 1 };
}

static inline void
fixture_add_load(struct fixture *f, uint32_t job, double factor)
{
	f->links[f->problem.n_links - 1].n_loads++;
	f->loads[f->n_loads++] = (struct joint_load){ job, factor };
}

static inline double
fixture_rate(const struct profile *profile, int64_t t_us)
{
	int64_t at_us =
		((t_us % profile->period_us) + profile->period_us) % profile->period_us;

	for (size_t i = 0; i < profile->n_phases; i++)
		if (at_us >= profile->phases[i].start_us &&
		    at_us < profile->phases[i].start_us +
				    profile->phases[i].duration_us)
			return profile->phases[i].rate_bps;
	return 0;
}

/* Mean excess of a link, by stepping through the hyperperiod in microseconds. */
static inline double
fixture_walk(const struct fixture *f, size_t l, const int64_t *shift_us)
{
	const struct joint_link *link = &f->links[l];
	int64_t hyper_us = 1;
	double sum = 0;

	for (uint32_t i = 0; i < link->n_loads; i++) {
		int64_t period_us =
			f->profiles[f->loads[link->first_load + i].job].period_us;
		int64_t a = hyper_us, b = period_us;

		while (b) {
			int64_t t = a % b;

			a = b;
			b = t;
		}
		hyper_us = hyper_us / a * period_us;
	}
	for (int64_t t = 0; t < hyper_us; t++) {
		double demand_bps = 0;

		for (uint32_t i = 0; i < link->n_loads; i++) {
			const struct joint_load *load = &f->loads[link->first_load + i];

			demand_bps +=
				load->factor * fixture_rate(&f->profiles[load->job],
							    t - shift_us[load->job]);
		}
		sum += fmax(0, demand_bps - link->capacity_bps);
	}
	return sum / (double)hyper_us;
}

static inline double
fixture_objective(const struct fixture *f, const int64_t *shift_us)
{
	double excess_bps[FIXTURE_MAX_LINKS], sum = 0;

	joint_excess(&f->problem, shift_us, excess_bps);
	for (size_t l = 0; l < f->problem.n_links; l++)
		sum += f->links[l].weight * excess_bps[l] / f->links[l].capacity_bps;
	return sum;
}

/* A problem with loops: 'n_links' links, each with two to four of 'n_jobs' jobs. */
static inline void
fixture_make_mesh(struct fixture *f, struct rng *rng, size_t n_jobs, size_t n_links,
		  double duty)
{
	static const int64_t periods_us[] = { 12000, 24000, 18000, 36000, 17011 };

	fixture_init(f);
	for (size_t j = 0; j < n_jobs; j++)
		fixture_add_random(f, rng, periods_us[rng_below(rng, 5)], 3, duty,
				   FIXTURE_C);
	for (size_t l = 0; l < n_links; l++) {
		uint32_t first = (uint32_t)rng_below(rng, n_jobs);
		uint32_t n = 2 + (uint32_t)rng_below(rng, 3);

		fixture_add_link(f);
		for (uint32_t i = 0; i < n; i++)
			fixture_add_load(f, (first + i * 2) % (uint32_t)n_jobs,
					 0.5 + rng_uniform(rng));
	}
}

/* Solves a well-formed problem; free the result with joint_result_free(). */
static inline struct joint_result *
fixture_solve(const struct fixture *f, const struct joint_opts *opts)
{
	struct joint_result *result = joint_solve(&f->problem, opts);

	assert_non_null(result);
	return result;
}

#endif
