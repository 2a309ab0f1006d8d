/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/local_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/err.h"

/* Removes a socket without a listener. */
static int
clear_path(const struct sockaddr_un *at, int type, struct err *err)
{
	struct stat st;
	int fd, error;

	if (lstat(at->sun_path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set_errno(err, at->sun_path, EEXIST, "is not a socket");
	fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set_errno(err, at->sun_path, errno, "socket");
	error = connect(fd, (const struct sockaddr *)at, sizeof *at) < 0 ? errno : 0;
	close(fd);
	/* A listener that is busy, or of another type, is in use. */
	if (!error || error == EAGAIN || error == EPROTOTYPE)
		return err_set_errno(err, at->sun_path, EADDRINUSE,
				     "another collector listens here");
	if (unlink(at->sun_path) < 0)
		return err_set_errno(err, at->sun_path, errno, "cannot remove");
	return 0;
}

int
local_socket_bind(const char *path, int type, int *ret_fd, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd, error;

	if (strlen(path) >= sizeof at.sun_path)
		return err_set_errno(err, path, ENAMETOOLONG, "bind");
	strcpy(at.sun_path, path);
	error = clear_path(&at, type, err);
	if (error < 0)
		return error;
	fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set_errno(err, path, errno, "socket");
	if (bind(fd, (const struct sockaddr *)&at, sizeof at) < 0) {
		error = err_set_errno(err, path, errno, "cannot bind");
		close(fd);
		return error;
	}
	if (chmod(path, 0666) < 0) {
		error = err_set_errno(err, path, errno,
				      "cannot make it writable for all");
		unlink(path);
		close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}
