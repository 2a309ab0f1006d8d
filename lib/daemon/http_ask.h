/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_ask.h - one question over HTTP, for programs that wait for the answer.
 *
 * http_call.h with a loop of its own, and what a client of ours needs beside it: addresses
 * as a user writes them, and the text of an error.
 */
#ifndef LIB_DAEMON_HTTP_ASK_H
#define LIB_DAEMON_HTTP_ASK_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct http_call_opts;
struct strbuf;

#define HTTP_ASK_MAX_BYTES ((size_t)16 << 20) /* What http_ask_get() takes. */

/*
 * Asks, waits, and appends the body to 'reply', whatever the status.  Returns the status;
 * -EINVAL for an address, -EACCES for one that may not be asked, -ECONNREFUSED if nothing
 * listens there, -ETIMEDOUT, -EPROTO for what is no HTTP, or another -errno, with 'err'
 * filled.
 */
int http_ask(const struct http_call_opts *opts, struct strbuf *reply, struct err *err);

/* The same for a GET of 'path' from "127.0.0.1:7470" or another host. */
int http_ask_get(const char *address, const char *path, int64_t timeout_ns,
		 struct strbuf *body, struct err *err);

/*
 * The address for http_call_opts in "http://127.0.0.1:7462", "unix:/run/x.sock" or
 * "https://HOST", borrowed from 'text'; NULL for what is none, such as the name of a file.
 */
const char *http_ask_address(const char *text);

/* Fills 'err' from the body of an error, {"error":{"message":"...","hint":"..."}}. */
void http_ask_error(const char *from, int status, const char *body, size_t n,
		    struct err *err);

#endif
