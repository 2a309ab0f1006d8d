/*
 * trace_counters.h - what is in a trace of jobs, counted one job after another, in any order.
 *
 * Of a job only its duration is kept, 8 bytes, since medians are exact; of users, virtual
 * clusters and models each name once.  Pure; no I/O.
 */
#ifndef SIM_JOBS_TRACE_COUNTERS_H
#define SIM_JOBS_TRACE_COUNTERS_H

#include <stdint.h>

struct jobtrace_job;
struct trace_counters;

#define TRACE_COUNTERS_N_SIZES 18 /* 1, 2, 3..4, 5..8, ... GPUs. */

struct trace_counters_size {
	uint32_t min_gpus, max_gpus;
	uint64_t n, n_known; /* Jobs; those of a known duration, which is above 0. */
	double gpu_s;        /* Of those known, in the order in which they came. */
	double median_s;     /* Of their durations; NAN: there are none. */
};

struct trace_counters_sums {
	struct trace_counters_size sizes[TRACE_COUNTERS_N_SIZES];
	uint64_t n, n_known;
	double gpu_s;
	double first_s, last_s; /* Submissions, as the trace has them; 0 of no jobs. */
	double mean_s, median_s, max_s; /* Durations; NAN: none is known. */
	double p99_s;                   /* The sorted one at int(0.99 n). */
	uint32_t n_users, n_vcs, n_models;
};

struct trace_counters *trace_counters_new(void);
void trace_counters_free(struct trace_counters *tally); /* Accepts NULL. */

/* Borrows the job.  O(1), amortised. */
void trace_counters_add(struct trace_counters *tally, const struct jobtrace_job *job);

/*
 * Of all that were added so far; more may be added then.  O(n log n), with at most 8 bytes
 * more for each job of the most frequent size.
 */
void trace_counters_sum(struct trace_counters *tally,
			struct trace_counters_sums *ret_sums);

#endif
