/* SPDX-License-Identifier: Apache-2.0 */
/*
 * market.h - rounds of a window for jobs: the largest mean log utility of progress,
 * less a cost of the makespan (Shockwave, NSDI 2023).
 *
 *	maximize   sum_j weight[j] log(progress of j after x[j] rounds) / (n T)
 *	           - cost_per_s max_j (remaining time of j after x[j] rounds)
 *	subject to n_least[j] <= x[j] <= T,   sum_j n_gpus[j] x[j] <= capacity T
 *
 * for n jobs and T rounds.  log is piecewise linear between 0, 1/5, ... 1, and log_floor
 * at 0, so each job's utility is concave in its rounds.  For a bound of the remaining
 * time, jobs have a least number of rounds, and the rest goes to the largest gain per
 * GPU; the bound is found by ternary search, then one by one among the nearest.
 * Exchanges of rounds between jobs mend what the greedy choice missed.  Not always
 * optimal: tests/unit/test_market.c measures by how much.
 *
 * Pure; ties go to the job of the lower index.
 */
#ifndef POLICIES_MATH_MARKET_H
#define POLICIES_MATH_MARKET_H

#include <stdbool.h>
#include <stdint.h>

struct market_job {
	double n_gpus;    /* Above 0. */
	double weight;    /* Of its utility. */
	double progress;  /* Done part of its work, from 0 to 1. */
	double rate;      /* Progress in a round; above 0. */
	double left_s;    /* Its expected remaining time. */
	uint32_t n_least; /* Rounds that it must get. */
};

struct market {
	const struct market_job *jobs;
	uint32_t n_jobs, n_rounds;
	double capacity, round_s;
	double cost_per_s; /* Of the makespan. */
	double log_floor;  /* Stands for log 0; below log 1/5. */
};

/* The remaining time of a job after 'n' rounds of the window. */
double market_left_s(const struct market *market, const struct market_job *job,
		     uint32_t n);

/* The objective of the rounds x. */
double market_value(const struct market *market, const uint32_t *x);

/*
 * Writes the rounds of each job; returns false, with nothing written, if the least
 * rounds do not fit.  O(n T log(n T) + passes n^2 T).
 */
bool market_solve(const struct market *market, uint32_t *ret_x);

/*
 * market_rank.c: distributes x over the window; writes to ret_runs[n_jobs x n_rounds]
 * whether a job runs in a round.  A job that needs each round that is left comes first,
 * then those with the largest priority per GPU and round.  A round that has no room left
 * is lost: about one in fifty.
 */
void market_rank(const struct market *market, const uint32_t *x,
		 const double *priorities, bool *ret_runs);

#endif
