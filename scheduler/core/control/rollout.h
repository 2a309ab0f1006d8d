/*
 * rollout.h - whether taking turns pays: played out for a few jobs, against sharing.
 *
 * Turns cost nothing where periods are in a small ratio and the bursts fit; where
 * periods differ a little, the quicker job is held back to the slower one's pace
 * (locked, at the price of the difference), which costs less than the contention it
 * takes away up to a point; beyond it the quicker job would always come to a link that
 * is taken, and sharing is better.  No formula knows where that is for several jobs, so
 * the two are played out: a job computes, waits if it takes turns with one that is
 * sending, sends at the rate
 *
 *	1 / (1 + sum over others that are sending and meet it of their overload),
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
	double compute_ns, sd_ns; /* An iteration: its computing, with its noise, */
	double send_ns;           /* and sending, alone. */
};

/* How a few jobs get along with each other.  Square tables: [i * n + j]. */
struct rollout {
	bool takes_turns[ROLLOUT_MAX_JOBS * ROLLOUT_MAX_JOBS]; /* Symmetric. */
	/*
	 * A job that would have to wait longer than so many of its own bursts shares
	 * instead; INFINITY: it waits in any case.
	 */
	double patience;
	double slowdown[ROLLOUT_MAX_JOBS];      /* Of each job, as foretold, */
	double free_slowdown[ROLLOUT_MAX_JOBS]; /* and if all shared. */
};

/*
 * The mean iteration time over that alone, of each job.  overload[]: what a second in
 * which both send loses for each of them, 0 to 1, symmetric.
 */
void rollout_play(const struct rollout_job *jobs, size_t n, const double *overload,
		  const struct rollout *regime, double *ret_slowdown);

/*
 * Which pairs had better take turns: none; all that meet; these, but only for waits no
 * longer than their own bursts; or those for which it pays as a pair.  Whatever is best
 * in the mean and does no harm: the worst job is not worse off than the worst one would
 * be if all shared, nor any job by more than a twentieth.
 */
void rollout_choose(const struct rollout_job *jobs, size_t n, const double *overload,
		    struct rollout *ret_regime);

#endif
