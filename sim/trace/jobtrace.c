/* SPDX-License-Identifier: Apache-2.0 */
/* jobtrace.c - detection of the format, rows, and counts of malformed ones. */
#include "sim/trace/jobtrace.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "sim/trace/bsc_json.h"
#include "sim/trace/columns.h"
#include "sim/trace/instances.h"
#include "sim/trace/json_jobs.h"
#include "sim/trace/philly_json.h"

#define MAX_FAULTS 10
/* After MIN_ROWS rows, more than one malformed row in FAULT_IN is another format. */
#define MIN_ROWS 100
#define FAULT_IN 10

const char *const jobtrace_format_names[] = {
	[JOBTRACE_AUTO] = "auto",
	[JOBTRACE_ANTIPHASE] = "antiphase",
	[JOBTRACE_PHILLY_JSON] = "philly-json",
	[JOBTRACE_PHILLY_CSV] = "philly-csv",
	[JOBTRACE_HELIOS] = "helios",
	[JOBTRACE_PAI_2020] = "pai-2020",
	[JOBTRACE_PAI_2023] = "pai-2023",
	[JOBTRACE_ACME] = "acme",
	[JOBTRACE_GAVEL] = "gavel",
	[JOBTRACE_SHOCKWAVE] = "shockwave",
	[JOBTRACE_MURI] = "muri",
	[JOBTRACE_TIRESIAS] = "tiresias",
	[JOBTRACE_POLLUX] = "pollux",
	[JOBTRACE_SYNERGY] = "synergy",
	[JOBTRACE_BSC] = "bsc",
	[JOBTRACE_N_FORMATS] = NULL,
};

static const char *
format_name(enum jobtrace_format format)
{
	return format == JOBTRACE_PAI_INSTANCES ? "pai_instance_table of pai-2020"
						: jobtrace_format_names[format];
}

struct jobtrace {
	char *path; /* Owned. */
	struct lines *lines;
	enum jobtrace_format format;
	const struct columns *columns; /* NULL: JSON. */
	const struct column *of[COLUMNS_MAX];
	int n_fields;
	char *first; /* The line read to detect the format; NULL: consumed. */
	size_t n_first;
	/*
	 * Up to this line, a quote still open at the end of a line is known to be
	 * closed wrongly.
	 */
	uint64_t wrong_until;
	const char *wrong; /* The reason. */
	struct json_jobs json;
	struct jobtrace *joined; /* Owned; NULL: none. */
	struct instances *instances;
	struct jobtrace_counts counts;
	char *faults[MAX_FAULTS]; /* Owned. */
	char number[24];          /* An id, for traces that have none. */
};

/* Skips blank lines and comments. */
static int
next_line(struct jobtrace *trace, char **ret_line, size_t *ret_n, struct err *err)
{
	int r;

	do {
		r = lines_next(trace->lines, ret_line, ret_n, err);
	} while (r > 0 &&
		 (!(*ret_line)[strspn(*ret_line, " \t")] || **ret_line == '#'));
	return r;
}

/*
 * Completes the row that begins with the last line, without its first 'skip' bytes.
 * Quotes may span lines; if they are not closed, or closed wrongly, only the line is
 * taken and no later row is lost: '*ret_why' is the reason, NULL: none.  Each line
 * skipped in the search is a row of its own, and its open quotes have the same end,
 * which is not searched again: the time is linear in the length of the file.
 */
static int
complete_row(struct jobtrace *trace, size_t skip, char separator, char **line,
	     const char **ret_why, struct err *err)
{
	enum columns_place place =
		columns_scan(COLUMNS_AT_BEGIN, *line + skip, separator);
	uint64_t number = lines_number(trace->lines);
	size_t n = strlen(*line), n_joined = 0;
	int r;

	*ret_why = NULL;
	if (place == COLUMNS_IN_QUOTES && number <= trace->wrong_until) {
		*ret_why = trace->wrong;
		return 0;
	}
	while (place == COLUMNS_IN_QUOTES) {
		size_t n_before = n;

		r = lines_join(trace->lines, line, &n, err);
		if (r < 0)
			return r;
		if (r == 0)
			break;
		n_joined++;
		place = columns_scan(place, *line + n_before, separator);
	}
	if (place == COLUMNS_IN_QUOTES)
		*ret_why = "a quote that is not closed within 1 MiB";
	else if (place == COLUMNS_BROKEN)
		*ret_why = "a quote that is not closed at the end of its field";
	if (*ret_why)
		lines_back(trace->lines, line, &n);
	if (*ret_why && n_joined) {
		trace->wrong = *ret_why;
		trace->wrong_until = number + n_joined - (place == COLUMNS_BROKEN);
	}
	return 0;
}

static_assert(LINES_MAX_BYTES == 1u << 20, "as complete_row() says");

static int
no_format(const struct jobtrace *trace, enum jobtrace_format format, struct err *err)
{
	unsigned line = (unsigned)lines_number(trace->lines);

	return format == JOBTRACE_AUTO
		       ? err_set(err, trace->path, line, 0,
				 "the first row is of no known format; see "
				 "antiphase-trace(1), and name a format with --format")
		       : err_set(err, trace->path, line, 0,
				 "the first row is not of format %s",
				 format_name(format));
}

static bool
is_json(enum jobtrace_format format)
{
	return format == JOBTRACE_PHILLY_JSON || format == JOBTRACE_BSC;
}

/* An object of objects is BSC's; its first key may be on the second line. */
static int
find_json_format(struct jobtrace *trace, enum jobtrace_format format, char *line,
		 size_t n, size_t n_mark, struct err *err)
{
	int r = 0;

	if (format == JOBTRACE_AUTO && line[n_mark] == '[') {
		format = JOBTRACE_PHILLY_JSON;
	} else if (format == JOBTRACE_AUTO) {
		r = lines_join(trace->lines, &line, &n, err);
		format = json_jobs_have_keys(line + n_mark) ? JOBTRACE_BSC
							    : JOBTRACE_PHILLY_JSON;
	}
	if (r < 0)
		return r;
	if (r > 0)
		lines_back(trace->lines, &line, &n);
	trace->format = format;
	trace->json.has_keys = format == JOBTRACE_BSC;
	trace->json.read = format == JOBTRACE_BSC ? bsc_json_read : philly_json_read;
	trace->first = line + n_mark;
	trace->n_first = n - n_mark;
	return 0;
}

static int
find_format(struct jobtrace *trace, enum jobtrace_format format, struct err *err)
{
	char *line, *copy, *fields[COLUMNS_MAX], separator;
	size_t n, n_mark;
	const char *why;
	int r = next_line(trace, &line, &n, err);

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, trace->path, 0, 0, "has no rows");
	n_mark = strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	if ((line[n_mark] == '[' || line[n_mark] == '{') &&
	    (format == JOBTRACE_AUTO || is_json(format)))
		return find_json_format(trace, format, line, n, n_mark, err);
	separator = strchr(line, '\t') ? '\t' : ',';
	r = complete_row(trace, n_mark, separator, &line, &why, err);
	if (r < 0)
		return r;
	line += n_mark;
	copy = xstrdup(line);
	trace->n_fields = columns_split(copy, separator, fields);
	if (trace->n_fields > 0)
		trace->columns = columns_find(format, fields, trace->n_fields,
					      separator, trace->of);
	free(copy);
	if (!trace->columns)
		return no_format(trace, format, err);
	trace->format = trace->columns->format;
	if (!trace->columns->has_header) {
		trace->first = line;
		trace->n_first = strlen(line);
	}
	return 0;
}

static int
open_as(const char *path, enum jobtrace_format format, struct jobtrace **ret_trace,
	struct err *err)
{
	struct jobtrace *trace = xcalloc(1, sizeof *trace);
	int r;

	trace->path = xstrdup(path);
	r = lines_open(path, &trace->lines, err);
	if (r == 0)
		r = find_format(trace, format, err);
	if (r < 0) {
		jobtrace_close(trace);
		return r;
	}
	*ret_trace = trace;
	return 0;
}

int
jobtrace_open(const char *path, enum jobtrace_format format,
	      struct jobtrace **ret_trace, struct err *err)
{
	int r = open_as(path, format, ret_trace, err);

	if (r < 0 || (*ret_trace)->format != JOBTRACE_PAI_INSTANCES)
		return r;
	jobtrace_close(*ret_trace);
	return err_set(err, path, 1, 0,
		       "instances have no GPUs: expected pai_task_table, to which this "
		       "table can be joined; see antiphase-trace(1)");
}

void
jobtrace_close(struct jobtrace *trace)
{
	if (!trace)
		return;
	for (size_t i = 0; i < MAX_FAULTS; i++)
		free(trace->faults[i]);
	jobtrace_close(trace->joined);
	instances_free(trace->instances);
	json_jobs_fini(&trace->json);
	lines_close(trace->lines);
	free(trace->path);
	free(trace);
}

enum jobtrace_format
jobtrace_format(const struct jobtrace *trace)
{
	return trace->format;
}

/* Counts a malformed row; -EINVAL if there are too many. */
static int
note_fault(struct jobtrace *trace, uint64_t line, int field, const char *why,
	   struct err *err)
{
	uint64_t n = trace->counts.malformed++;
	const struct column *column = field >= 0 ? trace->of[field] : NULL;

	if (n < MAX_FAULTS)
		trace->faults[n] = xasprintf(
			"%s:%llu: %s%s%s", trace->path, (unsigned long long)line,
			column ? column->name : "", column ? ": " : "", why);
	if (trace->counts.rows < MIN_ROWS ||
	    trace->counts.malformed * FAULT_IN <= trace->counts.rows)
		return 0;
	return err_set(
		err, trace->path, (unsigned)line, 0,
		"%llu of the first %llu rows are malformed (the last one: %s); is "
		"this a trace of format %s?",
		(unsigned long long)trace->counts.malformed,
		(unsigned long long)trace->counts.rows, why,
		format_name(trace->format));
}

/* At the end: 0, or -EINVAL if no row was valid. */
static int
check_rows(const struct jobtrace *trace, struct err *err)
{
	if (!trace->counts.rows || trace->counts.malformed < trace->counts.rows)
		return 0;
	return err_set(err, NULL, 0, 0, "%s; is this a trace of format %s?",
		       trace->faults[0], format_name(trace->format));
}

/* True if the job is returned. */
static bool
is_wanted(struct jobtrace *trace, struct jobtrace_job *job)
{
	if (trace->format == JOBTRACE_PAI_INSTANCES) {
		trace->counts.jobs++;
		return true;
	}
	if (!job->n_gpus) {
		trace->counts.no_gpus++;
		return false;
	}
	/* Its duration is known, or its model. */
	if (isnan(job->submit_s) ||
	    (isnan(job->duration_s) && isnan(job->iterations) && !*job->model)) {
		trace->counts.not_run++;
		return false;
	}
	if (!*job->id) {
		snprintf(trace->number, sizeof trace->number, "%llu",
			 (unsigned long long)trace->counts.jobs);
		job->id = trace->number;
	}
	trace->counts.jobs++;
	return true;
}

/* 1 with a job, 0 for a row without one, -errno. */
static int
take_row(struct jobtrace *trace, char *line, struct jobtrace_job *ret_job,
	 struct err *err)
{
	uint64_t number = lines_number(trace->lines);
	char *fields[COLUMNS_MAX];
	char separator = trace->columns->separator;
	const char *why;
	bool is_rounded = false, is_joined;
	int field = -1, n = 0, r;

	r = complete_row(trace, 0, separator, &line, &why, err);
	if (r < 0)
		return r;
	trace->counts.rows++;
	if (!why)
		n = columns_split(line, separator, fields);
	if (!why && n != trace->n_fields)
		why = n < 0 ? "more than 64 fields"
			    : "a different number of fields than in the first row";
	if (!why)
		why = columns_read(trace->of, fields, n, ret_job, &field, &is_rounded);
	if (why)
		return note_fault(trace, number, field, why, err);
	ret_job->line = number;
	is_joined = !trace->instances || instances_apply(trace->instances, ret_job);
	if (!is_wanted(trace, ret_job))
		return 0;
	trace->counts.unjoined += !is_joined;
	trace->counts.rounded += is_rounded;
	return 1;
}

static int
take_object(struct jobtrace *trace, char *line, size_t n, struct jobtrace_job *ret_job,
	    bool *ret_is_over, struct err *err)
{
	int r = json_jobs_next(&trace->json, trace->lines, line, n, ret_job, err);

	*ret_is_over = r == 0;
	trace->counts.rows += r > 0 || r == -EAGAIN;
	if (r == -EAGAIN) {
		struct err why = *err;

		return note_fault(trace, why.line, -1, why.text, err);
	}
	if (r < 0 && !*err->file)
		snprintf(err->file, sizeof err->file, "%s", trace->path);
	return r > 0 ? is_wanted(trace, ret_job) : r;
}

int
jobtrace_next(struct jobtrace *trace, struct jobtrace_job *ret_job, struct err *err)
{
	struct err unused;
	int r;

	err = err ? err : &unused;
	do {
		char *line = trace->first;
		size_t n = trace->n_first;
		bool is_over = false;

		trace->first = NULL;
		if (is_json(trace->format)) {
			r = take_object(trace, line, n, ret_job, &is_over, err);
		} else {
			r = line ? 1 : next_line(trace, &line, &n, err);
			is_over = r == 0;
			if (r > 0)
				r = take_row(trace, line, ret_job, err);
		}
		if (is_over)
			return check_rows(trace, err);
	} while (r == 0);
	return r;
}

int
jobtrace_join(struct jobtrace *trace, const char *path, struct err *err)
{
	struct jobtrace_job instance;
	int r;

	if (trace->format != JOBTRACE_PAI_2020)
		return err_set(err, trace->path, 0, 0,
			       "instances can be joined to a trace of format pai-2020 "
			       "only, and this is of format %s",
			       format_name(trace->format));
	r = open_as(path, JOBTRACE_PAI_INSTANCES, &trace->joined, err);
	if (r < 0)
		return r;
	trace->instances = instances_new();
	while ((r = jobtrace_next(trace->joined, &instance, err)) > 0)
		instances_add(trace->instances, &instance);
	instances_seal(trace->instances);
	return r;
}

const struct jobtrace *
jobtrace_joined(const struct jobtrace *trace)
{
	return trace->joined;
}

struct jobtrace_counts
jobtrace_counts(const struct jobtrace *trace)
{
	return trace->counts;
}

const char *
jobtrace_fault(const struct jobtrace *trace, size_t i)
{
	return i < MAX_FAULTS ? trace->faults[i] : NULL;
}
