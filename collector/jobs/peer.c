/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/alloc.h"

/* Of the kernel, from 6.5 on; older headers lack it. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
/* Largest texts of /proc that are read: one line per range, and some 60 lines. */
#define MAX_PROC_BYTES 65536

int
peer_read(int fd, struct peer *ret_peer)
{
	struct ucred from = { 0 };
	socklen_t size = sizeof from;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &from, &size) < 0)
		return -errno;
	*ret_peer = (struct peer){ (uint32_t)from.pid, from.uid };
	return 0;
}

/*
 * Whether the process that connected has ended, and what was read from /proc before may be
 * of another one.  False also if the kernel cannot tell.
 */
static bool
has_ended(int fd)
{
	socklen_t size = sizeof(int);
	int process = -1, n;
	struct pollfd end;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &size) < 0)
		return errno != ENOPROTOOPT;
	end = (struct pollfd){ .fd = process, .events = POLLIN };
	n = poll(&end, 1, 0);
	close(process);
	return n != 0;
}

bool
peer_job_name(int fd, const struct peer *peer, const char *sysroot,
	      process_job_fn *job_of, void *ctx, char name[TELE_MAX_NAME + 1])
{
	char found[TELE_MAX_NAME + 1];

	if (!peer->pid || !process_job_name(sysroot, peer->pid, job_of, ctx, found) ||
	    has_ended(fd))
		return false;
	strcpy(name, found);
	return true;
}

/* SYSROOT/proc/PROCESS/FILE; free with free().  NULL: cannot be read. */
static char *
read_proc(const char *sysroot, const char *process, const char *file)
{
	char path[512], *text;
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof path, "%s/proc/%s/%s", sysroot, process, file) >=
	    (int)sizeof path)
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text = xcalloc(1, MAX_PROC_BYTES);
	n = read(fd, text, MAX_PROC_BYTES - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Maps of the same user namespace read the same. */
static bool
is_same_users(const char *sysroot, const char *process)
{
	char *own = read_proc(sysroot, "self", "uid_map");
	char *its = read_proc(sysroot, process, "uid_map");
	bool is_same = own && its && *own && !strcmp(own, its);

	free(own);
	free(its);
	return is_same;
}

/* "NSpid:\t4711\n"; a second number is that in a namespace below. */
static bool
is_same_processes(const char *sysroot, const char *process)
{
	static const char key[] = "\nNSpid:";
	char *status = read_proc(sysroot, process, "status");
	char *line = status ? strstr(status, key) : NULL;
	bool is_same = false;

	if (line) {
		line += sizeof key - 1;
		line += strspn(line, " \t");
		is_same = line[strspn(line, "0123456789")] == '\n';
	}
	free(status);
	return is_same;
}

/* It must have a control group that can be read, of no job. */
static bool
is_in_no_job(const char *sysroot, const char *process, uint32_t pid,
	     process_job_fn *job_of, void *ctx)
{
	char *groups = read_proc(sysroot, process, "cgroup");
	char name[TELE_MAX_NAME + 1];
	bool is_read = groups && *groups;

	free(groups);
	return is_read && !process_job_name(sysroot, pid, job_of, ctx, name);
}

bool
peer_is_of_host(int fd, const struct peer *peer, const char *sysroot,
		process_job_fn *job_of, void *ctx)
{
	char process[16];

	if (!peer->pid || (peer->uid != 0 && peer->uid != geteuid()))
		return false;
	snprintf(process, sizeof process, "%u", peer->pid);
	return is_same_users(sysroot, process) && is_same_processes(sysroot, process) &&
	       is_in_no_job(sysroot, process, peer->pid, job_of, ctx) && !has_ended(fd);
}
