/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_jobs.h - the jobs that have metrics of their own
 *
 * Bounds the number of Prometheus series.  A new job gets a place while one is free.
 * Later it replaces the job with the lowest rate (averaged over about ten summaries) if
 * its own rate is at least 1.5 times as high.  All other jobs, and traffic of no job,
 * are counted as "other", by what each adds while it has no place, so that this counter
 * never decreases.  Pure.
 */
#ifndef COLLECTOR_SERIES_TOP_JOBS_H
#define COLLECTOR_SERIES_TOP_JOBS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct top_jobs;

struct top_jobs *top_jobs_new(size_t n_places);
void top_jobs_free(struct top_jobs *top); /* Accepts NULL. */

/* Takes the rows of a summary with TELE_WIRE. */
void top_jobs_update(struct top_jobs *top, const struct tele_frame *summary);

/* One series: a job with a place, or "other", on an interface. */
struct top_jobs_row {
	const char *interface, *job; /* Borrowed; "other" for the rest. */
	uint8_t direction;
	uint64_t bytes;
};

/* All series; borrowed until the next update. */
const struct top_jobs_row *top_jobs_rows(struct top_jobs *top, size_t *ret_n);
size_t top_jobs_n_seen(const struct top_jobs *top); /* Jobs in the last summary. */

#endif
