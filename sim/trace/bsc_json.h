/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bsc_json.h - a job of the workloads of BSC's and IBM's topology-aware scheduler
 *
 * How long it takes is in measured profiles, which are not read: its "time" is not used
 * by their simulator either.
 */
#ifndef SIM_TRACE_BSC_JSON_H
#define SIM_TRACE_BSC_JSON_H

struct err;
struct jobtrace_job;
struct json_doc;

/* As json_jobs_read (json_jobs.h). */
int bsc_json_read(const struct json_doc *doc, struct jobtrace_job *ret_job, char *id,
		  struct err *err);

#endif
