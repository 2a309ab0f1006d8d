/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"

extern char **environ;

static void
set_attributes(posix_spawnattr_t *attr, enum spawn_of of)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(attr);
	posix_spawnattr_setflags(
		attr, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
			      (of == SPAWN_SESSION ? POSIX_SPAWN_SETSID
						   : POSIX_SPAWN_SETPGROUP)));
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
}

static void
set_files(posix_spawn_file_actions_t *files, const char *dir, const int fds[3])
{
	posix_spawn_file_actions_init(files);
	if (dir)
		posix_spawn_file_actions_addchdir_np(files, dir);
	for (int i = 0; i < 3; i++) {
		if (fds[i] == SPAWN_NULL)
			posix_spawn_file_actions_addopen(files, i, "/dev/null",
							 i ? O_WRONLY : O_RDONLY, 0);
		else
			posix_spawn_file_actions_adddup2(files, fds[i], i);
	}
	posix_spawn_file_actions_addclosefrom_np(files, 3);
}

int
spawn_start(const struct spawn_opts *opts, pid_t *ret_pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int error;

	set_attributes(&attr, opts->of);
	set_files(&files, opts->dir, opts->fds);
	error = posix_spawnp(ret_pid, opts->program, &files, &attr,
			     (char *const *)opts->argv,
			     opts->envp ? (char *const *)opts->envp : environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -error;
}

char *
spawn_find(const char *root, const char *path, const char *name)
{
	char *list = xstrdup(path), *rest = NULL, *found = NULL;

	for (char *dir = strtok_r(list, ":", &rest); dir && !found;
	     dir = strtok_r(NULL, ":", &rest)) {
		char *file = xasprintf("%s%s/%s", root, dir, name);

		if (access(file, X_OK) == 0)
			found = file;
		else
			free(file);
	}
	free(list);
	return found;
}
