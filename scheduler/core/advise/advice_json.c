/*
 * advice_json.c - antiphase.advice/1, written, and read value by value.
 * Declared in advice_doc.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/name.h"
#include "lib/base/strtab.h"
#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/core/profile/profile.h"

#define MAX_JOBS     100000
#define MAX_SLOWDOWN 1e9

/* Decimals of figures that are predicted. */
#define SCORE_DECIMALS 6

/* ---- Writing --------------------------------------------------------------------------- */

static void
put_link(struct jsonw *w, const struct advice_doc_link *link)
{
	jsonw_flat_object(w, NULL);
	jsonw_str(w, "link", link->name);
	jsonw_num(w, "capacity_gbps", link->capacity_gbps);
	jsonw_rounded(w, "score_before", link->score_before, SCORE_DECIMALS);
	jsonw_rounded(w, "score_after", link->score_after, SCORE_DECIMALS);
	jsonw_rounded(w, "excess_before_gbps", link->excess_before_gbps,
		      SCORE_DECIMALS);
	jsonw_rounded(w, "excess_after_gbps", link->excess_after_gbps, SCORE_DECIMALS);
	if (link->jobs) {
		jsonw_flat_array(w, "jobs");
		for (size_t i = 0; i < link->n_jobs; i++)
			jsonw_str(w, NULL, link->jobs[i]);
		jsonw_end(w);
	} else {
		jsonw_int(w, "n_jobs", (int64_t)link->n_jobs);
	}
	jsonw_end(w);
}

static void
put_links(struct jsonw *w, const struct advice_doc_link *links, size_t n)
{
	jsonw_array(w, "links");
	for (size_t i = 0; i < n; i++)
		put_link(w, &links[i]);
	jsonw_end(w);
}

static void
put_job(struct jsonw *w, const struct advice_doc_job *job)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "job", job->name);
	jsonw_flat_array(w, "hosts");
	for (size_t i = 0; i < job->n_hosts; i++)
		jsonw_str(w, NULL, job->hosts[i]);
	jsonw_end(w);
	jsonw_bool(w, "placed_by_us", job->placed_by_us);
	jsonw_int(w, "period_us", job->period_us);
	jsonw_int(w, "jitter_us", job->jitter_us);
	jsonw_int(w, "shift_us", job->shift_us);
	jsonw_int(w, "slack_us", job->slack_us);
	jsonw_str(w, "pacing", advice_pacing_names[job->pacing]);
	jsonw_rounded(w, "score_before", job->score_before, SCORE_DECIMALS);
	jsonw_rounded(w, "score_after", job->score_after, SCORE_DECIMALS);
	jsonw_rounded(w, "slowdown_before", job->slowdown_before, SCORE_DECIMALS);
	jsonw_rounded(w, "slowdown_after", job->slowdown_after, SCORE_DECIMALS);
	jsonw_rounded(w, "gain_low", job->gain_low, SCORE_DECIMALS);
	jsonw_rounded(w, "gain_high", job->gain_high, SCORE_DECIMALS);
	jsonw_str(w, "reason", reason_name(job->reason));
	jsonw_str(w, "text", reason_text(job->reason));
	jsonw_str(w, "remedy", reason_remedy(job->reason));
	put_links(w, job->links, job->n_links);
	jsonw_end(w);
}

char *
advice_doc_text(const struct advice_doc *doc, size_t *ret_length)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	struct jsonw w;

	BUG_ON(!out);
	jsonw_document(&w, out, "antiphase.advice/1");
	jsonw_str(&w, "policy", advise_policy_names[doc->policy]);
	jsonw_int(&w, "seed", (int64_t)doc->seed);
	jsonw_int(&w, "n_runs", doc->n_runs);
	jsonw_int(&w, "n_iterations", doc->n_iterations);
	jsonw_rounded(&w, "goodput_before", doc->goodput_before, SCORE_DECIMALS);
	jsonw_rounded(&w, "goodput_after", doc->goodput_after, SCORE_DECIMALS);
	jsonw_bool(&w, "has_loop", doc->has_loop);
	jsonw_array(&w, "jobs");
	for (size_t j = 0; j < doc->n_jobs; j++)
		put_job(&w, &doc->jobs[j]);
	jsonw_end(&w);
	put_links(&w, doc->links, doc->n_links);
	jsonw_end(&w);
	jsonw_finish(&w);
	BUG_ON(fclose(out) != 0);
	*ret_length = length;
	return text;
}

/* ---- Reading ---------------------------------------------------------------------------- */

static const char *const file_keys[] = { "schema",
					 "policy",
					 "seed",
					 "n_runs",
					 "n_iterations",
					 "goodput_before",
					 "goodput_after",
					 "has_loop",
					 "jobs",
					 "links",
					 NULL };
static const char *const job_keys[] = {
	"job",         "hosts",           "placed_by_us",
	"period_us",   "jitter_us",       "shift_us",
	"slack_us",    "pacing",          "score_before",
	"score_after", "slowdown_before", "slowdown_after",
	"gain_low",    "gain_high",       "reason",
	"text",        "remedy",          "links",
	NULL
};
static const char *const link_keys[] = { "link",
					 "capacity_gbps",
					 "score_before",
					 "score_after",
					 "excess_before_gbps",
					 "excess_after_gbps",
					 "jobs",
					 "n_jobs",
					 NULL };

/* One document being read. */
struct reader {
	const struct json_doc *doc;
	struct err *err;
};

static int
get_int(const struct reader *r, const struct json *object, const char *key, int64_t min,
	int64_t max, int64_t *ret_value)
{
	return json_get_int(r->doc, object, key, min, max, ret_value, r->err);
}

static int
get_num(const struct reader *r, const struct json *object, const char *key, double min,
	double max, double *ret_value)
{
	return json_get_num(r->doc, object, key, min, max, ret_value, r->err);
}

static int
check_name(const struct reader *r, const struct json *value, const char *text)
{
	const char *fault = name_fault(text);

	return fault ? json_fail(r->doc, value, r->err, "expected %s", fault) : 0;
}

static int
get_name(const struct reader *r, const struct json *object, const char *key,
	 char **ret_name)
{
	const char *text;

	if (json_get_str(r->doc, object, key, &text, r->err) < 0 ||
	    check_name(r, json_find(object, key), text) < 0)
		return -EINVAL;
	*ret_name = xstrdup(text);
	return 0;
}

/* The number of a word in a NULL-terminated list. */
static int
get_word(const struct reader *r, const struct json *object, const char *key,
	 const char *const *words, int *ret_number)
{
	const char *text;
	int error;

	if (json_get_str(r->doc, object, key, &text, r->err) < 0)
		return -EINVAL;
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], text) == 0) {
			*ret_number = i;
			return 0;
		}
	}
	error = json_fail(r->doc, json_find(object, key), r->err, "unknown %s '%s'",
			  key, text);
	err_suggest(r->err, text, words);
	return error;
}

static int
get_bool(const struct reader *r, const struct json *object, const char *key,
	 bool *ret_value)
{
	if (!json_find(object, key))
		return json_fail(r->doc, object, r->err, "the key '%s' is missing",
				 key);
	return json_opt_bool(r->doc, object, key, ret_value, r->err);
}

/* Strings of an array, each a name; at most 'n' of them are there. */
static int
get_names(const struct reader *r, const struct json *object, const char *key,
	  char ***ret_names, size_t *ret_n)
{
	const struct json *array;
	char **names;
	size_t n, n_read = 0;

	if (json_get_array(r->doc, object, key, &array, &n, r->err) < 0)
		return -EINVAL;
	names = xcalloc(n + 1, sizeof *names);
	*ret_names = names;
	for (const struct json *v = json_first(array); v; v = json_next(v)) {
		const char *text;

		if (json_as_str(r->doc, v, &text, r->err) < 0 ||
		    check_name(r, v, text) < 0)
			return -EINVAL;
		names[n_read++] = xstrdup(text);
		*ret_n = n_read;
	}
	return 0;
}

static int
read_link(const struct reader *r, const struct json *object, bool has_jobs,
	  struct advice_doc_link *link)
{
	int64_t n_jobs = 0;

	if (json_as_object(r->doc, object, r->err) < 0 ||
	    json_check_keys(r->doc, object, link_keys, r->err) < 0 ||
	    get_name(r, object, "link", &link->name) < 0 ||
	    get_num(r, object, "capacity_gbps", 1e-9, PROFILE_MAX_BPS / 1e9,
		    &link->capacity_gbps) < 0 ||
	    get_num(r, object, "score_before", -1e9, 1, &link->score_before) < 0 ||
	    get_num(r, object, "score_after", -1e9, 1, &link->score_after) < 0 ||
	    get_num(r, object, "excess_before_gbps", 0, 1e15,
		    &link->excess_before_gbps) < 0 ||
	    get_num(r, object, "excess_after_gbps", 0, 1e15, &link->excess_after_gbps) <
		    0)
		return -EINVAL;
	if (has_jobs)
		return get_names(r, object, "jobs", &link->jobs, &link->n_jobs);
	if (get_int(r, object, "n_jobs", 1, MAX_JOBS, &n_jobs) < 0)
		return -EINVAL;
	link->n_jobs = (size_t)n_jobs;
	return 0;
}

static int
read_links(const struct reader *r, const struct json *object, bool has_jobs,
	   struct advice_doc_link **ret_links, size_t *ret_n)
{
	const struct json *array;
	size_t n;

	if (json_get_array(r->doc, object, "links", &array, &n, r->err) < 0)
		return -EINVAL;
	*ret_links = xcalloc(n + 1, sizeof **ret_links);
	for (const struct json *v = json_first(array); v; v = json_next(v))
		if (read_link(r, v, has_jobs, &(*ret_links)[(*ret_n)++]) < 0)
			return -EINVAL;
	return 0;
}

static int
read_reason(const struct reader *r, const struct json *object, enum reason *ret_reason)
{
	const char *names[N_REASONS + 1] = { NULL };
	const char *unused;
	int number = 0;

	for (int i = 0; i < N_REASONS; i++)
		names[i] = reason_name((enum reason)i);
	if (get_word(r, object, "reason", names, &number) < 0 ||
	    json_opt_str(r->doc, object, "text", &unused, r->err) < 0 ||
	    json_opt_str(r->doc, object, "remedy", &unused, r->err) < 0)
		return -EINVAL;
	*ret_reason = (enum reason)number;
	return 0;
}

static int
read_job(const struct reader *r, const struct json *object, struct advice_doc_job *job)
{
	int pacing = 0;

	if (json_as_object(r->doc, object, r->err) < 0 ||
	    json_check_keys(r->doc, object, job_keys, r->err) < 0 ||
	    get_name(r, object, "job", &job->name) < 0 ||
	    get_names(r, object, "hosts", &job->hosts, &job->n_hosts) < 0 ||
	    get_bool(r, object, "placed_by_us", &job->placed_by_us) < 0 ||
	    get_int(r, object, "period_us", 1, PROFILE_MAX_PERIOD_US, &job->period_us) <
		    0 ||
	    get_int(r, object, "jitter_us", 0, PROFILE_MAX_PERIOD_US, &job->jitter_us) <
		    0 ||
	    get_int(r, object, "shift_us", 0, PROFILE_MAX_PERIOD_US, &job->shift_us) <
		    0 ||
	    get_int(r, object, "slack_us", 0, PROFILE_MAX_PERIOD_US, &job->slack_us) <
		    0 ||
	    get_word(r, object, "pacing", advice_pacing_names, &pacing) < 0 ||
	    get_num(r, object, "score_before", -1e9, 1, &job->score_before) < 0 ||
	    get_num(r, object, "score_after", -1e9, 1, &job->score_after) < 0 ||
	    get_num(r, object, "slowdown_before", 0, MAX_SLOWDOWN,
		    &job->slowdown_before) < 0 ||
	    get_num(r, object, "slowdown_after", 0, MAX_SLOWDOWN,
		    &job->slowdown_after) < 0 ||
	    get_num(r, object, "gain_low", -MAX_SLOWDOWN, 1, &job->gain_low) < 0 ||
	    get_num(r, object, "gain_high", -MAX_SLOWDOWN, 1, &job->gain_high) < 0 ||
	    read_reason(r, object, &job->reason) < 0 ||
	    read_links(r, object, false, &job->links, &job->n_links) < 0)
		return -EINVAL;
	job->pacing = (enum engine_pacing)pacing;
	return 0;
}

static int
read_jobs(const struct reader *r, struct advice_doc *doc)
{
	const struct json *array;
	struct strtab *names;
	size_t n;
	int error = 0;

	if (json_get_array(r->doc, json_root(r->doc), "jobs", &array, &n, r->err) < 0)
		return -EINVAL;
	if (n > MAX_JOBS)
		return json_fail(r->doc, array, r->err,
				 "%zu jobs, at most %d are allowed", n, MAX_JOBS);
	doc->jobs = xcalloc(n + 1, sizeof *doc->jobs);
	names = strtab_new();
	for (const struct json *v = json_first(array); v && error == 0;
	     v = json_next(v)) {
		struct advice_doc_job *job = &doc->jobs[doc->n_jobs++];

		error = read_job(r, v, job);
		if (error == 0 && strtab_intern(names, job->name) != doc->n_jobs - 1)
			error = json_fail(r->doc, json_find(v, "job"), r->err,
					  "a second advice for job '%s'", job->name);
	}
	strtab_free(names);
	return error;
}

static int
read_document(const struct reader *r, struct advice_doc *doc)
{
	const struct json *root = json_root(r->doc);
	int64_t seed = 0, n_runs = 0, n_iterations = 0;
	int policy = 0;

	if (json_check_schema(r->doc, "antiphase.advice", 1, r->err) < 0 ||
	    json_check_keys(r->doc, root, file_keys, r->err) < 0 ||
	    get_word(r, root, "policy", advise_policy_names, &policy) < 0 ||
	    get_int(r, root, "seed", 0, INT64_C(1) << 53, &seed) < 0 ||
	    get_int(r, root, "n_runs", 1, 1000000, &n_runs) < 0 ||
	    get_int(r, root, "n_iterations", 1, 1000000000, &n_iterations) < 0 ||
	    get_num(r, root, "goodput_before", 0, 1e9, &doc->goodput_before) < 0 ||
	    get_num(r, root, "goodput_after", 0, 1e9, &doc->goodput_after) < 0 ||
	    get_bool(r, root, "has_loop", &doc->has_loop) < 0 ||
	    read_jobs(r, doc) < 0 ||
	    read_links(r, root, true, &doc->links, &doc->n_links) < 0)
		return -EINVAL;
	doc->policy = (enum advise_policy)policy;
	doc->seed = (uint64_t)seed;
	doc->n_runs = (uint32_t)n_runs;
	doc->n_iterations = (uint32_t)n_iterations;
	return 0;
}

int
advice_doc_parse(const char *file, const char *text, size_t length,
		 struct advice_doc *ret_doc, struct err *err)
{
	struct advice_doc doc = { 0 };
	struct json_doc *json;
	struct reader reader = { .err = err };
	int error;

	if (json_parse(file, text, length, &json, err) < 0)
		return -EINVAL;
	reader.doc = json;
	error = read_document(&reader, &doc);
	if (error < 0)
		advice_doc_fini(&doc);
	else
		*ret_doc = doc;
	json_doc_free(json);
	return error;
}
