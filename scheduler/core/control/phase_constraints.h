/*
 * phase_constraints.h - from what jobs put on links to the edges that the control loop keeps.
 *
 * An edge speaks of begins: the begin of an iteration is its first collective after the
 * longest gap, which is where a pacer sees it and can hold it (phase_constraints_onset_us()).  For
 * each pair of jobs that can exceed a link together there is one edge; over several
 * links, where all of them are content.  It is one of two kinds:
 *
 * - Bursts.  Both jobs send in one go.  b may not begin while a sends, nor a while b
 *   does: [length of a, modulus - length of b].  This holds whatever the periods are,
 *   so such jobs can take turns (STEER_GATE); if both lengths fit into the gcd of the
 *   periods it is a window as well.
 * - Windows.  A job has several bursts.  The excess of the pair (pair.h) repeats with
 *   the gcd of their periods; the window is what lies around the shifts that were
 *   chosen and is no worse than these by more than PHASE_CONSTRAINTS_TOLERANCE of the capacity.
 *   Such jobs can be kept in phase (STEER_SHIFT), if at all.
 *
 * What only three jobs or more exceed together is not seen: edges are about pairs.
 */
#ifndef SCHEDULER_CORE_CONTROL_PHASE_CONSTRAINTS_H
#define SCHEDULER_CORE_CONTROL_PHASE_CONSTRAINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/control/steer.h"

struct joint_problem;
struct profile;

#define PHASE_CONSTRAINTS_TOLERANCE 0.002

struct phase_constraints {
	struct steer_edge *items; /* Owned.  Jobs as the problem numbers them. */
	size_t n;
	enum steer_mode *modes; /* Owned.  A job: what suits its edges. */
	size_t n_jobs;
};

/* Where an iteration begins in the profile's own time: after its longest gap. */
int64_t phase_constraints_onset_us(const struct profile *profile);

/*
 * How long the job sends from its onset on if that is in one go, with at most a tenth
 * of it idle; 0: it is not.
 */
int64_t phase_constraints_burst_us(const struct profile *profile);

/*
 * Makes the edges for the shifts that were chosen (one a job; NULL: all 0).
 * 'locked_us' (NULL, or 0 for a job: none) are periods that are kept instead of the
 * profiles' own. Costs O(pairs on a link) evaluations of pair.h.  Release with
 * phase_constraints_fini().
 */
void phase_constraints_make(const struct joint_problem *problem,
			    const int64_t *shift_us, const int64_t *locked_us,
			    struct phase_constraints *ret_edges);
void
phase_constraints_fini(struct phase_constraints *edges); /* Accepts a zeroed one. */

#endif
