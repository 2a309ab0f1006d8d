/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_jobs.h - JSON objects, each a job, read one at a time, so that the size of the
 * text does not matter: one after another, in an array, or as the values of an object.
 */
#ifndef SIM_TRACE_JSON_JOBS_H
#define SIM_TRACE_JSON_JOBS_H

#include "lib/base/strbuf.h"
#include "sim/trace/jobtrace.h"
#include "sim/trace/lines.h"

struct err;
struct json_doc;

#define JSON_JOBS_MAX_BYTES (8u << 20) /* Of one job. */
#define JSON_JOBS_ID        24         /* Bytes. */

/* The array or object around the jobs; the array is optional. */
enum json_jobs_list {
	JSON_JOBS_NO_LIST,
	JSON_JOBS_IN_LIST,
	JSON_JOBS_PAST_LIST,
};

/*
 * Reads one job of a format; its texts are those of the document, or 'id', which has
 * JSON_JOBS_ID bytes.  0, or -EINVAL with 'err' filled.
 */
typedef int (*json_jobs_read)(const struct json_doc *doc, struct jobtrace_job *ret_job,
			      char *id, struct err *err);

struct json_jobs {
	json_jobs_read read;  /* Set by the caller, as 'has_keys'; the rest is zero. */
	bool has_keys;        /* Jobs are the values of an object. */
	struct strbuf object; /* The current job. */
	char id[JSON_JOBS_ID];
	char *line; /* The last 'left' bytes are unread. */
	size_t left;
	uint64_t first_line; /* Of the current job. */
	enum json_jobs_list list;
	struct json_doc *doc;
};

void json_jobs_fini(struct json_jobs *reader); /* Accepts a zeroed one. */

/* Whether a text begins an object whose first value is an object. */
bool json_jobs_have_keys(const char *text);

/*
 * Returns 1 with the next job; 0 at the end; -EAGAIN for a malformed job with 'err'
 * filled, after which the caller may continue; another -errno for a truncated text or
 * one that is no list of jobs.  A non-NULL 'line' has been read already.
 */
int json_jobs_next(struct json_jobs *reader, struct lines *lines, char *line, size_t n,
		   struct jobtrace_job *ret_job, struct err *err);

#endif
