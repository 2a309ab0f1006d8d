/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_counters.h - statistics of a job trace, updated job by job in any order.
 *
 * Keeps 8 bytes per job, its duration, since medians are exact; and each name of
 * users, virtual clusters and models once.  Pure; no I/O.
 */
#ifndef SIM_JOBS_TRACE_COUNTERS_H
#define SIM_JOBS_TRACE_COUNTERS_H

#include <stdint.h>

struct jobtrace_job;
struct trace_counters;

#define TRACE_COUNTERS_N_SIZES 18 /* 1, 2, 3..4, 5..8, ... GPUs. */

struct trace_counters_size {
	uint32_t min_gpus, max_gpus;
	uint64_t n, n_known; /* All jobs; jobs of known duration, above 0. */
	double gpu_s;        /* Of jobs of known duration, summed in their order. */
	double median_s;     /* Of durations; NAN: no jobs. */
};

struct trace_counters_sums {
	struct trace_counters_size sizes[TRACE_COUNTERS_N_SIZES];
	uint64_t n, n_known;
	double gpu_s;
	double first_s, last_s; /* Submissions on the trace's clock; 0: no jobs. */
	double mean_s, median_s, max_s; /* Durations; NAN: none known. */
	double p99_s;                   /* The sorted one at int(0.99 n). */
	uint32_t n_users, n_vcs, n_models;
};

struct trace_counters *trace_counters_new(void);
void trace_counters_free(struct trace_counters *counters); /* Accepts NULL. */

/* Borrows the job.  O(1), amortized. */
void trace_counters_add(struct trace_counters *counters,
			const struct jobtrace_job *job);

/*
 * Of all jobs added so far; more may follow.  O(n log n); at most 8 bytes more per job
 * of the most frequent size.
 */
void trace_counters_sum(struct trace_counters *counters,
			struct trace_counters_sums *ret_sums);

#endif
