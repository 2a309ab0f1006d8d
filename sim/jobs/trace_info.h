/*
 * trace_info.h - what is in a trace of jobs, for people and as JSON.
 *
 * Read as a stream: 8 bytes a job are kept until the end, and as many again while they are
 * sorted (tally.h).
 */
#ifndef SIM_JOBS_TRACE_INFO_H
#define SIM_JOBS_TRACE_INFO_H

#include <stdio.h>

#include "sim/jobs/trace_counters.h"
#include "sim/trace/jobtrace.h"

struct err;

struct trace_info {
	enum jobtrace_format format;
	struct jobtrace_counts counts;
	struct trace_counters_sums sums;
};

/*
 * Reads a trace to its end, and tells on stderr what was left out and what was malformed.
 * 0 or -errno with 'err' filled.
 */
int trace_info_read(const char *path, enum jobtrace_format format,
		    struct trace_info *ret_info, struct err *err);

void trace_info_text(const struct trace_info *info, const char *path, FILE *out);
void trace_info_json(const struct trace_info *info, const char *path, FILE *out);

#endif
