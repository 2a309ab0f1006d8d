/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - start of another program in a clean state.
 *
 * The program starts with no signal blocked or ignored and with only three descriptors,
 * those that the caller gives, whatever the state of our process.
 */
#ifndef LIB_DAEMON_SPAWN_H
#define LIB_DAEMON_SPAWN_H

#include <sys/types.h>

#define SPAWN_NULL (-1) /* Instead of a descriptor: /dev/null. */

enum spawn_of {
	SPAWN_GROUP,   /* The program leads a new process group, */
	SPAWN_SESSION, /* or a new session, which survives our terminal. */
};

/* Borrowed until spawn_start() returns. */
struct spawn_opts {
	const char *program;     /* A path; without a '/': by $PATH. */
	const char *const *argv; /* NULL-terminated. */
	const char *const *envp; /* NULL-terminated; NULL: our environment. */
	const char *dir;         /* Working directory; NULL: ours. */
	int fds[3]; /* Its stdin, stdout and stderr: our descriptors or SPAWN_NULL. */
	enum spawn_of of;
};

/* Returns 0 with the process ID, or -errno, such as -ENOENT for a missing program. */
int spawn_start(const struct spawn_opts *opts, pid_t *ret_pid);

/*
 * The first program 'name' in the folders of 'path', as $PATH has them, each below 'root'
 * ("": as they are); free with free().  NULL: in none.
 */
char *spawn_find(const char *root, const char *path, const char *name);

#endif
