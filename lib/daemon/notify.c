/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/daemon/loop.h"

int
notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = path ? strlen(path) : 0;
	ssize_t n;
	int fd, rc = 0;

	if (!length)
		return 0;
	if ((path[0] != '/' && path[0] != '@') || length >= sizeof address.sun_path)
		return -EINVAL;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@')
		address.sun_path[0] = '\0'; /* The abstract namespace. */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* A manager that does not read must not block the daemon. */
	n = sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
		   (const struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length +
			       (path[0] == '/')));
	if (n < 0)
		rc = -errno;
	close(fd);
	return rc;
}

int
notify_status(const char *fmt, ...)
{
	char text[512] = "STATUS=";
	size_t n = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + n, sizeof text - n, fmt, args);
	va_end(args);
	return notify_send(text);
}

/* The number in an environment variable, or -1. */
static long long
number_of(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long long number;

	if (!text || *text < '0' || *text > '9')
		return -1;
	errno = 0;
	number = strtoll(text, &end, 10);
	return *end || errno ? -1 : number;
}

int64_t
notify_watchdog_ns(void)
{
	long long limit_us = number_of("WATCHDOG_USEC"),
		  pid = number_of("WATCHDOG_PID");

	/* Over a year counts as none; WATCHDOG_PID may be another process. */
	if (limit_us <= 0 || limit_us > 31536000000000)
		return 0;
	if (getenv("WATCHDOG_PID") && pid != getpid())
		return 0;
	return limit_us * 1000 / 2;
}

static void
on_watchdog(void *ctx, int64_t now_ns, int64_t missed)
{
	(void)ctx;
	(void)now_ns;
	(void)missed;
	notify_send("WATCHDOG=1");
}

void
notify_watchdog_join(struct loop *loop)
{
	int64_t period_ns = notify_watchdog_ns();

	if (period_ns > 0)
		loop_every(loop, period_ns, on_watchdog, NULL);
}
