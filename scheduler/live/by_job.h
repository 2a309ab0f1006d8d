/*
 * by_job.h - the series of the live state, job by job, so that none is looked at for
 * each of many jobs.  Pure.  O(series + jobs) to make.
 */
#ifndef SCHEDULER_LIVE_BY_JOB_H
#define SCHEDULER_LIVE_BY_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live;

/* Zeroed, it is of no job. */
struct by_job {
	uint32_t n_jobs;
	uint32_t *first;  /* Owned.  Job j's are at first[j] to first[j + 1] of */
	uint32_t *series; /* owned: numbers, ascending within a job. */
};

/* Lists the series of jobs: all, or those with bins. */
void by_job_init(struct by_job *by_job, const struct live *live, bool only_with_bins);
void by_job_fini(struct by_job *by_job); /* Accepts a zeroed one. */

/* The series of a job, '*ret_n' of them; borrowed. */
const uint32_t *by_job_series(const struct by_job *by_job, uint32_t job, size_t *ret_n);

#endif
