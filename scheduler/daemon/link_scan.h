/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_scan.h - which jobs share which links, found anew in steps while the daemon goes on,
 * and the last result
 *
 * A scan finds the links (contention.h), since when they are contended, sorts them, counts
 * the traffic of jobs on them, replaces the result of the last one, and releases that.  A
 * step handles a bounded number of links.
 */
#ifndef SCHEDULER_DAEMON_LINK_SCAN_H
#define SCHEDULER_DAEMON_LINK_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct contention;
struct contention_link;
struct fabric_source;
struct job_profiler;
struct link_counters;
struct link_scan;
struct live;

struct link_scan_opts {
	struct live *live; /* Borrowed, as all here. */
	const struct job_profiler *profiler;
	const struct fabric_source *fabric;
	struct link_counters *counters; /* NULL: none are kept. */
	uint32_t window_ms;
	/* Before link_scan_links() are replaced: drop what refers to them. */
	void (*on_replace)(void *ctx);
	void *ctx;
};

struct link_scan *link_scan_new(const struct link_scan_opts *opts);
void link_scan_free(struct link_scan *scan); /* Accepts NULL. */

/* Begins a scan, unless one is under way or ended lately; true if so. */
bool link_scan_begin(struct link_scan *scan);
/* Does a part of it; false: none is under way. */
bool link_scan_step(struct link_scan *scan);
bool link_scan_is_under_way(const struct link_scan *scan);
/* The fabric was replaced: drops the scan, and the result of the last one. */
void link_scan_drop(struct link_scan *scan);
/* Series have other numbers now: drops the parts that name them (contention_series.h). */
void link_scan_drop_parts(struct link_scan *scan);
/* Forgets links that have been gone for long; not during a scan. */
void link_scan_forget_gone(struct link_scan *scan, int64_t now_ns);

/* The last result: links, most contended first; and when it was ready (0: none yet). */
const struct contention *link_scan_links(const struct link_scan *scan);
int64_t link_scan_ended_ns(const struct link_scan *scan);
/* The processor time of it. */
int64_t link_scan_cost_ns(const struct link_scan *scan);
/* The same links by number (contention.h), below link_scan_n_numbers(), or NULL. */
const struct contention_link *link_scan_link(const struct link_scan *scan,
					     size_t number);
size_t link_scan_n_numbers(const struct link_scan *scan);

#endif
