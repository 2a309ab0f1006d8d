/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/philly_json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "sim/trace/columns.h"

void
philly_json_fini(struct philly_json *reader)
{
	json_doc_free(reader->doc);
	reader->doc = NULL;
	strbuf_free(&reader->object);
}

/* ---- One object after another ---------------------------------------------------- */

struct scan {
	unsigned depth; /* Open braces. */
	bool is_text, is_escaped;
};

/* True at the brace that closes the object. */
static bool
scan_char(struct scan *scan, char c)
{
	if (scan->is_text) {
		scan->is_text = c != '"' || scan->is_escaped;
		scan->is_escaped = c == '\\' && !scan->is_escaped;
		return false;
	}
	scan->is_text = c == '"';
	scan->depth += c == '{';
	return c == '}' && scan->depth && !--scan->depth;
}

/* Whether the character may be between jobs: an optional array, optional commas. */
static bool
may_stand_between(struct philly_json *reader, char c)
{
	enum philly_json_list list = reader->list;

	if (c == '[' && list == PHILLY_JSON_NO_LIST)
		reader->list = PHILLY_JSON_IN_LIST;
	else if (c == ']' && list == PHILLY_JSON_IN_LIST)
		reader->list = PHILLY_JSON_PAST_LIST;
	else if (c == '{' || c == ',')
		return list != PHILLY_JSON_PAST_LIST;
	else
		return c && strchr(" \t\r\n", c);
	return true;
}

/* 0 if the text may end here, or -EINVAL. */
static int
check_end(const struct philly_json *reader, const struct lines *lines, bool is_in_job,
	  struct err *err)
{
	if (is_in_job)
		return err_set(err, NULL, (unsigned)reader->first_line, 0,
			       "the job that begins here is not closed");
	if (reader->list == PHILLY_JSON_IN_LIST)
		return err_set(err, NULL, (unsigned)lines_number(lines), 0,
			       "the list of jobs is not closed: the file is truncated");
	return 0;
}

/* Collects the next object; 1, 0 at the end, -errno. */
static int
collect(struct philly_json *reader, struct lines *lines, struct err *err)
{
	struct scan scan = { 0 };
	int r;

	strbuf_clear(&reader->object);
	for (;;) {
		while (reader->left) {
			char c = *reader->line++;

			reader->left--;
			if (!scan.depth && !may_stand_between(reader, c))
				return err_set(err, NULL, (unsigned)lines_number(lines),
					       0,
					       "expected a job, '{ ... }', or the end "
					       "of the list");
			if (!scan.depth && c == '{')
				reader->first_line = lines_number(lines);
			if (scan.depth || c == '{')
				strbuf_putc(&reader->object, c);
			if (scan_char(&scan, c))
				return 1;
		}
		if (scan.depth)
			strbuf_putc(&reader->object, '\n');
		if (reader->object.length > PHILLY_JSON_MAX_BYTES)
			return err_set(err, NULL, (unsigned)reader->first_line, 0,
				       "a job of more than %u bytes",
				       PHILLY_JSON_MAX_BYTES);
		r = lines_next(lines, &reader->line, &reader->left, err);
		if (r < 0)
			return r;
		if (r == 0)
			return check_end(reader, lines, scan.depth, err);
	}
}

/* ---- One job --------------------------------------------------------------------- */

static int
get_time(const struct json_doc *doc, const struct json *object, const char *key,
	 double *ret_s, struct err *err)
{
	const struct json *value = json_find(object, key);
	const char *text;

	*ret_s = NAN;
	/* "None", null, or absent. */
	if (!value || json_as_str(doc, value, &text, NULL) < 0 ||
	    columns_time(text, ret_s))
		return 0;
	return json_fail(doc, value, err, "'%.40s' is not a time", text);
}

/* GPUs of an attempt, over its machines. */
static int
count_gpus(const struct json_doc *doc, const struct json *attempt,
	   struct jobtrace_job *job, struct err *err)
{
	const struct json *detail = NULL, *gpus;
	size_t n = 0, n_here;
	uint32_t n_gpus = 0;
	int r = json_opt_array(doc, attempt, "detail", &detail, &n, err);

	for (const struct json *d = r == 0 && n ? json_first(detail) : NULL;
	     r == 0 && d; d = json_next(d)) {
		r = json_as_object(doc, d, err);
		if (r == 0)
			r = json_get_array(doc, d, "gpus", &gpus, &n_here, err);
		if (r == 0)
			n_gpus += (uint32_t)n_here;
	}
	if (r == 0 && n_gpus > JOBTRACE_MAX_GPUS)
		return json_fail(doc, attempt, err, "too many GPUs");
	if (r == 0 && n_gpus > job->n_gpus) {
		job->n_gpus = n_gpus;
		job->n_nodes = (uint32_t)n;
	}
	return r;
}

static int
read_attempt(const struct json_doc *doc, const struct json *attempt,
	     struct jobtrace_job *job, struct err *err)
{
	double start_s, end_s;

	if (json_as_object(doc, attempt, err) < 0 ||
	    get_time(doc, attempt, "start_time", &start_s, err) < 0 ||
	    get_time(doc, attempt, "end_time", &end_s, err) < 0 ||
	    count_gpus(doc, attempt, job, err) < 0)
		return -EINVAL;
	if (isnan(job->start_s))
		job->start_s = start_s;
	if (!isnan(end_s))
		job->end_s = end_s;
	if (end_s >= start_s)
		job->duration_s = fmax(0, job->duration_s) + end_s - start_s;
	return 0;
}

/* "" if absent. */
static int
get_name(const struct json_doc *doc, const char *key, const char **ret_name,
	 struct err *err)
{
	const char *why;

	if (json_opt_str(doc, json_root(doc), key, ret_name, err) < 0)
		return -EINVAL;
	why = columns_check_name(*ret_name);
	return why ? json_fail(doc, json_find(json_root(doc), key), err, "%s", why) : 0;
}

static int
read_job(const struct json_doc *doc, struct jobtrace_job *job, struct err *err)
{
	const struct json *root = json_root(doc), *attempts = NULL;
	const char *status = "";
	size_t n = 0;
	int r;

	jobtrace_clear(job);
	if (json_get_str(doc, root, "jobid", &job->id, err) < 0 ||
	    get_name(doc, "jobid", &job->id, err) < 0 ||
	    get_name(doc, "user", &job->user, err) < 0 ||
	    get_name(doc, "vc", &job->vc, err) < 0 ||
	    json_opt_str(doc, root, "status", &status, err) < 0 ||
	    get_time(doc, root, "submitted_time", &job->submit_s, err) < 0)
		return -EINVAL;
	job->status = columns_status(status);
	r = json_opt_array(doc, root, "attempts", &attempts, &n, err);
	for (const struct json *a = r == 0 && n ? json_first(attempts) : NULL;
	     r == 0 && a; a = json_next(a))
		r = read_attempt(doc, a, job, err);
	if (r == 0 && job->duration_s > COLUMNS_MAX_SECONDS)
		return json_fail(doc, root, err, "its attempts take too long");
	return r;
}

int
philly_json_next(struct philly_json *reader, struct lines *lines, char *line, size_t n,
		 struct jobtrace_job *ret_job, struct err *err)
{
	struct err why = { 0 };
	int r;

	if (line) {
		reader->line = line;
		reader->left = n;
	}
	json_doc_free(reader->doc);
	reader->doc = NULL;
	r = collect(reader, lines, err);
	if (r <= 0)
		return r;
	if (json_parse("", reader->object.text, reader->object.length, &reader->doc,
		       &why) < 0 ||
	    read_job(reader->doc, ret_job, &why) < 0) {
		err_set(err, NULL, (unsigned)reader->first_line, 0, "%s", why.text);
		return -EAGAIN;
	}
	ret_job->line = reader->first_line;
	return 1;
}
