/*
 * lldp_run.c - lldpcli as a child with bounds.
 */
#include "topology/lldp_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/loop.h"
#include "topology/in_lldp.h"

/* How often a child is looked after, beside what it prints. */
#define LOOK_AFTER_NS (200 * (int64_t)1000000)

extern char **environ;

/* One run of lldpcli. */
struct child {
	pid_t pid; /* 0: none runs. */
	int fd;    /* Its output; -1: at its end. */
	int64_t until_ns;
	struct strbuf text;
	struct err why; /* Text is empty while all is well. */
};

struct lldp_run {
	struct lldp_run_opts opts;
	struct loop *loop;
	struct loop_item *on_output, *on_time; /* While a child runs. */
	struct child child;
};

/* ---- A child -------------------------------------------------------------------- */

/* Starts it with its output in 'to'; nothing else is handed down. */
static int
spawn(const struct lldp_run_opts *opts, int to, pid_t *ret_pid)
{
	const char *argv[] = { opts->program, "-f", "json0", "show", "neighbors",
			       "details",     NULL, NULL,    NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, defaults;
	int error;

	if (opts->socket) {
		memmove(argv + 3, argv + 1, 5 * sizeof *argv);
		argv[1] = "-u";
		argv[2] = opts->socket;
	}
	sigemptyset(&none);
	sigfillset(&defaults);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, to, 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	error = posix_spawnp(ret_pid, opts->program, &files, &attr, (char *const *)argv,
			     environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -error;
}

static int
child_start(struct child *child, const struct lldp_run_opts *opts, struct err *err)
{
	int fds[2];
	int r;

	*child = (struct child){ .fd = -1, .text = STRBUF_EMPTY };
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set_errno(err, NULL, errno, "a pipe");
	r = spawn(opts, fds[1], &child->pid);
	close(fds[1]);
	if (r < 0) {
		close(fds[0]);
		child->pid = 0;
		err_set(err, NULL, 0, 0, "cannot run %s: %s%s", opts->program,
			strerror(-r), r == -ENOENT ? " (is lldpd installed?)" : "");
		return r;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	child->fd = fds[0];
	child->until_ns = clk_monotonic_ns() + opts->timeout_ns;
	return 0;
}

/* Reads what is there.  Returns false when there will be no more. */
static bool
child_read(struct child *child, const struct lldp_run_opts *opts)
{
	char bytes[65536];

	for (;;) {
		ssize_t n = read(child->fd, bytes, sizeof bytes);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		if (child->text.length + (size_t)n > LLDP_MAX_BYTES) {
			err_set(&child->why, NULL, 0, 0, "%s printed more than %zu MiB",
				opts->program, LLDP_MAX_BYTES >> 20);
			return false;
		}
		strbuf_add(&child->text, bytes, (size_t)n);
	}
}

static bool
child_is_late(struct child *child, const struct lldp_run_opts *opts, int64_t now_ns)
{
	if (now_ns < child->until_ns)
		return false;
	err_set(&child->why, NULL, 0, 0, "%s did not end within %.3g s", opts->program,
		(double)opts->timeout_ns / 1e9);
	return true;
}

/*
 * Ends it, by force if it is still there, and says in 'why' what was wrong.  Its output
 * is at its end or of no more use; lldpcli itself ends right after, and a child that
 * only closed its output gets 200 ms.
 */
static void
child_end(struct child *child, const struct lldp_run_opts *opts)
{
	int status = 0;
	pid_t ended = 0;

	if (child->fd >= 0)
		close(child->fd);
	child->fd = -1;
	for (int i = 0; i < 20 && !child->why.text[0] && ended == 0; i++) {
		ended = waitpid(child->pid, &status, WNOHANG);
		if (ended == 0)
			poll(NULL, 0, 10);
	}
	if (ended != child->pid) {
		kill(-child->pid, SIGKILL);
		while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	child->pid = 0;
	if (!child->why.text[0] && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		err_set(&child->why, NULL, 0, 0,
			"%s failed: is lldpd running, and may we talk to it?",
			opts->program);
}

/* ---- In the loop ------------------------------------------------------------------ */

static void
finish(struct lldp_run *run)
{
	struct child child;

	if (run->on_output)
		loop_remove(run->loop, run->on_output);
	if (run->on_time)
		loop_remove(run->loop, run->on_time);
	run->on_output = run->on_time = NULL;
	child_end(&run->child, &run->opts);
	child = run->child;
	run->child = (struct child){ .fd = -1, .text = STRBUF_EMPTY };
	if (child.why.text[0])
		run->opts.done(run->opts.ctx, NULL, 0, &child.why);
	else
		run->opts.done(run->opts.ctx, child.text.text, child.text.length, NULL);
	strbuf_free(&child.text);
}

static void
on_output(void *ctx)
{
	struct lldp_run *run = ctx;

	if (!child_read(&run->child, &run->opts))
		finish(run);
}

static void
on_time(void *ctx, int64_t now_ns, int64_t missed)
{
	struct lldp_run *run = ctx;

	(void)missed;
	if (child_is_late(&run->child, &run->opts, now_ns))
		finish(run);
}

struct lldp_run *
lldp_run_new(struct loop *loop, const struct lldp_run_opts *opts)
{
	struct lldp_run *run = xcalloc(1, sizeof *run);

	run->loop = loop;
	run->opts = *opts;
	run->child = (struct child){ .fd = -1, .text = STRBUF_EMPTY };
	return run;
}

void
lldp_run_free(struct lldp_run *run)
{
	if (!run)
		return;
	if (run->child.pid) {
		loop_remove(run->loop, run->on_output);
		loop_remove(run->loop, run->on_time);
		err_set(&run->child.why, NULL, 0, 0, "stopped");
		child_end(&run->child, &run->opts);
	}
	strbuf_free(&run->child.text);
	free(run);
}

void
lldp_run_start(struct lldp_run *run)
{
	struct err why = { .line = 0 };

	if (run->child.pid)
		return;
	if (child_start(&run->child, &run->opts, &why) < 0) {
		run->opts.done(run->opts.ctx, NULL, 0, &why);
		return;
	}
	run->on_output = loop_fd(run->loop, run->child.fd, on_output, run);
	run->on_time = loop_every(run->loop, LOOK_AFTER_NS, on_time, run);
}

/* ---- Without one ------------------------------------------------------------------ */

int
lldp_run_once(const struct lldp_run_opts *opts, char **ret_text, size_t *ret_n,
	      struct err *err)
{
	struct child child;
	int r = child_start(&child, opts, err);

	if (r < 0)
		return r;
	while (child_read(&child, opts)) {
		struct pollfd item = { .fd = child.fd, .events = POLLIN };

		if (child_is_late(&child, opts, clk_monotonic_ns()))
			break;
		poll(&item, 1, 100);
	}
	child_end(&child, opts);
	if (child.why.text[0]) {
		if (err)
			*err = child.why;
		strbuf_free(&child.text);
		return -EIO;
	}
	*ret_n = child.text.length;
	*ret_text = strbuf_steal(&child.text);
	return 0;
}
