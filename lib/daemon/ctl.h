/*
 * ctl.h - asking a running daemon, over a socket on this host.
 *
 * A request is one line of words; the answer is one document, text or JSON, or an
 * error.  Words are percent-encoded on the way, so they may hold any bytes but NUL.
 * A daemon answers at once, never waits for one who asks, and lets go of those
 * that are silent for CTL_IDLE_NS.  Who asks is known from the kernel
 * (SO_PEERCRED): what changes something is for root and the daemon's own user;
 * what only looks, for whoever the mode of the socket lets in.
 */
#ifndef LIB_DAEMON_CTL_H
#define LIB_DAEMON_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

struct ctl;
struct err;
struct loop;

#define CTL_MAX_REQUEST     16384
#define CTL_MAX_REPLY       (8 << 20)
#define CTL_MAX_WORDS       16
#define CTL_MAX_CONNECTIONS 16
#define CTL_IDLE_NS         INT64_C(5000000000)

struct ctl_verb {
	const char *name;            /* Of one or two words: "stats", "job add". */
	unsigned min_args, max_args; /* After the name. */
	bool is_change;              /* For root and the daemon's user alone. */
	/* Fills 'reply'; returns 0, or -errno with 'err' filled. */
	int (*run)(void *ctx, size_t n_args, char **args, struct strbuf *reply,
		   struct err *err);
};

/* A verb that all daemons have: { "log", 1, 1, true, ctl_run_log }; until the next start. */
int ctl_run_log(void *ctx, size_t n_args, char **args, struct strbuf *reply,
		struct err *err);

/*
 * Listens at 'path' with permissions 'mode'.  'verbs' ends with one without a name and
 * is borrowed.  A socket left there by a daemon that is no more is replaced; one that
 * answers is -EADDRINUSE.  0, or -errno with 'err' filled.
 */
int ctl_open(struct loop *loop, const char *path, unsigned mode,
	     const struct ctl_verb *verbs, void *ctx, struct ctl **ret_ctl,
	     struct err *err);
void ctl_close(struct ctl *ctl); /* Removes the socket.  Accepts NULL. */

/*
 * Asks the daemon at 'path', and waits for the answer for 'timeout_ns' at most.
 * 'words' ends with NULL.  0, and 'reply' has the document; -ECONNREFUSED if nobody is
 * there; -ETIMEDOUT; or the daemon's own error, with 'err' filled.
 */
int ctl_ask(const char *path, const char *const *words, int64_t timeout_ns,
	    struct strbuf *reply, struct err *err);

/*
 * For command lines: asks the daemon whose socket is 'runtime_dir'/'daemon'.sock, for 5 s
 * at most, and prints its answer, or on stderr what is wrong.  Returns the exit status.
 */
int ctl_ask_print(const char *runtime_dir, const char *daemon,
		  const char *const *words);

/* Whether somebody listens there; false only if surely nobody does.  Never waits. */
bool ctl_is_answered(const char *path);

/* The exit status (enum cli_exit) for a negative result of ctl_ask(). */
int ctl_exit_status(int error);

#endif
