/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predict.h - predicted slowdowns of jobs that run together.
 *
 * Runs the engine on a few routed jobs, a bounded number of iterations for each seed,
 * and returns each job's slowdown: its mean iteration time over the period of its
 * profile.  Contention stretches bursts, which moves the phases, which changes the
 * contention: no formula on the circle covers that, so predictions decide on placements
 * and shifts.
 *
 * A job whose phase is not controlled starts at a random point of its period, another
 * one for each seed; the same seeds draw the same phases and the same jitter for every
 * prediction, so that two plans can be compared pair by pair.
 *
 * Pure and deterministic.
 */
#ifndef SCHEDULER_CORE_ADVISE_PREDICT_H
#define SCHEDULER_CORE_ADVISE_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

struct routed_job;
struct topo;
struct work_job;

struct predict_job {
	const struct work_job *job;      /* Borrowed. */
	const struct routed_job *routed; /* Borrowed. */
	int64_t shift_us;                /* Of its start, unless random. */
	bool has_random_phase;           /* Drawn anew for each seed. */
	enum engine_pacing pacing;
};

struct predict_opts {
	uint64_t seed;
	uint32_t n_seeds;      /* Runs; at least 1. */
	uint32_t n_iterations; /* Of the job with the longest period; approximate. */
};

struct prediction {
	size_t n_jobs, n_seeds;
	double *slowdown; /* Owned.  Job j in run s: [j * n_seeds + s]. */
};

/*
 * Predicts 'n' jobs.  Release '*ret_prediction' with prediction_fini().  A job
 * that takes no time at all (nothing to compute or to send) has slowdown 1.
 */
void predict(const struct predict_job *jobs, size_t n, const struct topo *topo,
	     const struct predict_opts *opts, struct prediction *ret_prediction);
void prediction_fini(struct prediction *prediction); /* Accepts a zeroed one. */

/* Mean over the runs. */
double prediction_mean(const struct prediction *prediction, size_t job);

/*
 * The noise of predictions with few runs: with slowdowns x_js of job j in run s, laid out
 * as in struct prediction, m_j their mean and v_j their variance over the runs,
 *
 *	sqrt(sum_j v_j / sum_j (m_j - 1)^2 / n_seeds),
 *
 * the standard error of a mean slowdown over its distance from 1.  0 if no job is slowed.
 */
double prediction_noise(const double *slowdown, size_t n_jobs, size_t n_seeds);

/*
 * Flows that one run of the jobs would start, about; predict()'s cost is proportional.
 */
double predict_cost(const struct predict_job *jobs, size_t n, uint32_t n_iterations);

#endif
