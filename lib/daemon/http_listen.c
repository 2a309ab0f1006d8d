/* SPDX-License-Identifier: Apache-2.0 */
/* http_listen.c - listening sockets: a port on loopback, or a Unix socket. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/daemon/http_priv.h"

#define BACKLOG 64

/* ---- Ports ----------------------------------------------------------------------- */

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};

	socklen_t length;
};

/* Numeric "HOST:PORT", or "[HOST]:PORT" for IPv6. */
static int
parse_address(const char *text, struct address *a, struct err *err)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	char host[INET6_ADDRSTRLEN + 1], *end;
	unsigned long port;
	bool is_v6 = n > 2 && text[0] == '[' && text[n - 1] == ']';

	if (!colon || n >= sizeof host || colon[1] < '0' || colon[1] > '9')
		goto bad;
	port = strtoul(colon + 1, &end, 10);
	if (*end || port > 65535)
		goto bad;
	memcpy(host, text + is_v6, n - 2 * is_v6);
	host[n - 2 * is_v6] = '\0';
	memset(a, 0, sizeof *a);
	if (is_v6) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons((uint16_t)port);
		a->length = sizeof a->v6;
		if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) == 1)
			return 0;
	} else {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons((uint16_t)port);
		a->length = sizeof a->v4;
		if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1)
			return 0;
	}
bad:
	return err_set(err, NULL, 0, 0,
		       "'%s' is not an address to listen at; expected one such as "
		       "127.0.0.1:9471, [::1]:9471 or the path of a Unix socket",
		       text);
}

static bool
is_loopback(const struct address *a)
{
	if (a->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
	return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
}

static int
listen_at_port(const char *text, struct http *http, struct err *err)
{
	struct address a;
	int one = 1, fd, rc = parse_address(text, &a, err);

	if (rc < 0)
		return rc;
	if (!is_loopback(&a)) {
		err_set(err, NULL, 0, 0,
			"%s is beyond loopback, and requests are not authenticated; "
			"listen at 127.0.0.1 or a Unix socket, and let a proxy that "
			"authenticates its users (TLS, ssh -L) pass requests on",
			text);
		return -EACCES;
	}
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set_errno(err, text, errno, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, &a.any, a.length) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, &a.any, &a.length) < 0) {
		rc = err_set_errno(err, text, errno, "cannot listen");
		if (rc == -EADDRINUSE)
			err_append(err,
				   "; run 'ss -ltnp' to see which program uses it");
		close(fd);
		return rc;
	}
	http->port =
		ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
	return fd;
}

/* ---- Unix sockets ---------------------------------------------------------------- */

static int
connect_to(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	r = connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 ? -errno
									       : 0;
	close(fd);
	return r;
}

static int
fill_address(const char *path, struct sockaddr_un *ret_address, struct err *err)
{
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof ret_address->sun_path)
		return err_set(err, path, 0, 0,
			       "the path of a socket is at most %zu bytes long",
			       sizeof ret_address->sun_path - 1);
	strcpy(ret_address->sun_path, path);
	return 0;
}

bool
http_socket_is_answered(const char *path)
{
	struct sockaddr_un address;
	int r = fill_address(path, &address, NULL);

	if (r == 0)
		r = connect_to(&address);
	return r != -ENOENT && r != -ECONNREFUSED;
}

/* Removes a socket at which no process listens. */
static int
clear_path(const struct sockaddr_un *address, struct err *err)
{
	const char *path = address->sun_path;
	struct stat info;
	int r;

	if (lstat(path, &info) < 0)
		return 0; /* Missing, or bind() will report the error. */
	if (!S_ISSOCK(info.st_mode)) {
		err_set(err, path, 0, 0, "a file that is not a socket has this name");
		return -EEXIST;
	}
	r = connect_to(address);
	if (r == 0 || r == -EAGAIN) {
		err_set(err, path, 0, 0, "another daemon already listens there");
		return -EADDRINUSE;
	}
	unlink(path);
	return 0;
}

static int
listen_at_path(const char *path, struct http *http, struct err *err)
{
	struct sockaddr_un address;
	struct stat info;
	mode_t old;
	int fd, r = fill_address(path, &address, err);

	if (r == 0)
		r = clear_path(&address, err);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set_errno(err, path, errno, "cannot make a socket");
	old = umask((mode_t)(~HTTP_SOCKET_MODE & 0777));
	r = bind(fd, (const struct sockaddr *)&address, sizeof address);
	umask(old);
	if (r < 0 || listen(fd, BACKLOG) < 0 || lstat(path, &info) < 0) {
		r = err_set_errno(err, path, errno, "cannot listen");
		close(fd);
		return r;
	}
	http->path = xstrdup(path);
	http->inode = info.st_ino;
	return fd;
}

/* ---- Either ---------------------------------------------------------------------- */

int
http_listen_at(const char *address, struct http *http, struct err *err)
{
	return strchr(address, '/') ? listen_at_path(address, http, err)
				    : listen_at_port(address, http, err);
}

void
http_listen_end(struct http *http)
{
	struct stat info;

	if (http->path && lstat(http->path, &info) == 0 && info.st_ino == http->inode)
		unlink(http->path);
	free(http->path);
}
