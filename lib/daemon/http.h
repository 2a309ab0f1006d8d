/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - a small HTTP server in the daemon's loop (libmicrohttpd).
 *
 * Two ways to say what is served: pages, fixed paths whose text a callback writes at
 * once; and routes, which also take a query, a body, and a token where they change
 * something, and streams of server-sent events.  Everything is answered from memory, at
 * once (but for pages in pieces), on the one thread.  It listens on loopback or at a Unix
 * socket only: what is beyond comes through a proxy that knows its users.
 *
 * Who connects is hostile: connections, their memory, the length of a request and
 * the time it may take are bounded; what is refused is logged, but not every time.
 */
#ifndef LIB_DAEMON_HTTP_H
#define LIB_DAEMON_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/strbuf.h"

struct err;
struct http;
struct loop;

/* How far a page is that is written in pieces: zero at first, then as the page has it. */
struct http_place {
	unsigned part;
	size_t at;
};

struct http_page {
	const char *path;         /* "/metrics"; static. */
	const char *content_type; /* Static. */
	void (*write)(void *ctx, struct strbuf *out);
	void *ctx;
	/*
	 * Only for who names this media type in Accept; NULL: for all.  Of several of a
	 * path the first that fits is served.  Static.
	 */
	const char *accepted;
	/*
	 * In place of 'write', for what takes long: a piece when the one before is sent,
	 * with others having their turn in between; false: that was the last one.
	 */
	bool (*write_piece)(void *ctx, struct http_place *place, struct strbuf *out);
};

/* A Unix socket lets in the daemon's user and group. */
#define HTTP_SOCKET_MODE 0660

/*
 * Serves 'n' pages (copied) on "127.0.0.1:9471", "[::1]:9471" or at the Unix socket
 * "/run/x.sock" (any name with a slash), which is made with HTTP_SOCKET_MODE.  A socket left there by a daemon that
 * is no more is replaced; one that answers is -EADDRINUSE.  Returns 0, -EACCES for an
 * address beyond loopback, or -errno, with 'err' filled.
 */
int http_open(struct loop *loop, const char *address, const struct http_page *pages,
	      size_t n, struct http **ret_http, struct err *err);
void http_close(struct http *http); /* Removes the Unix socket.  Accepts NULL. */
/* The port: the one that the kernel chose if port 0 was asked for. */
unsigned http_port(const struct http *http);
/* False only if surely nothing listens at the Unix socket 'path'.  Never waits. */
bool http_socket_is_answered(const char *path);

/* ---- Routes ------------------------------------------------------------------------- */

#define HTTP_MAX_BODY    (8u << 20)
#define HTTP_MAX_STREAMS 32         /* Listeners, all together. */
#define HTTP_MAX_WAITING (1u << 20) /* Bytes of events that one has not read. */
/* All together: bodies being received, answers being sent. */
#define HTTP_MAX_BODIES  (32u << 20)
#define HTTP_MAX_REPLIES (512u << 20)
/*
 * Beyond these many, who has been longest in asking is let go, so that connections that
 * say nothing lock nobody out.
 */
#define HTTP_MAX_CONNECTIONS 64
/* A request is whole after so long, and its answer read, or the connection is cut. */
#define HTTP_REQUEST_NS INT64_C(10000000000)
#define HTTP_ANSWER_NS  INT64_C(60000000000)

struct http_request {
	const char *method; /* "GET" (HEAD, too), "POST", "PUT", "DELETE". */
	const char *path;   /* Decoded, without the query. */
	const char *rest;   /* What '*' of the route's path stands for; "" without. */
	const char *body;   /* Terminated; "" without one. */
	size_t n_body;
	uid_t uid;         /* Over a Unix socket: of the peer; else (uid_t)-1. */
	const void *query; /* For http_query(). */
};

/* The decoded value of a parameter of the query; NULL if it is not there. */
const char *http_query(const struct http_request *request, const char *name);

struct http_reply {
	unsigned status;          /* 200 unless it is set. */
	const char *content_type; /* Static; "application/json" unless it is set. */
	struct strbuf body;
	bool is_gzip;  /* The body is, and says so. */
	char etag[40]; /* "": none.  A request that has it is answered by 304. */
};

/* {"error":{"code":"not_found","message":"...","hint":"..."}}; hint may be "". */
void http_reply_error(struct http_reply *reply, unsigned status, const char *code,
		      const char *hint, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

struct http_route {
	const char *method;
	const char *path; /* "/api/v1/jobs"; if it ends in '*', all that begin so. */
	bool needs_token; /* "Authorization: Bearer TOKEN", or 401. */
	size_t max_body;  /* 0: none is taken. */
	void (*answer)(void *ctx, const struct http_request *request,
		       struct http_reply *reply);
};

/*
 * Adds routes ('n', copied; their texts are not), all with the same 'ctx'.  The first
 * that fits is taken; a path known under other methods only is answered by 405.
 */
void http_add_routes(struct http *http, const struct http_route *routes, size_t n,
		     void *ctx);
/* NULL: whatever needs one is refused (403, with the hint how to set one).  Copied. */
void http_set_token(struct http *http, const char *token);

/*
 * Serves a stream of server-sent events at 'path' (not copied).  'opened' (may be NULL)
 * writes the one line of JSON of the event "hello", which a new listener is told first.
 * A listener that does not read is let go, with HTTP_MAX_WAITING bytes waiting for it.
 */
void http_add_stream(struct http *http, const char *path,
		     void (*opened)(void *ctx, struct strbuf *data), void *ctx);
/* Sends an event to all that listen at 'path': a name, and one line of JSON. */
void http_stream_send(struct http *http, const char *path, const char *event,
		      const char *data);
unsigned http_stream_listeners(const struct http *http, const char *path);

/* What was refused or cut so far, and what there is now. */
struct http_counts {
	uint64_t requests, refused, cut;
	unsigned connections, listeners;
};
struct http_counts http_counts(const struct http *http);
/* In place of HTTP_REQUEST_NS; looked at once a second.  For tests. */
void http_set_patience(struct http *http, int64_t request_ns);

#endif
