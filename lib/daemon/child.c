/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c - child processes with limits on time and output, run from the loop.
 *
 * A pidfd reports the end of a child.  The end of its output does not: it may close its
 * output early, or its own children may hold it open.
 */
#include "lib/daemon/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/spawn.h"

/* How often a child's time limit is checked. */
#define LOOK_AFTER_NS (100 * (int64_t)1000000)

enum stream {
	STREAM_OUT,
	STREAM_ERR,
	N_STREAMS,
};

struct child {
	struct child_opts opts; /* Without argv, envp and dir. */
	char *name;             /* Owned.  For messages. */
	struct loop *loop;      /* NULL: run by child_run(). */
	struct loop_item *on_read[N_STREAMS], *on_exit, *on_time; /* NULL: removed. */
	pid_t pid;
	int pidfd;
	int fds[N_STREAMS]; /* -1: closed at its end. */
	int64_t until_ns;
	struct strbuf texts[N_STREAMS];
	bool is_killed;
	struct err why; /* The text is empty without an error. */
};

/* ---- Starting -------------------------------------------------------------------- */

static int
spawn(const struct child_opts *opts, const int to[N_STREAMS], pid_t *ret_pid)
{
	const struct spawn_opts spawned = {
		.program = opts->argv[0],
		.argv = opts->argv,
		.envp = opts->envp,
		.dir = opts->dir,
		.fds = { SPAWN_NULL, to[STREAM_OUT], to[STREAM_ERR] },
		.of = SPAWN_GROUP,
	};

	return spawn_start(&spawned, ret_pid);
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Opens two pipes; our ends are nonblocking. */
static int
open_pipes(struct child *child, int to[N_STREAMS])
{
	for (int i = 0; i < N_STREAMS; i++) {
		int fds[2];

		if (pipe2(fds, O_CLOEXEC) < 0)
			return -errno;
		fcntl(fds[0], F_SETFL, O_NONBLOCK);
		child->fds[i] = fds[0];
		to[i] = fds[1];
	}
	return 0;
}

static void
free_child(struct child *child)
{
	for (int i = 0; i < N_STREAMS; i++) {
		close_fd(&child->fds[i]);
		strbuf_free(&child->texts[i]);
	}
	close_fd(&child->pidfd);
	free(child->name);
	free(child);
}

/* As child_start(), but does not add the child to the loop. */
static int
new_child(const struct child_opts *opts, struct child **ret_child, struct err *err)
{
	struct child *child = xcalloc(1, sizeof *child);
	int to[N_STREAMS] = { -1, -1 };
	int r;

	*child = (struct child){ .opts = *opts,
				 .name = xstrdup(opts->name ? opts->name
							    : opts->argv[0]),
				 .pidfd = -1,
				 .fds = { -1, -1 },
				 .texts = { STRBUF_EMPTY, STRBUF_EMPTY } };
	child->opts.argv = child->opts.envp = NULL;
	child->opts.dir = NULL;
	r = open_pipes(child, to);
	if (r == 0)
		r = spawn(opts, to, &child->pid);
	close_fd(&to[STREAM_OUT]);
	close_fd(&to[STREAM_ERR]);
	if (r == 0) {
		child->pidfd = pidfd_open(child->pid, 0);
		if (child->pidfd < 0) {
			r = -errno;
			kill(-child->pid, SIGKILL);
			waitpid(child->pid, NULL, 0);
		}
	}
	if (r < 0) {
		err_set(err, NULL, 0, 0, "cannot run %s: %s%s", child->name,
			strerror(-r), r == -ENOENT ? " (is it installed?)" : "");
		free_child(child);
		return r;
	}
	child->until_ns = clk_monotonic_ns() + opts->timeout_ns;
	*ret_child = child;
	return 0;
}

/* ---- While it runs --------------------------------------------------------------- */

static void
kill_child(struct child *child)
{
	if (!child->is_killed)
		kill(-child->pid, SIGKILL);
	child->is_killed = true;
}

/* Keeps output up to the limit; then drops stderr, or kills the child for stdout. */
static void
take(struct child *child, enum stream stream, const char *bytes, size_t n)
{
	struct strbuf *text = &child->texts[stream];
	bool is_mib = child->opts.max_bytes % (1 << 20) == 0;

	if (stream == STREAM_ERR) {
		if (n > CHILD_MAX_SAID - text->length)
			n = CHILD_MAX_SAID - text->length;
	} else if (n > child->opts.max_bytes - text->length) {
		if (!child->why.text[0])
			err_set(&child->why, NULL, 0, 0, "%s printed more than %zu %s",
				child->name,
				child->opts.max_bytes >> (is_mib ? 20 : 10),
				is_mib ? "MiB" : "KiB");
		kill_child(child);
		return;
	}
	strbuf_add(text, bytes, n);
}

/*
 * Reads what is available, but at most 1 MiB, so that a child that prints without end
 * does not block the loop.  Returns false if there will be no more.
 */
static bool
read_stream(struct child *child, enum stream stream)
{
	char bytes[65536];

	for (int i = 0; i < 16; i++) {
		ssize_t n = read(child->fds[stream], bytes, sizeof bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0)
			return false;
		take(child, stream, bytes, (size_t)n);
		if (child->is_killed)
			return false;
	}
	return true;
}

static void
check_time(struct child *child, int64_t now_ns)
{
	if (child->is_killed || now_ns < child->until_ns)
		return;
	err_set(&child->why, NULL, 0, 0, "%s did not end within %.3g s", child->name,
		(double)child->opts.timeout_ns / 1e9);
	kill_child(child);
}

/* Whether the child has ended; never waits. */
static bool
is_gone(const struct child *child)
{
	struct pollfd item = { .fd = child->pidfd, .events = POLLIN };

	return poll(&item, 1, 0) == 1;
}

/* Fills 'why' with one line: how the child ended, and the first line of its stderr. */
static void
explain(struct child *child, int status)
{
	const char *said = child->texts[STREAM_ERR].text;
	size_t n;

	if (child->why.text[0] || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return;
	if (WIFSIGNALED(status))
		err_set(&child->why, NULL, 0, 0, "%s was killed by signal %d",
			child->name, WTERMSIG(status));
	else
		err_set(&child->why, NULL, 0, 0, "%s failed with status %d",
			child->name, WEXITSTATUS(status));
	said += strspn(said, "\n ");
	n = strcspn(said, "\n");
	if (n)
		err_append(&child->why, ": %.*s", n > 300 ? 300 : (int)n, said);
}

/* After the end: reads the rest of the output, kills the group, and calls done(). */
static void
finish(struct child *child)
{
	struct child_result result;
	int status = 0;

	for (int i = 0; i < N_STREAMS; i++) {
		/* Reads more than a pipe holds; its own children may still write. */
		if (child->fds[i] >= 0)
			read_stream(child, (enum stream)i);
	}
	/* Before waitpid() frees the number, which another group could then have. */
	kill(-child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	explain(child, status);
	result = (struct child_result){
		.text = child->texts[STREAM_OUT].text,
		.n = child->texts[STREAM_OUT].length,
		.said = child->texts[STREAM_ERR].text,
		.status = WIFEXITED(status) && !child->is_killed ? WEXITSTATUS(status)
								 : -1,
		.signal =
			WIFSIGNALED(status) && !child->is_killed ? WTERMSIG(status) : 0,
		.why = child->why.text[0] ? &child->why : NULL,
	};
	child->opts.done(child->opts.ctx, &result);
	free_child(child);
}

/* ---- In the loop ----------------------------------------------------------------- */

static void
drop(struct child *child, struct loop_item **item)
{
	if (*item)
		loop_remove(child->loop, *item);
	*item = NULL;
}

static void
leave_loop(struct child *child)
{
	for (int i = 0; i < N_STREAMS; i++)
		drop(child, &child->on_read[i]);
	drop(child, &child->on_exit);
	drop(child, &child->on_time);
}

static void
on_stream(struct child *child, enum stream stream)
{
	loop_part(child->loop, "child");
	if (read_stream(child, stream))
		return;
	drop(child, &child->on_read[stream]);
	close_fd(&child->fds[stream]);
}

static void
on_out(void *ctx)
{
	on_stream(ctx, STREAM_OUT);
}

static void
on_err(void *ctx)
{
	on_stream(ctx, STREAM_ERR);
}

static void
on_exit_of(void *ctx)
{
	struct child *child = ctx;

	loop_part(child->loop, "child");
	leave_loop(child);
	finish(child);
}

static void
on_time(void *ctx, int64_t now_ns, int64_t missed)
{
	(void)missed;
	check_time(ctx, now_ns);
}

int
child_start(struct loop *loop, const struct child_opts *opts, struct child **ret_child,
	    struct err *err)
{
	struct child *child;
	int r = new_child(opts, &child, err);

	if (r < 0)
		return r;
	child->loop = loop;
	child->on_read[STREAM_OUT] =
		loop_fd(loop, child->fds[STREAM_OUT], on_out, child);
	child->on_read[STREAM_ERR] =
		loop_fd(loop, child->fds[STREAM_ERR], on_err, child);
	child->on_exit = loop_fd(loop, child->pidfd, on_exit_of, child);
	child->on_time = loop_every(loop, LOOK_AFTER_NS, on_time, child);
	*ret_child = child;
	return 0;
}

void
child_free(struct child *child)
{
	struct pollfd item;

	if (!child)
		return;
	leave_loop(child);
	kill_child(child);
	/* A child that the kernel cannot end by then is left to init. */
	item = (struct pollfd){ .fd = child->pidfd, .events = POLLIN };
	if (poll(&item, 1, 1000) == 1)
		waitpid(child->pid, NULL, 0);
	free_child(child);
}

/* ---- Without a loop -------------------------------------------------------------- */

int
child_run(const struct child_opts *opts, struct err *err)
{
	struct child *child;
	int r = new_child(opts, &child, err);

	if (r < 0)
		return r;
	while (!is_gone(child)) {
		/* poll() ignores negative descriptors. */
		struct pollfd items[] = {
			{ .fd = child->fds[STREAM_OUT], .events = POLLIN },
			{ .fd = child->fds[STREAM_ERR], .events = POLLIN },
			{ .fd = child->pidfd, .events = POLLIN },
		};

		poll(items, 3, (int)(LOOK_AFTER_NS / 1000000));
		for (int i = 0; i < N_STREAMS; i++) {
			if (items[i].revents && !read_stream(child, (enum stream)i))
				close_fd(&child->fds[i]);
		}
		check_time(child, clk_monotonic_ns());
	}
	finish(child);
	return 0;
}
