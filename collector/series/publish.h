/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish.h - frames from the binner: a summary each second, 1 ms series while a
 * subscriber asks for them, collective events and iterations as they arrive
 *
 * The caller decides when to publish, and callbacks decide where frames go (bus.h,
 * rec.h, a test); this module reads no clock.  Windows are whole bins without gaps
 * between them.  A late caller gets several windows at once; after a delay beyond the
 * binner's memory windows restart, and frames show the loss as a jump in time.
 */
#ifndef COLLECTOR_SERIES_PUBLISH_H
#define COLLECTOR_SERIES_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct binner;
struct ingest;
struct publisher;

#define PUBLISH_SUMMARY_MS 1000

struct publish_options {
	const char *host; /* Borrowed. */
	uint8_t boot_id[16];
	uint64_t start_id;
	uint32_t flags; /* TELE_IMPORTED, for recordings of others than the host. */
	bool is_file;   /* All of the first window counts, wherever it begins. */
	int64_t raw_ms;
	/* True if frames of this kind are wanted now. */
	bool (*is_wanted)(void *ctx, uint8_t kind);
	/* Takes an encoded frame; borrowed. */
	void (*send)(void *ctx, const struct tele_frame *frame,
		     const struct tele_buffer *bytes);
	void *ctx;
};

/* 'binner' and 'ingest' are borrowed. */
struct publisher *publisher_new(const struct publish_options *options,
				struct binner *binner, struct ingest *ingest);
void publisher_free(struct publisher *publisher); /* Accepts NULL. */
/* Takes effect with the next raw frames. */
void publisher_set_raw_ms(struct publisher *publisher, int64_t raw_ms);

/* State of the whole host for the next frames. */
struct publish_state {
	int64_t wall_offset_ns;
	int64_t clock_error_ns;
	uint64_t lost_records;
	uint64_t unplaced_jobs;
	bool is_stepped; /* Since the last call; each kind of frame reports it once. */
};

/* Publishes all whole windows that end at or before 'until_ms'. */
void publisher_run(struct publisher *publisher, int64_t until_ms,
		   const struct publish_state *state);
/* Publishes the last, incomplete windows at the end. */
void publisher_flush(struct publisher *publisher, int64_t until_ms,
		     const struct publish_state *state);

/*
 * Sends a frame of 'kind' (TELE_EVENTS, TELE_PACE) with the jobs and rows that 'fill'
 * adds; if it returns false, nothing is sent.
 */
void publisher_rows(struct publisher *publisher, enum tele_kind kind, int64_t now_ns,
		    const struct publish_state *state,
		    bool (*fill)(void *ctx, struct tele_frame *frame), void *ctx);

/* The last summary, or an empty frame; borrowed until the next run. */
const struct tele_frame *publisher_last(const struct publisher *publisher);

struct publish_counts {
	uint64_t frames[TELE_LAST_KIND + 1]; /* By kind. */
	uint64_t bytes[TELE_LAST_KIND + 1];
	uint64_t skipped_ms;   /* Never published, because the caller was late. */
	uint64_t unnamed_rows; /* Rows of jobs beyond TELE_MAX_JOBS in one frame. */
};
const struct publish_counts *publisher_counts(const struct publisher *publisher);

#endif
