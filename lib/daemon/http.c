#include "lib/daemon/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/daemon/loop.h"

/* What one who connects can make us hold. */
#define MAX_CONNECTIONS      16
#define MAX_CONNECTION_BYTES 32768
#define IDLE_S               5
#define BACKLOG              16

/* How often in a row the library may ask to go on at once. */
#define MAX_ROUNDS 64

struct http {
	struct loop *loop;         /* Borrowed. */
	struct MHD_Daemon *daemon; /* Owned; and it owns the listening socket. */
	struct loop_item *ready;   /* Owned by the loop. */
	struct loop_item *every;   /* The same: idle connections are closed by it. */
	struct http_page *pages;   /* Owned. */
	size_t n_pages;
	unsigned port;
};

/* ---- Addresses ----------------------------------------------------------------- */

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	};

	socklen_t length;
};

/* "HOST:PORT" in numbers; "[HOST]:PORT" for version 6. */
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
		       "'%s' is no address to listen at; expected one such as "
		       "127.0.0.1:9471 or [::1]:9471",
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
listen_at(const char *text, int *ret_fd, unsigned *ret_port, struct err *err)
{
	struct address a;
	int one = 1, fd, rc = parse_address(text, &a, err);

	if (rc < 0)
		return rc;
	if (!is_loopback(&a)) {
		err_set(err, NULL, 0, 0,
			"%s is beyond loopback, where anybody could read the figures; "
			"listen at 127.0.0.1 and let a proxy that knows its users "
			"pass them on",
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
			err_append(err, "; 'ss -ltnp' says who has it");
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	*ret_port = ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
	return 0;
}

/* ---- Answers --------------------------------------------------------------------- */

/* Takes 'text', which is from malloc() or NULL for static text. */
static enum MHD_Result
answer(struct MHD_Connection *connection, unsigned status, const char *content_type,
       struct strbuf *text)
{
	size_t length = text->length;
	struct MHD_Response *response = MHD_create_response_from_buffer(
		length, strbuf_steal(text), MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", content_type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result
on_request(void *cls, struct MHD_Connection *connection, const char *url,
	   const char *method, const char *version, const char *upload,
	   size_t *upload_bytes, void **state)
{
	static const char plain[] = "text/plain; charset=utf-8";
	struct http *http = cls;
	struct strbuf text = STRBUF_EMPTY;

	(void)version;
	(void)upload;
	(void)upload_bytes;
	(void)state;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		strbuf_puts(&text, "only GET and HEAD\n");
		return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, plain, &text);
	}
	for (size_t i = 0; i < http->n_pages; i++) {
		const struct http_page *page = &http->pages[i];

		if (strcmp(page->path, url) != 0)
			continue;
		page->write(page->ctx, &text);
		return answer(connection, MHD_HTTP_OK, page->content_type, &text);
	}
	strbuf_puts(&text, "there is no such page; there are:\n");
	for (size_t i = 0; i < http->n_pages; i++)
		strbuf_printf(&text, "%s\n", http->pages[i].path);
	return answer(connection, MHD_HTTP_NOT_FOUND, plain, &text);
}

/* ---- In the loop ----------------------------------------------------------------- */

static void
on_ready(void *ctx)
{
	struct http *http = ctx;
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	/* Its own epoll set does not show all that it has left to do. */
	for (int i = 0; i < MAX_ROUNDS; i++) {
		MHD_run(http->daemon);
		if (MHD_get_timeout(http->daemon, &timeout_ms) != MHD_YES || timeout_ms)
			break;
	}
}

static void
on_second(void *ctx, int64_t now_ns, int64_t missed)
{
	(void)now_ns;
	(void)missed;
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
	struct http *http;
	unsigned port = 0;
	int fd = -1, rc;

	rc = listen_at(address, &fd, &port, err);
	if (rc < 0)
		return rc;
	http = xcalloc(1, sizeof *http);
	http->loop = loop;
	http->port = port;
	http->pages = xmemdup(pages, n, sizeof *pages);
	http->n_pages = n;
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, http,
		MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
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
	http->ready = loop_fd(loop, info->epoll_fd, on_ready, http);
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
	if (http->every)
		loop_remove(http->loop, http->every);
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	free(http->pages);
	free(http);
}

unsigned
http_port(const struct http *http)
{
	return http->port;
}
