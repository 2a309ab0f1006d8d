#include "cli/advised.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask_api.h"
#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/daemon/http_ask.h"

#define MAX_VALUE  9e15
#define MAX_LISTED 5

/* ---- Reading ------------------------------------------------------------------------- */

static int
read_links(const struct json_doc *doc, const struct json *object,
	   struct advised_job *job, struct err *err)
{
	const struct json *array = NULL;
	size_t n;

	if (json_opt_array(doc, object, "links", &array, &n, err) < 0)
		return -EINVAL;
	for (const struct json *at = array ? json_first(array) : NULL; at;
	     at = json_next(at)) {
		struct advised_link link = { .link = NULL };

		if (json_as_object(doc, at, err) < 0 ||
		    json_get_str(doc, at, "link", &link.link, err) < 0 ||
		    json_get_int(doc, at, "jobs", 0, MAX_VALUE, &link.n_jobs, err) <
			    0 ||
		    json_get_num(doc, at, "score_before", -MAX_VALUE, 1,
				 &link.score_before, err) < 0 ||
		    json_get_num(doc, at, "score_after", -MAX_VALUE, 1,
				 &link.score_after, err) < 0 ||
		    json_get_num(doc, at, "excess_before_bps", 0, MAX_VALUE,
				 &link.excess_before_bps, err) < 0 ||
		    json_get_num(doc, at, "excess_after_bps", 0, MAX_VALUE,
				 &link.excess_after_bps, err) < 0)
			return -EINVAL;
		vec_push(&job->links, link);
	}
	return 0;
}

static int
read_places(const struct json_doc *doc, const struct json *object,
	    struct advised_job *job, struct err *err)
{
	const struct json *array = NULL;
	size_t n;

	if (json_opt_array(doc, object, "places", &array, &n, err) < 0)
		return -EINVAL;
	for (const struct json *at = array ? json_first(array) : NULL; at;
	     at = json_next(at)) {
		struct advised_place place = { .nodes = NULL };

		if (json_as_object(doc, at, err) < 0 ||
		    json_get_str(doc, at, "nodes", &place.nodes, err) < 0 ||
		    json_get_num(doc, at, "slowdown", 0, MAX_VALUE, &place.slowdown,
				 err) < 0 ||
		    json_get_num(doc, at, "slowdown_others", 0, MAX_VALUE,
				 &place.slowdown_others, err) < 0 ||
		    json_get_num(doc, at, "score", -MAX_VALUE, 1, &place.score, err) <
			    0 ||
		    json_get_int(doc, at, "contended_links", 0, MAX_VALUE,
				 &place.n_contended, err) < 0)
			return -EINVAL;
		vec_push(&job->places, place);
	}
	return 0;
}

static int
read_evidence(const struct json_doc *doc, const struct json *object,
	      struct advised_job *job, struct err *err)
{
	const struct json *at = json_find(object, "evidence");

	if (!at)
		return json_fail(doc, object, err, "there is no 'evidence'");
	if (json_as_object(doc, at, err) < 0 ||
	    json_get_str(doc, at, "source", &job->source, err) < 0 ||
	    json_get_int(doc, at, "period_us", 0, MAX_VALUE, &job->period_us, err) <
		    0 ||
	    json_get_int(doc, at, "iterations", 0, MAX_VALUE, &job->iterations, err) <
		    0 ||
	    json_get_num(doc, at, "confidence", -1, 1, &job->confidence, err) < 0 ||
	    json_get_int(doc, at, "hosts", 0, MAX_VALUE, &job->n_hosts, err) < 0 ||
	    json_get_int(doc, at, "silent_hosts", 0, MAX_VALUE, &job->n_silent, err) <
		    0)
		return -EINVAL;
	/* Either may be null: it is left as it is then. */
	job->age_us = -1;
	json_opt_int(doc, at, "age_us", 0, MAX_VALUE, &job->age_us, NULL);
	json_opt_str(doc, at, "why", &job->why, NULL);
	return 0;
}

/* What is advised: not there where nothing is. */
static int
read_figures(const struct json_doc *doc, const struct json *object,
	     struct advised_job *job, struct err *err)
{
	job->has_gain = json_find(object, "gain_low") && json_find(object, "gain_high");
	if (json_opt_str(doc, object, "pacing", &job->pacing, err) < 0 ||
	    json_opt_int(doc, object, "shift_us", 0, MAX_VALUE, &job->shift_us, err) <
		    0 ||
	    json_opt_int(doc, object, "slack_us", 0, MAX_VALUE, &job->slack_us, err) <
		    0 ||
	    json_opt_int(doc, object, "locked_us", 0, MAX_VALUE, &job->locked_us, err) <
		    0 ||
	    json_opt_num(doc, object, "score_before", -MAX_VALUE, 1, &job->score_before,
			 err) < 0 ||
	    json_opt_num(doc, object, "score_after", -MAX_VALUE, 1, &job->score_after,
			 err) < 0 ||
	    json_opt_num(doc, object, "slowdown_before", 0, MAX_VALUE,
			 &job->slowdown_before, err) < 0 ||
	    json_opt_num(doc, object, "slowdown_after", 0, MAX_VALUE,
			 &job->slowdown_after, err) < 0 ||
	    json_opt_num(doc, object, "gain_low", -MAX_VALUE, 1, &job->gain_low, err) <
		    0 ||
	    json_opt_num(doc, object, "gain_high", -MAX_VALUE, 1, &job->gain_high,
			 err) < 0)
		return -EINVAL;
	return 0;
}

/* What of it is null stays as it is; what is no outcome is none. */
static void
read_outcome(const struct json_doc *doc, const struct json *object,
	     struct advised_outcome *outcome)
{
	const struct json *at = json_find(object, "outcome"), *before, *after;

	if (!at || json_as_object(doc, at, NULL) < 0)
		return;
	at = json_find(at, "shift");
	if (!at || json_as_object(doc, at, NULL) < 0)
		return;
	before = json_find(at, "before");
	after = json_find(at, "after");
	if (!before || !after || json_as_object(doc, before, NULL) < 0 ||
	    json_as_object(doc, after, NULL) < 0 ||
	    json_get_str(doc, at, "verdict", &outcome->verdict, NULL) < 0)
		return;
	json_opt_int(doc, before, "iterations", 0, MAX_VALUE, &outcome->n_before, NULL);
	json_opt_int(doc, after, "iterations", 0, MAX_VALUE, &outcome->n_after, NULL);
	json_opt_int(doc, before, "mean_us", 0, MAX_VALUE, &outcome->before_us, NULL);
	json_opt_int(doc, after, "mean_us", 0, MAX_VALUE, &outcome->after_us, NULL);
	outcome->has_gain = json_get_num(doc, at, "gain", -MAX_VALUE, 1, &outcome->gain,
					 NULL) == 0 &&
			    json_get_num(doc, at, "gain_error", 0, MAX_VALUE,
					 &outcome->gain_error, NULL) == 0;
}

static int
read_job(struct advised *advised, const struct json *object, struct err *err)
{
	const struct json_doc *doc = advised->doc;
	struct advised_job job = { .links = VEC_EMPTY, .places = VEC_EMPTY };

	if (json_as_object(doc, object, err) < 0 ||
	    json_get_str(doc, object, "job", &job.job, err) < 0 ||
	    json_get_int(doc, object, "at_us", 0, MAX_VALUE, &job.at_us, err) < 0 ||
	    json_get_int(doc, object, "valid_until_us", 0, MAX_VALUE,
			 &job.valid_until_us, err) < 0 ||
	    json_opt_bool(doc, object, "is_advised", &job.is_advised, err) < 0 ||
	    json_opt_bool(doc, object, "is_waiting", &job.is_waiting, err) < 0 ||
	    json_get_str(doc, object, "reason", &job.reason, err) < 0 ||
	    json_get_str(doc, object, "text", &job.text, err) < 0 ||
	    json_get_str(doc, object, "remedy", &job.remedy, err) < 0 ||
	    read_evidence(doc, object, &job, err) < 0 ||
	    read_figures(doc, object, &job, err) < 0 ||
	    read_links(doc, object, &job, err) < 0 ||
	    read_places(doc, object, &job, err) < 0) {
		vec_free(&job.links);
		vec_free(&job.places);
		return -EINVAL;
	}
	read_outcome(doc, object, &job.outcome);
	if (job.at_us > advised->now_us)
		advised->now_us = job.at_us;
	vec_push(&advised->jobs, job);
	return 0;
}

/* antiphase.job_advices/1, or antiphase.job_advice/1 of one. */
static int
parse(const char *name, struct advised *advised, struct err *err)
{
	const struct json *root, *array;
	const char *schema;
	size_t n;

	if (json_parse(name, advised->body.text, advised->body.length, &advised->doc,
		       err) < 0)
		return -EINVAL;
	root = json_root(advised->doc);
	if (json_as_object(advised->doc, root, err) < 0 ||
	    json_get_str(advised->doc, root, "schema", &schema, err) < 0)
		return -EINVAL;
	if (strcmp(schema, "antiphase.job_advice/1") == 0)
		return read_job(advised, root, err);
	if (json_check_schema(advised->doc, "antiphase.job_advices", 1, err) < 0 ||
	    json_get_int(advised->doc, root, "at_us", 0, MAX_VALUE, &advised->now_us,
			 err) < 0 ||
	    json_get_array(advised->doc, root, "advice", &array, &n, err) < 0)
		return -EINVAL;
	for (const struct json *at = json_first(array); at; at = json_next(at))
		if (read_job(advised, at, err) < 0)
			return -EINVAL;
	return 0;
}

/* ---- Which job ----------------------------------------------------------------------- */

static void
fail_unknown(const struct advised *advised, const char *job, struct err *err)
{
	VEC(const char *) names = VEC_EMPTY;
	size_t length = strlen(job), n_alike = 0;

	err_set(err, NULL, 0, 0, "no job '%.64s' among the %zu that are advised on",
		job, advised->jobs.n);
	for (size_t i = 0; i < advised->jobs.n; i++) {
		const char *name = advised->jobs.items[i].job;

		vec_push(&names, name);
		if (strncmp(name, job, length) == 0 && n_alike++ < MAX_LISTED)
			err_append(err, "%s%.64s", n_alike == 1 ? "; so begin " : ", ",
				   name);
	}
	vec_push(&names, NULL);
	if (!n_alike)
		err_suggest(err, job, names.items);
	else if (n_alike > MAX_LISTED)
		err_append(err, " and %zu more", n_alike - MAX_LISTED);
	vec_free(&names);
}

static void
drop_others(struct advised *advised, size_t kept)
{
	struct advised_job job = advised->jobs.items[kept];

	for (size_t i = 0; i < advised->jobs.n; i++) {
		if (i == kept)
			continue;
		vec_free(&advised->jobs.items[i].links);
		vec_free(&advised->jobs.items[i].places);
	}
	advised->jobs.items[0] = job;
	advised->jobs.n = 1;
}

/* By its whole name, or the only one that begins so. */
static int
keep_only(struct advised *advised, const char *job, struct err *err)
{
	size_t length = strlen(job), n = 0, kept = 0;

	for (size_t i = 0; i < advised->jobs.n; i++) {
		const char *name = advised->jobs.items[i].job;

		if (strcmp(name, job) == 0) {
			kept = i;
			n = 1;
			break;
		}
		if (strncmp(name, job, length) == 0) {
			kept = i;
			n++;
		}
	}
	if (n == 1) {
		drop_others(advised, kept);
		return CLI_OK;
	}
	fail_unknown(advised, job, err);
	return CLI_USAGE;
}

/* ---- Asking -------------------------------------------------------------------------- */

static int
get(const char *address, const char *job, struct advised *advised, int *ret_http,
    struct err *err)
{
	struct strbuf path = STRBUF_EMPTY;
	int status;

	strbuf_puts(&path, "/api/v1/advice");
	if (job) {
		strbuf_putc(&path, '/');
		ask_api_escape(job, &path);
	}
	strbuf_clear(&advised->body);
	status = ask_api(address, path.text, "its advice", &advised->body, ret_http,
			 err);
	strbuf_free(&path);
	return status;
}

static int
take_answer(const char *address, struct advised *advised, struct err *err)
{
	if (parse(address, advised, err) == 0) {
		advised->now_us = clk_wall_us();
		return CLI_OK;
	}
	return CLI_UNREACHABLE;
}

int
advised_ask(const char *address, const char *job, struct advised *ret_advised,
	    struct err *err)
{
	int http, status;

	*ret_advised = (struct advised){ .body = STRBUF_EMPTY };
	status = get(address, job, ret_advised, &http, err);
	if (status == CLI_OK && job && http == 404) {
		/* Perhaps it is the beginning of one's name. */
		char *name;

		status = get(address, NULL, ret_advised, &http, err);
		if (status == CLI_OK)
			status = take_answer(address, ret_advised, err);
		if (status == CLI_OK)
			status = keep_only(ret_advised, job, err);
		if (status != CLI_OK)
			return status;
		/* Once more, for its own document. */
		name = xstrdup(ret_advised->jobs.items[0].job);
		advised_fini(ret_advised);
		status = get(address, name, ret_advised, &http, err);
		free(name);
	}
	if (status == CLI_OK && http == 404) {
		err_set(err, NULL, 0, 0,
			"%s has no advice to ask for: is this antiphase-scheduler?",
			address);
		return CLI_UNREACHABLE;
	}
	return status == CLI_OK ? take_answer(address, ret_advised, err) : status;
}

int
advised_read(const char *file, const char *job, struct advised *ret_advised,
	     struct err *err)
{
	char *text;
	size_t length;

	*ret_advised = (struct advised){ .body = STRBUF_EMPTY };
	if (file_read(file, HTTP_ASK_MAX_BYTES, &text, &length, err) < 0)
		return CLI_USAGE;
	strbuf_add(&ret_advised->body, text, length);
	free(text);
	if (parse(file, ret_advised, err) < 0)
		return CLI_USAGE;
	return job ? keep_only(ret_advised, job, err) : CLI_OK;
}

bool
advised_is_file(const char *file)
{
	char *text;
	size_t length;
	bool is_ours;

	if (file_read(file, HTTP_ASK_MAX_BYTES, &text, &length, NULL) < 0)
		return false;
	text[length < 100 ? length : 100] = '\0';
	is_ours = strstr(text, "\"antiphase.job_advice") != NULL;
	free(text);
	return is_ours;
}

void
advised_fini(struct advised *advised)
{
	for (size_t i = 0; i < advised->jobs.n; i++) {
		vec_free(&advised->jobs.items[i].links);
		vec_free(&advised->jobs.items[i].places);
	}
	vec_free(&advised->jobs);
	json_doc_free(advised->doc);
	strbuf_free(&advised->body);
	*advised = (struct advised){ .body = STRBUF_EMPTY };
}
