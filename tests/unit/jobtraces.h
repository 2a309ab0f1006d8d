/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobtraces.h - traces of jobs for tests: of a text, and one job after another.
 */
#ifndef TESTS_UNIT_JOBTRACES_H
#define TESTS_UNIT_JOBTRACES_H

#include <string.h>

#include "lib/base/err.h"
#include "sim/trace/jobtrace.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/test.h"

/* Of some bytes, of the format that they are of; fails the test if there is none. */
static inline struct jobtrace *
jobtraces_open(struct memory_file *file, const char *bytes, size_t n)
{
	struct jobtrace *trace = NULL;
	struct err err = { 0 };

	if (jobtrace_open(memory_file_set(file, bytes, n), JOBTRACE_AUTO, &trace,
			  &err) < 0)
		fail_msg("%s", err.text);
	return trace;
}

/* The next job, until the one behind it is read; NULL at the end; fails for an error. */
static inline const struct jobtrace_job *
jobtraces_next(struct jobtrace *trace)
{
	static struct jobtrace_job job;
	struct err err = { 0 };
	int r = jobtrace_next(trace, &job, &err);

	if (r < 0)
		fail_msg("%s", err.text);
	return r ? &job : NULL;
}

#endif
