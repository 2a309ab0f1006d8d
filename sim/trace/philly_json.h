/* SPDX-License-Identifier: Apache-2.0 */
/* philly_json.h - a job of Philly's cluster_job_log */
#ifndef SIM_TRACE_PHILLY_JSON_H
#define SIM_TRACE_PHILLY_JSON_H

struct err;
struct jobtrace_job;
struct json_doc;

/* As json_jobs_read (json_jobs.h). */
int philly_json_read(const struct json_doc *doc, struct jobtrace_job *ret_job, char *id,
		     struct err *err);

#endif
