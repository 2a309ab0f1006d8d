/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - commands to a running daemon of this host: HTTP over its Unix socket.
 *
 * A command has one or two words, and arguments.  A daemon serves its commands at
 * RUNTIME_DIR/NAME.sock:
 *
 *	GET  /control/commands      all commands: antiphase.control_commands/1
 *	GET  /control/job/list      runs a read-only command
 *	POST /control/job/add       runs any command; the body is a JSON array of its
 *	                            arguments: ["4711", "/system.slice/train.service"]
 *
 * The words of the path, followed by those of the body, are the command and its
 * arguments: "POST /control/log/dbg" equals "POST /control" with ["log", "dbg"].  The
 * reply is a document, text or JSON, with status 200, or an error in the form of
 * http_reply_error() with 400 (usage), 403 (permission), 404, 409, 413, 501, 507 (no
 * space) or 500.
 *
 * The socket's mode (HTTP_SOCKET_MODE) restricts connections.  Only root and the
 * daemon's own user may run commands that change something; the kernel tells the peer's
 * user (SO_PEERCRED).
 */
#ifndef LIB_DAEMON_CONTROL_H
#define LIB_DAEMON_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

struct control;
struct err;
struct loop;

#define CONTROL_MAX_BODY  16384
#define CONTROL_MAX_REPLY (8 << 20)
#define CONTROL_MAX_WORDS 16

struct control_command {
	const char *name;            /* One or two words: "stats", "job add". */
	const char *arguments;       /* For usage: "NAME CGROUP"; "": none. */
	unsigned min_args, max_args; /* Without the name. */
	bool is_change;              /* Only for root and the daemon's user. */
	/* Fills 'reply'; returns 0, or -errno with 'err' filled. */
	int (*run)(void *ctx, size_t n_args, char **args, struct strbuf *reply,
		   struct err *err);
};

/*
 * Serves 'commands' (borrowed; the last has no name) at the socket 'path'.  Adds
 * "commands" and "log LEVEL", which lasts until a restart.  Returns 0, or -errno with
 * 'err' filled, as http_open().
 */
int control_open(struct loop *loop, const char *path,
		 const struct control_command *commands, void *ctx,
		 struct control **ret_control, struct err *err);
void control_close(struct control *control); /* Removes the socket.  Accepts NULL. */

/* ---- Client ---------------------------------------------------------------------- */

/*
 * Sends a command and its arguments, the NULL-terminated 'words', to the daemon at
 * 'path' and waits up to 'timeout_ns' for the reply.  Returns 0 with the document in
 * 'reply'; or with 'err' filled -ECONNREFUSED without a daemon, -ETIMEDOUT, or the
 * daemon's own error: -EINVAL, -EPERM and others.
 */
int control_ask(const char *path, const char *const *words, int64_t timeout_ns,
		struct strbuf *reply, struct err *err);

/*
 * For command lines: control_ask() at 'runtime_dir'/'daemon'.sock, for at most 5 s.
 * Prints the reply, or the error to stderr.  Returns the exit status.
 */
int control_ask_print(const char *runtime_dir, const char *daemon,
		      const char *const *words);

/* The exit status (enum cli_exit) for a negative result of control_ask(). */
int control_exit_status(int error);

#endif
