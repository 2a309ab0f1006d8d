/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_correction.h - the cheapest delays that bring jobs back into their windows.
 *
 * For job j let phi_j be its phase and x_j >= 0 its delay.  For each constraint e = (a,
 * b)
 *
 *	lo_e <= (phi_b + x_b) - (phi_a + x_a) + k_e g_e <= hi_e,	k_e an integer.
 *
 * With the wraps k fixed these are difference constraints x_v - x_u >= w.  Of two
 * solutions the smaller delay of each job is a solution again (in x_v >= x_u + w the
 * right side only falls with x_u), so there is a least one, in each delay at once; it
 * is the longest path from a source that is 0 everywhere, and costs least whatever a
 * second of each job's delay costs (weights >= 0).  So Bellman-Ford gives not just a
 * feasible answer but the optimum, and no linear program is needed: O(V E).  Delays
 * that require each other in a circle grow without bound, which is detected early.
 *
 * The wraps are the hard part.  They start at the copy of each window that is nearest
 * in cost.  Up to PHASE_CORRECTION_MAX_EXACT constraints, all combinations of
 * neighboring copies are tried; beyond that, one constraint at a time while the cost
 * falls; for an infeasible circle, only its own constraints.  A call visits at most
 * PHASE_CORRECTION_MAX_VISITS constraints, about 1 ms, and returns the best so far.
 * Pure.
 */
#ifndef SCHEDULER_CORE_CONTROL_PHASE_CORRECTION_H
#define SCHEDULER_CORE_CONTROL_PHASE_CORRECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PHASE_CORRECTION_MAX_EXACT  6
#define PHASE_CORRECTION_MAX_VISITS 200000

struct phase_correction_job {
	double phase_ns;
	double weight; /* Cost of a second of delay; 0 or more. */
	bool is_fixed; /* Cannot be delayed. */
};

struct phase_correction_constraint {
	uint32_t a, b;
	double modulus_ns, lo_ns, hi_ns; /* lo <= hi, hi - lo < modulus. */
};

/*
 * Finds the delays that bring all constraints into their windows, at least by
 * 'margin_frac' (0 to 1) of half their width; fixed jobs are not delayed.  Returns 0,
 * or -ERANGE if there are no such delays.
 */
int phase_correction_solve(const struct phase_correction_job *jobs, size_t n_jobs,
			   const struct phase_correction_constraint *constraints,
			   size_t n_constraints, double margin_frac,
			   double *ret_delay_ns);

/* Distance from the constraint's window: 0 within, negative before, positive after. */
double phase_correction_error_ns(const struct phase_correction_job *jobs,
				 const struct phase_correction_constraint *constraint);

#endif
