/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - HTTP server in the daemon's loop (libmicrohttpd).
 *
 * It serves pages (fixed paths whose text a callback writes), routes (which also take a
 * query, a body, and a token if they change something) and streams of server-sent
 * events.  All replies come from memory on the one thread, at once except for pages in
 * pieces.  The server listens only on loopback or at a Unix socket; other hosts need a
 * proxy that authenticates users.
 *
 * Clients are untrusted: connections, their memory, and the length and duration of
 * requests are limited.  Refusals are logged at a limited rate.
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

/* The position in a page written in pieces: zero at first, then set by the page. */
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
	 * Served only to clients that name this media type in Accept; NULL: to all.  Of
	 * several pages with one path, the first that matches is served.  Static.
	 */
	const char *accepted;
	/*
	 * Instead of 'write', for long pages: writes the next piece when the previous
	 * one was sent, so that the loop can do other work between them.  Returns false
	 * with the last piece.
	 */
	bool (*write_piece)(void *ctx, struct http_place *place, struct strbuf *out);
};

/* A Unix socket admits the daemon's user and group. */
#define HTTP_SOCKET_MODE 0660

/*
 * Serves 'n' pages (copied) on "127.0.0.1:9471", "[::1]:9471" or at the Unix socket
 * "/run/x.sock" (any name with a slash), created with HTTP_SOCKET_MODE.  Replaces the
 * socket of a daemon that has ended.  Returns 0, -EADDRINUSE if a process listens at
 * the socket, -EACCES for an address other than loopback, or -errno, with 'err' filled.
 */
int http_open(struct loop *loop, const char *address, const struct http_page *pages,
	      size_t n, struct http **ret_http, struct err *err);
void http_close(struct http *http); /* Removes the Unix socket.  Accepts NULL. */
/* The port; if 'address' had port 0, the one that the kernel chose. */
unsigned http_port(const struct http *http);
/* False only if it is certain that no process listens at 'path'.  Never waits. */
bool http_socket_is_answered(const char *path);

/* ---- Routes ---------------------------------------------------------------------- */

#define HTTP_MAX_BODY    (8u << 20)
#define HTTP_MAX_STREAMS 32         /* Listeners of all streams. */
#define HTTP_MAX_WAITING (1u << 20) /* Unread bytes of events per listener. */
/* Totals in bytes: bodies being received, replies being sent. */
#define HTTP_MAX_BODIES  (32u << 20)
#define HTTP_MAX_REPLIES (512u << 20)
/*
 * With more connections, the one whose request has taken longest is cut, so that silent
 * connections do not keep others out.
 */
#define HTTP_MAX_CONNECTIONS 64
/* A connection is cut if receiving a request or sending the reply takes longer. */
#define HTTP_REQUEST_NS INT64_C(10000000000)
#define HTTP_ANSWER_NS  INT64_C(60000000000)

struct http_request {
	const char
		*method;  /* "GET", "HEAD" (of GET routes), "POST", "PUT", "DELETE". */
	const char *path; /* Decoded, without the query. */
	const char *rest; /* What the '*' of the route's path matched; "" without. */
	const char *body; /* Terminated; "" without one. */
	size_t n_body;
	const void *connection; /* For the next two. */
};

/* The decoded value of a parameter of the query, or NULL. */
const char *http_query(const struct http_request *request, const char *name);
/* The value of a header, or NULL. */
const char *http_header(const struct http_request *request, const char *name);
/* Who asks, as peer_user_of(); PEER_USER_UNKNOWN, too, without a connection. */
uid_t http_peer_user(const struct http_request *request);

struct http_reply {
	unsigned status;          /* 0: 200. */
	const char *content_type; /* Static; NULL: "application/json". */
	struct strbuf body;
	bool is_gzip; /* The body is compressed; sets Content-Encoding. */
	/* Static.  Of a page: its Content-Security-Policy; NULL: none. */
	const char *policy;
	char etag[40]; /* "": none.  If the client has it already, it gets a 304. */
};

/* {"error":{"code":"not_found","message":"...","hint":"..."}}; hint may be "". */
void http_reply_error(struct http_reply *reply, unsigned status, const char *code,
		      const char *hint, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

struct http_route {
	const char *method;
	const char *path; /* "/api/v1/jobs"; a final '*' matches any rest. */
	bool needs_token; /* "Authorization: Bearer TOKEN", or 401. */
	size_t max_body;  /* 0: no body is accepted. */
	void (*answer)(void *ctx, const struct http_request *request,
		       struct http_reply *reply);
	/* Names that the query may have, between blanks, or this; NULL: none. */
	const char *parameters;
};

#define HTTP_ANY_PARAMETERS "*"

/*
 * Adds 'n' routes (copied, but not their texts), all with the same 'ctx'.  The first
 * match serves a request; a path that is known only for other methods gives 405.
 */
void http_add_routes(struct http *http, const struct http_route *routes, size_t n,
		     void *ctx);
/* antiphase.api/1: all routes, streams and pages; for an index. */
void http_reply_index(const struct http *http, struct http_reply *reply);
/* Copied.  NULL: routes that need a token give 403, with a hint how to set one. */
void http_set_token(struct http *http, const char *token);

/*
 * Serves a stream of server-sent events at 'path' (not copied).  'opened' (may be NULL)
 * writes one line of JSON for the event "hello", the first that a new listener gets.  A
 * listener with more than HTTP_MAX_WAITING unread bytes is disconnected.
 */
void http_add_stream(struct http *http, const char *path,
		     void (*opened)(void *ctx, struct strbuf *data), void *ctx);
/* Sends an event, a name and one line of JSON, to all listeners of 'path'. */
void http_stream_send(struct http *http, const char *path, const char *event,
		      const char *data);
unsigned http_stream_listeners(const struct http *http, const char *path);

/* Totals since the start, and the current connections and listeners. */
struct http_counts {
	uint64_t requests, refused, cut;
	unsigned connections, listeners;
};
struct http_counts http_counts(const struct http *http);
/* For tests: replaces HTTP_REQUEST_NS, which is checked once a second. */
void http_set_patience(struct http *http, int64_t request_ns);

#endif
