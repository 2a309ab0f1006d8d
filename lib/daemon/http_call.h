/*
 * http_call.h - one request to an HTTP server on this host, from a daemon's loop.
 *
 * It never blocks: what it starts is finished from the loop, in time or with an error,
 * and what comes back is bounded.  By HTTP/1.0, over loopback or a UNIX socket, without
 * TLS: what is beyond this host is reached through a proxy that knows how.
 */
#ifndef LIB_DAEMON_HTTP_CALL_H
#define LIB_DAEMON_HTTP_CALL_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct http_call;
struct loop;

#define HTTP_CALL_MAX_REQUEST ((size_t)64 << 10)

struct http_call_opts {
	const char *address; /* "127.0.0.1:8001", "[::1]:8001" or "/run/x.sock". */
	const char *method;  /* "GET", "PATCH", ... */
	const char *path;    /* With the query, encoded. */
	const char *accept;  /* A media type, or NULL. */
	const char *type;    /* Of the body; NULL: there is none. */
	const char *body;
	int64_t timeout_ns; /* For all of it. */
	size_t max_bytes;   /* Of the reply. */
};

/*
 * Whether an address is one that can be called: 0, -EACCES for one beyond this host, or
 * -EINVAL, with 'err' filled.
 */
int http_call_check(const char *address, struct err *err);

/*
 * Asks.  'done' is called once, from the loop, when the call is gone: with the status and
 * the body ('n' bytes, terminated, borrowed), or with -errno and why in 'body'.  Returns
 * 0, or -errno with 'err' filled, and then it is not called.  The texts are copied.
 */
int http_call(struct loop *loop, const struct http_call_opts *opts,
	      void (*done)(void *ctx, int status, const char *body, size_t n),
	      void *ctx, struct http_call **ret_call, struct err *err);
/* Gives up one that is not done; accepts NULL. */
void http_call_cancel(struct http_call *call);

#endif
