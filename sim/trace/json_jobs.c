/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/json_jobs.h"

#include <errno.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"

void
json_jobs_fini(struct json_jobs *reader)
{
	json_doc_free(reader->doc);
	reader->doc = NULL;
	strbuf_free(&reader->object);
}

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

bool
json_jobs_have_keys(const char *text)
{
	static const char space[] = " \t\r\n";

	if (*text != '{')
		return false;
	text += 1 + strspn(text + 1, space);
	if (*text != '"')
		return false;
	text += 1 + strcspn(text + 1, "\"");
	if (*text != '"')
		return false;
	text += 1 + strspn(text + 1, space);
	return *text == ':' && text[1 + strspn(text + 1, space)] == '{';
}

/* Whether the character may be between the values of an object; keys are not seen. */
static bool
may_stand_between_values(struct json_jobs *reader, char c)
{
	enum json_jobs_list list = reader->list;

	if (c == '}' && list == JSON_JOBS_IN_LIST)
		reader->list = JSON_JOBS_PAST_LIST;
	else if (c && strchr("{\":,", c))
		return list == JSON_JOBS_IN_LIST;
	else
		return c && strchr(" \t\r\n", c);
	return true;
}

/* Whether the character may be between jobs: an optional array, optional commas. */
static bool
may_stand_between(struct json_jobs *reader, char c)
{
	enum json_jobs_list list = reader->list;

	if (reader->has_keys)
		return may_stand_between_values(reader, c);
	if (c == '[' && list == JSON_JOBS_NO_LIST)
		reader->list = JSON_JOBS_IN_LIST;
	else if (c == ']' && list == JSON_JOBS_IN_LIST)
		reader->list = JSON_JOBS_PAST_LIST;
	else if (c == '{' || c == ',')
		return list != JSON_JOBS_PAST_LIST;
	else
		return c && strchr(" \t\r\n", c);
	return true;
}

/* 0 if the text may end here, or -EINVAL. */
static int
check_end(const struct json_jobs *reader, const struct lines *lines, bool is_in_job,
	  struct err *err)
{
	if (is_in_job)
		return err_set(err, NULL, (unsigned)reader->first_line, 0,
			       "the job that begins here is not closed");
	if (reader->list == JSON_JOBS_IN_LIST)
		return err_set(err, NULL, (unsigned)lines_number(lines), 0,
			       "the list of jobs is not closed: the file is truncated");
	return 0;
}

/* Collects the next object; 1, 0 at the end, -errno. */
static int
collect(struct json_jobs *reader, struct lines *lines, struct err *err)
{
	struct scan scan = { 0 };
	int r;

	strbuf_clear(&reader->object);
	for (;;) {
		while (reader->left) {
			char c = *reader->line++;
			bool is_between = !scan.depth && !scan.is_text;

			reader->left--;
			if (reader->has_keys && !reader->list && c == '{') {
				reader->list = JSON_JOBS_IN_LIST;
				continue;
			}
			if (is_between && !may_stand_between(reader, c))
				return err_set(err, NULL, (unsigned)lines_number(lines),
					       0,
					       "expected a job, '{ ... }', or the end "
					       "of the list");
			if (is_between && c == '{')
				reader->first_line = lines_number(lines);
			if (scan.depth || (is_between && c == '{'))
				strbuf_putc(&reader->object, c);
			if (scan_char(&scan, c))
				return 1;
		}
		if (scan.depth)
			strbuf_putc(&reader->object, '\n');
		if (reader->object.length > JSON_JOBS_MAX_BYTES)
			return err_set(err, NULL, (unsigned)reader->first_line, 0,
				       "a job of more than %u bytes",
				       JSON_JOBS_MAX_BYTES);
		r = lines_next(lines, &reader->line, &reader->left, err);
		if (r < 0)
			return r;
		if (r == 0)
			return check_end(reader, lines, scan.depth, err);
	}
}

int
json_jobs_next(struct json_jobs *reader, struct lines *lines, char *line, size_t n,
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
	    reader->read(reader->doc, ret_job, reader->id, &why) < 0) {
		err_set(err, NULL, (unsigned)reader->first_line, 0, "%s", why.text);
		return -EAGAIN;
	}
	ret_job->line = reader->first_line;
	return 1;
}
