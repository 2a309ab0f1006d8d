/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragmentation_json.c - antiphase.fragmentation/1, written and read.  Declared in
 * fragmentation.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "scheduler/core/advise/fragmentation.h"

#define MAX_COUNT    1000000 /* Of jobs, hosts and racks. */
#define MAX_SLOWDOWN 1e9
#define MAX_WEIGHT   1e15
#define MAX_LOST     1e9 /* Of its absolute value. */
#define MAX_EXACT    INT64_C(9007199254740991)
/* Decimals of shares and slowdowns, which are simulated. */
#define DECIMALS 6

/* ---- Writing --------------------------------------------------------------------- */

static void
put_job(const struct fragmentation_job *job, struct jsonw *w)
{
	jsonw_flat_object(w, NULL);
	jsonw_str(w, "job", job->name);
	jsonw_num(w, "weight", job->weight);
	jsonw_int(w, "n_hosts", job->n_hosts);
	jsonw_int(w, "n_racks", job->n_racks);
	jsonw_int(w, "n_racks_needed", job->n_racks_needed);
	jsonw_int(w, "n_extra_fragments", job->n_extra_fragments);
	jsonw_rounded(w, "slowdown", job->slowdown, DECIMALS);
	jsonw_rounded(w, "slowdown_packed", job->slowdown_packed, DECIMALS);
	jsonw_rounded(w, "lost", job->lost_frac, DECIMALS);
	jsonw_end(w);
}

static void
put_rack(const struct fragmentation_rack *rack, struct jsonw *w)
{
	jsonw_flat_object(w, NULL);
	jsonw_str(w, "rack", rack->name);
	jsonw_int(w, "n_jobs", rack->n_jobs);
	jsonw_int(w, "n_fragments", rack->n_fragments);
	jsonw_rounded(w, "lost", rack->lost_frac, DECIMALS);
	jsonw_end(w);
}

void
fragmentation_json_put(const struct fragmentation *f, size_t n_max, struct jsonw *w)
{
	size_t n_jobs = f->n_jobs_listed < n_max ? f->n_jobs_listed : n_max;
	size_t n_racks = f->n_racks_listed < n_max ? f->n_racks_listed : n_max;

	if (f->at_us)
		jsonw_int(w, "at_us", f->at_us);
	else
		jsonw_null(w, "at_us");
	jsonw_rounded(w, "lost", f->lost_frac, DECIMALS);
	jsonw_rounded(w, "goodput", f->goodput, DECIMALS);
	jsonw_rounded(w, "goodput_packed", f->goodput_packed, DECIMALS);
	jsonw_int(w, "n_jobs", f->n_jobs);
	jsonw_int(w, "n_fragmented", f->n_fragmented);
	jsonw_int(w, "n_unknown", f->n_unknown);
	jsonw_array(w, "jobs");
	for (size_t i = 0; i < n_jobs; i++)
		put_job(&f->jobs[i], w);
	jsonw_end(w);
	jsonw_array(w, "racks");
	for (size_t i = 0; i < n_racks; i++)
		put_rack(&f->racks[i], w);
	jsonw_end(w);
	jsonw_int(w, "jobs_left_out",
		  (int64_t)(f->n_jobs_left_out + f->n_jobs_listed - n_jobs));
	jsonw_int(w, "racks_left_out",
		  (int64_t)(f->n_racks_left_out + f->n_racks_listed - n_racks));
}

/* ---- Reading --------------------------------------------------------------------- */

static int
read_count(const struct json_doc *doc, const struct json *object, const char *key,
	   uint32_t *ret_count, struct err *err)
{
	int64_t n;

	if (json_get_int(doc, object, key, 0, MAX_COUNT, &n, err) < 0)
		return -EINVAL;
	*ret_count = (uint32_t)n;
	return 0;
}

/* True unless the member is absent or null, which stands for what is not known. */
static bool
is_known(const struct json *object, const char *key)
{
	const struct json *value = json_find(object, key);

	return value && !json_is_null(value);
}

/* Leaves '*ret_value' unchanged if it is not known. */
static int
read_known_num(const struct json_doc *doc, const char *key, double min, double max,
	       double *ret_value, struct err *err)
{
	const struct json *root = json_root(doc);

	if (!is_known(root, key))
		return 0;
	return json_get_num(doc, root, key, min, max, ret_value, err);
}

/* Any text: tables replace control characters. */
static int
read_name(const struct json_doc *doc, const struct json *object, const char *key,
	  char **ret_name, struct err *err)
{
	const char *name;

	if (json_get_str(doc, object, key, &name, err) < 0)
		return -EINVAL;
	*ret_name = xstrdup(name);
	return 0;
}

static int
read_job(const struct json_doc *doc, const struct json *object,
	 struct fragmentation_job *job, struct err *err)
{
	if (json_as_object(doc, object, err) < 0 ||
	    json_get_num(doc, object, "weight", 0, MAX_WEIGHT, &job->weight, err) < 0 ||
	    read_count(doc, object, "n_hosts", &job->n_hosts, err) < 0 ||
	    read_count(doc, object, "n_racks", &job->n_racks, err) < 0 ||
	    read_count(doc, object, "n_racks_needed", &job->n_racks_needed, err) < 0 ||
	    read_count(doc, object, "n_extra_fragments", &job->n_extra_fragments, err) <
		    0 ||
	    json_get_num(doc, object, "slowdown", 0, MAX_SLOWDOWN, &job->slowdown,
			 err) < 0 ||
	    json_get_num(doc, object, "slowdown_packed", 0, MAX_SLOWDOWN,
			 &job->slowdown_packed, err) < 0 ||
	    json_get_num(doc, object, "lost", -MAX_LOST, MAX_LOST, &job->lost_frac,
			 err) < 0)
		return -EINVAL;
	return read_name(doc, object, "job", &job->name, err);
}

static int
read_rack(const struct json_doc *doc, const struct json *object,
	  struct fragmentation_rack *rack, struct err *err)
{
	if (json_as_object(doc, object, err) < 0 ||
	    read_count(doc, object, "n_jobs", &rack->n_jobs, err) < 0 ||
	    read_count(doc, object, "n_fragments", &rack->n_fragments, err) < 0 ||
	    json_get_num(doc, object, "lost", -MAX_LOST, MAX_LOST, &rack->lost_frac,
			 err) < 0)
		return -EINVAL;
	return read_name(doc, object, "rack", &rack->name, err);
}

/* Reads the two arrays; 'f' is to be released also after a failure. */
static int
read_items(const struct json_doc *doc, struct fragmentation *f, struct err *err)
{
	const struct json *jobs, *racks;
	size_t n_jobs, n_racks;

	if (json_get_array(doc, json_root(doc), "jobs", &jobs, &n_jobs, err) < 0 ||
	    json_get_array(doc, json_root(doc), "racks", &racks, &n_racks, err) < 0)
		return -EINVAL;
	f->jobs = xcalloc(n_jobs + 1, sizeof *f->jobs);
	f->racks = xcalloc(n_racks + 1, sizeof *f->racks);
	for (const struct json *at = json_first(jobs); at; at = json_next(at))
		if (read_job(doc, at, &f->jobs[f->n_jobs_listed++], err) < 0)
			return -EINVAL;
	for (const struct json *at = json_first(racks); at; at = json_next(at))
		if (read_rack(doc, at, &f->racks[f->n_racks_listed++], err) < 0)
			return -EINVAL;
	return 0;
}

static int
read_root(const struct json_doc *doc, struct fragmentation *f, struct err *err)
{
	const struct json *root = json_root(doc);
	int64_t n_jobs_left_out = 0, n_racks_left_out = 0;

	if (json_check_schema(doc, "antiphase.fragmentation", 1, err) < 0 ||
	    (is_known(root, "at_us") &&
	     json_get_int(doc, root, "at_us", 0, MAX_EXACT, &f->at_us, err) < 0) ||
	    read_known_num(doc, "lost", -MAX_LOST, MAX_LOST, &f->lost_frac, err) < 0 ||
	    read_known_num(doc, "goodput", 0, MAX_SLOWDOWN, &f->goodput, err) < 0 ||
	    read_known_num(doc, "goodput_packed", 0, MAX_SLOWDOWN, &f->goodput_packed,
			   err) < 0 ||
	    read_count(doc, root, "n_jobs", &f->n_jobs, err) < 0 ||
	    read_count(doc, root, "n_fragmented", &f->n_fragmented, err) < 0 ||
	    read_count(doc, root, "n_unknown", &f->n_unknown, err) < 0 ||
	    json_opt_int(doc, root, "jobs_left_out", 0, MAX_COUNT, &n_jobs_left_out,
			 err) < 0 ||
	    json_opt_int(doc, root, "racks_left_out", 0, MAX_COUNT, &n_racks_left_out,
			 err) < 0)
		return -EINVAL;
	f->n_jobs_left_out = (size_t)n_jobs_left_out;
	f->n_racks_left_out = (size_t)n_racks_left_out;
	return read_items(doc, f, err);
}

int
fragmentation_json_parse(const char *file, const char *text, size_t length,
			 struct fragmentation *ret_fragmentation, struct err *err)
{
	/* What is not known stays so. */
	struct fragmentation f = { .lost_frac = (double)NAN,
				   .goodput = (double)NAN,
				   .goodput_packed = (double)NAN };
	struct json_doc *doc;
	int r = json_parse(file, text, length, &doc, err);

	if (r < 0)
		return r;
	r = read_root(doc, &f, err);
	json_doc_free(doc);
	if (r < 0)
		fragmentation_fini(&f);
	else
		*ret_fragmentation = f;
	return r;
}
