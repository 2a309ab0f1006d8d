/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/jsonw.h"

#define QUIET_NS         INT64_C(1000000000)
#define INTERVAL_NS      INT64_C(200000000)
#define JSON_INTERVAL_NS INT64_C(1000000000)
/* Interval of lines if the end is unknown. */
#define OPEN_ENDED_INTERVAL_NS INT64_C(60000000000)
/* The remaining time is shown from this fraction on. */
#define LEFT_FRAC 0.05
/* Elapsed time at a mark over that at the one before. */
#define MARK_GROWTH 1.5

const char *const progress_words[] = { "auto", "json", "none", NULL };

enum progress_form
progress_form_of(const char *word, FILE *out)
{
	if (word && !strcmp(word, "json"))
		return PROGRESS_JSON;
	if (word && !strcmp(word, "none"))
		return PROGRESS_NONE;
	return isatty(fileno(out)) ? PROGRESS_TERMINAL : PROGRESS_LINES;
}

void
progress_init(struct progress *p, FILE *out, enum progress_form form, const char *what,
	      int64_t now_ns)
{
	*p = (struct progress){
		.out = out,
		.form = form,
		.what = what,
		.start_ns = now_ns,
		.shown_ns = now_ns,
	};
}

/* Keeps marks that are between a third and five ninths of the elapsed time old. */
static void
note_pace(struct progress *p, double frac, int64_t elapsed_ns)
{
	struct progress_mark *marks = p->marks;

	if ((double)elapsed_ns < MARK_GROWTH * (double)marks[1].elapsed_ns)
		return;
	marks[0] = marks[1];
	marks[1] = (struct progress_mark){ elapsed_ns, frac };
}

/*
 * Assumes the pace since the first mark: that of the beginning often differs, as when
 * jobs queue up.  Without progress since then, the pace of the whole run.
 */
static double
left_s(const struct progress *p, double frac, int64_t elapsed_ns)
{
	struct progress_mark from = p->marks[0];

	if (!(frac > from.frac))
		from = (struct progress_mark){ 0 };
	return (double)(elapsed_ns - from.elapsed_ns) / 1e9 * (1 - frac) /
	       (frac - from.frac);
}

/* Adds ", 12 s left". */
static void
put_time_left(const struct progress *p, double s)
{
	if (s < 100)
		fprintf(p->out, ", %.0f s left", s);
	else if (s < 6000)
		fprintf(p->out, ", %.0f min left", s / 60);
	else
		fprintf(p->out, ", %.1f h left", s / 3600);
}

/* "30 %, 12 of 40, 3 min left". */
static void
put_share(const struct progress *p, double frac, int tenth, int64_t elapsed_ns)
{
	fprintf(p->out, "%d %%",
		p->form == PROGRESS_TERMINAL ? (int)(frac * 100 + 1e-9) : tenth * 10);
	if (p->n_all)
		fprintf(p->out, ", %" PRIu64 " of %" PRIu64, p->n_done, p->n_all);
	if (frac >= LEFT_FRAC && frac < 1)
		put_time_left(p, left_s(p, frac, elapsed_ns));
}

/* "1234 frames, 40/s". */
static void
put_rate(const struct progress *p, int64_t elapsed_ns)
{
	double rate_hz = (double)p->n_done / ((double)elapsed_ns / 1e9);

	fprintf(p->out, "%" PRIu64 " %s, %.*f/s", p->n_done, p->unit,
		rate_hz < 10 ? 1 : 0, rate_hz);
}

static void
put_text(const struct progress *p, double frac, int tenth, int64_t elapsed_ns)
{
	bool is_terminal = p->form == PROGRESS_TERMINAL;

	if (is_terminal)
		putc('\r', p->out);
	fprintf(p->out, "%s: ", p->what);
	if (p->unit)
		put_rate(p, elapsed_ns);
	else
		put_share(p, frac, tenth, elapsed_ns);
	/* Erases the rest of a longer line. */
	fputs(is_terminal ? "\033[K" : "\n", p->out);
}

static void
put_count(struct jsonw *w, const char *key, bool is_counted, uint64_t n)
{
	if (is_counted)
		jsonw_int(w, key, (int64_t)n);
	else
		jsonw_null(w, key);
}

static void
put_json(const struct progress *p, double frac, int64_t elapsed_ns)
{
	struct jsonw w;
	char *line;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	BUG_ON(!out);
	jsonw_line(&w, out, "antiphase.progress/1");
	jsonw_str(&w, "what", p->what);
	/* Rounds down, because 1 means the end. */
	jsonw_num(&w, "share", p->unit ? NAN : floor(frac * 1e4 + 1e-5) / 1e4);
	put_count(&w, "n_done", p->unit || p->n_all, p->n_done);
	put_count(&w, "n_all", p->n_all > 0, p->n_all);
	jsonw_rounded(&w, "elapsed_s", (double)elapsed_ns / 1e9, 1);
	jsonw_rounded(&w, "left_s",
		      p->unit || frac < LEFT_FRAC ? NAN : left_s(p, frac, elapsed_ns),
		      1);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	/* One write: stderr has no buffer. */
	fwrite(line, 1, size, p->out);
	free(line);
}

static bool
is_due(const struct progress *p, int tenth, int64_t now_ns)
{
	switch (p->form) {
	case PROGRESS_TERMINAL:
		return !p->is_shown || now_ns - p->shown_ns >= INTERVAL_NS;
	case PROGRESS_LINES:
		return p->unit ? now_ns - p->shown_ns >= OPEN_ENDED_INTERVAL_NS
			       : tenth > p->shown_tenth;
	case PROGRESS_JSON:
		return !p->is_shown || (p->shown_tenth < 10 &&
					now_ns - p->shown_ns >= JSON_INTERVAL_NS);
	case PROGRESS_NONE:
		break;
	}
	return false;
}

void
progress_update(struct progress *p, double frac, int64_t now_ns)
{
	int64_t elapsed_ns = now_ns - p->start_ns;
	int tenth;

	frac = !(frac > 0) ? 0 : frac > 1 ? 1 : frac;
	note_pace(p, frac, elapsed_ns);
	if (elapsed_ns < QUIET_NS)
		return;
	/* 0.3 / 0.1 is just below 3. */
	tenth = (int)(frac * 10 + 1e-9);
	if (!is_due(p, tenth, now_ns))
		return;
	if (p->form == PROGRESS_JSON)
		put_json(p, frac, elapsed_ns);
	else
		put_text(p, frac, tenth, elapsed_ns);
	fflush(p->out);
	p->is_shown = true;
	p->shown_ns = now_ns;
	p->shown_tenth = tenth;
}

void
progress_count(struct progress *p, uint64_t n_done, uint64_t n_all, int64_t now_ns)
{
	p->n_done = n_done;
	p->n_all = n_all;
	progress_update(p, n_all ? (double)n_done / (double)n_all : 1, now_ns);
}

void
progress_open_ended(struct progress *p, uint64_t n_done, const char *unit,
		    int64_t now_ns)
{
	p->n_done = n_done;
	p->unit = unit;
	progress_update(p, 0, now_ns);
}

void
progress_clear(struct progress *p)
{
	if (!p->is_shown || p->form != PROGRESS_TERMINAL)
		return;
	fputs("\r\033[K", p->out);
	fflush(p->out);
	p->is_shown = false;
}

void
progress_end(struct progress *p, bool is_done, int64_t now_ns)
{
	progress_clear(p);
	if (!p->is_shown || p->form != PROGRESS_JSON || !is_done ||
	    p->shown_tenth == 10)
		return;
	if (p->unit)
		p->n_all = p->n_done;
	p->unit = NULL;
	p->n_done = p->n_all;
	put_json(p, 1, now_ns - p->start_ns);
	fflush(p->out);
	p->shown_tenth = 10;
}
