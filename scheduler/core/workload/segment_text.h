/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_text.h - the text form of one segment of a job:
 *
 *	compute 35 ms
 *	send 125 MB at 40 Gb/s
 *	compute 20 ms + send 100 MB after 5 ms
 *	allreduce 712 MB
 *	allreduce 2 GB over dp tree
 *	send 50 MB 0->8
 */
#ifndef SCHEDULER_CORE_WORKLOAD_SEGMENT_TEXT_H
#define SCHEDULER_CORE_WORKLOAD_SEGMENT_TEXT_H

#include <stdbool.h>

#include "scheduler/core/workload/workload.h"

struct err;

/*
 * Parses 'text' on line 'line' of 'file'.  With "allreduce", and with a call, nic_bytes
 * is the size of the message and '*ret_is_message' true.  "send" and "allreduce"
 * without a group or an algorithm are no call.  Whether the groups of a call are those
 * of a job is checked by scenario_ranks.c.  Returns 0 or -EINVAL with 'err' filled.
 */
int segment_text_parse(const char *file, unsigned line, const char *text,
		       struct work_segment *ret_segment, bool *ret_is_message,
		       struct err *err);

#endif
