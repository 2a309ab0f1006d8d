/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_run.h - one request to a daemon: its words, the command, and the permission
 *
 * control.h receives requests over HTTP and sends replies; this module has neither
 * sockets nor users of the system, so that tests hand in any text.
 */
#ifndef LIB_DAEMON_CONTROL_RUN_H
#define LIB_DAEMON_CONTROL_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/daemon/control.h"

struct control_request {
	const char *method; /* "GET", "HEAD" or "POST". */
	const char *words;  /* Of the path: "job/add"; "": none. */
	const char *body;   /* A JSON array of the other words; terminated. */
	size_t n_body;      /* 0: no body. */
	uid_t user;         /* For messages. */
	bool may_change;    /* The user may run commands that change something. */
};

/*
 * Runs the command of the request, one of 'commands' with 'ctx' or one of those that
 * control_open() adds.  Returns 0 with 'reply' filled, or -errno with 'err' filled:
 * -EINVAL for words or a body that are no command, -EPERM, -EFBIG for a long reply, or
 * the error of the command; 'reply' may then have a part of the answer.
 */
int control_run(const struct control_command *commands, void *ctx,
		const struct control_request *request, struct strbuf *reply,
		struct err *err);

#endif
