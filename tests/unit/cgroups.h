/* SPDX-License-Identifier: Apache-2.0 */
/* cgroups.h - files in place of /proc/PID/cgroup, and the mapping from paths to jobs */
#ifndef TESTS_UNIT_CGROUPS_H
#define TESTS_UNIT_CGROUPS_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/wire/tele.h"
#include "tests/unit/test.h"

/* In these tests, jobs are the control groups "/jobs/NAME". */
static inline bool
cgroups_job_of(void *ctx, const char *path, char ret_name[TELE_MAX_NAME + 1])
{
	(void)ctx;
	if (strncmp(path, "/jobs/", 6))
		return false;
	snprintf(ret_name, TELE_MAX_NAME + 1, "%s", path + 6);
	return true;
}

/* Writes the cgroup file of process 'pid'; 'root' has a folder 'proc'. */
static inline void
cgroups_write(const char *root, unsigned pid, const char *text)
{
	char path[160];
	FILE *out;

	snprintf(path, sizeof path, "%s/proc/%u", root, pid);
	mkdir(path, 0700);
	strcat(path, "/cgroup");
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

#endif
