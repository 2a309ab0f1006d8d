/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - the HTTP server: its life, and its place in the loop. */
#include "lib/daemon/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/daemon/http_priv.h"
#include "lib/daemon/loop.h"

/* Accepted above HTTP_MAX_CONNECTIONS, so that the slowest can be cut. */
#define SPARE_CONNECTIONS    16
#define MAX_CONNECTION_BYTES 32768
#define IDLE_S               5

/* Out of descriptors, connections are not accepted for this long. */
#define PAUSE_NS INT64_C(100000000)

/* Limits of runs of the library in a row, in number and time. */
#define MAX_ROUNDS 64
#define ROUNDS_NS  INT64_C(3000000)

/* Without one the library would try to accept again and again, at once. */
static bool
has_descriptor(const struct http *http)
{
	int fd = fcntl(http->kick, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static void on_ready(void *ctx);

static void
on_pause(void *ctx, int64_t now_ns, int64_t missed)
{
	struct http *http = ctx;

	(void)now_ns;
	(void)missed;
	if (!has_descriptor(http))
		return;
	loop_remove(http->loop, http->pause);
	http->pause = NULL;
	http->ready = loop_fd(http->loop, http->epoll, on_ready, http);
	on_ready(http);
}

static void
on_ready(void *ctx)
{
	struct http *http = ctx;
	MHD_UNSIGNED_LONG_LONG timeout_ms;
	int64_t began_ns = clk_monotonic_ns();
	eventfd_t kicks;

	loop_part(http->loop, "http");
	if (http->ready && !has_descriptor(http)) {
		loop_remove(http->loop, http->ready);
		http->ready = NULL;
		http->pause = loop_every(http->loop, PAUSE_NS, on_pause, http);
		http_refused(http, "no descriptor is left for connections");
	}
	eventfd_read(http->kick, &kicks);
	/* The library's epoll descriptor does not show all pending work. */
	for (int i = 0; i < MAX_ROUNDS; i++) {
		http->is_resumed = false;
		MHD_run(http->daemon);
		if (!http->is_resumed &&
		    (MHD_get_timeout(http->daemon, &timeout_ms) != MHD_YES ||
		     timeout_ms))
			return;
		if (clk_monotonic_ns() - began_ns > ROUNDS_NS)
			break;
	}
	/* Continues in the next pass of the loop. */
	http_kick(http);
}

static void
on_second(void *ctx, int64_t now_ns, int64_t missed)
{
	(void)now_ns;
	(void)missed;
	http_cut_slow(ctx);
	on_ready(ctx);
}

static void
on_log(void *cls, const char *fmt, va_list args)
{
	char text[256];

	(void)cls;
	vsnprintf(text, sizeof text, fmt, args);
	text[strcspn(text, "\n")] = '\0';
	log_dbg("http", "%s", text);
}

int
http_open(struct loop *loop, const char *address, const struct http_page *pages,
	  size_t n, struct http **ret_http, struct err *err)
{
	const union MHD_DaemonInfo *info;
	struct http *http = xcalloc(1, sizeof *http);
	int fd = http_listen_at(address, http, err);

	if (fd < 0) {
		free(http);
		return fd;
	}
	http->loop = loop;
	http->pages = xmemdup(pages, n, sizeof *pages);
	http->n_pages = n;
	http->request_ns = HTTP_REQUEST_NS;
	http->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	BUG_ON(http->kick < 0);
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
		NULL, http_on_request, http, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_CONNECTION,
		http_on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
		http_on_completed, http, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)HTTP_MAX_CONNECTIONS + SPARE_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MAX_CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_END);
	info = http->daemon
		       ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)
		       : NULL;
	if (!info) {
		if (!http->daemon)
			close(fd);
		http_close(http);
		err_set(err, NULL, 0, 0, "%s: the HTTP server does not start", address);
		return -EIO;
	}
	http->epoll = info->epoll_fd;
	http->ready = loop_fd(loop, http->epoll, on_ready, http);
	http->kicked = loop_fd(loop, http->kick, on_ready, http);
	http->every = loop_every(loop, INT64_C(1000000000), on_second, http);
	*ret_http = http;
	return 0;
}

void
http_close(struct http *http)
{
	if (!http)
		return;
	if (http->ready)
		loop_remove(http->loop, http->ready);
	if (http->pause)
		loop_remove(http->loop, http->pause);
	if (http->kicked)
		loop_remove(http->loop, http->kicked);
	if (http->every)
		loop_remove(http->loop, http->every);
	if (http->daemon) {
		http_streams_end(http);
		MHD_stop_daemon(http->daemon);
	}
	http_listen_end(http);
	close(http->kick);
	http_streams_free(http);
	vec_free(&http->connections);
	vec_free(&http->routes);
	free(http->token);
	free(http->pages);
	free(http);
}

unsigned
http_port(const struct http *http)
{
	return http->port;
}

struct http_counts
http_counts(const struct http *http)
{
	struct http_counts counts = http->counts;

	counts.connections = (unsigned)http->connections.n;
	return counts;
}

void
http_set_patience(struct http *http, int64_t request_ns)
{
	http->request_ns = request_ns;
}
