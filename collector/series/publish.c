/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/series/publish.h"

#include <stdlib.h>
#include <string.h>

#include "collector/series/binner.h"
#include "collector/series/ingest.h"
#include "lib/base/alloc.h"
#include "lib/base/log.h"

#define NONE UINT32_MAX

struct publisher {
	struct publish_options options;
	char host[TELE_MAX_NAME + 1];
	struct binner *binner; /* Borrowed. */
	struct ingest *ingest; /* Borrowed. */
	/* Ends of the last windows; negative: none yet. */
	int64_t summary_at_ms, raw_at_ms;
	uint64_t sequence[TELE_LAST_KIND + 1];
	bool is_stepped[TELE_LAST_KIND + 1]; /* Still to be said. */
	struct tele_frame summary, other;
	struct tele_buffer buffer;
	/* From ingest numbers to numbers in the frame; NONE: not there yet. */
	VEC(uint32_t) interface_map;
	VEC(uint32_t) job_map;
	struct publish_counts counts;
};

struct publisher *
publisher_new(const struct publish_options *options, struct binner *binner,
	      struct ingest *ingest)
{
	struct publisher *p = xcalloc(1, sizeof *p);

	p->options = *options;
	tele_set_name(p->host, options->host);
	p->binner = binner;
	p->ingest = ingest;
	p->summary_at_ms = p->raw_at_ms = -1;
	return p;
}

void
publisher_free(struct publisher *p)
{
	if (!p)
		return;
	tele_fini(&p->summary);
	tele_fini(&p->other);
	tele_buffer_fini(&p->buffer);
	vec_free(&p->interface_map);
	vec_free(&p->job_map);
	free(p);
}

void
publisher_set_raw_ms(struct publisher *p, int64_t raw_ms)
{
	p->options.raw_ms = raw_ms;
}

const struct tele_frame *
publisher_last(const struct publisher *p)
{
	return &p->summary;
}

const struct publish_counts *
publisher_counts(const struct publisher *p)
{
	return &p->counts;
}

/* ---- One frame ------------------------------------------------------------------- */

/* Fills all but the rows. */
static void
fill_head(struct publisher *p, struct tele_frame *frame, uint8_t kind, int64_t time_ns,
	  int64_t window_ns, const struct publish_state *state)
{
	frame->kind = kind;
	frame->flags = p->options.flags;
	if (p->is_stepped[kind])
		frame->flags |= TELE_CLOCK_STEPPED;
	p->is_stepped[kind] = false;
	memcpy(frame->host, p->host, sizeof frame->host);
	memcpy(frame->boot_id, p->options.boot_id, sizeof frame->boot_id);
	frame->start_id = p->options.start_id;
	frame->sequence = p->sequence[kind]++;
	frame->time_ns = time_ns;
	frame->window_ns = window_ns;
	frame->wall_offset_ns = state->wall_offset_ns;
	frame->clock_error_ns = state->clock_error_ns;
	frame->lost_records = state->lost_records;
	frame->unplaced_jobs = state->unplaced_jobs;
}

static void
send_frame(struct publisher *p, const struct tele_frame *frame)
{
	p->buffer.n = 0;
	tele_encode(frame, &p->buffer);
	p->counts.frames[frame->kind]++;
	p->counts.bytes[frame->kind] += p->buffer.n;
	p->options.send(p->options.ctx, frame, &p->buffer);
}

static uint32_t
map_interface(struct publisher *p, struct tele_frame *frame, uint32_t number)
{
	uint32_t *to = &p->interface_map.items[number];

	if (*to == NONE) {
		*to = (uint32_t)frame->interfaces.n;
		vec_push(&frame->interfaces, ingest_interface(p->ingest, number)->info);
		if (!ingest_interface(p->ingest, number)->is_present)
			frame->interfaces.items[*to].is_up = false;
	}
	return *to;
}

/* NONE if there are too many. */
static uint32_t
map_job(struct publisher *p, struct tele_frame *frame, uint32_t number)
{
	uint32_t *to;

	if (number == TELE_LINK || number == TELE_OTHER)
		return number;
	to = &p->job_map.items[number];
	if (*to == NONE && frame->jobs.n < TELE_MAX_JOBS) {
		struct tele_job job;

		tele_set_name(job.name, ingest_job_name(p->ingest, number));
		*to = (uint32_t)frame->jobs.n;
		vec_push(&frame->jobs, job);
	}
	return *to;
}

#define clear_map(map, n_numbers)                            \
	do {                                                 \
		(map)->n = 0;                                \
		for (size_t i__ = 0; i__ < n_numbers; i__++) \
			vec_push(map, NONE);                 \
	} while (0)

/* Converts ingest numbers to those of the frame, and adds their names. */
static void
name_all(struct publisher *p, struct tele_frame *frame)
{
	size_t n = 0;

	clear_map(&p->interface_map, ingest_n_interfaces(p->ingest));
	clear_map(&p->job_map, ingest_n_jobs(p->ingest));
	for (size_t i = 0; i < frame->traffic.n; i++) {
		struct tele_traffic row = frame->traffic.items[i];

		row.interface = map_interface(p, frame, row.interface);
		row.job = map_job(p, frame, row.job);
		if (row.job == NONE && frame->traffic.items[i].job != TELE_LINK) {
			p->counts.unnamed_rows++;
			continue;
		}
		frame->traffic.items[n++] = row;
	}
	frame->traffic.n = n;
	n = 0;
	for (size_t i = 0; i < frame->series.n; i++) {
		struct tele_series series = frame->series.items[i];

		series.interface = map_interface(p, frame, series.interface);
		series.job = map_job(p, frame, series.job);
		if (series.job == NONE && frame->series.items[i].job != TELE_LINK) {
			p->counts.unnamed_rows++;
			continue;
		}
		frame->series.items[n++] = series;
	}
	frame->series.n = n;
	/* Also interfaces without traffic, for their presence and state. */
	for (uint32_t i = 0; i < ingest_n_interfaces(p->ingest); i++) {
		if (ingest_interface(p->ingest, i)->is_present)
			map_interface(p, frame, i);
	}
}

static void
send_summary(struct publisher *p, int64_t from_ms, int64_t to_ms,
	     const struct publish_state *state)
{
	tele_clear(&p->summary);
	fill_head(p, &p->summary, TELE_SUMMARY, to_ms * 1000000,
		  (to_ms - from_ms) * 1000000, state);
	binner_summary(p->binner, from_ms, to_ms, &p->summary);
	name_all(p, &p->summary);
	send_frame(p, &p->summary);
	p->summary_at_ms = to_ms;
}

static void
send_raw(struct publisher *p, int64_t from_ms, int64_t to_ms,
	 const struct publish_state *state)
{
	tele_clear(&p->other);
	fill_head(p, &p->other, TELE_RAW, to_ms * 1000000, (to_ms - from_ms) * 1000000,
		  state);
	binner_raw(p->binner, from_ms, to_ms, &p->other);
	name_all(p, &p->other);
	send_frame(p, &p->other);
	p->raw_at_ms = to_ms;
}

/* ---- Windows --------------------------------------------------------------------- */

static bool
is_raw_wanted(const struct publisher *p)
{
	return p->options.is_wanted(p->options.ctx, TELE_RAW);
}

/*
 * The begin of the next window; windows end on multiples of 'length_ms'.  The first
 * window begins at the start of the collector, or at the first bin of a file.
 */
static int64_t
begin_at(struct publisher *p, int64_t at_ms, int64_t until_ms, int64_t length_ms)
{
	int64_t start_ms = until_ms - until_ms % length_ms;

	if (at_ms < 0)
		return p->options.is_file || start_ms == until_ms
			       ? start_ms
			       : start_ms + length_ms;
	if (until_ms - at_ms <= BINNER_BINS)
		return at_ms;
	p->counts.skipped_ms += (uint64_t)(start_ms - at_ms);
	log_warn(
		"collector",
		"%lld ms of series are lost: the collector was too late to publish them",
		(long long)(start_ms - at_ms));
	return start_ms;
}

static void
note_step(struct publisher *p, const struct publish_state *state)
{
	for (size_t i = 0; state->is_stepped && i <= TELE_LAST_KIND; i++)
		p->is_stepped[i] = true;
}

void
publisher_run(struct publisher *p, int64_t until_ms, const struct publish_state *state)
{
	const int64_t raw_ms = p->options.raw_ms;

	note_step(p, state);
	if (until_ms <= 0)
		return;
	p->raw_at_ms = begin_at(p, p->raw_at_ms, until_ms, raw_ms);
	p->summary_at_ms = begin_at(p, p->summary_at_ms, until_ms, PUBLISH_SUMMARY_MS);
	while (until_ms - p->raw_at_ms >= raw_ms ||
	       until_ms - p->summary_at_ms >= PUBLISH_SUMMARY_MS) {
		/* In order of time, series before the summary of the same second. */
		if (p->raw_at_ms + raw_ms <= p->summary_at_ms + PUBLISH_SUMMARY_MS) {
			if (is_raw_wanted(p))
				send_raw(p, p->raw_at_ms, p->raw_at_ms + raw_ms, state);
			else
				p->raw_at_ms += raw_ms;
		} else {
			send_summary(p, p->summary_at_ms,
				     p->summary_at_ms + PUBLISH_SUMMARY_MS, state);
		}
	}
}

void
publisher_flush(struct publisher *p, int64_t until_ms,
		const struct publish_state *state)
{
	publisher_run(p, until_ms, state);
	if (p->raw_at_ms >= 0 && until_ms > p->raw_at_ms && is_raw_wanted(p))
		send_raw(p, p->raw_at_ms, until_ms, state);
	if (p->summary_at_ms >= 0 && until_ms > p->summary_at_ms)
		send_summary(p, p->summary_at_ms, until_ms, state);
}

void
publisher_rows(struct publisher *p, enum tele_kind kind, int64_t now_ns,
	       const struct publish_state *state,
	       bool (*fill)(void *ctx, struct tele_frame *frame), void *ctx)
{
	note_step(p, state);
	tele_clear(&p->other);
	if (!fill(ctx, &p->other))
		return;
	fill_head(p, &p->other, (uint8_t)kind, now_ns, 0, state);
	send_frame(p, &p->other);
}
