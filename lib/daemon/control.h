/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - requests to a running daemon of this host: HTTP over its Unix socket.
 *
 * A daemon has commands of one or two words, with arguments, and serves them at
 * RUNTIME_DIR/NAME.sock:
 *
 *	GET  /control/commands      all commands: antiphase.control_commands/1
 *	GET  /control/job/list      runs a command that only looks
 *	POST /control/job/add       runs any command; the body is a JSON array of its
 *	                            arguments: ["4711", "/system.slice/train.service"]
 *
 * The words of the path and then those of the body are the command and its arguments,
 * however they are divided: "POST /control/log/dbg", or "POST /control" with
 * ["log", "dbg"].  The answer is a document, text or JSON, with status 200; or an error
 * as http_reply_error() writes it, with 400 (usage), 403 (permission), 404, 409, 413, 501,
 * 507 (no room) or 500.
 *
 * The mode of the socket (HTTP_SOCKET_MODE) limits who can connect.  A command that changes
 * something is for root and the daemon's own user only: the kernel names the user
 * (SO_PEERCRED).
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
	const char *name;            /* Of one or two words: "stats", "job add". */
	const char *arguments;       /* As usage shows them: "NAME CGROUP"; "": none. */
	unsigned min_args, max_args; /* After the name. */
	bool is_change;              /* For root and the daemon's user alone. */
	/* Fills 'reply'; returns 0, or -errno with 'err' filled. */
	int (*run)(void *ctx, size_t n_args, char **args, struct strbuf *reply,
		   struct err *err);
};

/*
 * Serves 'commands', which end with one without a name and are borrowed, at the socket
 * 'path'; every daemon has "commands" and "log LEVEL" (until the next start) besides.  Returns 0, or
 * -errno with 'err' filled, as http_open().
 */
int control_open(struct loop *loop, const char *path,
		 const struct control_command *commands, void *ctx,
		 struct control **ret_control, struct err *err);
void control_close(struct control *control); /* Removes the socket.  Accepts NULL. */

/* ---- Asking ------------------------------------------------------------------------- */

/*
 * Asks the daemon at 'path', and waits for the answer for 'timeout_ns' at most.
 * 'words' are the command and its arguments, and end with NULL.  Returns 0, and 'reply'
 * has the document; -ECONNREFUSED if no daemon is there; -ETIMEDOUT; -EINVAL, -EPERM and
 * others for the daemon's own error; with 'err' filled.
 */
int control_ask(const char *path, const char *const *words, int64_t timeout_ns,
		struct strbuf *reply, struct err *err);

/*
 * For command lines: asks the daemon whose socket is 'runtime_dir'/'daemon'.sock, for 5 s
 * at most, and prints its answer, or on stderr what is wrong.  Returns the exit status.
 */
int control_ask_print(const char *runtime_dir, const char *daemon,
		      const char *const *words);

/* The exit status (enum cli_exit) for a negative result of control_ask(). */
int control_exit_status(int error);

#endif
