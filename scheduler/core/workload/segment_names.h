/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_names.h - names of the segments of a job in a scenario, and what each needs:
 *
 *	segment = NAME: compute 60 ms
 *	segment = send 50 MB needs NAME, OTHER
 *	segment = compute 5 ms needs start
 *
 * segment_text.h reads what is between.
 */
#ifndef SCHEDULER_CORE_WORKLOAD_SEGMENT_NAMES_H
#define SCHEDULER_CORE_WORKLOAD_SEGMENT_NAMES_H

#include "lib/base/vec.h"

struct err;
struct work_job;

/* A segment as its line has it. */
struct segment_name {
	char *name;  /* Owned.  NULL: none. */
	char *needs; /* Owned.  What follows "needs"; NULL: that is missing. */
	unsigned line;
};

struct segment_names {
	VEC(struct segment_name) items; /* By segment. */
};

void segment_names_fini(struct segment_names *names); /* Accepts a zeroed one. */

/*
 * Takes the name and the needs off the next segment's text.  Returns 0 and the rest in
 * '*ret_rest', to be freed with free(), or -EINVAL with 'err' filled.
 */
int segment_names_add(struct segment_names *names, const char *file, unsigned line,
		      const char *text, char **ret_rest, struct err *err);

/*
 * Fills 'needs' and 'from_start' of the job, which has its segments and no needs yet.
 * Returns 0, or -EINVAL with 'err' filled.  O(length of the needs).
 */
int segment_names_resolve(const struct segment_names *names, const char *file,
			  struct work_job *job, struct err *err);

#endif
