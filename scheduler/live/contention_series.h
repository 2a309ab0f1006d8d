/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contention_series.h - the latest traffic of one link by job, in steps of a millisecond.
 *
 * It reads the series again that a scan (contention.h) found to be on the link, so it
 * is as recent as the frames are. Pure. O(span) for each series on the link.
 */
#ifndef SCHEDULER_LIVE_CONTENTION_SERIES_H
#define SCHEDULER_LIVE_CONTENTION_SERIES_H

#include <stddef.h>
#include <stdint.h>

struct contention;
struct contention_link;
struct live;

struct contention_series {
	int64_t from_ms; /* Wall clock. */
	uint32_t step_ms;
	size_t n, n_jobs;
	uint32_t *jobs; /* Owned. [n_jobs], by name: those that sent anything. */
	float *bps;     /* Owned. [n], the total; below 0: unknown. Behind it, */
	float *job_bps; /* those of each job. */
};

/*
 * Of the last 'span_ms', and no longer than frames are kept; steps are longer where there
 * would be more than 'max_values'. 'found' is the scan that 'link' is of. 0; -ENODATA
 * if no raw series of it came; -ESTALE if the scan's parts are gone. Release with
 * contention_series_fini().
 */
int contention_series_make(const struct live *live, const struct contention *found,
			   const struct contention_link *link, uint32_t span_ms,
			   size_t max_values, struct contention_series *ret_series);
void
contention_series_fini(struct contention_series *series); /* Accepts a zeroed one. */

#endif
