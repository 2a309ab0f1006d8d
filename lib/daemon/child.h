/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - child processes with limits on time and output, run from the loop.
 *
 * A child gets an argument list (never a shell), an empty input and none of our
 * descriptors.  Its output is collected up to a limit.  It leads a process group of its
 * own, which is killed when the child ends, exceeds its time or prints too much.
 * Nothing here blocks: the kernel reports the end to the loop.
 *
 *	const char *argv[] = { "lldpcli", "show", "neighbors", NULL };
 *	const struct child_opts opts = {
 *		.argv = argv, .timeout_ns = 5000000000, .max_bytes = 1 << 20,
 *		.done = on_neighbors, .ctx = daemon,
 *	};
 *
 *	r = child_start(loop, &opts, &daemon->child, &err);
 */
#ifndef LIB_DAEMON_CHILD_H
#define LIB_DAEMON_CHILD_H

#include <stddef.h>
#include <stdint.h>

struct child;
struct err;
struct loop;

#define CHILD_MAX_SAID 4096 /* Bytes of stderr that are kept. */

/* How the child ended; borrowed during done(). */
struct child_result {
	const char *text; /* Its stdout, terminated. */
	size_t n;
	const char *said; /* The start of its stderr, terminated. */
	int status;       /* Exit status; -1: ended by a signal or killed by us. */
	int signal;       /* The signal that ended it, if not sent by us; else 0. */
	/*
	 * NULL if it ended by itself with status 0.  Otherwise the error, with the
	 * first line of 'said' if there is one; then do not use 'text'.
	 */
	const struct err *why;
};

struct child_opts {
	const char *const *argv; /* NULL-terminated; argv[0] by $PATH if without '/'. */
	const char *name;        /* For messages; NULL: argv[0]. */
	const char *const *envp; /* NULL-terminated; NULL: our environment. */
	const char *dir;         /* Working directory; NULL: ours. */
	int64_t timeout_ns;
	size_t max_bytes; /* Of stdout. */
	/* Called once, after the child has ended; then the child is freed. */
	void (*done)(void *ctx, const struct child_result *result);
	void *ctx;
};

/*
 * Starts a child; borrows 'opts' until this returns.  Returns 0, or -errno with 'err'
 * filled, such as -ENOENT for a missing program; then done() is not called.
 */
int child_start(struct loop *loop, const struct child_opts *opts,
		struct child **ret_child, struct err *err);

/*
 * Kills a child without calling done(), and waits up to a second for its end.  Accepts
 * NULL.  Invalid once done() was called.
 */
void child_free(struct child *child);

/*
 * As child_start(), but without a loop: waits for the end and calls opts->done() before
 * it returns.
 */
int child_run(const struct child_opts *opts, struct err *err);

#endif
