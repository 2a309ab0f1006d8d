/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_csv.c - a hand-written parser, for captures of millions of rows.
 *
 * A cursor walks the text; each take_*() function moves it past a field and the comma
 * behind it.  Only numbers and job names are copied.
 */
#include "scheduler/core/profile/capture_csv.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/name.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

/* The first line of a recording (docs/wire-format.md) begins with this. */
#define RECORDING   "antiphase.recording/"
#define HEADER      "t_ms,rank,direction,job,bytes,packets,retransmits"
#define MAX_TIME_MS (INT64_C(1) << 53)
#define MAX_COUNT   (INT64_C(1) << 53)

struct row {
	int64_t t_ms;
	uint32_t series; /* Index in 'series'. */
	float bytes;
};

struct series_key {
	uint32_t job;
	struct series_id id;
};

struct capture {
	char *file;                    /* Owned.  For messages. */
	VEC(struct row) rows;          /* In the order of the file. */
	VEC(struct series_key) series; /* In the order of first rows. */
	struct strtab *jobs;           /* Owned. */
	struct strtab *series_names;   /* Owned.  "RANK DIRECTION JOB" to series. */
};

/* A place in the text. */
struct cursor {
	const char *file;
	const char *at, *end; /* 'end' is the end of the line. */
	const char *line_start;
	unsigned line;
	struct err *err;
};

static int fail(const struct cursor *c, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Fills the error with the place of 'field'; returns -EINVAL. */
static int
fail(const struct cursor *c, const char *field, const char *fmt, ...)
{
	char text[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return err_set(c->err, c->file, c->line, (unsigned)(field - c->line_start) + 1,
		       "%s", text);
}

/* Length of the field at the cursor in messages: at most 40. */
static int
shown_length(const struct cursor *c)
{
	int length = 0;

	while (length < 40 && c->at + length < c->end && c->at[length] != ',')
		length++;
	return length;
}

/* Moves past the comma behind a field, or the end of the line after the last. */
static int
take_separator(struct cursor *c, bool is_last, const char *name)
{
	if (is_last) {
		if (c->at == c->end)
			return 0;
		return fail(c, c->at,
			    "the line goes on after '%s', expected 7 fields (" HEADER
			    ")",
			    name);
	}
	if (c->at < c->end) {
		c->at++;
		return 0;
	}
	return fail(c, c->at,
		    "the line ends after '%s', expected 7 fields (" HEADER ")", name);
}

/* A whole number in [0, max]. */
static int
take_int(struct cursor *c, const char *name, int64_t max, bool is_last,
	 int64_t *ret_value)
{
	const char *start = c->at;
	int64_t value = 0;

	while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
		int digit = *c->at++ - '0';

		if (value > (max - digit) / 10) {
			c->at = start;
			return fail(c, start, "%s is '%.*s', expected at most %lld",
				    name, shown_length(c), start, (long long)max);
		}
		value = value * 10 + digit;
	}
	if (c->at == start || (c->at < c->end && *c->at != ',')) {
		c->at = start;
		return fail(c, start, "%s is '%.*s', expected a whole number from 0",
			    name, shown_length(c), start);
	}
	*ret_value = value;
	return take_separator(c, is_last, name);
}

static int
take_direction(struct cursor *c, bool *ret_is_ingress)
{
	static const char *const words[] = { "egress", "ingress", NULL };
	const char *start = c->at;
	char word[41];

	for (int i = 0; words[i]; i++) {
		size_t length = strlen(words[i]);

		if ((size_t)(c->end - c->at) > length && c->at[length] == ',' &&
		    memcmp(c->at, words[i], length) == 0) {
			c->at += length;
			*ret_is_ingress = i == 1;
			return take_separator(c, false, "direction");
		}
	}
	snprintf(word, sizeof word, "%.*s", shown_length(c), start);
	fail(c, start, "direction is '%s', expected 'egress' or 'ingress'", word);
	err_suggest(c->err, word, words);
	return -EINVAL;
}

/* Stores the job's name, terminated, in ret_name[NAME_MAX_BYTES + 2]. */
static int
take_job(struct cursor *c, char *ret_name)
{
	const char *start = c->at, *fault;
	size_t length;

	for (; c->at < c->end && *c->at != ','; c->at++)
		if (*c->at == '"')
			return fail(c, c->at, "the job's name holds a quote");
	length = (size_t)(c->at - start);
	if (length > NAME_MAX_BYTES)
		length = NAME_MAX_BYTES + 1; /* Still too long. */
	memcpy(ret_name, start, length);
	ret_name[length] = '\0';
	fault = name_fault(ret_name);
	if (fault)
		return fail(c, start, "job: expected %s", fault);
	return take_separator(c, false, "job");
}

/* Stores the series of a job's interface and direction; adds it if it is new. */
static int
intern_series(struct capture *capture, const struct cursor *c, struct series_id id,
	      const char *job, uint32_t *ret_series)
{
	char name[NAME_MAX_BYTES + 32];
	uint32_t series;

	/* Files go through their series in order: try the one after the last. */
	if (capture->series.n > 0 && capture->rows.n > 0) {
		uint32_t guess = capture->rows.items[capture->rows.n - 1].series + 1;
		const struct series_key *key;

		if (guess == capture->series.n)
			guess = 0;
		key = &capture->series.items[guess];
		if (key->id.rank == id.rank && key->id.is_ingress == id.is_ingress &&
		    strcmp(strtab_name(capture->jobs, key->job), job) == 0) {
			*ret_series = guess;
			return 0;
		}
	}

	snprintf(name, sizeof name, "%u %c %s", id.rank, id.is_ingress ? 'i' : 'e',
		 job);
	series = strtab_intern(capture->series_names, name);
	if (series == capture->series.n) {
		if (series >= CAPTURE_MAX_SERIES)
			return fail(c, c->line_start,
				    "more than %d interfaces, directions and jobs",
				    CAPTURE_MAX_SERIES);
		vec_push(
			&capture->series,
			((struct series_key){ strtab_intern(capture->jobs, job), id }));
	}
	*ret_series = series;
	return 0;
}

static int
parse_row(struct capture *capture, struct cursor *c)
{
	int64_t t_ms = 0, rank = 0, bytes = 0, ignored = 0;
	struct series_id id = { 0 };
	char job[NAME_MAX_BYTES + 2];
	uint32_t series = 0;

	if (take_int(c, "t_ms", MAX_TIME_MS, false, &t_ms) < 0 ||
	    take_int(c, "rank", CAPTURE_MAX_RANK, false, &rank) < 0 ||
	    take_direction(c, &id.is_ingress) < 0 || take_job(c, job) < 0 ||
	    take_int(c, "bytes", CAPTURE_MAX_BUCKET_BYTES, false, &bytes) < 0 ||
	    take_int(c, "packets", MAX_COUNT, false, &ignored) < 0 ||
	    take_int(c, "retransmits", MAX_COUNT, true, &ignored) < 0)
		return -EINVAL;
	id.rank = (uint32_t)rank;
	if (intern_series(capture, c, id, job, &series) < 0)
		return -EINVAL;

	vec_push(&capture->rows, ((struct row){ t_ms, series, (float)bytes }));
	return 0;
}

static bool
is_header(const struct cursor *c)
{
	return (size_t)(c->end - c->at) == strlen(HEADER) &&
	       memcmp(c->at, HEADER, strlen(HEADER)) == 0;
}

static int
check_header(const struct cursor *c)
{
	const char *nul = memchr(c->at, '\0', (size_t)(c->end - c->at));

	if (is_header(c))
		return 0;
	if (c->end - c->at >= (ptrdiff_t)strlen(RECORDING) &&
	    memcmp(c->at, RECORDING, strlen(RECORDING)) == 0)
		return fail(
			c, c->at,
			"a recording of telemetry, not a capture; read it with --from");
	if (nul)
		return fail(c, nul, "a NUL byte: the file is not text");
	return fail(c, c->at, "the header is '%.*s', expected '" HEADER "'",
		    (int)(c->end - c->at > 80 ? 80 : c->end - c->at), c->at);
}

static int
parse_lines(struct capture *capture, struct cursor *c, const char *text_end)
{
	bool has_header = false;

	while (c->at < text_end) {
		const char *newline = memchr(c->at, '\n', (size_t)(text_end - c->at));
		const char *next = newline ? newline + 1 : text_end;

		c->line++;
		c->line_start = c->at;
		c->end = newline ? newline : text_end;
		if (c->end > c->at && c->end[-1] == '\r')
			c->end--;
		if (has_header && is_header(c))
			return fail(
				c, c->at,
				"a second header; name the joined files one by one");
		if (c->end > c->at && *c->at != '#') {
			if ((has_header ? parse_row(capture, c) : check_header(c)) < 0)
				return -EINVAL;
			has_header = true;
		}
		c->at = next;
	}
	if (!has_header)
		return err_set(c->err, c->file, 0, 0,
			       "the file is empty, expected the header '" HEADER "'");
	if (capture->rows.n == 0)
		return err_set(c->err, c->file, 0, 0,
			       "the file has a header, but no rows");
	return 0;
}

int
capture_csv_parse(const char *file, const char *text, size_t length,
		  struct capture **ret_capture, struct err *err)
{
	struct capture *capture = xcalloc(1, sizeof *capture);
	struct cursor cursor = { .file = file, .at = text, .err = err };

	capture->file = xstrdup(file);
	capture->jobs = strtab_new();
	capture->series_names = strtab_new();
	if (parse_lines(capture, &cursor, text + length) < 0) {
		capture_free(capture);
		return -EINVAL;
	}
	*ret_capture = capture;
	return 0;
}

void
capture_free(struct capture *capture)
{
	if (!capture)
		return;

	free(capture->file);
	vec_free(&capture->rows);
	vec_free(&capture->series);
	strtab_free(capture->jobs);
	strtab_free(capture->series_names);
	free(capture);
}

uint32_t
capture_n_jobs(const struct capture *capture)
{
	return strtab_n(capture->jobs);
}

const char *
capture_job(const struct capture *capture, uint32_t job)
{
	return strtab_name(capture->jobs, job);
}

uint32_t
capture_find_job(const struct capture *capture, const char *name)
{
	uint32_t job = strtab_find(capture->jobs, name);

	return job == STRTAB_NONE ? CAPTURE_NO_JOB : job;
}

/* ---- One job's series ------------------------------------------------------------ */

/* Times in ms, [from, to). */
struct part {
	int64_t from, to;
};

static void
extend(struct part *part, int64_t t_ms)
{
	part->from = t_ms < part->from ? t_ms : part->from;
	part->to = t_ms >= part->to ? t_ms + 1 : part->to;
}

/* Milliseconds, rounded, and limited so that sums do not overflow. */
static int64_t
to_ms(double seconds)
{
	return (int64_t)(fmin(seconds * 1e3, (double)MAX_TIME_MS) + 0.5);
}

/* The part of the file that is selected. */
static struct part
find_part(const struct capture *capture, uint32_t job, double from_s, double for_s)
{
	struct part file = { INT64_MAX, 0 }, jobs = { INT64_MAX, 0 }, part;

	for (size_t i = 0; i < capture->rows.n; i++) {
		const struct row *row = &capture->rows.items[i];

		extend(&file, row->t_ms);
		if (capture->series.items[row->series].job == job)
			extend(&jobs, row->t_ms);
	}
	part.from = from_s < 0 ? jobs.from : file.from + to_ms(from_s);
	part.to = for_s < 0 ? jobs.to : part.from + to_ms(for_s);
	if (part.to > file.to)
		part.to = file.to;
	return part;
}

static int
compare_ids(const void *a, const void *b)
{
	const struct series_id *ia = a, *ib = b;

	if (ia->rank != ib->rank)
		return ia->rank < ib->rank ? -1 : 1;
	return (int)ia->is_ingress - (int)ib->is_ingress;
}

/*
 * Stores for each series of the file its row in the set, or SIZE_MAX for another job;
 * and the rows' ids in 'set', sorted, so that the file's order does not matter.
 */
static void
number_series(const struct capture *capture, uint32_t job, const struct series_set *set,
	      size_t *ret_rows)
{
	size_t n = 0;

	for (size_t s = 0; s < capture->series.n; s++)
		if (capture->series.items[s].job == job)
			set->ids[n++] = capture->series.items[s].id;
	qsort(set->ids, n, sizeof *set->ids, compare_ids);
	for (size_t s = 0; s < capture->series.n; s++) {
		const struct series_key *key = &capture->series.items[s];
		const struct series_id *found;

		ret_rows[s] = SIZE_MAX;
		if (key->job != job)
			continue;
		found = bsearch(&key->id, set->ids, n, sizeof *set->ids, compare_ids);
		ret_rows[s] = (size_t)(found - set->ids);
	}
}

int
capture_series(const struct capture *capture, uint32_t job, double from_s, double for_s,
	       struct series_set *ret_set, struct err *err)
{
	struct part part = find_part(capture, job, from_s, for_s);
	struct series_set set;
	size_t n_series = 0, n_rows = 0, *rows;

	for (size_t s = 0; s < capture->series.n; s++)
		n_series += capture->series.items[s].job == job;
	if (part.to > part.from &&
	    part.to - part.from > SERIES_MAX_BUCKETS / (int64_t)n_series)
		return err_set(
			err, capture->file, 0, 0,
			"job '%s' spans %lld s in %zu series, at most %lld s can be "
			"looked at once; choose a part with --from and --for",
			capture_job(capture, job),
			(long long)((part.to - part.from) / 1000), n_series,
			(long long)(SERIES_MAX_BUCKETS / (int64_t)n_series / 1000));

	series_init(&set, n_series,
		    part.to > part.from ? (size_t)(part.to - part.from) : 0);
	set.start_ms = part.from;
	rows = xcalloc(capture->series.n, sizeof *rows);
	number_series(capture, job, &set, rows);
	for (size_t i = 0; i < capture->rows.n; i++) {
		const struct row *row = &capture->rows.items[i];

		if (rows[row->series] == SIZE_MAX || row->t_ms < part.from ||
		    row->t_ms >= part.to)
			continue;
		series_row(&set, rows[row->series])[row->t_ms - part.from] +=
			row->bytes;
		n_rows++;
	}
	free(rows);
	if (n_rows == 0) {
		series_fini(&set);
		err_set(err, capture->file, 0, 0,
			"no traffic of job '%s' in the chosen part of the file",
			capture_job(capture, job));
		return -ENODATA;
	}
	*ret_set = set;
	return 0;
}
