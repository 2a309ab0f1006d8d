/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_priv.h - shared by the files of the HTTP server.  Each needs those below it:
 *
 *	http.c              the server: its life, and its place in the loop
 *	http_route.c        one request, from its first line to the end of its reply
 *	http_stream.c       server-sent events
 *	http_check.c        who may ask for what, before a body is read
 *	http_reply.c        sends a reply, or a page in pieces
 *	http_paths.c        pages, routes and their parameters
 *	http_error.c        the reply that refuses a request
 *	http_connections.c  the connections, and what ends them
 *	http_listen.c       the listening socket
 */
#ifndef LIB_DAEMON_HTTP_PRIV_H
#define LIB_DAEMON_HTTP_PRIV_H

#include <stdint.h>
#include <sys/types.h>

#include <microhttpd.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/daemon/http.h"

enum http_doing {
	HTTP_ASKING,
	HTTP_ANSWERED, /* The reply is being sent. */
	HTTP_LISTENING,
};

/* Owned by the list; freed when libmicrohttpd reports the connection closed. */
struct http_connection {
	int fd;
	enum http_doing doing;
	int64_t since_ns;
	bool is_cut;
};

struct http_known_route {
	struct http_route route;
	void *ctx; /* Borrowed. */
};

/* A request and its reply. */
struct http_exchange {
	const struct http_known_route *route; /* NULL: a page, a stream, or refused. */
	const char *rest;                     /* Points into the URL. */
	struct strbuf body;
	size_t n_discarded;      /* Bytes of a refused body that were read. */
	size_t n_counted;        /* Its part of http->body_bytes. */
	size_t n_reply;          /* Its part of http->reply_bytes. */
	struct http_reply early; /* Status not 0: refused before the body. */
};

struct http_listener {
	struct http_stream *stream; /* Borrowed. */
	struct MHD_Connection *connection;
	struct strbuf waiting;
	size_t sent; /* Bytes of 'waiting'. */
	bool is_suspended, is_over;
};

struct http_stream {
	struct http *http; /* Borrowed, like all members but 'listeners'. */
	const char *path;
	void (*opened)(void *ctx, struct strbuf *data);
	void *ctx;
	VEC(struct http_listener *) listeners; /* Owned by their responses. */
};

struct http {
	struct loop *loop;         /* Borrowed. */
	struct MHD_Daemon *daemon; /* Owned; owns the listening socket. */
	struct loop_item *ready;   /* Owned by the loop; NULL: paused. */
	struct loop_item *pause;   /* Instead of 'ready', without descriptors. */
	int epoll;                 /* The library's. */
	struct loop_item *every;   /* The timer that cuts slow connections. */
	struct loop_item *kicked;
	int kick;                /* Owned.  Readable if the library must run at once. */
	bool is_resumed;         /* A connection was resumed after the library ran. */
	struct http_page *pages; /* Owned. */
	size_t n_pages;
	unsigned port; /* 0: a Unix socket. */
	char *path;    /* Owned.  The Unix socket's; NULL: a port. */
	ino_t inode;   /* The Unix socket's. */
	char *token;   /* Owned.  NULL: none. */
	VEC(struct http_known_route) routes;
	VEC(struct http_stream *) streams;         /* Owned. */
	VEC(struct http_connection *) connections; /* Owned. */
	size_t body_bytes, reply_bytes;
	int64_t request_ns; /* HTTP_REQUEST_NS, or less in tests. */
	struct http_counts counts;
	struct log_limit said;
};

/* ------ http_listen.c ------ */

/* A listening socket, or -errno with 'err' filled. */
int http_listen_at(const char *address, struct http *http, struct err *err);
void http_listen_end(struct http *http); /* Removes the Unix socket. */

/* ------ http_connections.c ------ */

/* Counts a refusal and logs it at a limited rate. */
void http_refused(struct http *http, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* NULL once the library has closed it. */
struct http_connection *http_connection_of(struct MHD_Connection *connection);
void http_set_doing(struct MHD_Connection *connection, enum http_doing doing);
/* libmicrohttpd's callback; 'cls' is the server. */
void http_on_connection(void *cls, struct MHD_Connection *connection,
			void **socket_context,
			enum MHD_ConnectionNotificationCode code);
/* Ends those that take too long to ask or to read. */
void http_cut_slow(struct http *http);
/* Makes the loop run the library, whose epoll does not show resumed connections. */
void http_kick(struct http *http);

/* ------ http_paths.c ------ */

/* The page for clients without a media type in Accept; NULL: none. */
const struct http_page *http_find_page(const struct http *http, const char *path);
/* The page for this client's Accept; NULL: none. */
const struct http_page *http_page_for(const struct http *http,
				      struct MHD_Connection *connection,
				      const char *path);
/* NULL: none.  '*ret_rest' is what the '*' at its end matched. */
const struct http_known_route *http_find_route(const struct http *http,
					       const char *method, const char *path,
					       const char **ret_rest);
/* The methods of 'path', as in the header Allow; empty: unknown path. */
void http_list_methods(const struct http *http, const char *path, struct strbuf *out);
/* The reply for an unknown path or method; in plain text if there are no routes. */
void http_refuse_path(struct http *http, const char *method, const char *path,
		      struct http_reply *early);
/* Refuses a misspelled parameter, which would have no effect. */
void http_refuse_parameters(struct MHD_Connection *connection,
			    const struct http_route *route, struct http_reply *early);

/* ------ http_check.c ------ */

/* Sets 'route' and 'rest', or 'early', from all that precedes the body. */
void http_check(struct http *http, struct MHD_Connection *connection, const char *path,
		const char *method, struct http_exchange *exchange);
size_t http_announced_bytes(struct MHD_Connection *connection);
void http_refuse_length(struct http_reply *early, size_t max); /* 0: takes no body. */
/* Refuses 'n' more bytes if bodies of all requests would be too much. */
void http_refuse_bodies(const struct http *http, size_t n, struct http_reply *early);

/* ------ http_reply.c ------ */

/* Takes the reply's body. */
enum MHD_Result http_send(struct http *http, struct MHD_Connection *connection,
			  const char *path, struct http_exchange *exchange,
			  struct http_reply *reply);
enum MHD_Result http_send_pieces(struct http *http, struct MHD_Connection *connection,
				 const char *path, const struct http_page *page);

/* ------ http_route.c: libmicrohttpd's callbacks; 'cls' is the server ------ */

enum MHD_Result http_on_request(void *cls, struct MHD_Connection *connection,
				const char *url, const char *method,
				const char *version, const char *upload,
				size_t *upload_bytes, void **state);
void http_on_completed(void *cls, struct MHD_Connection *connection, void **state,
		       enum MHD_RequestTerminationCode how);

/* ------ http_stream.c ------ */

struct http_stream *http_find_stream(const struct http *http, const char *path);
enum MHD_Result http_listen(struct http_stream *stream,
			    struct MHD_Connection *connection);
/* Ends all listeners, so that the server can be stopped. */
void http_streams_end(struct http *http);
void http_streams_free(struct http *http);

#endif
