/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/changes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/scheduler_api.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/daemon/http_ask.h"

#define PAGE      1000 /* Log lines in one answer of the daemon. */
#define MAX_VALUE 9000000000000000

/* ---- Reading --------------------------------------------------------------------- */

/* Value of a text that may be null. */
static const char *
text_or_null(const struct json_doc *doc, const struct json *object, const char *key)
{
	const char *text = NULL;

	json_opt_str(doc, object, key, &text, NULL);
	return text;
}

static int
read_standing(const struct json_doc *doc, const struct json *object,
	      struct changes_standing *change, struct err *err)
{
	if (json_as_object(doc, object, err) < 0 ||
	    json_get_str(doc, object, "job", &change->job, err) < 0 ||
	    json_get_str(doc, object, "kind", &change->kind, err) < 0 ||
	    json_get_int(doc, object, "at_us", 0, MAX_VALUE, &change->at_us, err) < 0 ||
	    json_opt_bool(doc, object, "is_under_way", &change->is_under_way, err) < 0)
		return -EINVAL;
	change->nodes = text_or_null(doc, object, "nodes");
	change->record = text_or_null(doc, object, "record");
	return 0;
}

static int
read_line(const struct json_doc *doc, const struct json *object,
	  struct changes_line *line, struct err *err)
{
	if (json_as_object(doc, object, err) < 0 ||
	    json_get_int(doc, object, "id", 0, MAX_VALUE, &line->id, err) < 0 ||
	    json_get_int(doc, object, "at_us", 0, MAX_VALUE, &line->at_us, err) < 0 ||
	    json_get_str(doc, object, "job", &line->job, err) < 0 ||
	    json_get_str(doc, object, "action", &line->action, err) < 0 ||
	    json_get_str(doc, object, "state", &line->state, err) < 0 ||
	    json_get_str(doc, object, "reason", &line->reason, err) < 0 ||
	    json_get_str(doc, object, "text", &line->text, err) < 0)
		return -EINVAL;
	line->nodes = text_or_null(doc, object, "nodes");
	line->record = text_or_null(doc, object, "record");
	line->error = text_or_null(doc, object, "error");
	return 0;
}

static bool
is_job(const struct changes_filter *filter, const char *job)
{
	return !filter->job || strcmp(filter->job, job) == 0;
}

/* Of several answers, the first one counts. */
static int
take_standing(const struct json_doc *doc, const struct changes_filter *filter,
	      struct changes *changes, struct err *err)
{
	const struct json *array;
	size_t n;

	if (json_get_array(doc, json_root(doc), "standing", &array, &n, err) < 0)
		return -EINVAL;
	for (const struct json *at = json_first(array); at; at = json_next(at)) {
		struct changes_standing change = { .job = NULL };

		if (read_standing(doc, at, &change, err) < 0)
			return -EINVAL;
		if (is_job(filter, change.job))
			vec_push(&changes->standing, change);
	}
	return 0;
}

static int
take_lines(const struct json_doc *doc, const struct changes_filter *filter,
	   struct changes *changes, struct err *err)
{
	const struct json *array;
	size_t n;

	if (json_get_array(doc, json_root(doc), "log", &array, &n, err) < 0)
		return -EINVAL;
	for (const struct json *at = json_first(array); at; at = json_next(at)) {
		struct changes_line line = { .job = NULL };

		if (read_line(doc, at, &line, err) < 0)
			return -EINVAL;
		if (!is_job(filter, line.job) || line.at_us < changes->since_us)
			continue;
		if (changes->lines.n == filter->n_max) {
			changes->is_more = true;
			break;
		}
		vec_push(&changes->lines, line);
	}
	return 0;
}

/* Requests the newest answer; 'ret_next' is where the log continues, 0 at its end. */
static int
parse(const char *name, const struct changes_filter *filter, struct changes *changes,
      int64_t *ret_next, struct err *err)
{
	struct changes_answer *answer = &changes->answers.items[changes->answers.n - 1];
	const struct json *root;
	const struct json_doc *doc;

	*ret_next = 0;
	if (json_parse(name, answer->body.text, answer->body.length, &answer->doc,
		       err) < 0)
		return -EINVAL;
	doc = answer->doc;
	root = json_root(doc);
	if (json_check_schema(doc, "antiphase.changes", 1, err) < 0 ||
	    json_opt_bool(doc, root, "has_log", &changes->has_log, err) < 0)
		return -EINVAL;
	json_opt_int(doc, root, "next_before", 0, MAX_VALUE, ret_next, NULL);
	if (changes->answers.n == 1) {
		if (json_get_int(doc, root, "at_us", 0, MAX_VALUE, &changes->at_us,
				 err) < 0 ||
		    take_standing(doc, filter, changes, err) < 0)
			return -EINVAL;
		if (filter->last_us && !changes->since_us)
			changes->since_us = changes->at_us - filter->last_us;
	}
	return take_lines(doc, filter, changes, err);
}

/* ---- Asking ---------------------------------------------------------------------- */

static int
ask_page(const char *address, const struct changes_filter *filter, int64_t since_us,
	 int64_t before, struct strbuf *body, struct err *err)
{
	size_t n_wanted = filter->n_max < PAGE ? filter->n_max : PAGE;
	struct strbuf path = STRBUF_EMPTY;
	int http, status;

	strbuf_printf(&path, "/api/v1/changes?limit=%zu&since_us=%" PRId64, n_wanted,
		      since_us);
	if (filter->job) {
		strbuf_puts(&path, "&job=");
		scheduler_api_escape(filter->job, &path);
	}
	if (before)
		strbuf_printf(&path, "&before=%" PRId64, before);
	status = scheduler_api_get(address, path.text, "its changes", body, &http, err);
	strbuf_free(&path);
	if (status == CLI_OK && http == 404) {
		err_set(err, NULL, 0, 0,
			"%s has no list of changes; check that it is "
			"antiphase-scheduler",
			address);
		return CLI_UNREACHABLE;
	}
	return status;
}

int
changes_ask(const char *address, const struct changes_filter *filter,
	    struct changes *ret_changes, struct err *err)
{
	int64_t now_us = clk_wall_us(), next = 0;

	*ret_changes = (struct changes){ .has_log = true };
	if (filter->last_us && filter->last_us < now_us)
		ret_changes->since_us = now_us - filter->last_us;
	/* At most as many requests as full answers would take. */
	for (size_t asked = 0; asked < filter->n_max; asked += PAGE) {
		struct changes_answer answer = { .body = STRBUF_EMPTY };
		int status = ask_page(address, filter, ret_changes->since_us, next,
				      &answer.body, err);

		vec_push(&ret_changes->answers, answer);
		if (status != CLI_OK)
			return status;
		if (parse(address, filter, ret_changes, &next, err) < 0)
			return CLI_UNREACHABLE;
		if (!next)
			break;
	}
	ret_changes->is_more |= next != 0;
	return CLI_OK;
}

int
changes_read(const char *file, const struct changes_filter *filter,
	     struct changes *ret_changes, struct err *err)
{
	struct changes_answer answer = { .body = STRBUF_EMPTY };
	int64_t next;
	char *text;
	size_t length;

	*ret_changes = (struct changes){ .has_log = true };
	if (file_read(file, HTTP_ASK_MAX_BYTES, &text, &length, err) < 0)
		return CLI_USAGE;
	strbuf_add(&answer.body, text, length);
	free(text);
	vec_push(&ret_changes->answers, answer);
	if (parse(file, filter, ret_changes, &next, err) < 0)
		return CLI_USAGE;
	ret_changes->is_more |= next != 0;
	return CLI_OK;
}

void
changes_fini(struct changes *changes)
{
	for (size_t i = 0; i < changes->answers.n; i++) {
		json_doc_free(changes->answers.items[i].doc);
		strbuf_free(&changes->answers.items[i].body);
	}
	vec_free(&changes->answers);
	vec_free(&changes->standing);
	vec_free(&changes->lines);
}
