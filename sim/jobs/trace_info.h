/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_info.h - summary of a job trace, as text and as JSON.
 *
 * The trace is read as a stream; 8 bytes per job are kept, and as many again while
 * they are sorted (trace_counters.h).
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
 * Reads an opened trace to its end, and reports malformed and left out rows on stderr.
 * Returns 0 or -errno with 'err' filled.
 */
int trace_info_read(struct jobtrace *trace, const char *path,
		    struct trace_info *ret_info, struct err *err);

void trace_info_text(const struct trace_info *info, const char *path, FILE *out);
void trace_info_json(const struct trace_info *info, const char *path, FILE *out);

#endif
