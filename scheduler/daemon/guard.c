/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c - the daemon's side of its guardian: starts it, and restarts it when it ends.
 */
#include "scheduler/daemon/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/log.h"
#include "lib/daemon/loop.h"
#include "lib/daemon/spawn.h"

#define DEFAULT_AGAIN_NS INT64_C(10000000000)
#define ITSELF           "/proc/self/exe"
#define WAIT_MS          1000 /* For the end of one that has nothing to undo. */

struct guard {
	struct loop *loop;
	char *program, *socket, *bindir; /* Owned. */
	int64_t again_ns, started_ns;    /* The last start; 0: none. */
	pid_t pid;                       /* 0: there is none. */
	int pidfd, pipe; /* -1: none. The guardian waits for the end of the pipe. */
	struct loop_item *on_exit;  /* NULL: none. */
	struct loop_item *on_again; /* NULL: no restart is due. */
	struct log_limit said;
};

struct guard *
guard_new(struct loop *loop, const struct guard_opts *opts)
{
	struct guard *guard = xcalloc(1, sizeof *guard);

	*guard = (struct guard){
		.loop = loop,
		.program = xstrdup(opts->program ? opts->program : ITSELF),
		.socket = xstrdup(opts->socket),
		.bindir = xstrdup(opts->bindir),
		.again_ns = opts->again_ns ? opts->again_ns : DEFAULT_AGAIN_NS,
		.pidfd = -1,
		.pipe = -1,
	};
	return guard;
}

/* ---- Starting it --------------------------------------------------------------------- */

/* Gives the child 'from' as standard input, and of our files only the log. */
static int
spawn(const struct guard *guard, int from, pid_t *ret_pid)
{
	const char *argv[] = { GUARD_NAME, guard->socket, guard->bindir, NULL };
	const struct spawn_opts opts = {
		.program = guard->program,
		.argv = argv,
		.fds = { from, SPAWN_NULL, STDERR_FILENO },
		.of = SPAWN_SESSION,
	};

	return spawn_start(&opts, ret_pid);
}

/* Tells the guardian that it is not needed; it may be gone. */
static void
say_last_word(int pipe)
{
	if (write(pipe, ".", 1) < 0)
		log_dbg("guard", "the guardian is gone");
}

/* Waits for one that ends; returns its status. */
static int
reap(struct guard *guard)
{
	int status = 0;

	while (guard->pid && waitpid(guard->pid, &status, 0) < 0 && errno == EINTR)
		;
	guard->pid = 0;
	return status;
}

static int
try_to_start(struct guard *guard)
{
	int fds[2], rc;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	rc = spawn(guard, fds[0], &guard->pid);
	if (rc < 0)
		guard->pid = 0;
	close(fds[0]);
	if (rc == 0) {
		guard->pidfd = pidfd_open(guard->pid, 0);
		rc = guard->pidfd < 0 ? -errno : 0;
	}
	if (rc < 0) {
		if (guard->pid)
			say_last_word(fds[1]);
		close(fds[1]);
		reap(guard);
		return rc;
	}
	guard->pipe = fds[1];
	return 0;
}

static void on_exit_of(void *ctx);

void
guard_start(struct guard *guard)
{
	int64_t now_ns = clk_monotonic_ns();
	int rc;

	if (guard->pid ||
	    (guard->started_ns && now_ns - guard->started_ns < guard->again_ns))
		return;
	guard->started_ns = now_ns;
	rc = try_to_start(guard);
	if (rc < 0)
		log_limited(
			&guard->said, now_ns, LOG_LEVEL_WARN, "guard",
			"no guardian can be started (%s): if this daemon is killed, "
			"what it pinned stays so until it is started again",
			strerror(-rc));
	else
		guard->on_exit = loop_fd(guard->loop, guard->pidfd, on_exit_of, guard);
}

/* ---- Ending it ----------------------------------------------------------------------- */

static void
drop(struct guard *guard, struct loop_item **item)
{
	if (*item)
		loop_remove(guard->loop, *item);
	*item = NULL;
}

static void
let_go(struct guard *guard)
{
	drop(guard, &guard->on_exit);
	if (guard->pipe >= 0)
		close(guard->pipe);
	if (guard->pidfd >= 0)
		close(guard->pidfd);
	guard->pipe = guard->pidfd = -1;
	guard->pid = 0;
}

static void
on_again(void *ctx, int64_t now_ns, int64_t missed)
{
	struct guard *guard = ctx;

	(void)now_ns;
	(void)missed;
	guard_start(guard);
	if (guard->pid)
		drop(guard, &guard->on_again);
}

static void
on_exit_of(void *ctx)
{
	struct guard *guard = ctx;
	int status = reap(guard);

	log_limited(&guard->said, clk_monotonic_ns(), LOG_LEVEL_WARN, "guard",
		    "the guardian has ended (%s %d); another one is started",
		    WIFSIGNALED(status) ? "signal" : "status",
		    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	let_go(guard);
	guard_start(guard);
	if (!guard->pid && !guard->on_again)
		guard->on_again =
			loop_every(guard->loop, guard->again_ns, on_again, guard);
}

void
guard_free(struct guard *guard, bool is_undone)
{
	if (!guard)
		return;
	if (guard->pid && is_undone) {
		struct pollfd item = { .fd = guard->pidfd, .events = POLLIN };

		say_last_word(guard->pipe);
		close(guard->pipe);
		guard->pipe = -1;
		if (poll(&item, 1, WAIT_MS) == 1)
			reap(guard);
	}
	let_go(guard);
	drop(guard, &guard->on_again);
	free(guard->program);
	free(guard->socket);
	free(guard->bindir);
	free(guard);
}
