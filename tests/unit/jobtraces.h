/* SPDX-License-Identifier: Apache-2.0 */
/* jobtraces.h - job traces read from memory, for tests */
#ifndef TESTS_UNIT_JOBTRACES_H
#define TESTS_UNIT_JOBTRACES_H

#include <string.h>

#include "lib/base/err.h"
#include "sim/trace/jobtrace.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/test.h"

/* Opens some bytes as a trace and detects its format; fails the test on an error. */
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

/* The next job, valid until the next call; NULL at the end; fails on an error. */
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
