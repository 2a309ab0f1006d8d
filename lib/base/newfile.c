/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"

/* Number of temporary names to try. */
#define MAX_NAMES 1000

/* A file without a name in the folder of 'path': it vanishes if the process ends. */
static int
open_nameless(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int fd;

	/* linkat() names it by this path. */
	if (access("/proc/self/fd", X_OK) < 0)
		return -1;
	folder = slash ? xasprintf("%.*s/", (int)(slash - path), path) : xstrdup(".");
	fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	free(folder);
	return fd;
}

static int
open_temporary(struct newfile *file)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	file->temporary = xasprintf("%s.XXXXXX", file->target);
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd >= 0) {
		fchmod(fd, 0666 & ~mask);
		return fd;
	}
	free(file->temporary);
	file->temporary = NULL;
	return -1;
}

int
newfile_open(const char *path, struct newfile *ret_file, struct err *err)
{
	struct newfile file = { .path = xstrdup(path) };
	struct stat status;
	int fd, error;

	/* Never replace a device such as /dev/null. */
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	} else {
		file.target = realpath(path, NULL);
		if (!file.target)
			file.target = xstrdup(path);
		fd = open_nameless(file.target);
		if (fd < 0)
			fd = open_temporary(&file);
	}
	error = errno;
	if (fd < 0) {
		error = err_set_errno(err, path, error,
				      file.target ? "cannot create" : "cannot open");
		free(file.path);
		free(file.target);
		return error;
	}
	file.out = fdopen(fd, "w");
	BUG_ON(!file.out);
	*ret_file = file;
	return 0;
}

/* Gives a file without a name a temporary one, for rename(). */
static int
name(struct newfile *file)
{
	char from[64];

	if (file->temporary)
		return 0;
	snprintf(from, sizeof from, "/proc/self/fd/%d", fileno(file->out));
	for (int i = 0; i < MAX_NAMES; i++) {
		char *to = xasprintf("%s.%d-%d", file->target, (int)getpid(), i);

		if (linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0) {
			file->temporary = to;
			return 0;
		}
		free(to);
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

int
newfile_finish(struct newfile *file, int error, struct err *err)
{
	bool was_bad = ferror(file->out);
	int r = fflush(file->out) == 0 ? 0 : -errno;

	if (r == 0 && was_bad)
		r = -EIO; /* The original errno is lost. */
	if (error == 0 && r == 0 && file->target) {
		r = fsync(fileno(file->out)) == 0 ? 0 : -errno;
		if (r == 0)
			r = name(file);
	}
	if (fclose(file->out) != 0 && r == 0)
		r = -errno;
	if (error == 0 && r == 0 && file->target &&
	    rename(file->temporary, file->target) < 0)
		r = -errno;
	if ((error || r) && file->temporary)
		unlink(file->temporary);
	if (error == 0 && r < 0)
		error = err_set_errno(err, file->path, -r, "cannot write");
	free(file->path);
	free(file->target);
	free(file->temporary);
	*file = (struct newfile){ 0 };
	return error;
}
