/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_lines.h - the text of the file of jobs registered by hand (job_registry.h)
 *
 * A line a job, "NAME CGROUP", both percent-encoded.  Pure.
 */
#ifndef COLLECTOR_JOBS_REGISTRY_LINES_H
#define COLLECTOR_JOBS_REGISTRY_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

/* Appends the line of a job.  Neither text may be empty. */
void registry_lines_add(struct strbuf *out, const char *name, const char *path);

/*
 * Calls 'each' for each line of the text, which it changes: with a decoded name and
 * path, neither empty, or with NULL for a malformed line.  Returns the number of lines
 * for which 'each' returned false, and of unfinished ones, the rest of a write that was
 * cut, for which it is not called.
 */
size_t registry_lines_read(char *text,
			   bool (*each)(void *ctx, const char *name, const char *path),
			   void *ctx);

#endif
