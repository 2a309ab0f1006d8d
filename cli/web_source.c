/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/web_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/link_history.h"
#include "cli/screen.h"
#include "cli/screen_history.h"
#include "cli/top_view.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/json_text.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/loop.h"
#include "lib/wire/tele.h"
#include "scheduler/live/circle_json.h"
#include "scheduler/live/feed.h"
#include "scheduler/live/link_series_json.h"
#include "scheduler/live/live.h"

/* The second reader works this much of the time, so that requests are answered. */
#define FOLLOW_EVERY_NS INT64_C(20000000)
#define FOLLOW_NS       INT64_C(10000000)
/* A document of a bus serves all viewers for this time. */
#define KEPT_NS INT64_C(500000000)

struct web_source {
	const struct cli_verb *verb;
	const struct screen_opts *opts; /* Borrowed. */
	struct screen screen;
	int64_t at_us;     /* Of a recording: the time that was asked for last. */
	struct strbuf top; /* The last document; empty: none. */
	int64_t top_at_ns; /* When it was made. */
	int64_t begin_us, end_us;     /* Of a recording. */
	struct screen followed;       /* The second reader. */
	struct loop_item *follows;    /* NULL: it has come to the end. */
	struct loop *loop;            /* Borrowed. */
	struct link_history *history; /* Owned. */
};

/* ---- Opening ----------------------------------------------------------------------- */

/* Finds the times of the first and the last frame. */
static int
find_range(struct web_source *source, struct err *err)
{
	const struct screen_opts *opts = source->opts;
	const struct tele_frame *frame;
	struct feed *feed;
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
	int r = feed_open(opts->from.items, opts->from.n, opts->keys, &feed, err);

	if (r < 0)
		return r;
	while ((r = feed_next(feed, 0, &frame, err)) > 0) {
		int64_t at_ns = frame->time_ns + frame->wall_offset_ns;

		first_ns = at_ns < first_ns ? at_ns : first_ns;
		last_ns = at_ns > last_ns ? at_ns : last_ns;
	}
	feed_close(feed);
	if (r != -ENODATA)
		return r;
	if (first_ns > last_ns)
		return err_set(err, feed_name(source->screen.feed), 0, 0,
			       "the recording has no frames");
	source->begin_us = first_ns / 1000;
	source->end_us = last_ns / 1000;
	return 0;
}

static int
open_recording(struct web_source *source)
{
	struct err err;
	int r;

	for (size_t i = 0; i < source->opts->from.n; i++)
		if (strcmp(source->opts->from.items[i], "-") == 0)
			return cli_usage_error(source->verb,
					       "a recording that is shown is read more "
					       "than once: give a file, not '-'");
	r = find_range(source, &err);
	if (r < 0)
		return cli_fail(r, &err);
	source->history = link_history_new();
	return screen_open(&source->followed, source->verb, source->opts, true);
}

int
web_source_open(const struct cli_verb *verb, const struct screen_opts *opts,
		struct web_source **ret_source)
{
	struct web_source *source = xcalloc(1, sizeof *source);
	int status;

	source->verb = verb;
	source->opts = opts;
	source->at_us = INT64_MIN;
	source->top = (struct strbuf)STRBUF_EMPTY;
	status = screen_open(&source->screen, verb, opts, true);
	source->screen.opts.keeps_parts = true;
	if (status == CLI_OK && !source->screen.is_live)
		status = open_recording(source);
	if (status == CLI_OK)
		*ret_source = source;
	else
		web_source_close(source);
	return status;
}

void
web_source_close(struct web_source *source)
{
	if (!source)
		return;
	strbuf_free(&source->top);
	screen_close(&source->screen);
	if (source->history)
		screen_close(&source->followed);
	link_history_free(source->history);
	free(source);
}

/* ---- In the loop ------------------------------------------------------------------- */

static void
on_frames(void *ctx)
{
	struct web_source *source = ctx;
	struct err err;

	if (screen_drain(&source->screen, &err) < 0)
		log_err("web", "%s: %s", feed_name(source->screen.feed), err.text);
}

static void
on_turn(void *ctx, int64_t now_ns, int64_t missed)
{
	struct web_source *source = ctx;
	int64_t until_ns = now_ns + FOLLOW_NS;

	(void)missed;
	do {
		if (screen_history_step(&source->followed, source->history) != CLI_OK) {
			loop_remove(source->loop, source->follows);
			source->follows = NULL;
			return;
		}
	} while (clk_monotonic_ns() < until_ns);
}

void
web_source_join(struct web_source *source, struct loop *loop)
{
	source->loop = loop;
	if (source->screen.is_live)
		feed_join(source->screen.feed, loop, on_frames, source);
	else
		source->follows = loop_every(loop, FOLLOW_EVERY_NS, on_turn, source);
}

/* ---- Facts ------------------------------------------------------------------------- */

const char *
web_source_name(const struct web_source *source)
{
	return feed_name(source->screen.feed);
}

const struct topo *
web_source_topo(const struct web_source *source)
{
	return source->screen.topo;
}

bool
web_source_is_recording(const struct web_source *source)
{
	return !source->screen.is_live;
}

int64_t
web_source_begin_us(const struct web_source *source)
{
	return source->begin_us;
}

int64_t
web_source_end_us(const struct web_source *source)
{
	return source->end_us;
}

/* ---- Documents --------------------------------------------------------------------- */

/* Opens the recording once more; what was shown stays if that fails. */
static int
begin_anew(struct web_source *source, struct err *err)
{
	struct screen screen;

	if (screen_open(&screen, source->verb, source->opts, true) != CLI_OK) {
		screen_close(&screen);
		err_set(err, NULL, 0, 0,
			"the recording can no longer be read; 'antiphase web' has said "
			"why");
		return -EIO;
	}
	screen_close(&source->screen);
	source->screen = screen;
	source->screen.opts.keeps_parts = true;
	return 0;
}

static int
seek(struct web_source *source, int64_t at_us, struct err *err)
{
	int r = 0;

	if (source->screen.is_live || at_us == source->at_us)
		return 0;
	strbuf_clear(&source->top);
	if (at_us < source->at_us)
		r = begin_anew(source, err);
	/* After a failure, the next request begins anew, too. */
	source->at_us = INT64_MAX;
	if (r == 0)
		r = screen_seek(&source->screen, at_us * 1000, err);
	if (r == 0)
		source->at_us = at_us;
	return r;
}

static bool
is_current(const struct web_source *source)
{
	return source->top.length && (!source->screen.is_live ||
				      clk_monotonic_ns() - source->top_at_ns < KEPT_NS);
}

int
web_source_top(struct web_source *source, int64_t at_us, struct strbuf *out,
	       struct err *err)
{
	const struct top_view view = { .sort = CONTENTION_BY_CONTENTION, .all = true };
	int r = seek(source, at_us, err);

	if (r < 0)
		return r;
	if (!is_current(source)) {
		struct json_text text;

		strbuf_clear(&source->top);
		json_text_begin(&text, "antiphase.top/1");
		top_view_json(&view, &source->screen, &text.w);
		json_text_end(&text, &source->top);
		source->top_at_ns = clk_monotonic_ns();
	}
	strbuf_add(out, source->top.text, source->top.length);
	return 0;
}

/* Appends what 'put' writes of a link, as a document. */
static int
put_link(struct web_source *source, int64_t at_us, const char *link, const char *schema,
	 void (*put)(struct screen *screen, const struct contention *found,
		     const struct contention_link *link, struct jsonw *w),
	 struct strbuf *out, struct err *err)
{
	struct contention found;
	const struct contention_link *is_it = NULL;
	int r = seek(source, at_us, err);

	if (r < 0)
		return r;
	screen_find(&source->screen, CONTENTION_BY_CONTENTION, &found);
	for (size_t i = 0; i < found.n_links && !is_it; i++)
		if (strcmp(found.links[i].name, link) == 0)
			is_it = &found.links[i];
	if (is_it) {
		struct json_text text;

		json_text_begin(&text, schema);
		put(&source->screen, &found, is_it, &text.w);
		json_text_end(&text, out);
	} else {
		err_set(err, NULL, 0, 0, "nothing is known of a link '%s'", link);
		r = -ENOENT;
	}
	contention_fini(&found);
	return r;
}

static void
put_circle(struct screen *screen, const struct contention *found,
	   const struct contention_link *link, struct jsonw *w)
{
	const struct status status = screen_status(screen);

	(void)found;
	circle_json_put(&status, link, NULL, NULL, w);
}

int
web_source_circle(struct web_source *source, int64_t at_us, const char *link,
		  struct strbuf *out, struct err *err)
{
	return put_link(source, at_us, link, "antiphase.circle/1", put_circle, out,
			err);
}

static void
put_series(struct screen *screen, const struct contention *found,
	   const struct contention_link *link, struct jsonw *w)
{
	link_series_json_put(screen->live, found, link, w);
}

int
web_source_series(struct web_source *source, int64_t at_us, const char *link,
		  struct strbuf *out, struct err *err)
{
	return put_link(source, at_us, link, "antiphase.link_series/1", put_series, out,
			err);
}

void
web_source_history(const struct web_source *source, struct strbuf *out)
{
	struct json_text text;

	json_text_begin(&text, "antiphase.link_history/2");
	link_history_json(source->history, &text.w);
	jsonw_bool(&text.w, "is_complete", !source->follows);
	json_text_end(&text, out);
}
