/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.c - frames of one subscription and any number of recordings, merged by time with one
 * frame of each recording read ahead.
 */
#include "scheduler/live/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/wire/bus.h"
#include "lib/wire/rec.h"
#include "lib/wire/tele.h"

struct recording {
	struct rec_reader *reader; /* Owned.  NULL: at its end. */
	struct tele_frame frame;   /* Owned.  The next one. */
	uint64_t skipped_bytes;
};

struct feed {
	struct bus_keys *keys; /* Owned. */
	struct bus_sub *sub;   /* Owned.  NULL: no source is a bus. */
	struct tele_frame frame;
	VEC(struct recording *) recordings; /* Owned. */
	struct recording *taken;            /* That gave the last frame. */
	struct strbuf name;
	uint64_t n_frames;
};

static bool
is_bus(const char *source)
{
	return strstr(source, "://") != NULL;
}

/* ---- Opening --------------------------------------------------------------------- */

/* Reads the next frame of a recording, or closes it at the end. */
static int
read_ahead(struct recording *recording, struct err *err)
{
	int r = rec_read(recording->reader, &recording->frame, NULL, NULL, err);

	recording->skipped_bytes = rec_skipped_bytes(recording->reader);
	if (r > 0)
		return 0;
	rec_reader_close(recording->reader);
	recording->reader = NULL;
	return r;
}

static int
open_recording(struct feed *feed, const char *source, struct err *err)
{
	struct recording *recording = xcalloc(1, sizeof *recording);
	int error = rec_reader_open(source, &recording->reader, err);

	if (error < 0) {
		free(recording);
		return error;
	}
	vec_push(&feed->recordings, recording);
	return read_ahead(recording, err);
}

static int
open_buses(struct feed *feed, const char *const *endpoints, size_t n, const char *keys,
	   struct err *err)
{
	static const uint8_t kinds[] = { TELE_SUMMARY, TELE_RAW, TELE_EVENTS,
					 TELE_PACE };
	int error = 0;

	if (keys)
		error = bus_keys_load(keys, &feed->keys, err);
	if (error == 0)
		error = bus_sub_open(endpoints, n, false, feed->keys, &feed->sub, err);
	for (size_t i = 0; i < n && error == 0; i++)
		error = bus_endpoint_resolve(endpoints[i], err);
	for (size_t i = 0; i < sizeof kinds && error == 0; i++)
		error = bus_sub_want(feed->sub, kinds[i], NULL, true);
	return error;
}

static int
open_all(struct feed *feed, const char *const *sources, size_t n, const char *keys,
	 struct err *err)
{
	VEC(const char *) endpoints = VEC_EMPTY;
	int error = 0;

	for (size_t i = 0; i < n; i++)
		strbuf_printf(&feed->name, "%s%s", i ? ", " : "", sources[i]);
	for (size_t i = 0; i < n && error == 0; i++) {
		if (is_bus(sources[i]))
			vec_push(&endpoints, sources[i]);
		else
			error = open_recording(feed, sources[i], err);
	}
	if (error == 0 && endpoints.n)
		error = open_buses(feed, endpoints.items, endpoints.n, keys, err);
	vec_free(&endpoints);
	return error;
}

int
feed_open(const char *const *sources, size_t n, const char *keys,
	  struct feed **ret_feed, struct err *err)
{
	struct feed *feed;
	const char *fallback = getenv("ANTIPHASE_BUS");
	char *words = NULL, *rest;
	const char *split[FEED_MAX_SOURCES];
	int error;

	if (n == 0) {
		words = xstrdup(fallback && *fallback ? fallback
						      : BUS_DEFAULT_ENDPOINT);
		for (char *word = strtok_r(words, ",", &rest);
		     word && n < FEED_MAX_SOURCES; word = strtok_r(NULL, ",", &rest))
			split[n++] = word;
		sources = split;
	}
	if (n == 0 || n > FEED_MAX_SOURCES) {
		free(words);
		return err_set(err, NULL, 0, 0,
			       "%zu sources of frames, expected 1 to %d", n,
			       FEED_MAX_SOURCES);
	}
	feed = xcalloc(1, sizeof *feed);
	feed->name = (struct strbuf)STRBUF_EMPTY;
	error = open_all(feed, sources, n, keys, err);
	free(words);
	if (error < 0) {
		feed_close(feed);
		return error;
	}
	*ret_feed = feed;
	return 0;
}

void
feed_close(struct feed *feed)
{
	if (!feed)
		return;
	bus_sub_close(feed->sub);
	bus_keys_free(feed->keys);
	tele_fini(&feed->frame);
	for (size_t i = 0; i < feed->recordings.n; i++) {
		rec_reader_close(feed->recordings.items[i]->reader);
		tele_fini(&feed->recordings.items[i]->frame);
		free(feed->recordings.items[i]);
	}
	vec_free(&feed->recordings);
	strbuf_free(&feed->name);
	free(feed);
}

/* ---- Reading --------------------------------------------------------------------- */

/* The earliest frame of all recordings; 0: all are at their end. */
static int
next_recorded(struct feed *feed, const struct tele_frame **ret_frame, struct err *err)
{
	struct recording *first = NULL;
	int64_t first_ns = 0;
	int error = 0;

	if (feed->taken && feed->taken->reader)
		error = read_ahead(feed->taken, err);
	feed->taken = NULL;
	if (error < 0)
		return error;
	for (size_t i = 0; i < feed->recordings.n; i++) {
		struct recording *recording = feed->recordings.items[i];
		int64_t ns = recording->frame.time_ns + recording->frame.wall_offset_ns;

		if (!recording->reader || (first && first_ns <= ns))
			continue;
		first = recording;
		first_ns = ns;
	}
	if (!first)
		return 0;
	feed->taken = first;
	*ret_frame = &first->frame;
	return 1;
}

static int
next_sent(struct feed *feed, int64_t timeout_ns, const struct tele_frame **ret_frame)
{
	int r = bus_sub_frame(feed->sub, &feed->frame, NULL, NULL);

	if (r == 0) {
		r = bus_sub_wait(feed->sub, timeout_ns);
		if (r > 0)
			r = bus_sub_frame(feed->sub, &feed->frame, NULL, NULL);
	}
	if (r > 0)
		*ret_frame = &feed->frame;
	return r;
}

int
feed_next(struct feed *feed, int64_t timeout_ns, const struct tele_frame **ret_frame,
	  struct err *err)
{
	int r = next_recorded(feed, ret_frame, err);

	if (r == 0 && feed->sub) {
		r = next_sent(feed, timeout_ns, ret_frame);
		if (r < 0 && r != -EINTR)
			err_set_errno(err, feed->name.text, r, "cannot receive frames");
	} else if (r == 0) {
		r = -ENODATA;
	}
	feed->n_frames += r > 0;
	return r;
}

void
feed_join(struct feed *feed, struct loop *loop, void (*ready)(void *ctx), void *ctx)
{
	if (feed->sub)
		bus_sub_join(feed->sub, loop, ready, ctx);
}

int
feed_on_texts(struct feed *feed, const char *const *prefixes, bus_text_fn *on_text,
	      void *ctx)
{
	return feed->sub ? bus_sub_on_texts(feed->sub, prefixes, on_text, ctx) : 0;
}

bool
feed_is_live(const struct feed *feed)
{
	return feed->sub != NULL;
}

const char *
feed_name(const struct feed *feed)
{
	return feed->name.text;
}

struct feed_counts
feed_counts(const struct feed *feed)
{
	struct feed_counts counts = { .frames = feed->n_frames };

	if (feed->sub) {
		const struct bus_counts *bus = bus_sub_counts(feed->sub);

		counts.gaps = bus->gaps;
		counts.damaged = bus->damaged;
		counts.foreign = bus->foreign;
		counts.misnamed = bus->misnamed;
		counts.duplicates = bus->duplicates;
	}
	for (size_t i = 0; i < feed->recordings.n; i++)
		counts.skipped_bytes += feed->recordings.items[i]->skipped_bytes;
	return counts;
}
