/*
 * ask.h - one question over HTTP, for programs that wait for the answer.
 *
 * http_call.h with a loop of its own, and what a client of ours needs beside it: addresses
 * as a user writes them, and the text of an error.
 */
#ifndef LIB_DAEMON_ASK_H
#define LIB_DAEMON_ASK_H

#include <stddef.h>

struct err;
struct http_call_opts;
struct strbuf;

/*
 * The address for http_call_opts in "http://127.0.0.1:7462", "unix:/run/x.sock" or
 * "https://HOST", borrowed from 'text'; NULL for what is none, such as the name of a file.
 */
const char *ask_address(const char *text);

/*
 * Asks, waits, and appends the body to 'reply', whatever the status.  Returns the status;
 * -ECONNREFUSED if nothing listens there, -ETIMEDOUT, -EACCES for an address that may not
 * be asked, or another -errno, with 'err' filled.
 */
int ask_once(const struct http_call_opts *opts, struct strbuf *reply, struct err *err);

/* Fills 'err' from the body of an error, {"error":{"message":"...","hint":"..."}}. */
void ask_error(const char *from, int status, const char *body, size_t n,
	       struct err *err);

#endif
