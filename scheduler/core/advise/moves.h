/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moves.h - the bill of moving workers of jobs to other hosts, and the limit on moves.
 *
 * A move stops a job: it writes a checkpoint, starts elsewhere, and repeats the work since
 * the checkpoint.  It pays if the jobs gain more than that while the gain lasts.  With the
 * weight w_j of job j (its GPUs), its slowdowns s_j without the move and t_j with it, the
 * time L_j for which the difference lasts, and the time D_j that a moved job loses,
 *
 *	gain     = sum over jobs of w_j (1/t_j - 1/s_j) L_j
 *	cost     = sum over moved jobs of w_j D_j
 *	pay-back = cost / sum over jobs of w_j (1/t_j - 1/s_j)
 *
 * Gain and cost are in seconds of goodput, GPU seconds where weights are GPUs.  The move
 * pays if the gain is at least MOVES_MARGIN times the cost, and not all of it is noise of
 * the prediction.
 *
 * A difference lasts while the job runs, and at least one other job that the move
 * affects, since jobs contend only with jobs that run: L_j is the smaller one of the
 * remaining time of j and the longest remaining time of the other affected jobs.  A
 * remaining time is known, or predicted, or else as long as the job has run so far: the
 * longer a job has run, the longer it is expected to run on (Harchol-Balter and Downey,
 * "Exploiting process lifetime distributions for dynamic load balancing", 1997).
 *
 * Limits: D_j is charged in full, though a slowed job loses less, and other jobs run
 * faster meanwhile.  Jobs that arrive later are unknown, and may use the links that a
 * move has freed.
 *
 * Pure; time is an argument.
 */
#ifndef SCHEDULER_CORE_ADVISE_MOVES_H
#define SCHEDULER_CORE_ADVISE_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct work_job;

/*
 * The default of D_j: one restart, and a time for each worker that changes its host.  A
 * worker: MonkeyTree (arXiv 2602.08296) measured 9 to 10 s.  A restart: as Gavel (OSDI
 * 2020) and the policies here that charge restarts.
 */
#define MOVES_RESTART_S 30.0
#define MOVES_WORKER_S  10.0
/* Remaining times are rough: chosen so that a wrong one by half does no harm. */
#define MOVES_MARGIN 2.0
/* Least gain in goodput over the goodput of the affected jobs; chosen, above the noise. */
#define MOVES_NOISE_FRAC 0.002
/* Default share of the running jobs that may be moved in an hour; chosen. */
#define MOVES_SHARE_PER_HOUR 0.1

/* A job, as far as moves are concerned. */
struct moves_job {
	double weight;
	double left_s; /* Remaining time, see above; INFINITY: runs on. */
	double cost_s; /* D_j of any move; NAN: the default. */
	bool is_movable;
	bool is_waiting; /* To be started: a move costs nothing, and is no move. */
};

/* From a job of a workload, with hosts or without. */
struct moves_job moves_job_of(const struct work_job *job);

/* D_j of a move of 'n_workers' workers. */
double moves_lost_s(const struct moves_job *job, uint32_t n_workers);

struct moves_bill {
	double gain, cost; /* Weight times seconds. */
	double rate;       /* Gain per second while all affected jobs run. */
	double payback_s;  /* 0 if it costs nothing; INFINITY if it gains nothing. */
	bool pays;
};

/*
 * The bill of one decision: jobs[n] with their slowdowns without and with it (0 if not
 * running), and the number of workers of each that change hosts.  O(n).
 */
void moves_bill(const struct moves_job *jobs, size_t n, const double *slowdown_before,
		const double *slowdown_after, const uint32_t *n_workers,
		struct moves_bill *ret_bill);

/* ---- The limit ------------------------------------------------------------------- */

/* A move of a running job in the past. */
struct moves_past {
	uint32_t job;
	double at_s, payback_s;
};

/*
 * How many of 'n_running' jobs may be moved at 'now_s', if no more than 'share' of them
 * are moved in any hour.  If that is less than one job in an hour, one is moved in as
 * many hours as make it one.
 */
uint32_t moves_allowed(const struct moves_past *past, size_t n_past, double now_s,
		       uint32_t n_running, double share);
/* Whether an earlier move of the job has not paid back yet. */
bool moves_is_resting(const struct moves_past *past, size_t n_past, double now_s,
		      uint32_t job);

#endif
