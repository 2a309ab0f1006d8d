/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cassini.h - the CASSINI policy (Rajasekaran, Ghobadi, Akella, NSDI 2024), as
 * published.
 *
 * The baseline against which antiphase's own solver (joint.h) and placement (place.h)
 * are measured.  So it is kept strong where the paper leaves a choice open, and not
 * improved where the paper made one.
 *
 * For one placement (one joint problem):
 *
 *  1. V: the links that carry more than one job; U: those jobs.  Links that can never
 *     be exceeded stay in: the paper has no such test.
 *  2. A loop in the affinity graph: no shifts at all, the placement is
 *     discarded.
 *  3. Each link alone by its unified circle (circle.h): score and rotations.
 *  4. The placement's score: the mean of the scores of its links in V, 1 if
 *     there are none.
 *  5. The rotations as times, stitched by Algorithm 1 (affinity.h).
 *
 * Algorithm 2 takes at most ten placements, and returns the one with the best
 * score of those that have no loop.
 *
 * Extensions of the paper in favor of CASSINI: a job's demand on a link is its profile
 * times the load's factor, not equal on every link; and see 'merge_twins' and
 * 'newcomer'.  Pure and deterministic for a seed.
 */
#ifndef SCHEDULER_CORE_CASSINI_CASSINI_H
#define SCHEDULER_CORE_CASSINI_CASSINI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/solve/joint.h"

#define CASSINI_MAX_CANDIDATES 10

struct cassini_opts {
	uint64_t seed;
	unsigned n_restarts; /* Of a link's search beyond three jobs; 0: 8. */

	/*
	 * Two jobs that share two links are a loop, so with the two
	 * directions of every cable as links of their own nearly every pair
	 * of ring jobs is one.  The paper does not say how it counts them.
	 * True: links with the same jobs, the same factors and the same
	 * capacity, whose circles are thus the same, are one vertex.  This is
	 * the reading that favors CASSINI; use it for comparisons.
	 */
	bool merge_twins;

	/*
	 * If one job is placed among others, a loop of those others alone is in every
	 * candidate, and would discard them all.  True: cassini_score() and
	 * cassini_rank() discard a candidate only for a loop in the part of the graph
	 * with 'newcomer'.
	 */
	bool has_newcomer;
	uint32_t newcomer;
};

/*
 * Solves one placement.  'opts' may be NULL for zeroes.  The result is that of
 * joint_solve(), except: shift_us is from Algorithm 1, slack_us is 0 since CASSINI has
 * none, excess and objective are exact (joint_excess(), not the circle's samples),
 * 'before' is without shifts. has_loop reports a loop; then gave_up is set and all
 * shifts are 0.
 *
 * Returns a new result for joint_result_free(), or NULL as joint_solve().
 */
struct joint_result *cassini_solve(const struct joint_problem *problem,
				   const struct cassini_opts *opts);

/*
 * The same.  If it returns a result, '*ret_score' is the placement's score (-INFINITY
 * with a loop), a mean over '*ret_n_links' links.
 */
struct joint_result *cassini_solve_scored(const struct joint_problem *problem,
					  const struct cassini_opts *opts,
					  double *ret_score, size_t *ret_n_links);

/*
 * The paper's score of a placement: the mean over V of Table 1's score. -INFINITY if it
 * must be discarded (a loop; see 'newcomer'), NAN if it is malformed.
 */
double cassini_score(const struct joint_problem *problem,
		     const struct cassini_opts *opts);

struct cassini_choice {
	size_t best;     /* Index among the candidates; SIZE_MAX: none remains. */
	size_t n_scored; /* Candidates evaluated: at most ten. */
	double scores[CASSINI_MAX_CANDIDATES]; /* As cassini_score(). */
	struct joint_result *result;           /* Owned.  Of the best; NULL: none. */
};

/*
 * Algorithm 2 over the first ten of 'n' candidate placements; the first wins
 * among equals.  Returns 0 and fills '*ret_choice', to be released with
 * cassini_choice_fini(), or -EINVAL if a candidate is malformed.
 */
int cassini_rank(const struct joint_problem *const *candidates, size_t n,
		 const struct cassini_opts *opts, struct cassini_choice *ret_choice);
void cassini_choice_fini(struct cassini_choice *choice);

#endif
