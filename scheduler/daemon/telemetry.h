/* SPDX-License-Identifier: Apache-2.0 */
/*
 * telemetry.h - frames from the bus, the state made of them, and the links as last
 * scanned.
 *
 * Frames are processed as they come. A scan finds which jobs share which links now
 * (contention.h). With many links it takes longer than other work may wait, so it is
 * made in steps of a few milliseconds, and its result replaces the last one at once.
 * Between scans is a pause of twice the time that the scan took.
 */
#ifndef SCHEDULER_DAEMON_TELEMETRY_H
#define SCHEDULER_DAEMON_TELEMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/bus.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/status.h"

struct err;
struct fabric_source;
struct feed;
struct job_profiler;
struct link_counters;
struct live;
struct loop;
struct scheduler_config;
struct tele_frame;
struct telemetry;

struct telemetry_opts {
	struct loop *loop; /* Borrowed, as all here. */
	const struct scheduler_config *config;
	const struct fabric_source *fabric;
	/* Before telemetry_links() are replaced: drop what refers to them. */
	void (*on_replace)(void *ctx);
	void *ctx;
};

/* Without a bus yet. */
struct telemetry *telemetry_new(const struct telemetry_opts *opts);
void telemetry_free(struct telemetry *telemetry); /* Accepts NULL. */
/* Listens to the bus of the settings: 0, or -errno with 'err' filled. */
int telemetry_open(struct telemetry *telemetry, struct err *err);
/* Of the open bus, as feed_on_texts(). */
int telemetry_on_texts(struct telemetry *telemetry, const char *const *prefixes,
		       bus_text_fn *on_text, void *ctx);
/* Processes a frame, as from the bus. */
void telemetry_take_frame(struct telemetry *telemetry, const struct tele_frame *frame);

/* Once a second: begins a scan if one is due; true if so. */
bool telemetry_begin_scan(struct telemetry *telemetry);
/* Does a part of it; false: no scan is under way. */
bool telemetry_step_scan(struct telemetry *telemetry);
bool telemetry_is_scanning(const struct telemetry *telemetry);
/* The fabric was replaced: drops the scan, and the result of the last one. */
void telemetry_forget_links(struct telemetry *telemetry);
/*
 * Forgets hosts, jobs and links that have been gone for long. Changes numbers, so do
 * not call it during a scan.
 */
void telemetry_forget_gone(struct telemetry *telemetry);

/* ---- Queries ------------------------------------------------------------------------- */

/* For status.h; valid until the next frame. */
struct status telemetry_status(const struct telemetry *telemetry);
struct live *telemetry_live(const struct telemetry *telemetry);
struct job_profiler *telemetry_profiler(const struct telemetry *telemetry);
const struct feed *telemetry_feed(const struct telemetry *telemetry);
/* The last scan: its links, most contended first; and when it ended (0: none yet). */
const struct contention *telemetry_links(const struct telemetry *telemetry);
int64_t telemetry_scanned_ns(const struct telemetry *telemetry);
/* The processor time of that scan. */
int64_t telemetry_scan_cost_ns(const struct telemetry *telemetry);
/* The same links by number (contention.h), below telemetry_n_numbers(), or NULL. */
const struct contention_link *telemetry_link(const struct telemetry *telemetry,
					     size_t number);
size_t telemetry_n_numbers(const struct telemetry *telemetry);
/* NULL: jobs have no counters of their own. */
const struct link_counters *telemetry_counters(const struct telemetry *telemetry);
/* Frames of hosts whose clocks are not followed, as there are too many. */
uint64_t telemetry_n_unclocked(const struct telemetry *telemetry);
/* How far a host's clock is ahead of ours, at least; false: it sent nothing lately. */
bool telemetry_clock_offset_ns(const struct telemetry *telemetry, const char *host,
			       int64_t *ret_ns);

#endif
