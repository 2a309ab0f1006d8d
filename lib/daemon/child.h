/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - another program, run from the loop with bounds.
 *
 * It gets an argument list (never a shell), nothing to read, and no descriptor of ours.
 * What it prints is gathered up to a limit; its time is limited; it is the first of a
 * process group of its own, which is killed as one when the program ends, is late or
 * prints too much.  Nothing here blocks: the loop hears of the end from the kernel.
 *
 *	const char *argv[] = { "lldpcli", "show", "neighbors", NULL };
 *	const struct child_opts opts = {
 *		.argv = argv, .timeout_ns = 5000000000, .max_bytes = 1 << 20,
 *		.done = on_neighbours, .ctx = daemon,
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

#define CHILD_MAX_SAID 4096 /* Bytes that are kept of what goes to stderr. */

/* How it ended; borrowed during done(). */
struct child_result {
	const char *text; /* What it printed on stdout, terminated. */
	size_t n;
	const char *said; /* The first of what it printed on stderr, terminated. */
	int status;       /* Exit status; -1: a signal, or it was killed by us. */
	int signal;       /* That ended it, and was not ours; 0: none. */
	/*
	 * NULL if it ended by itself with status 0.  Otherwise what was wrong, with the
	 * first line of 'said' if it has one; 'text' is then not to be trusted.
	 */
	const struct err *why;
};

struct child_opts {
	const char *const *argv; /* NULL-terminated; argv[0] by $PATH without a '/'. */
	const char *name;        /* In messages; NULL: argv[0]. */
	const char *const *envp; /* NULL-terminated; NULL: the environment of ours. */
	const char *dir;         /* Where it begins; NULL: where we are. */
	int64_t timeout_ns;
	size_t max_bytes; /* Of stdout. */
	/* Called once, when it is gone; the child is freed after it. */
	void (*done)(void *ctx, const struct child_result *result);
	void *ctx;
};

/*
 * Starts it; borrows 'opts' until this returns.  0, or -errno with 'err' filled, as
 * -ENOENT for a program that is not there; done() is not called then.
 */
int child_start(struct loop *loop, const struct child_opts *opts,
		struct child **ret_child, struct err *err);

/*
 * Kills it without done(), and waits for at most a second until it is gone.  Accepts
 * NULL.  Not for one whose done() was called.
 */
void child_free(struct child *child);

/*
 * The same without a loop: waits, and calls opts->done() before it returns.  0, or
 * -errno as child_start().
 */
int child_run(const struct child_opts *opts, struct err *err);

#endif
