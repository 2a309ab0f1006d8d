/* SPDX-License-Identifier: Apache-2.0 */
/* http_connections.c - the connections of a server, and what ends them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "lib/daemon/http_priv.h"

void
http_refused(struct http *http, const char *fmt, ...)
{
	char text[256];
	va_list args;

	http->counts.refused++;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	log_limited(&http->said, clk_monotonic_ns(), LOG_LEVEL_WARN, "http", "%s",
		    text);
}

struct http_connection *
http_connection_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void
http_set_doing(struct MHD_Connection *connection, enum http_doing doing)
{
	struct http_connection *c = http_connection_of(connection);

	if (!c)
		return;
	c->doing = doing;
	c->since_ns = clk_monotonic_ns();
}

/* Shuts the socket down; the library notices and closes it. */
static void
cut(struct http *http, struct http_connection *c, const char *why)
{
	c->is_cut = true;
	shutdown(c->fd, SHUT_RDWR);
	http->counts.cut++;
	http_refused(http, "connection closed: %s", why);
}

static void
cut_slowest(struct http *http)
{
	struct http_connection *slowest = NULL;

	for (size_t i = 0; i < http->connections.n; i++) {
		struct http_connection *c = http->connections.items[i];

		if (c->doing == HTTP_ASKING && !c->is_cut &&
		    (!slowest || c->since_ns < slowest->since_ns))
			slowest = c;
	}
	if (slowest)
		cut(http, slowest, "too many connections, and it is the slowest");
}

void
http_cut_slow(struct http *http)
{
	int64_t now_ns = clk_monotonic_ns();

	for (size_t i = 0; i < http->connections.n; i++) {
		struct http_connection *c = http->connections.items[i];
		int64_t age_ns = now_ns - c->since_ns;

		if (c->is_cut)
			continue;
		if (c->doing == HTTP_ASKING && age_ns > http->request_ns)
			cut(http, c, "its request did not arrive in time");
		else if (c->doing == HTTP_ANSWERED && age_ns > HTTP_ANSWER_NS)
			cut(http, c, "it did not read the response in time");
	}
}

void
http_on_connection(void *cls, struct MHD_Connection *connection, void **socket_context,
		   enum MHD_ConnectionNotificationCode code)
{
	struct http *http = cls;
	struct http_connection *c = *socket_context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		if (http->connections.n >= HTTP_MAX_CONNECTIONS)
			cut_slowest(http);
		c = xcalloc(1, sizeof *c);
		c->fd = MHD_get_connection_info(connection,
						MHD_CONNECTION_INFO_CONNECTION_FD)
				->connect_fd;
		c->since_ns = clk_monotonic_ns();
		vec_push(&http->connections, c);
		*socket_context = c;
		return;
	}
	for (size_t i = 0; i < http->connections.n; i++) {
		if (http->connections.items[i] != c)
			continue;
		http->connections.items[i] =
			http->connections.items[--http->connections.n];
		break;
	}
	free(c);
	*socket_context = NULL;
}

void
http_kick(struct http *http)
{
	http->is_resumed = true;
	eventfd_write(http->kick, 1);
}
