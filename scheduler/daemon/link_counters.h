/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_counters.h - byte counters of jobs on links, bounded in number: on each link the
 * 'n_jobs' busiest jobs have one of their own, all others are "other".
 *
 * A job replaces another one when its rate is half again as high; the counter of the
 * replaced job ends, and bytes of a job without a place count as "other". So a counter
 * never decreases, and no byte is counted twice. Pure. O(jobs x n_jobs) a link.
 */
#ifndef SCHEDULER_DAEMON_LINK_COUNTERS_H
#define SCHEDULER_DAEMON_LINK_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link_counters;

/* The traffic of a job on a link since the last call. */
struct link_counters_job {
	const char *job; /* Borrowed. */
	uint64_t bytes;
	double mean_bps; /* Over some seconds: the highest have a place. */
};

struct link_counters *link_counters_new(uint32_t n_jobs);
void link_counters_free(struct link_counters *counters); /* Accepts NULL. */

/* 'other_bytes' belong to no job. */
void link_counters_add(struct link_counters *counters, const char *link,
		       const struct link_counters_job *jobs, size_t n,
		       uint64_t other_bytes);

typedef void link_counters_fn(void *ctx, const char *link, const char *job,
			      uint64_t bytes);
/* Calls 'fn' for all counters, by link; "other" last, if there is any. */
void link_counters_each(const struct link_counters *counters, link_counters_fn *each,
			void *ctx);
/* The same of up to 'n_max' links, from '*at' (0 at first) on; false: none is left. */
bool link_counters_some(const struct link_counters *counters, size_t *at, size_t n_max,
			link_counters_fn *each, void *ctx);

/*
 * Forgets the links without additions since the last call: their hosts or fabrics are
 * gone. link_counters_n() is the number of those left.
 */
void link_counters_forget(struct link_counters *counters);
size_t link_counters_n(const struct link_counters *counters);

#endif
