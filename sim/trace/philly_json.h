/* SPDX-License-Identifier: Apache-2.0 */
/*
 * philly_json.h - Philly's cluster_job_log: a JSON array of jobs, read one job at a
 * time, so that its size does not matter.
 */
#ifndef SIM_TRACE_PHILLY_JSON_H
#define SIM_TRACE_PHILLY_JSON_H

#include "lib/base/strbuf.h"
#include "sim/trace/jobtrace.h"
#include "sim/trace/lines.h"

struct err;
struct json_doc;

#define PHILLY_JSON_MAX_BYTES (8u << 20) /* Of one job. */

/* The array around the jobs; optional. */
enum philly_json_list {
	PHILLY_JSON_NO_LIST,
	PHILLY_JSON_IN_LIST,
	PHILLY_JSON_PAST_LIST,
};

struct philly_json {
	struct strbuf object; /* The current job. */
	char *line;           /* The last 'left' bytes are unread. */
	size_t left;
	uint64_t first_line; /* Of the current job. */
	enum philly_json_list list;
	struct json_doc *doc;
};

void philly_json_fini(struct philly_json *reader); /* Accepts a zeroed one. */

/*
 * Returns 1 with the next job; 0 at the end; -EAGAIN for a malformed job with 'err'
 * filled, after which the caller may continue; another -errno for a truncated text or
 * one that is no list of jobs.  A non-NULL 'line' has been read already.
 */
int philly_json_next(struct philly_json *reader, struct lines *lines, char *line,
		     size_t n, struct jobtrace_job *ret_job, struct err *err);

#endif
