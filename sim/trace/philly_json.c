/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/philly_json.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "sim/trace/columns.h"

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

int
philly_json_read(const struct json_doc *doc, struct jobtrace_job *job, char *id,
		 struct err *err)
{
	const struct json *root = json_root(doc), *attempts = NULL;
	const char *status = "";
	size_t n = 0;
	int r;

	(void)id;
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
