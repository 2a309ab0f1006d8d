/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/compat.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/cassini/cassini.h"
#include "scheduler/core/cassini/circle.h"
#include "scheduler/core/paths/random_phase.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/profile/same_period.h"
#include "scheduler/core/solve/joint.h"
#include "scheduler/core/solve/step_function.h"

const char *const compat_solver_names[N_COMPAT_SOLVERS + 1] = { "exact", "cassini",
								NULL };

/* The jobs as a joint problem of one link. */
struct one_link {
	const struct profile **profiles; /* Owned array. */
	struct joint_load *loads;        /* Owned. */
	struct joint_link link;
	struct joint_problem problem;
};

static void
one_link_init(struct one_link *one, const struct compat_job *jobs, size_t n,
	      double capacity_bps)
{
	one->profiles = xcalloc(n, sizeof *one->profiles);
	one->loads = xcalloc(n, sizeof *one->loads);
	for (size_t j = 0; j < n; j++) {
		one->profiles[j] = jobs[j].profile;
		one->loads[j] = (struct joint_load){ .job = (uint32_t)j,
						     .factor = jobs[j].factor };
	}
	one->link = (struct joint_link){ .n_loads = (uint32_t)n,
					 .capacity_bps = capacity_bps,
					 .weight = 1 };
	one->problem = (struct joint_problem){ .n_jobs = n,
					       .profiles = one->profiles,
					       .n_links = 1,
					       .links = &one->link,
					       .loads = one->loads };
}

static void
one_link_fini(struct one_link *one)
{
	free(one->profiles);
	free(one->loads);
}

/* TV / T of a job on the link: the most its excess can change per shift. */
static double
slope_of(const struct compat_job *job)
{
	return profile_variation_bps(job->profile) * job->factor /
	       (double)job->profile->period_us;
}

/*
 * The gain of job 'j' with the jobs 'others' in place, in bits per second.  The common
 * measure g = gcd(T_j, lcm of theirs) is computed as the lcm of gcd(T_j, T_i), all
 * divisors of T_j, so no number exceeds T_j.
 */
static double
gain_bound_bps(const struct compat_job *jobs, size_t j, const size_t *others, size_t n)
{
	int64_t period_us = jobs[j].profile->period_us, g_us = 1;
	double slope_of_others = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t other_us = jobs[others[i]].profile->period_us;

		g_us = period_lcm(g_us, period_gcd(period_us, other_us), period_us);
		slope_of_others += slope_of(&jobs[others[i]]);
	}
	return (double)g_us / 4 * fmin(slope_of(&jobs[j]), slope_of_others);
}

/* Computes the bound of the header, and each job's own in 'ret_of_job'. */
static double
find_bounds(const struct compat_job *jobs, size_t n, double *ret_of_job)
{
	size_t *order = xcalloc(n, sizeof *order);
	size_t first = 0, n_placed = 0;
	double sum = 0;

	for (size_t j = 1; j < n; j++)
		if (slope_of(&jobs[j]) > slope_of(&jobs[first]))
			first = j;

	order[n_placed++] = first;
	for (size_t j = 0; j < n; j++)
		if (j != first) {
			sum += gain_bound_bps(jobs, j, order, n_placed);
			order[n_placed++] = j;
		}

	for (size_t i = 0; i < n; i++) {
		size_t j = order[i];

		/* The other jobs: the last one takes the place of job j. */
		order[i] = order[n - 1];
		ret_of_job[j] = gain_bound_bps(jobs, j, order, n - 1);
		order[i] = j;
	}
	free(order);
	return sum;
}

static double
chance_bps(const struct compat_job *jobs, size_t n, double capacity_bps)
{
	struct random_phase chance;
	double excess_bps;

	random_phase_init(&chance, capacity_bps);
	for (size_t j = 0; j < n; j++)
		random_phase_add(&chance, jobs[j].profile, jobs[j].factor);
	excess_bps = random_phase_excess_bps(&chance);
	random_phase_fini(&chance);
	return excess_bps;
}

/* True if two jobs vary enough for shifts to matter with suitable periods. */
static bool
are_uneven(const struct compat_job *jobs, size_t n, double capacity_bps)
{
	size_t n_uneven = 0;

	for (size_t j = 0; j < n; j++)
		if (profile_variation_bps(jobs[j].profile) * jobs[j].factor / 4 >=
		    COMPAT_WORTHLESS_FRAC * capacity_bps)
			n_uneven++;
	return n_uneven >= 2;
}

/* True if two of the jobs may have one period, by the errors of their measurement. */
static bool
may_share_period(const struct compat_job *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			if (same_period_is_unsure(jobs[i].profile, jobs[j].profile))
				return true;
	return false;
}

static enum reason
reason_for(const struct compat *compat, const struct compat_job *jobs,
	   double capacity_bps)
{
	double peaks_bps = 0;

	for (size_t j = 0; j < compat->n_jobs; j++)
		peaks_bps += profile_peak_bps(jobs[j].profile) * jobs[j].factor;
	if (peaks_bps <= capacity_bps)
		return REASON_FITS;
	if (1 - compat->score <= ADVISE_NEARLY_NONE_FRAC)
		return REASON_INTERLEAVED;
	if (compat->bound_frac < COMPAT_WORTHLESS_FRAC &&
	    are_uneven(jobs, compat->n_jobs, capacity_bps))
		return may_share_period(jobs, compat->n_jobs)
			       ? REASON_PERIODS_UNSURE
			       : REASON_PERIODS_UNRELATED;
	return compat->score - compat->score_chance >= COMPAT_WORTHLESS_FRAC
		       ? REASON_REDUCED
		       : REASON_NO_ROOM;
}

static void
fill(struct compat *compat, const struct compat_job *jobs, double capacity_bps,
     const struct joint_result *result)
{
	size_t n = compat->n_jobs;

	compat->shift_us = xmemdup(result->shift_us, n, sizeof *compat->shift_us);
	compat->slack_us = xmemdup(result->slack_us, n, sizeof *compat->slack_us);
	compat->excess_before_bps = result->excess_before_bps[0];
	compat->excess_bps = result->excess_after_bps[0];
	compat->excess_chance_bps = chance_bps(jobs, n, capacity_bps);
	compat->score_before = 1 - compat->excess_before_bps / capacity_bps;
	compat->score_chance = 1 - compat->excess_chance_bps / capacity_bps;
	compat->score = 1 - compat->excess_bps / capacity_bps;
	compat->job_bound_frac = xcalloc(n, sizeof *compat->job_bound_frac);
	compat->bound_frac =
		find_bounds(jobs, n, compat->job_bound_frac) / capacity_bps;
	for (size_t j = 0; j < n; j++)
		compat->job_bound_frac[j] /= capacity_bps;
	compat->reason = reason_for(compat, jobs, capacity_bps);
}

/* True if CASSINI's circle of these jobs allows no rotation. */
static bool
is_degenerate(const struct compat_job *jobs, size_t n, double capacity_bps)
{
	struct circle_job *on_circle = xcalloc(n, sizeof *on_circle);
	struct circle circle;
	bool answer;

	for (size_t j = 0; j < n; j++)
		on_circle[j] = (struct circle_job){ jobs[j].profile, jobs[j].factor };
	circle_init(&circle, on_circle, n, capacity_bps);
	answer = circle.is_degenerate;
	circle_fini(&circle);
	free(on_circle);
	return answer;
}

/* The jobs with the periods of 'joined', which may be NULL: their own. */
static struct compat_job *
jobs_joined(const struct compat_job *jobs, size_t n, const struct profile *joined)
{
	struct compat_job *copies = xmemdup(jobs, n, sizeof *copies);

	for (size_t j = 0; j < n && joined; j++)
		copies[j].profile = &joined[j];
	return copies;
}

int
compat_solve(const struct compat_job *given, size_t n_jobs, double capacity_bps,
	     enum compat_solver solver, uint64_t seed, struct compat *ret_compat)
{
	const struct cassini_opts cassini_opts = { .seed = seed };
	const struct joint_opts joint_opts = { .seed = seed, .n_restarts = 8 };
	struct compat compat = { .n_jobs = n_jobs, .grid_score = (double)NAN };
	struct joint_result *result;
	struct compat_job *jobs;
	struct profile *joined;
	struct one_link one;

	one_link_init(&one, given, n_jobs, capacity_bps);
	joined = same_period_join(one.profiles, n_jobs);
	jobs = jobs_joined(given, n_jobs, joined);
	compat.has_joined = joined != NULL;
	if (solver == COMPAT_CASSINI) {
		result = cassini_solve(&one.problem, &cassini_opts);
		compat.grid_score = cassini_score(&one.problem, &cassini_opts);
	} else {
		result = joint_solve(&one.problem, &joint_opts);
	}
	if (result != NULL) {
		fill(&compat, jobs, capacity_bps, result);
		if (solver == COMPAT_CASSINI)
			compat.is_degenerate =
				is_degenerate(jobs, n_jobs, capacity_bps);
		*ret_compat = compat;
	}
	joint_result_free(result);
	one_link_fini(&one);
	free(jobs);
	free(joined);
	return result != NULL ? 0 : -EINVAL;
}

void
compat_fini(struct compat *compat)
{
	free(compat->shift_us);
	free(compat->slack_us);
	free(compat->job_bound_frac);
	memset(compat, 0, sizeof *compat);
}
