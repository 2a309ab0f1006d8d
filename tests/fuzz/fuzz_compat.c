/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_compat.c - a few jobs of any profile on one link, by both solvers, and drawn */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/circle_svg.h"
#include "lib/base/alloc.h"
#include "scheduler/core/advise/compat.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/profile/same_period.h"
#include "tests/fuzz/fuzz.h"

#define MAX_JOBS   4
#define MAX_PHASES 3

struct input {
	const uint8_t *data;
	size_t size;
};

/* The next 'n' bytes as a number; zeros after the end. */
static uint64_t
take(struct input *in, unsigned n)
{
	uint64_t value = 0;

	while (n-- > 0) {
		value <<= 8;
		if (in->size > 0) {
			value |= *in->data++;
			in->size--;
		}
	}
	return value;
}

/* From microseconds to an hour, often a round number. */
static int64_t
take_us(struct input *in, int64_t max_us)
{
	static const int64_t units_us[] = { 1, 1000, 5000, 60000 };
	uint64_t shape = take(in, 1);
	int64_t us = (int64_t)take(in, shape & 4 ? 4 : 1) * units_us[shape & 3];

	return us % (max_us + 1);
}

/* Fills a profile; false if it is invalid. */
static bool
take_profile(struct input *in, struct profile *profile, struct profile_phase *phases)
{
	uint64_t shape = take(in, 1);
	size_t n = shape % (MAX_PHASES + 1);

	memset(profile, 0, sizeof *profile);
	profile->period_us = take_us(in, PROFILE_MAX_PERIOD_US - 1) + 1;
	profile->period_error_us = (int64_t)(shape >> 4) * profile->period_us / 50000;
	for (size_t i = 0; i < n; i++) {
		phases[i].start_us = take_us(in, profile->period_us);
		phases[i].duration_us = take_us(in, profile->period_us);
		phases[i].rate_bps = pow(10, (double)(take(in, 1) % 16)) *
				     (1 + (double)(take(in, 1) % 9));
	}
	profile->phases = phases;
	profile->n_phases = n;
	return profile_normalize(profile, NULL) == 0;
}

static void
check(const struct compat *compat, const struct compat_job *jobs, double capacity_bps)
{
	/* Rounding error of sums of rates, which may be far above the capacity. */
	double eps = 1e-6;

	for (size_t j = 0; j < compat->n_jobs; j++) {
		double period_us = (double)jobs[j].profile->period_us;

		eps += 1e-6 * profile_peak_bps(jobs[j].profile) * jobs[j].factor /
		       capacity_bps;
		/* The period may be joined with a longer one. */
		if (compat->has_joined)
			period_us *= 1 + 2 * SAME_PERIOD_MAX_FRAC;
		BUG_ON(compat->shift_us[j] < 0 ||
		       (double)compat->shift_us[j] >= period_us);
		BUG_ON(compat->slack_us[j] < 0);
		BUG_ON(!(compat->job_bound_frac[j] >= 0));
	}
	BUG_ON(!(compat->score <= 1) || !(compat->score_before <= 1));
	BUG_ON(!(compat->score_chance <= 1 + eps));
	BUG_ON(compat->score > compat->score_chance + compat->bound_frac + eps);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	size_t n = 1 + take(&in, 1) % MAX_JOBS;
	double capacity_bps = 1e9 * (double)(1 + take(&in, 2));
	struct profile_phase phases[MAX_JOBS][MAX_PHASES];
	struct circle_svg_job rings[MAX_JOBS];
	struct profile profiles[MAX_JOBS];
	struct compat_job jobs[MAX_JOBS];

	for (size_t j = 0; j < n; j++) {
		if (!take_profile(&in, &profiles[j], phases[j]))
			return 0;
		jobs[j] = (struct compat_job){ &profiles[j],
					       0.125 * (double)(1 + take(&in, 1)) };
	}
	for (int solver = 0; solver < N_COMPAT_SOLVERS; solver++) {
		struct compat compat;

		BUG_ON(compat_solve(jobs, n, capacity_bps, (enum compat_solver)solver,
				    1, &compat) < 0);
		check(&compat, jobs, capacity_bps);
		for (size_t j = 0; j < n; j++)
			rings[j] = (struct circle_svg_job){ "job", jobs[j].profile,
							    jobs[j].factor,
							    compat.shift_us[j] };
		free(circle_svg(&(struct circle_svg){ "link", NULL, capacity_bps,
						      compat.score, rings, n }));
		compat_fini(&compat);
	}
	return 0;
}
