/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_ask.h - blocking HTTP client for one request.
 *
 * It runs http_call.h in a loop of its own, and adds what our command-line clients
 * need: addresses as users write them, and the texts of errors.
 */
#ifndef LIB_DAEMON_HTTP_ASK_H
#define LIB_DAEMON_HTTP_ASK_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct http_call_opts;
struct strbuf;

#define HTTP_ASK_MAX_BYTES ((size_t)16 << 20) /* Limit of http_ask_get(). */

/*
 * Sends the request, waits, and appends the body to 'reply' for any status.  Returns
 * the status, or with 'err' filled -EINVAL for a bad address, -EACCES for one that is
 * not allowed, -ECONNREFUSED if nothing listens there, -ETIMEDOUT, -EPROTO if the reply
 * is not HTTP, or another -errno.
 */
int http_ask(const struct http_call_opts *opts, struct strbuf *reply, struct err *err);

/* The same for a GET of 'path' from "127.0.0.1:7470" or another host. */
int http_ask_get(const char *address, const char *path, int64_t timeout_ns,
		 struct strbuf *body, struct err *err);

/*
 * The address for http_call_opts from "http://127.0.0.1:7462", "unix:/run/x.sock" or
 * "https://HOST", borrowed from 'text'; NULL for other texts, such as a file name.
 */
const char *http_ask_address(const char *text);

/* Fills 'err' from the body of an error: {"error":{"message":"...","hint":"..."}}. */
void http_ask_error(const char *from, int status, const char *body, size_t n,
		    struct err *err);

#endif
