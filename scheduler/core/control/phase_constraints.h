/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_constraints.h - constraints on relative phases, from the demands of jobs.
 *
 * A constraint is about begins.  The begin of an iteration is its first collective
 * after the longest gap, where a pacer can hold it (phase_constraints_onset_us()).
 * Each pair of jobs that can exceed a link together gets one constraint, which holds on
 * all links that they share.  There are two kinds:
 *
 * - Bursts.  Both jobs send contiguously.  Neither may begin while the other sends:
 *   [length of a, modulus - length of b].  This holds for any periods, so such jobs can
 *   take turns (STEER_GATE); if both lengths fit into the gcd of the periods it is also
 *   a window.
 * - Windows.  A job has several bursts.  The excess of the pair (pair.h) repeats with
 *   the gcd of their periods; the window is the range around the chosen shifts in which
 *   the excess is at most PHASE_CONSTRAINTS_TOLERANCE of the capacity higher.  Such
 *   jobs can only be kept in phase (STEER_SHIFT), if at all.
 *
 * A link that only three jobs or more exceed together gives no constraint.
 */
#ifndef SCHEDULER_CORE_CONTROL_PHASE_CONSTRAINTS_H
#define SCHEDULER_CORE_CONTROL_PHASE_CONSTRAINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/control/steer.h"

struct joint_problem;
struct profile;

#define PHASE_CONSTRAINTS_TOLERANCE 0.002 /* Of a link's capacity. */

struct phase_constraints {
	struct steer_constraint *items; /* Owned.  Jobs as the problem numbers them. */
	size_t n;
	enum steer_mode *modes; /* Owned.  By job: suits its constraints. */
	size_t n_jobs;
};

/* The begin of an iteration in the profile's time: after its longest gap. */
int64_t phase_constraints_onset_us(const struct profile *profile);

/*
 * How long the job sends from its onset, if contiguously, with at most
 * CONSTRAINT_MAX_IDLE_FRAC of it idle; else 0.
 */
int64_t phase_constraints_burst_us(const struct profile *profile);

/*
 * Makes the constraints for the chosen shifts (by job; NULL: all 0).  'locked_us'
 * (NULL, or 0 for a job: none) replaces the profiles' periods, which same_period.h may
 * join.  Costs O(pairs on a link) evaluations of pair.h.  Release with
 * phase_constraints_fini().
 */
void phase_constraints_make(const struct joint_problem *problem,
			    const int64_t *shift_us, const int64_t *locked_us,
			    struct phase_constraints *ret_constraints);
/* Accepts a zeroed one. */
void phase_constraints_fini(struct phase_constraints *constraints);

#endif
