/* SPDX-License-Identifier: Apache-2.0 */
/* cgroups.h - files in place of /proc/PID/cgroup, and the mapping from paths to jobs */
#ifndef TESTS_UNIT_CGROUPS_H
#define TESTS_UNIT_CGROUPS_H

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Writes a file of process 'process' in the folder 'proc' of 'root'. */
static inline void
cgroups_write_proc(const char *root, const char *process, const char *file,
		   const char *text)
{
	char path[160];
	FILE *out;

	snprintf(path, sizeof path, "%s/proc/%s", root, process);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/proc/%s/%s", root, process, file);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

#define CGROUPS_HOST_USERS "         0          0 4294967295\n"

/* The test's process as one of this host, in no container and no job. */
static inline void
cgroups_write_host(const char *root)
{
	char self[16];

	snprintf(self, sizeof self, "%d", (int)getpid());
	cgroups_write_proc(root, "self", "uid_map", CGROUPS_HOST_USERS);
	cgroups_write_proc(root, self, "uid_map", CGROUPS_HOST_USERS);
	cgroups_write_proc(root, self, "status", "Name:\tx\nNSpid:\t7\nNSsid:\t1\t2\n");
	cgroups_write_proc(root, self, "cgroup", "0::/system.slice/events.service\n");
}

#endif
