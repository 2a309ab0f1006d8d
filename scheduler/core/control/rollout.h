/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rollout.h - prediction of whether taking turns pays, by playing out a few jobs.
 *
 * Turns cost nothing if periods are in a small ratio and the bursts fit.  If periods
 * differ a little, the faster job is held back to the pace of the slower one, which up
 * to a point costs less than contention; beyond it, the faster job would always find
 * the link taken, and sharing is better.  No formula gives that point for several jobs,
 * so both options are simulated: a job computes, waits while a job with which it takes
 * turns is sending, sends at the rate
 *
 *	1 / (1 + sum of overloads over the other jobs that are sending),
 *
 * and computes again; from several random phases, with its jitter, by a fixed seed.
 * O(draws x iterations x n^2) a play and O(n^2) plays: a choice takes 0.4 ms for three
 * jobs and 8 ms for eight.  Pure and deterministic.
 */
#ifndef SCHEDULER_CORE_CONTROL_ROLLOUT_H
#define SCHEDULER_CORE_CONTROL_ROLLOUT_H

#include <stdbool.h>
#include <stddef.h>

#define ROLLOUT_MAX_JOBS 8

struct rollout_job {
	double compute_ns, sd_ns; /* Computing in an iteration; its deviation. */
	double send_ns;           /* Sending, in isolation. */
};

/* Which pairs take turns, and the cost.  Square tables: [i * n + j]. */
struct rollout {
	bool takes_turns[ROLLOUT_MAX_JOBS * ROLLOUT_MAX_JOBS]; /* Symmetric. */
	/*
	 * A job that would wait longer than this many of its own bursts shares instead;
	 * INFINITY: it always waits.
	 */
	double patience;
	double slowdown[ROLLOUT_MAX_JOBS];      /* Predicted, by job. */
	double free_slowdown[ROLLOUT_MAX_JOBS]; /* Likewise if all jobs shared. */
};

/*
 * Predicts the slowdown of each job: its mean iteration time over the isolated one.
 * overload[]: the loss of each in a second in which both send, 0 to 1, symmetric.
 */
void rollout_play(const struct rollout_job *jobs, size_t n, const double *overload,
		  const struct rollout *rollout, double *ret_slowdown);

/*
 * Chooses the pairs that take turns: none; all that share a link; all, but only for
 * waits no longer than a job's own burst; or those for which it pays as a pair.  It
 * takes the best mean that does no harm: the worst job is not worse off than the worst
 * one would be if all shared, nor is any job by more than ROLLOUT_MAX_HARM.
 */
void rollout_choose(const struct rollout_job *jobs, size_t n, const double *overload,
		    struct rollout *ret_rollout);

#endif
