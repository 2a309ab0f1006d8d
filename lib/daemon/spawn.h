/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - another program, begun as if from a fresh shell.
 *
 * Whatever we block, ignore or have open: it blocks and ignores no signal, and has no
 * descriptors but its first three, which are as the caller says.
 */
#ifndef LIB_DAEMON_SPAWN_H
#define LIB_DAEMON_SPAWN_H

#include <sys/types.h>

#define SPAWN_NULL (-1) /* In place of a descriptor: /dev/null. */

enum spawn_of {
	SPAWN_GROUP,   /* It is the first of a process group of its own, */
	SPAWN_SESSION, /* or of a session, which no terminal of ours ends. */
};

/* All is borrowed until spawn_start() returns. */
struct spawn_opts {
	const char *program;     /* A path; without a '/': by $PATH. */
	const char *const *argv; /* NULL-terminated. */
	const char *const *envp; /* NULL-terminated; NULL: the environment of ours. */
	const char *dir;         /* Where it begins; NULL: where we are. */
	int fds[3]; /* Of ours, or SPAWN_NULL: its input, output, errors. */
	enum spawn_of of;
};

/* 0 with its number, for waitpid(), or -errno, as -ENOENT if it is not there. */
int spawn_start(const struct spawn_opts *opts, pid_t *ret_pid);

#endif
