/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_call.h - HTTP client in a daemon's loop (libcurl).
 *
 * A call never blocks: the loop ends it with the reply, or with an error at the latest
 * after its timeout.  The size of the reply is limited.  Calls use a Unix socket, plain
 * HTTP to a loopback address, or HTTPS with a valid certificate to any host.  They
 * follow no redirects and ignore proxy variables of the environment.  Calls of one
 * client share its connections.
 */
#ifndef LIB_DAEMON_HTTP_CALL_H
#define LIB_DAEMON_HTTP_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct http_call;
struct http_client;
struct loop;

#define HTTP_CALL_MAX_REQUEST ((size_t)9 << 20)
#define HTTP_CALL_MAX_TOKEN   ((size_t)16 << 10)

struct http_call_opts {
	/* "127.0.0.1:8001", "[::1]:8001", "http://127.0.0.1:8001", "/run/x.sock", or
	 * "https://HOST" or "https://HOST:PORT". */
	const char *address;
	const char *method; /* "GET", "PATCH", ... */
	const char *path;   /* With the query, encoded. */
	const char *accept; /* A media type, or NULL. */
	const char *type;   /* The body's media type; NULL: no body. */
	const char *body;
	int64_t timeout_ns;         /* For the whole call. */
	size_t max_bytes;           /* Of the reply with its headers. */
	bool is_anywhere;           /* Allow plain HTTP to other hosts. */
	struct http_client *client; /* NULL: a connection of its own. */
	/* For HTTPS: CAs in PEM (NULL: the system's), and a file with a bearer token,
	 * read for each call because tokens change (NULL: no token). */
	const char *ca_file, *token_file;
};

/* A client must outlive its calls and must not be freed from a 'done'. */
struct http_client *http_client_new(struct loop *loop);
void http_client_free(struct http_client *client); /* Accepts NULL. */

/*
 * Checks an address: 0, or with 'err' filled -EACCES for plain HTTP to another host or
 * -EINVAL.
 */
int http_call_check(const char *address, struct err *err);

/*
 * Starts a call; copies the texts.  The loop calls 'done' once, after freeing the call,
 * with the status and the body ('n' bytes, terminated, borrowed), or with -errno and
 * the reason in 'body': -ETIMEDOUT, -EFBIG, -EPROTO if the reply is not HTTP or
 * incomplete, -EACCES if the certificate is not valid, or an error of the connection.
 * Returns 0, or -errno with 'err' filled; then 'done' is not called.
 */
int http_call(struct loop *loop, const struct http_call_opts *opts,
	      void (*done)(void *ctx, int status, const char *body, size_t n),
	      void *ctx, struct http_call **ret_call, struct err *err);
/* Cancels a call that is not done; accepts NULL. */
void http_call_cancel(struct http_call *call);

#endif
