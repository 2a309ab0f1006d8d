/* SPDX-License-Identifier: Apache-2.0 */
/* frames.h - raw frames of hosts whose traffic is a function of wall clock time */
#ifndef TESTS_UNIT_FRAMES_H
#define TESTS_UNIT_FRAMES_H

#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/wire/tele.h"

/* Returns the bytes in wall clock millisecond 'ms', or TELE_GAP. */
typedef uint32_t frames_bytes(const void *ctx, int64_t ms);

/* Bytes per millisecond at 1 Gb/s. */
#define FRAMES_GBPS 125000u

/* Starts a new frame of 'host' for the wall clock time [from, to) ms. */
static inline void
frames_begin(struct tele_frame *frame, enum tele_kind kind, const char *host,
	     int64_t from_ms, int64_t to_ms, int64_t wall_offset_ns, uint64_t sequence)
{
	tele_clear(frame);
	frame->kind = (uint8_t)kind;
	snprintf(frame->host, sizeof frame->host, "%s", host);
	memset(frame->boot_id, 1, sizeof frame->boot_id);
	frame->start_id = 1;
	frame->sequence = sequence;
	frame->time_ns = to_ms * 1000000 - wall_offset_ns;
	frame->window_ns = (to_ms - from_ms) * 1000000;
	frame->wall_offset_ns = wall_offset_ns;
	frame->clock_error_ns = -1;
}

/* Adds a series for the frame's window; 'job' NULL: the whole interface. */
static inline void
frames_add(struct tele_frame *frame, const char *interface, double capacity_bps,
	   const char *job, enum tele_direction direction, frames_bytes *bytes,
	   const void *ctx)
{
	uint32_t i = tele_add_interface(frame, interface);
	uint32_t n = (uint32_t)(frame->window_ns / 1000000);
	uint32_t *bins = xcalloc(n + 1, sizeof *bins);
	int64_t end_ms = frame->time_ns / 1000000;
	int64_t offset_ms = frame->wall_offset_ns / 1000000;

	frame->interfaces.items[i].capacity_bps = capacity_bps;
	frame->interfaces.items[i].is_up = true;
	for (uint32_t t = 0; t < n; t++)
		bins[t] = bytes(ctx, end_ms - n + t + offset_ms);
	tele_add_series(frame, i, job ? tele_add_job(frame, job) : TELE_LINK, direction,
			TELE_WIRE, end_ms - n, bins, n);
	free(bins);
}

/* A job that sends for 'busy_ms' of each 'period_ms', starting at 'begin_ms'. */
struct frames_square {
	int64_t period_ms, begin_ms, busy_ms;
	uint32_t bytes; /* Per millisecond. */
};

static inline uint32_t
frames_square(const void *ctx, int64_t ms)
{
	const struct frames_square *job = ctx;
	int64_t at = ((ms - job->begin_ms) % job->period_ms + job->period_ms) %
		     job->period_ms;

	return at < job->busy_ms ? job->bytes : 0;
}

#endif
