/*
 * philly_json.h - Philly's cluster_job_log: one JSON array of jobs, taken apart as it is
 * read, so that its size does not matter.
 */
#ifndef SIM_TRACE_PHILLY_JSON_H
#define SIM_TRACE_PHILLY_JSON_H

#include "lib/base/strbuf.h"
#include "sim/trace/jobtrace.h"
#include "sim/trace/lines.h"

struct err;
struct json_doc;

#define PHILLY_JSON_MAX_BYTES (8u << 20) /* Of one job. */

/* The list around the jobs; a text may also be jobs one after another, without one. */
enum philly_json_list {
	PHILLY_JSON_NO_LIST,
	PHILLY_JSON_IN_LIST,
	PHILLY_JSON_PAST_LIST,
};

struct philly_json {
	struct strbuf object; /* Of the job in hand. */
	char *line;           /* Of which 'left' are not looked at yet. */
	size_t left;
	uint64_t first_line; /* Of the job in hand. */
	enum philly_json_list list;
	struct json_doc *doc;
};

void philly_json_fini(struct philly_json *reader); /* Accepts a zeroed one. */

/*
 * The next job: 1; 0 at the end; -EAGAIN for one that is malformed, with 'err' filled, and
 * the next is to be asked for; or another -errno, after which there is none: the text is
 * cut off, or is no list of jobs.  'line' has been read already if it is not NULL.
 */
int philly_json_next(struct philly_json *reader, struct lines *lines, char *line,
		     size_t n, struct jobtrace_job *ret_job, struct err *err);

#endif
