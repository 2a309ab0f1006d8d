/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_call.h - one request to an HTTP server, from a daemon's loop, by libcurl.
 *
 * A call never blocks: it ends from the loop, with the reply, in time or with an error,
 * and the size of the reply is bounded.  Over a UNIX socket, or plain HTTP to a loopback
 * address; to other hosts only by HTTPS, where the server's certificate must be valid.
 * Redirects are not followed, and proxies of the environment are not used.
 *
 * Calls with a client in common share its connections.
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
	const char *type;   /* Of the body; NULL: there is none. */
	const char *body;
	int64_t timeout_ns; /* For all of it. */
	size_t max_bytes;   /* Of the reply, with its headers. */
	bool is_anywhere;   /* Plain HTTP to other hosts, too. */
	/* NULL: a connection of its own. */
	struct http_client *client;
	/* Of HTTPS.  CAs in PEM (NULL: those of the system); a file with a bearer token,
	 * which is read for each call, as tokens change (NULL: none is sent). */
	const char *ca_file, *token_file;
};

/* It must outlive its calls, and is not to be freed from a 'done'. */
struct http_client *http_client_new(struct loop *loop);
void http_client_free(struct http_client *client); /* Accepts NULL. */

/*
 * Whether an address is one that can be called: 0, -EACCES for plain HTTP beyond this
 * host, or -EINVAL, with 'err' filled.
 */
int http_call_check(const char *address, struct err *err);

/*
 * Asks.  'done' is called once, from the loop, when the call is gone: with the status and
 * the body ('n' bytes, terminated, borrowed), or with -errno and why in 'body':
 * -ETIMEDOUT, -EFBIG, -EPROTO for what is no HTTP or ends too early, -EACCES if the
 * certificate is not valid, or what connecting gave.  Returns 0, or -errno with 'err'
 * filled, and then it is not called.  The texts are copied.
 */
int http_call(struct loop *loop, const struct http_call_opts *opts,
	      void (*done)(void *ctx, int status, const char *body, size_t n),
	      void *ctx, struct http_call **ret_call, struct err *err);
/* Gives up one that is not done; accepts NULL. */
void http_call_cancel(struct http_call *call);

#endif
