/*
 * topjobs.h - the few jobs that get metrics of their own, so that Prometheus is not
 * given a series for each job that ever ran.
 *
 * At most so many jobs at a time, those that send and receive most: a job that comes
 * gets a place while there is one; later, when its rate (averaged over about ten
 * summaries) is half again that of the least, it takes that one's place.  All other
 * jobs are counted together as "other", with the traffic of no job at all, by what
 * each of them added while it had no place: so that counter never goes back.
 * Pure.
 */
#ifndef COLLECTOR_TOPJOBS_H
#define COLLECTOR_TOPJOBS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct topjobs;

struct topjobs *topjobs_new(size_t n_places);
void topjobs_free(struct topjobs *top); /* Accepts NULL. */

/* Takes the rows of a summary: those of TELE_WIRE. */
void topjobs_update(struct topjobs *top, const struct tele_frame *summary);

/* One series: a job with a place, or other, on an interface. */
struct topjobs_row {
	const char *interface, *job; /* Borrowed; "other" for the rest. */
	uint8_t direction;
	uint64_t bytes;
};

/* All series; borrowed until the next update. */
const struct topjobs_row *topjobs_rows(struct topjobs *top, size_t *ret_n);
size_t topjobs_n_seen(const struct topjobs *top); /* Jobs in the last summary. */

#endif
