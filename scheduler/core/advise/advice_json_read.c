/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_json_read.c - the JSON of advice documents, read; advice_json.c writes it.
 * Declared in advice_doc.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/name.h"
#include "lib/base/strtab.h"
#include "scheduler/core/advise/advice_json_priv.h"

#define MAX_JOBS 100000
/* The daemon writes the schema first, within this many characters. */
#define SCHEMA_WITHIN 100

/* One document being read. */
struct reader {
	const struct json_doc *json;
	struct advice_doc *doc;
	struct err *err;
	bool is_former; /* antiphase.advice/1. */
};

static int
check_name(const struct reader *r, const struct json *value, const char *text)
{
	const char *fault = name_fault(text);

	return fault ? json_fail(r->json, value, r->err, "expected %s", fault) : 0;
}

static int
read_text(const struct reader *r, const struct json *object, const struct field *f,
	  const char **ret_text)
{
	const char *text;
	int error = json_get_str(r->json, object, f->key, &text, r->err);

	if (error == 0 && f->kind == FIELD_NAME)
		error = check_name(r, json_find(object, f->key), text);
	if (error == 0)
		*ret_text = advice_doc_text(r->doc, text);
	return error;
}

static int
read_number(const struct reader *r, const struct json *object, const struct field *f,
	    void *member)
{
	double number = 0;
	int error;

	if (f->kind == FIELD_NUM) {
		error = json_get_num(r->json, object, f->key, f->min, f->max, &number,
				     r->err);
		if (error == 0)
			*(double *)member = number * f->scale;
	} else {
		int64_t integer = 0;

		error = json_get_int(r->json, object, f->key, (int64_t)f->min,
				     (int64_t)f->max, &integer, r->err);
		if (error == 0 && f->kind == FIELD_SIZE)
			*(size_t *)member = (size_t)integer;
		else if (error == 0)
			*(int64_t *)member = integer;
	}
	return error;
}

static int
read_fields(const struct reader *r, const struct json *object,
	    const struct field *fields, size_t n, void *ret_object)
{
	int error = 0;

	for (const struct field *f = fields; error == 0 && f < fields + n; f++) {
		void *member = (char *)ret_object + f->offset;

		if (f->kind == FIELD_NAME || f->kind == FIELD_TEXT)
			error = read_text(r, object, f, member);
		else if (f->kind != FIELD_BOOL && f->kind != FIELD_FLAG)
			error = read_number(r, object, f, member);
		else if (f->kind == FIELD_FLAG || json_find(object, f->key))
			error = json_opt_bool(r->json, object, f->key, member, r->err);
		else
			error = json_fail(r->json, object, r->err,
					  "the key '%s' is missing", f->key);
	}
	return error;
}

/* Does the same if the first key exists. */
static int
read_optional(const struct reader *r, const struct json *object,
	      const struct field *fields, size_t n, void *ret_object)
{
	return json_find(object, fields[0].key)
		       ? read_fields(r, object, fields, n, ret_object)
		       : 0;
}

/* Checks that an object of a file has only the keys of the table and 'others'. */
static int
check_keys(const struct reader *r, const struct json *object,
	   const struct field *fields, size_t n, const char *const *others)
{
	const char *keys[32];
	size_t n_keys = 0;

	for (size_t i = 0; i < n; i++)
		keys[n_keys++] = fields[i].key;
	while (*others)
		keys[n_keys++] = *others++;
	BUG_ON(n_keys >= N(keys));
	keys[n_keys] = NULL;
	return json_check_keys(r->json, object, keys, r->err);
}

/* Returns the index of the text of 'key' in a NULL-terminated list, or -EINVAL. */
static int
read_word(const struct reader *r, const struct json *object, const char *key,
	  const char *const *words, size_t *ret_index)
{
	const char *text;
	int error;

	if (json_get_str(r->json, object, key, &text, r->err) < 0)
		return -EINVAL;
	for (*ret_index = 0; words[*ret_index]; (*ret_index)++)
		if (strcmp(words[*ret_index], text) == 0)
			return 0;
	error = json_fail(r->json, json_find(object, key), r->err, "unknown %s '%s'",
			  key, text);
	err_suggest(r->err, text, words);
	return error;
}

/* The array of names at 'key'. */
static int
read_names(const struct reader *r, const struct json *object, const char *key,
	   const char ***ret_names, size_t *ret_n)
{
	const struct json *array;
	size_t n;

	if (json_get_array(r->json, object, key, &array, &n, r->err) < 0)
		return -EINVAL;
	*ret_names = xcalloc(n + 1, sizeof **ret_names);
	*ret_n = 0;
	for (const struct json *v = json_first(array); v; v = json_next(v)) {
		const char *text;

		if (json_as_str(r->json, v, &text, r->err) < 0 ||
		    check_name(r, v, text) < 0)
			return -EINVAL;
		(*ret_names)[(*ret_n)++] = advice_doc_text(r->doc, text);
	}
	return 0;
}

/* Reads an element of an array. */
typedef int read_item_fn(const struct reader *r, const struct json *object, void *item);

/*
 * Reads the objects of the array 'key', of 'size' bytes each, into '*ret_items', which
 * the document owns also after a failure.
 */
static int
read_array(const struct reader *r, const struct json *object, const char *key,
	   bool is_optional, size_t size, read_item_fn *read, void *ret_items,
	   size_t *ret_n)
{
	const struct json *array = NULL;
	char *items;
	size_t n = 0;
	int error = is_optional
			    ? json_opt_array(r->json, object, key, &array, &n, r->err)
			    : json_get_array(r->json, object, key, &array, &n, r->err);

	if (error < 0 || !array)
		return error;
	if (n > MAX_JOBS)
		return json_fail(r->json, array, r->err,
				 "%zu %s, at most %d are allowed", n, key, MAX_JOBS);
	items = xcalloc(n + 1, size);
	memcpy(ret_items, &items, sizeof items);
	for (const struct json *v = json_first(array); v && error == 0;
	     v = json_next(v)) {
		error = json_as_object(r->json, v, r->err);
		if (error == 0)
			error = read(r, v, items + *ret_n * size);
		(*ret_n)++;
	}
	return error;
}

/* ---- A file ---------------------------------------------------------------------- */

static int
read_file_link(const struct reader *r, const struct json *object, bool has_names,
	       struct advice_doc_link *link)
{
	static const char *const others[] = { "jobs", "n_jobs", NULL };
	static const struct field n_jobs[] = {
		ROW(advice_doc_link, SIZE, n_jobs, "n_jobs", EXACT, 1, MAX_JOBS, 1),
	};
	const struct field *fields =
		r->is_former ? former_link_fields : file_link_fields;
	size_t n = r->is_former ? N(former_link_fields) : N(file_link_fields);

	if (check_keys(r, object, fields, n, others) < 0 ||
	    read_fields(r, object, fields, n, link) < 0)
		return -EINVAL;
	return has_names ? read_names(r, object, "jobs", &link->jobs, &link->n_jobs)
			 : read_fields(r, object, n_jobs, N(n_jobs), link);
}

static int
read_link_of_job(const struct reader *r, const struct json *object, void *item)
{
	return read_file_link(r, object, false, item);
}

static int
read_link_of_all(const struct reader *r, const struct json *object, void *item)
{
	return read_file_link(r, object, true, item);
}

/* The name at 'key', which may be null. */
static int
read_name_or_null(const struct reader *r, const struct json *object, const char *key,
		  const char **ret_name)
{
	const struct json *value = json_find(object, key);
	const char *text = NULL;

	if (value && !json_is_null(value) &&
	    (json_as_str(r->json, value, &text, r->err) < 0 ||
	     check_name(r, value, text) < 0))
		return -EINVAL;
	*ret_name = advice_doc_text(r->doc, text);
	return 0;
}

static int
read_path(const struct reader *r, const struct json *object, void *item)
{
	static const char *const others[] = { "hashed_via", "hashed_link",
					      "hashed_jobs", NULL };
	struct advice_doc_path *path = item;

	if (check_keys(r, object, path_fields, N(path_fields), others) < 0 ||
	    read_fields(r, object, path_fields, N(path_fields), path) < 0 ||
	    read_name_or_null(r, object, "hashed_via", &path->hashed_via) < 0 ||
	    read_name_or_null(r, object, "hashed_link", &path->hashed_link) < 0)
		return -EINVAL;
	return read_names(r, object, "hashed_jobs", &path->hashed_jobs,
			  &path->n_hashed_jobs);
}

/* A move that begins and ends on as many hosts as the job has. */
static int
check_move(const struct reader *r, const struct json *at,
	   const struct advice_doc_job *job, size_t n_to)
{
	if (job->move.n_from == job->n_hosts && n_to == job->n_hosts)
		return 0;
	return json_fail(r->json, at, r->err,
			 "a move from %zu hosts to %zu; expected as many",
			 job->move.n_from, n_to);
}

/* A job that is not moved has no "move". */
static int
read_move(const struct reader *r, const struct json *object, struct advice_doc_job *job)
{
	static const char *const others[] = { "from", NULL };
	const struct json *at = json_find(object, "move");

	job->is_moved = at;
	if (!at)
		return 0;
	if (json_as_object(r->json, at, r->err) < 0 ||
	    check_keys(r, at, move_fields, N(move_fields), others) < 0 ||
	    read_names(r, at, "from", &job->move.from, &job->move.n_from) < 0 ||
	    read_fields(r, at, move_fields, N(move_fields), &job->move) < 0)
		return -EINVAL;
	return check_move(r, at, job, job->n_hosts);
}

/* Ignores the file's text and remedy: this program has its own. */
static int
read_reason(const struct reader *r, const struct json *object,
	    struct advice_doc_job *job)
{
	const char *names[N_REASONS + 1] = { NULL };
	const char *unused;
	size_t reason;

	for (int i = 0; i < N_REASONS; i++)
		names[i] = reason_name((enum reason)i);
	if (read_word(r, object, "reason", names, &reason) < 0 ||
	    json_opt_str(r->json, object, "text", &unused, r->err) < 0 ||
	    json_opt_str(r->json, object, "remedy", &unused, r->err) < 0)
		return -EINVAL;
	job->reason = names[reason];
	job->text = reason_text((enum reason)reason);
	job->remedy = reason_remedy((enum reason)reason);
	return 0;
}

static int
read_file_job(const struct reader *r, const struct json *object, void *item)
{
	static const char *const others[] = { "job",   "hosts",  "connections",
					      "paths", "move",   "reason",
					      "text",  "remedy", "links",
					      NULL };
	static const char *const pacings[] = { "free", "realign", "gate", NULL };
	static const struct field name[] = {
		ROW(advice_doc_job, NAME, name, "job", EXACT, 0, 0, 1),
	};
	struct advice_doc_job *job = item;
	size_t unused;

	job->has_gain = true;
	job->n_connections = 1;
	if (check_keys(r, object, file_job_fields, N(file_job_fields), others) < 0 ||
	    read_fields(r, object, name, N(name), job) < 0 ||
	    read_names(r, object, "hosts", &job->hosts, &job->n_hosts) < 0 ||
	    read_fields(r, object, file_job_fields, N(file_job_fields), job) < 0 ||
	    read_word(r, object, "pacing", pacings, &unused) < 0 ||
	    read_optional(r, object, connections_field, N(connections_field), job) <
		    0 ||
	    read_array(r, object, "paths", true, sizeof *job->paths, read_path,
		       &job->paths, &job->n_paths) < 0 ||
	    read_move(r, object, job) < 0 || read_reason(r, object, job) < 0)
		return -EINVAL;
	return read_array(r, object, "links", false, sizeof *job->links,
			  read_link_of_job, &job->links, &job->n_links);
}

/* Checks that each job has one advice. */
static int
check_jobs_differ(const struct reader *r)
{
	struct strtab *names = strtab_new();
	const struct json *array, *v;
	size_t n;
	int error =
		json_get_array(r->json, json_root(r->json), "jobs", &array, &n, r->err);

	v = json_first(array);
	for (size_t j = 0; error == 0 && j < r->doc->n_jobs; j++, v = json_next(v))
		if (strtab_intern(names, r->doc->jobs[j].name) != j)
			error = json_fail(r->json, json_find(v, "job"), r->err,
					  "a second advice for job '%s'",
					  r->doc->jobs[j].name);
	strtab_free(names);
	return error;
}

static int
read_file(const struct reader *r)
{
	static const char *const others[] = { "schema", "jobs", "links", NULL };
	const struct json *root = json_root(r->json);
	struct advice_doc *doc = r->doc;
	size_t unused;

	if (json_check_schema(r->json, "antiphase.advice", 2, r->err) < 0 ||
	    check_keys(r, root, file_fields, N(file_fields), others) < 0 ||
	    read_word(r, root, "policy", advise_policy_names, &unused) < 0 ||
	    read_fields(r, root, file_fields, N(file_fields), doc) < 0 ||
	    read_array(r, root, "jobs", false, sizeof *doc->jobs, read_file_job,
		       &doc->jobs, &doc->n_jobs) < 0 ||
	    check_jobs_differ(r) < 0)
		return -EINVAL;
	return read_array(r, root, "links", false, sizeof *doc->links, read_link_of_all,
			  &doc->links, &doc->n_links);
}

/* ---- A document of the daemon ----------------------------------------------------- */

static int
read_live_link(const struct reader *r, const struct json *object, void *item)
{
	return read_fields(r, object, live_link_fields, N(live_link_fields), item);
}

static int
read_live_path(const struct reader *r, const struct json *object, void *item)
{
	return read_fields(r, object, path_fields, N(path_fields), item);
}

static int
read_place(const struct reader *r, const struct json *object, void *item)
{
	return read_fields(r, object, place_fields, N(place_fields), item);
}

static int
read_evidence(const struct reader *r, const struct json *object,
	      struct advice_doc_job *job)
{
	const struct json *at = json_find(object, "evidence");
	const char *why = NULL;

	if (!at)
		return json_fail(r->json, object, r->err, "there is no 'evidence'");
	if (json_as_object(r->json, at, r->err) < 0 ||
	    read_fields(r, at, evidence_fields, N(evidence_fields), job) < 0)
		return -EINVAL;
	/* Either may be null. */
	job->age_us = -1;
	json_opt_int(r->json, at, "age_us", 0, (int64_t)MAX_EXACT, &job->age_us, NULL);
	json_opt_str(r->json, at, "why", &why, NULL);
	job->why = advice_doc_text(r->doc, why);
	return 0;
}

/* Numbers that are null stay 0; a document without an outcome of a shift has none. */
static void
read_outcome(const struct reader *r, const struct json *object,
	     struct advice_doc_outcome *outcome)
{
	static const char *const path[] = { "outcome", "shift" };
	const struct json *at = object, *before, *after;
	const char *verdict;
	int64_t n_before = 0, n_after = 0;

	for (size_t i = 0; i < N(path); i++) {
		at = json_find(at, path[i]);
		if (!at || json_as_object(r->json, at, NULL) < 0)
			return;
	}
	before = json_find(at, "before");
	after = json_find(at, "after");
	if (!before || !after || json_as_object(r->json, before, NULL) < 0 ||
	    json_as_object(r->json, after, NULL) < 0 ||
	    json_get_str(r->json, at, "verdict", &verdict, NULL) < 0)
		return;
	outcome->verdict = advice_doc_text(r->doc, verdict);
	json_opt_int(r->json, before, "iterations", 0, (int64_t)MAX_EXACT, &n_before,
		     NULL);
	json_opt_int(r->json, after, "iterations", 0, (int64_t)MAX_EXACT, &n_after,
		     NULL);
	outcome->n_before = (size_t)n_before;
	outcome->n_after = (size_t)n_after;
	json_opt_int(r->json, before, "mean_us", 0, (int64_t)MAX_EXACT,
		     &outcome->before_us, NULL);
	json_opt_int(r->json, after, "mean_us", 0, (int64_t)MAX_EXACT,
		     &outcome->after_us, NULL);
	outcome->has_gain = json_get_num(r->json, at, "gain", -MAX_EXACT, 1,
					 &outcome->gain, NULL) == 0 &&
			    json_get_num(r->json, at, "gain_error", 0, MAX_EXACT,
					 &outcome->gain_error, NULL) == 0;
}

/* The same of the daemon, which names the new hosts. */
static int
read_live_move(const struct reader *r, const struct json *object,
	       struct advice_doc_job *job)
{
	const struct json *at = json_find(object, "move");
	size_t n_to;

	job->is_moved = at;
	if (!at)
		return 0;
	if (json_as_object(r->json, at, r->err) < 0 ||
	    read_names(r, at, "from", &job->move.from, &job->move.n_from) < 0 ||
	    read_names(r, at, "to", &job->hosts, &n_to) < 0 ||
	    read_fields(r, at, move_fields, N(move_fields), &job->move) < 0)
		return -EINVAL;
	return check_move(r, at, job, n_to);
}

static int
read_live_job(const struct reader *r, const struct json *object, void *item)
{
	struct advice_doc_job *job = item;

	if (read_fields(r, object, live_job_fields, N(live_job_fields), job) < 0 ||
	    read_evidence(r, object, job) < 0 ||
	    read_optional(r, object, shift_fields, N(shift_fields), job) < 0 ||
	    read_optional(r, object, packed_fields, N(packed_fields), job) < 0 ||
	    read_optional(r, object, gain_fields, N(gain_fields), job) < 0 ||
	    read_array(r, object, "paths", true, sizeof *job->paths, read_live_path,
		       &job->paths, &job->n_paths) < 0 ||
	    read_array(r, object, "links", true, sizeof *job->links, read_live_link,
		       &job->links, &job->n_links) < 0 ||
	    read_array(r, object, "places", true, sizeof *job->places, read_place,
		       &job->places, &job->n_places) < 0)
		return -EINVAL;
	job->has_gain = json_find(object, "gain_low") && json_find(object, "gain_high");
	job->is_ranked = json_find(object, "places");
	if (read_live_move(r, object, job) < 0)
		return -EINVAL;
	read_outcome(r, object, &job->outcome);
	if (job->at_us > r->doc->at_us)
		r->doc->at_us = job->at_us;
	return 0;
}

static int
read_live(const struct reader *r)
{
	const struct json *root = json_root(r->json);
	struct advice_doc *doc = r->doc;

	doc->is_live = true;
	if (json_check_schema(r->json, "antiphase.job_advice", 1, NULL) == 0) {
		strtab_free(doc->texts);
		*doc = advice_doc_of_one();
		return read_live_job(r, root, &doc->jobs[0]);
	}
	if (json_check_schema(r->json, "antiphase.job_advices", 1, r->err) < 0 ||
	    json_get_int(r->json, root, "at_us", 0, (int64_t)MAX_EXACT, &doc->at_us,
			 r->err) < 0)
		return -EINVAL;
	return read_array(r, root, "advice", false, sizeof *doc->jobs, read_live_job,
			  &doc->jobs, &doc->n_jobs);
}

bool
advice_json_is_live(const char *text)
{
	const char *at = strstr(text, "\"antiphase.job_advice");

	return at && at - text < SCHEMA_WITHIN;
}

static int
parse(const char *file, const char *text, size_t length,
      int (*read)(const struct reader *r), struct advice_doc *ret_doc, struct err *err)
{
	struct advice_doc doc = { .texts = strtab_new() };
	struct json_doc *json = NULL;
	struct reader reader = { .doc = &doc, .err = err };
	int error = json_parse(file, text, length, &json, err);

	reader.json = json;
	if (error == 0) {
		reader.is_former =
			json_check_schema(json, "antiphase.advice", 1, NULL) == 0;
		error = read(&reader);
	}
	if (error < 0)
		advice_doc_fini(&doc);
	else
		*ret_doc = doc;
	json_doc_free(json);
	return error;
}

int
advice_json_parse(const char *file, const char *text, size_t length,
		  struct advice_doc *ret_doc, struct err *err)
{
	return parse(file, text, length, read_file, ret_doc, err);
}

int
advice_json_parse_live(const char *file, const char *text, size_t length,
		       struct advice_doc *ret_doc, struct err *err)
{
	return parse(file, text, length, read_live, ret_doc, err);
}
