/*
 * top_jobs.h - the few jobs that get metrics of their own, so that Prometheus is not
 * given a series for each job that ever ran.
 *
 * At most so many jobs at a time, those that send and receive most: a job that comes
 * gets a place while there is one; later, when its rate (averaged over about ten
 * summaries) is half again that of the least, it takes that one's place.  All other
 * jobs are counted together as "other", with the traffic of no job at all, by what
 * each of them added while it had no place: so that counter never goes back.
 * Pure.
 */
#ifndef COLLECTOR_SERIES_TOP_JOBS_H
#define COLLECTOR_SERIES_TOP_JOBS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct top_jobs;

struct top_jobs *top_jobs_new(size_t n_places);
void top_jobs_free(struct top_jobs *top); /* Accepts NULL. */

/* Takes the rows of a summary: those of TELE_WIRE. */
void top_jobs_update(struct top_jobs *top, const struct tele_frame *summary);

/* One series: a job with a place, or other, on an interface. */
struct top_jobs_row {
	const char *interface, *job; /* Borrowed; "other" for the rest. */
	uint8_t direction;
	uint64_t bytes;
};

/* All series; borrowed until the next update. */
const struct top_jobs_row *top_jobs_rows(struct top_jobs *top, size_t *ret_n);
size_t top_jobs_n_seen(const struct top_jobs *top); /* Jobs in the last summary. */

#endif
