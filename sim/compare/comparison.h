/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.h - several policies on the same seeds: means with 95 % confidence
 * intervals, and paired differences.
 *
 * A seed determines the random phases and the jitter of jobs, independent of the
 * policy (common random numbers). The difference between two policies is taken seed by
 * seed, which cancels the common draws; its interval is much narrower than those of
 * the two means.
 *
 * Intervals are Student's t over the seeds.  They hold well for figures that are means
 * over many iterations; for a maximum they are rough.
 */
#ifndef SIM_COMPARE_COMPARISON_H
#define SIM_COMPARE_COMPARISON_H

#include <stddef.h>
#include <stdint.h>

#include "sim/run/experiment.h"

enum comparison_metric {
	METRIC_ITERATION_MEAN_NS,
	METRIC_ITERATION_P90_NS,
	METRIC_ITERATION_P99_NS,
	METRIC_SLOWDOWN_MEAN,
	METRIC_SLOWDOWN_WORST,
	METRIC_GOODPUT,
	METRIC_ECN_PER_ITERATION,
	METRIC_CORRECTIONS_PER_MIN,
	N_COMPARISON_METRICS,
};

/* Mean over the seeds, and half width of its interval. */
struct estimate {
	double mean, ci95;
};

struct comparison; /* Policies x seeds x (metrics, jobs). */

struct comparison *comparison_new(size_t n_policies, size_t max_seeds, size_t n_jobs);
void comparison_free(struct comparison *c); /* Accepts NULL. */

/*
 * Adds a run of policy number 'policy' and seed number 'seed'. A seed counts once it
 * has been added for all policies; seeds come in order.
 */
void comparison_note(struct comparison *c, size_t policy, size_t seed,
		     const struct experiment *experiment,
		     const struct workload *workload);

/* Number of complete seeds. */
size_t comparison_n_seeds(const struct comparison *c);

/*
 * A policy's figure, and its difference to policy 0 on the same seeds
 * ('ret_difference' may be NULL).
 */
void comparison_metric(const struct comparison *c, size_t policy,
		       enum comparison_metric metric, struct estimate *ret_value,
		       struct estimate *ret_difference);

/*
 * The same for a job's mean iteration time (nanoseconds) and slowdown; both are 0 for
 * a job without iterations.
 */
void comparison_job(const struct comparison *c, size_t policy, size_t job,
		    struct estimate *ret_iteration_ns, struct estimate *ret_slowdown);

/* Figures of one run, for CSV. */
double comparison_raw_metric(const struct comparison *c, size_t policy, size_t seed,
			     enum comparison_metric metric);
void comparison_raw_job(const struct comparison *c, size_t policy, size_t seed,
			size_t job, double *ret_iteration_ns, double *ret_slowdown);

#endif
