/*
 * http_ask.h - one question to an HTTP server of ours, for command lines.
 *
 * It waits, but no longer than it is told to; whatever it gets is bounded.
 */
#ifndef LIB_DAEMON_HTTP_ASK_H
#define LIB_DAEMON_HTTP_ASK_H

#include <stdint.h>

struct err;
struct strbuf;

#define HTTP_ASK_MAX_BYTES ((size_t)16 << 20)

/*
 * GETs 'path' from "127.0.0.1:7470" or "[::1]:7470" and appends the body to 'body'.
 * Returns the status (200), or -EINVAL for an address, -EPROTO for what is no HTTP,
 * -ETIMEDOUT, -ECONNREFUSED or another -errno, with 'err' filled.
 */
int http_ask(const char *address, const char *path, int64_t timeout_ns,
	     struct strbuf *body, struct err *err);

#endif
