/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/bsc_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "sim/trace/columns.h"
#include "sim/trace/json_jobs.h"

#define MAX_ID 1000000000000000

/* A batch size: a text of digits. */
static int
read_batch(const struct json_doc *doc, struct jobtrace_job *job, struct err *err)
{
	const char *text = "";
	unsigned long batch;

	if (json_opt_str(doc, json_root(doc), "size", &text, err) < 0)
		return -EINVAL;
	batch = strtoul(text, NULL, 10);
	if (text[strspn(text, "0123456789")] || batch > UINT32_MAX)
		return json_fail(doc, json_find(json_root(doc), "size"), err,
				 "'%.40s' is not a batch size", text);
	job->batch = (uint32_t)batch;
	return 0;
}

int
bsc_json_read(const struct json_doc *doc, struct jobtrace_job *job, char *id,
	      struct err *err)
{
	const struct json *root = json_root(doc);
	int64_t number = 0, n_gpus = 0;
	const char *why;

	jobtrace_clear(job);
	if (json_get_int(doc, root, "id", 0, MAX_ID, &number, err) < 0 ||
	    json_get_num(doc, root, "arrival", 0, COLUMNS_MAX_SECONDS, &job->submit_s,
			 err) < 0 ||
	    json_get_int(doc, root, "gpus", 0, JOBTRACE_MAX_GPUS, &n_gpus, err) < 0 ||
	    json_get_str(doc, root, "type", &job->model, err) < 0 ||
	    read_batch(doc, job, err) < 0)
		return -EINVAL;
	why = columns_check_name(job->model);
	if (why)
		return json_fail(doc, json_find(root, "type"), err, "%s", why);
	snprintf(id, JSON_JOBS_ID, "%" PRId64, number);
	job->id = id;
	job->n_gpus = (uint32_t)n_gpus;
	return 0;
}
