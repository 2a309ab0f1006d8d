/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/process_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The path of the unified hierarchy, "0::PATH", in the text of /proc/PID/cgroup. */
static char *
unified_path(char *text)
{
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!strncmp(line, "0::/", 4))
			return line + 3;
	}
	return NULL;
}

static bool
read_cgroup(const char *sysroot, uint32_t pid, char *ret_text, size_t size)
{
	char path[512];
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof path, "%s/proc/%u/cgroup", sysroot, pid) >=
	    (int)sizeof path)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, ret_text, size - 1);
	close(fd);
	ret_text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool
process_job_name(const char *sysroot, uint32_t pid, process_job_fn *job_of, void *ctx,
		 char ret_name[TELE_MAX_NAME + 1])
{
	char text[8192], *path;

	if (!read_cgroup(sysroot, pid, text, sizeof text))
		return false;
	path = unified_path(text);
	return path && job_of(ctx, path, ret_name);
}
