/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_series.h - index from jobs to their series of the live state.
 *
 * It replaces a scan over all series for each of many jobs. Pure. O(series + jobs) to
 * make.
 */
#ifndef SCHEDULER_LIVE_JOB_SERIES_H
#define SCHEDULER_LIVE_JOB_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live;

/* Zeroed, it has no job. */
struct job_series {
	uint32_t n_jobs;
	uint32_t *first;  /* Owned. Job j has first[j] to first[j + 1] of */
	uint32_t *series; /* these numbers, owned, ascending within a job. */
};

/* Makes the index: of all series, or of those with bins. */
void job_series_init(struct job_series *all, const struct live *live,
		     bool only_with_bins);
void job_series_fini(struct job_series *all); /* Accepts a zeroed one. */

/* The series of a job, '*ret_n' of them; borrowed. */
const uint32_t *job_series_of(const struct job_series *all, uint32_t job,
			      size_t *ret_n);

#endif
