/* SPDX-License-Identifier: Apache-2.0 */
/*
 * circle.h - CASSINI's unified circle of one link (NSDI 2024).
 *
 * This is the method of the paper, kept faithful as a baseline; pair.h and joint.h find
 * the exact optimum of a link.  The paper's Table 1 in its own symbols:
 *
 *	p^l     perimeter: the least common multiple of the iteration times
 *	r_j     p^l / iteration time of job j: its copies round the circle
 *	A       the discrete angles: here 72, one every 5 degrees (its Fig. 18)
 *	D_j     rotation of job j, 0 <= D_j <= 2 pi / r_j
 *	demand  sum over j of bw_circle_j(a - D_j) at angle a
 *	score   1 - sum over a in A of max(0, demand_a - C) / (|A| C)
 *	t_j     D_j / (2 pi) * p^l mod iteration time           (Equation 5)
 *
 * The score is 1 if the link is never exceeded at any angle, and may be negative:
 * clamping would make bad candidates equal.
 *
 * Choices that the paper leaves open:
 *
 *  - Iteration times are rounded to whole milliseconds (at least one) before
 *    the common multiple is built, and a job's phases keep their angles.
 *  - A demand is sampled at the angle, not averaged over the 5 degrees: the
 *    score is a point sample, as Table 1 writes it.
 *  - A common multiple grows fast (101 and 103 ms: 10,403 ms, so that 5 degrees
 *    last longer than an iteration).  Nothing is capped or substituted: where
 *    2 pi / r_j is below 5 degrees the range of D_j holds only 0, and the score
 *    is the 72 samples.  Sampling and Equation 5 need r_j only modulo 72, so
 *    they are exact even for a multiple beyond 64 bits; only 'period_ms' is
 *    then unknown.
 *  - Times are counted in ticks of 1/72 ms: one grid angle of any circle is a
 *    whole number of them, so Equation 5 and the affinity graph are exact.
 *
 * Pure and deterministic for a seed.
 */
#ifndef SCHEDULER_CORE_CASSINI_CIRCLE_H
#define SCHEDULER_CORE_CASSINI_CIRCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

#define CIRCLE_N_ANGLES     72 /* |A|: 5 degrees each. */
#define CIRCLE_TICKS_PER_MS 72

/* One job on this link, for the circle. */
struct circle_job {
	const struct profile *profile; /* Borrowed. */
	double factor;                 /* Demand on the link / the profile's rate. */
};

struct circle_ring {
	int64_t iteration_ms; /* The job's period, rounded; at least 1. */
	int64_t copies;       /* r_j; INT64_MAX if beyond 64 bits. */
	unsigned n_turns;    /* Grid rotations in [0, 2 pi / r_j]; at least 1 (none). */
	unsigned copies_mod; /* r_j modulo 72, always exact. */
	double demand_bps[CIRCLE_N_ANGLES]; /* bw_circle_j, not rotated. */
};

struct circle {
	size_t n_jobs;
	double capacity_bps;
	int64_t period_ms;         /* p^l; INT64_MAX if beyond 64 bits. */
	bool is_degenerate;        /* No job can be rotated at all. */
	struct circle_ring *rings; /* Owned; one a job. */
};

/*
 * Places 'n_jobs' jobs (at least one) on a circle of 'capacity_bps' (above 0).  Borrows
 * nothing.  Release with circle_fini().
 */
void circle_init(struct circle *circle, const struct circle_job *jobs, size_t n_jobs,
		 double capacity_bps);
void circle_fini(struct circle *circle);

/* Table 1's score with each job rotated by turns[j] grid angles (72 a turn). */
double circle_score(const struct circle *circle, const unsigned *turns);

/*
 * Finds the rotations with the best score, the first of equals in the order of angles.
 * The job with the most copies is held at 0 (only differences matter, and its range is
 * the smallest).  Tries all combinations of two and three jobs, and of more if there
 * are no more of them; otherwise uses cyclic coordinate search, from 0 and from
 * 'n_restarts' random starts, ten rounds each.  Returns the score and fills 'ret_turns'
 * by job.
 */
double circle_solve(const struct circle *circle, uint64_t seed, unsigned n_restarts,
		    unsigned *ret_turns);

/* Equation 5 in ticks of 1/72 ms: in [0, 72 * iteration_ms). */
int64_t circle_shift_ticks(const struct circle_ring *ring, unsigned turn);

/* The rounded period of a job of 'period_us', in ticks. */
int64_t circle_period_ticks(int64_t period_us);

/*
 * Converts a shift in ticks to microseconds of the job's real period, which may not be
 * whole milliseconds; keeps the share of an iteration.  In [0, period_us).
 */
int64_t circle_ticks_to_us(int64_t ticks, int64_t period_us);

#endif
