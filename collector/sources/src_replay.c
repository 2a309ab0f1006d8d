/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/src_replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/source.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/wire/rec.h"

#define MS INT64_C(1000000)
/* Interval at which a paced replay checks for due frames. */
#define PACE_NS (10 * MS)

/* The other counts of a key, as of the last summary. */
struct last {
	struct source_key key;
	struct source_extra extra;
};

struct replay_source {
	struct source source;
	char *file; /* Owned. */
	struct rec_reader *reader;
	struct tele_frame frame; /* The next one, if has_frame. */
	bool has_frame, is_paced, has_raw, has_shift;
	char host[TELE_MAX_NAME + 1]; /* "": the first frame's. */
	bool is_host_named;
	int64_t shift_ms; /* Added to recorded times. */
	VEC(struct last) last;
	VEC(uint32_t) interfaces, jobs; /* The sink's numbers, by the frame's. */
	uint64_t start_id, told_lost;   /* Losses of that start reported to the sink. */
};

static struct replay_source *
from_source(const struct source *source)
{
	return (struct replay_source *)source;
}

/* Whether the recording has raw frames.  stdin cannot be read twice. */
static int
look_for_raw(const char *file, bool *ret_has_raw, struct err *err)
{
	struct tele_frame frame = { 0 };
	struct rec_reader *reader;
	int error;

	*ret_has_raw = true;
	if (!strcmp(file, "-"))
		return 0;
	error = rec_reader_open(file, &reader, err);
	if (error < 0)
		return error;
	do {
		error = rec_read(reader, &frame, NULL, NULL, err);
	} while (error > 0 && frame.kind != TELE_RAW);
	*ret_has_raw = error > 0;
	tele_fini(&frame);
	rec_reader_close(reader);
	return error < 0 ? error : 0;
}

/* ---- One frame ------------------------------------------------------------------- */

/* Gives the frame's interfaces and jobs the sink's numbers. */
static void
name_all(struct replay_source *s, const struct source_sink *sink)
{
	const struct tele_frame *frame = &s->frame;

	s->interfaces.n = s->jobs.n = 0;
	for (size_t i = 0; i < frame->interfaces.n; i++)
		vec_push(&s->interfaces,
			 sink->interface(sink->ctx, &frame->interfaces.items[i]));
	for (size_t i = 0; i < frame->jobs.n; i++)
		vec_push(&s->jobs, sink->job(sink->ctx, frame->jobs.items[i].name));
}

static struct source_key
key_of(const struct replay_source *s, uint32_t interface, uint32_t job,
       uint8_t direction, uint8_t measure)
{
	return (struct source_key){ s->interfaces.items[interface],
				    job < s->jobs.n ? s->jobs.items[job] : job,
				    direction, measure };
}

static void
emit_raw(struct replay_source *s, const struct source_sink *sink)
{
	const struct tele_frame *frame = &s->frame;

	for (size_t i = 0; i < frame->series.n; i++) {
		const struct tele_series *t = &frame->series.items[i];
		struct source_key key =
			key_of(s, t->interface, t->job, t->direction, t->measure);

		sink->bins(sink->ctx, &key, t->start_ms + s->shift_ms,
			   tele_bins(frame, t), t->n_bins, NULL);
	}
	for (size_t i = 0; i < frame->interfaces.n; i++)
		sink->complete(sink->ctx, s->interfaces.items[i],
			       frame->time_ns / MS + s->shift_ms);
}

static bool
same_key(const struct source_key *a, const struct source_key *b)
{
	return a->interface == b->interface && a->job == b->job &&
	       a->direction == b->direction && a->measure == b->measure;
}

static struct last *
last_of(struct replay_source *s, const struct source_key *key,
	const struct source_extra *first)
{
	for (size_t i = 0; i < s->last.n; i++)
		if (same_key(&s->last.items[i].key, key))
			return &s->last.items[i];
	vec_push(&s->last, ((struct last){ *key, *first }));
	return &s->last.items[s->last.n - 1];
}

/* The increase of a count since the last summary; all of it after a restart. */
static uint64_t
step(uint64_t last, uint64_t now)
{
	return now >= last ? now - last : now;
}

/* A summary beside raw frames: emits the other counts of their bytes. */
static void
emit_extra(struct replay_source *s, const struct source_key *key,
	   const struct source_extra *now, int64_t at_ms,
	   const struct source_sink *sink)
{
	struct last *last = last_of(s, key, now);
	struct source_extra extra = {
		.packets = step(last->extra.packets, now->packets),
		.ce = step(last->extra.ce, now->ce),
		.retransmits = step(last->extra.retransmits, now->retransmits),
		.flows = now->flows,
		.queue_bytes = now->queue_bytes,
	};

	last->extra = *now;
	sink->bins(sink->ctx, key, at_ms, NULL, 0, &extra);
}

static void
emit_summary(struct replay_source *s, const struct source_sink *sink)
{
	const struct tele_frame *frame = &s->frame;
	int64_t time_ns = frame->time_ns + s->shift_ms * MS;
	int64_t begin_ms = (frame->time_ns - frame->window_ns) / MS + s->shift_ms;

	for (size_t i = 0; i < frame->traffic.n; i++) {
		const struct tele_traffic *row = &frame->traffic.items[i];
		struct source_key key = key_of(s, row->interface, row->job,
					       row->direction, row->measure);
		struct source_extra extra = {
			.packets = row->total_packets,
			.ce = row->total_ce,
			.retransmits = row->total_retransmits,
			.flows = row->flows,
			.queue_bytes = row->queue_bytes,
		};

		if (s->has_raw)
			emit_extra(s, &key, &extra, begin_ms, sink);
		else
			sink->counter(sink->ctx, &key, time_ns, row->total_bytes, 64,
				      &extra);
	}
}

/* Reports new losses of the sender. */
static void
emit_lost(struct replay_source *s, const struct source_sink *sink)
{
	if (s->frame.start_id != s->start_id) {
		s->start_id = s->frame.start_id;
		s->told_lost = 0;
	}
	if (s->frame.lost_records > s->told_lost) {
		sink->lost(sink->ctx, s->frame.lost_records - s->told_lost);
		s->told_lost = s->frame.lost_records;
	}
}

/* ---- The source ------------------------------------------------------------------ */

/* Reads on to the host's next frame of a kind with bytes. */
static int
next_frame(struct replay_source *s, struct err *err)
{
	while (!s->has_frame) {
		int got = rec_read(s->reader, &s->frame, NULL, NULL, err);

		if (got < 0)
			return got;
		if (got == 0)
			return -ENODATA;
		if (!s->host[0])
			memcpy(s->host, s->frame.host, sizeof s->host);
		if (strcmp(s->host, s->frame.host) != 0) {
			if (s->is_host_named)
				continue;
			return err_set(err, s->file, 0, 0,
				       "has frames of %s and of %s: choose one host",
				       s->host, s->frame.host);
		}
		s->has_frame =
			s->frame.kind == TELE_RAW || s->frame.kind == TELE_SUMMARY;
	}
	return 0;
}

static int
replay_poll(struct source *source, int64_t now_ns, const struct source_sink *sink,
	    struct err *err)
{
	struct replay_source *s = from_source(source);

	for (;;) {
		int error = next_frame(s, err);

		if (error < 0)
			return error;
		if (s->is_paced && !s->has_shift) {
			s->shift_ms =
				(now_ns - s->frame.time_ns + s->frame.window_ns) / MS;
			s->has_shift = true;
		}
		if (s->is_paced && s->frame.time_ns + s->shift_ms * MS > now_ns)
			return 0;
		s->has_frame = false;
		name_all(s, sink);
		if (s->frame.kind == TELE_RAW)
			emit_raw(s, sink);
		else
			emit_summary(s, sink);
		emit_lost(s, sink);
		if (!s->is_paced)
			return 0;
	}
}

static int64_t
replay_interval_ns(const struct source *source)
{
	return from_source(source)->is_paced ? PACE_NS : 0;
}

static void
replay_close(struct source *source)
{
	struct replay_source *s = from_source(source);

	if (!s)
		return;
	rec_reader_close(s->reader);
	tele_fini(&s->frame);
	vec_free(&s->last);
	vec_free(&s->interfaces);
	vec_free(&s->jobs);
	free(s->file);
	free(s);
}

static const struct source_class replay_class = {
	.name = "replay",
	.summary = "a recording, as it was recorded",
	.poll = replay_poll,
	.interval_ns = replay_interval_ns,
	.close = replay_close,
};

int
src_replay_open(const struct replay_options *options, struct source **ret_source,
		struct err *err)
{
	struct replay_source *s = xcalloc(1, sizeof *s);
	int error;

	s->source.class = &replay_class;
	s->file = xstrdup(options->file);
	s->is_paced = options->is_paced;
	if (options->host) {
		s->is_host_named = true;
		snprintf(s->host, sizeof s->host, "%s", options->host);
	}
	error = look_for_raw(s->file, &s->has_raw, err);
	if (error == 0)
		error = rec_reader_open(s->file, &s->reader, err);
	if (error < 0) {
		replay_close(&s->source);
		return error;
	}
	*ret_source = &s->source;
	return 0;
}
