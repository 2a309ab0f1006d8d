/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_priv.h - shared by http.c (connections), http_listen.c (addresses), http_route.c
 * (requests) and http_stream.c (server-sent events).
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

/* http_listen.c: a listening socket, or -errno with 'err' filled. */
int http_listen_at(const char *address, struct http *http, struct err *err);
void http_listen_end(struct http *http); /* Removes the Unix socket. */

/* Counts a refusal and logs it at a limited rate. */
void http_refused(struct http *http, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* NULL once the library has closed it. */
struct http_connection *http_connection_of(struct MHD_Connection *connection);
void http_set_doing(struct MHD_Connection *connection, enum http_doing doing);

/* Makes the loop run the library, whose epoll does not show resumed connections. */
void http_kick(struct http *http);

/* http_route.c: libmicrohttpd's callbacks; 'cls' is the server. */
enum MHD_Result http_on_request(void *cls, struct MHD_Connection *connection,
				const char *url, const char *method,
				const char *version, const char *upload,
				size_t *upload_bytes, void **state);
void http_on_completed(void *cls, struct MHD_Connection *connection, void **state,
		       enum MHD_RequestTerminationCode how);

/* http_stream.c */
struct http_stream *http_find_stream(const struct http *http, const char *path);
enum MHD_Result http_listen(struct http_stream *stream,
			    struct MHD_Connection *connection);
/* Ends all listeners, so that the server can be stopped. */
void http_streams_end(struct http *http);
void http_streams_free(struct http *http);

#endif
