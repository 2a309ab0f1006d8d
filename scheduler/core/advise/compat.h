/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat.h - compatibility of jobs on one link.
 *
 * The computation of 'antiphase compat': given the profiles of some jobs and the
 * capacity of a link that they share, how well they fit unshifted, the best shift of
 * each, and whether shifts are worthwhile.
 *
 *	score_before   all jobs start together, as their profiles have it
 *	score_chance   random phases: the mean over all shifts (random_phase.h)
 *	score          at the shifts found
 *
 * each as 1 - (mean excess) / C, exactly, whichever solver found the shifts.
 *
 * No shifts can beat random phases by more than
 *
 *	bound = sum over j > 1 of (g_j / 4) min(V_j, V_1 + .. + V_(j-1)),
 *	V_j = TV_j / T_j,   g_j = gcd(T_j, lcm(T_1 .. T_(j-1)))
 *
 * in bits per second, TV being the total variation of a job's demand over one
 * iteration.  For two jobs this is the g/4 bound.  For more it is that bound
 * applied to one job after the other: with jobs 1 to j-1 in place and those
 * after j at random phases, the mean excess as a function of job j's shift has
 * the period g_j and a slope of at most V_j (or of the sum of the others, as
 * shifting j is shifting all those), so it stays within g_j / 4 times that of
 * its mean.  Any order of the jobs would do; the one with the largest V comes
 * first here, where it costs nothing.  The same for a job with all the others
 * in place bounds what its own shift can gain.
 *
 * Pure; deterministic for a seed.
 */
#ifndef SCHEDULER_CORE_ADVISE_COMPAT_H
#define SCHEDULER_CORE_ADVISE_COMPAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/reason.h"

struct profile;

/* With a bound below this share of the capacity, shifts are worthless. */
#define COMPAT_WORTHLESS_FRAC ADVISE_WORTHLESS_FRAC

enum compat_solver {
	COMPAT_EXACT,   /* joint.h */
	COMPAT_CASSINI, /* cassini.h */
	N_COMPAT_SOLVERS,
};

/* "exact", "cassini"; NULL-terminated. */
extern const char *const compat_solver_names[N_COMPAT_SOLVERS + 1];

struct compat_job {
	const struct profile *profile; /* Borrowed. */
	double factor; /* Demand on the link / rate of the profile; above 0. */
};

struct compat {
	size_t n_jobs;
	int64_t *shift_us; /* Owned.  One a job, in [0, period), of the joined ones. */
	int64_t *slack_us; /* Owned.  Half width; 0 from CASSINI. */
	double excess_before_bps, excess_chance_bps, excess_bps;
	double score_before, score_chance, score;
	double bound_frac;      /* The bound above, as a share of the capacity. */
	double *job_bound_frac; /* Owned.  By job: its own, all others in place. */
	double grid_score;      /* CASSINI's own score, of 72 samples; NAN if exact. */
	bool has_joined;        /* Unequal periods counted as one: same_period.h. */
	bool is_degenerate;     /* CASSINI's circle allows no rotation: circle.h. */
	enum reason reason;     /* For the set: see compat_solve(). */
};

/*
 * Answers for at least one job on a link of 'capacity_bps'.  The reason is one of
 * REASON_FITS              all peaks together fit: no shift is needed
 * REASON_INTERLEAVED       at these shifts (nearly) nothing is in excess
 * REASON_PERIODS_UNRELATED the bound is below COMPAT_WORTHLESS_FRAC, and would
 *                          not be if the periods were equal
 * REASON_PERIODS_UNSURE    the same, but two of the periods are equal within their
 *                          errors: same_period_is_unsure()
 * REASON_REDUCED           better than random phases by at least that
 * REASON_NO_ROOM           not so
 *
 * Release with compat_fini().  Returns 0, or -EINVAL for a capacity or factor
 * that is not positive.
 */
int compat_solve(const struct compat_job *jobs, size_t n_jobs, double capacity_bps,
		 enum compat_solver solver, uint64_t seed, struct compat *ret_compat);
void compat_fini(struct compat *compat); /* Accepts a zeroed one. */

#endif
