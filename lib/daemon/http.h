/*
 * http.h - a small HTTP server in the daemon's loop (libmicrohttpd).
 *
 * GET and HEAD only, of a few fixed paths whose text a callback writes at once.
 * Without a front proxy it may only be bound to loopback.
 */
#ifndef LIB_DAEMON_HTTP_H
#define LIB_DAEMON_HTTP_H

#include "lib/base/strbuf.h"

struct err;
struct http;
struct loop;

struct http_page {
	const char *path;         /* "/metrics"; static. */
	const char *content_type; /* Static. */
	void (*write)(void *ctx, struct strbuf *out);
	void *ctx;
};

/*
 * Serves 'n' pages (copied) on "127.0.0.1:9471" or "[::1]:9471".  Returns 0, -EACCES
 * for an address beyond loopback, or -errno, with 'err' filled.
 */
int http_open(struct loop *loop, const char *address, const struct http_page *pages,
	      size_t n, struct http **ret_http, struct err *err);
void http_close(struct http *http); /* Accepts NULL. */
/* The port: the one that the kernel chose if port 0 was asked for. */
unsigned http_port(const struct http *http);

#endif
