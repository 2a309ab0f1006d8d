/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_guard.c - the guardian takes back pins when its daemon is gone and only then,
 * and the daemon has a guardian; tests/net/scheduler_killed.sh uses a real Slurm
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/daemon/loop.h"
#include "scheduler/daemon/guard.h"
#include "tests/unit/slurm_scripts.h"

#define MS INT64_C(1000000)

#define WAITS(id, required, eligible, record)                                        \
	id "@" id "@PENDING@2@@None@1@" required "@(null)@train@u@" eligible "@N/A@" \
	   "0@1@(null)@antiphase:v1;" record "@@name@\n"
#define JOBS                                           \
	WAITS("11", "", "2099-01-01T00:00:00", "gate") \
	WAITS("12", "n[1-2]", "N/A", "pinned")         \
	WAITS("13", "n[1-2]", "N/A", "pinned")
#define RELEASED                                                            \
	"update jobid=12 ReqNodeList= AdminComment=antiphase:v1;released\n" \
	"update jobid=13 ReqNodeList= AdminComment=antiphase:v1;released\n"

/* A guardian, and scripts in place of Slurm's commands. */
struct lab {
	char dir[64], socket[96];
	pid_t pid;
	int pipe; /* The daemon's end. */
};

static char *
text_of(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name), *text = NULL;
	size_t n;

	if (file_read(path, 1 << 16, &text, &n, NULL) < 0)
		text = NULL;
	free(path);
	return text;
}

static void
make_folder(struct lab *lab)
{
	snprintf(lab->dir, sizeof lab->dir, "/tmp/apguard-XXXXXX");
	assert_non_null(mkdtemp(lab->dir));
	snprintf(lab->socket, sizeof lab->socket, "%s/socket", lab->dir);
}

/* From the time it has its name, it ignores signals. */
static bool
is_named(pid_t pid)
{
	char dir[64], *name;
	bool is_so;

	snprintf(dir, sizeof dir, "/proc/%d", pid);
	name = text_of(dir, "comm");
	is_so = name && strcmp(name, GUARD_NAME "\n") == 0;
	free(name);
	return is_so;
}

static void
set_up(struct lab *lab)
{
	char *argv[] = { (char[]){ GUARD_NAME }, lab->socket, lab->dir, NULL };
	int fds[2];

	make_folder(lab);
	scripts_put(lab->dir, "squeue", SCRIPTS_SQUEUE);
	scripts_put(lab->dir, "sinfo", SCRIPTS_SINFO_ONE_NODE);
	scripts_put(lab->dir, "scontrol", SCRIPTS_SCONTROL_STARTS);
	scripts_put(lab->dir, "jobs", JOBS);
	assert_true(guard_is_called(3, argv));
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	lab->pid = fork();
	if (lab->pid == 0) {
		dup2(fds[0], STDIN_FILENO);
		close(fds[0]);
		close(fds[1]);
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		_exit(guard_main(3, argv));
	}
	close(fds[0]);
	lab->pipe = fds[1];
	while (!is_named(lab->pid))
		usleep(1000);
}

/* Ends the daemon, then waits for the guardian. */
static void
daemon_ends(struct lab *lab, const char *wanted)
{
	char *sent;
	int status;

	close(lab->pipe);
	assert_int_equal(waitpid(lab->pid, &status, 0), lab->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	sent = scripts_sent(lab->dir);
	assert_string_equal(sent, wanted);
	free(sent);
}

static void
tear_down(struct lab *lab)
{
	unlink(lab->socket);
	scripts_remove(lab->dir);
}

static void
pins_of_a_daemon_that_is_gone_are_taken_back(void **state)
{
	struct lab lab;

	(void)state;
	set_up(&lab);
	daemon_ends(&lab, RELEASED);
	tear_down(&lab);
}

static void
nothing_is_done_after_its_last_word(void **state)
{
	struct lab lab;

	(void)state;
	set_up(&lab);
	assert_int_equal(write(lab.pipe, ".", 1), 1);
	daemon_ends(&lab, "");
	tear_down(&lab);
}

static void
what_ends_the_daemon_does_not_end_its_guardian(void **state)
{
	struct lab lab;

	(void)state;
	set_up(&lab);
	kill(lab.pid, SIGTERM);
	kill(lab.pid, SIGINT);
	kill(lab.pid, SIGHUP);
	daemon_ends(&lab, RELEASED);
	tear_down(&lab);
}

/* Binds 'path' as a daemon does; returns the listener. */
static int
listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void
what_a_new_daemon_looks_after_is_left_to_it(void **state)
{
	struct lab lab;
	int fd;

	(void)state;
	set_up(&lab);
	fd = listen_at(lab.socket);
	daemon_ends(&lab, "");
	close(fd);
	tear_down(&lab);
}

static void
the_socket_of_a_dead_daemon_is_nobody(void **state)
{
	struct lab lab;

	(void)state;
	set_up(&lab);
	close(listen_at(lab.socket));
	daemon_ends(&lab, RELEASED);
	tear_down(&lab);
}

static void
only_the_daemon_starts_one(void **state)
{
	char *other[] = { (char[]){ "antiphase-scheduler" }, NULL };
	char *bare[] = { (char[]){ GUARD_NAME }, NULL };

	(void)state;
	assert_false(guard_is_called(1, other));
	assert_false(guard_is_called(0, other + 1));
	assert_int_equal(guard_main(1, bare), 2);
}

/* ---- The daemon's side ----------------------------------------------------------- */

/* Replaces the guardian: records its arguments, then its input. */
#define STAND_IN                                                               \
	"#!/bin/sh\n"                                                          \
	"d=${0%/*}\n"                                                          \
	"echo \"$1 $2\" >\"$d/args\"\n"                                        \
	"for f in 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$f ] || echo $f; done " \
	">\"$d/open\"\n"                                                       \
	"cut -d ' ' -f 6 /proc/$$/stat >\"$d/session\"\n"                      \
	"echo $$ >\"$d/pid.new\"; mv \"$d/pid.new\" \"$d/pid\"\n"              \
	"read -r word; echo \"$word\" >\"$d/word.new\"; mv \"$d/word.new\" \"$d/word\"\n"

struct side {
	struct lab lab;
	struct loop *loop;
	struct guard *guard;
	const char *awaited;
	char *found; /* Owned; the text that was awaited. */
};

static void
side_begin(struct side *side, const char *script)
{
	struct guard_opts opts = { .bindir = "/slurm/bin", .again_ns = 20 * MS };
	char program[96];

	make_folder(&side->lab);
	if (script)
		scripts_put(side->lab.dir, "guard", script);
	snprintf(program, sizeof program, "%s/guard", side->lab.dir);
	opts.program = program;
	opts.socket = side->lab.socket;
	signal(SIGPIPE, SIG_IGN);
	side->loop = loop_new();
	side->guard = guard_new(side->loop, &opts);
}

static void
on_look(void *ctx, int64_t now_ns, int64_t missed)
{
	struct side *side = ctx;

	(void)now_ns;
	(void)missed;
	side->found = text_of(side->lab.dir, side->awaited);
	if (side->found)
		loop_stop(side->loop, 0);
}

/* Waits for a file; returns its text, a new string, and removes the file. */
static char *
side_await(struct side *side, const char *name)
{
	struct loop_item *look = loop_every(side->loop, 5 * MS, on_look, side);
	char *path = xasprintf("%s/%s", side->lab.dir, name);

	side->awaited = name;
	loop_run(side->loop);
	loop_remove(side->loop, look);
	unlink(path);
	free(path);
	return side->found;
}

static void
side_end(struct side *side)
{
	char *command = xasprintf("rm -rf %s", side->lab.dir);

	loop_free(side->loop);
	assert_int_equal(system(command), 0);
	free(command);
}

static void
assert_text(struct side *side, const char *name, const char *wanted)
{
	char *text = side_await(side, name);

	assert_string_equal(text, wanted);
	free(text);
}

static void
it_has_a_pipe_and_a_session_and_nothing_else(void **state)
{
	struct side side;
	char *pid, *args;
	int extra = dup(STDIN_FILENO); /* A descriptor that is not closed at exec. */

	(void)state;
	side_begin(&side, STAND_IN);
	guard_start(side.guard);
	guard_start(side.guard);
	pid = side_await(&side, "pid");
	args = xasprintf("%s /slurm/bin\n", side.lab.socket);
	assert_text(&side, "args", args);
	assert_text(&side, "session", pid);
	assert_text(&side, "open", "");
	free(args);
	free(pid);
	guard_free(side.guard, true);
	assert_text(&side, "word", ".\n");
	close(extra);
	side_end(&side);
}

static void
without_a_last_word_it_reads_the_end(void **state)
{
	struct side side;

	(void)state;
	side_begin(&side, STAND_IN);
	guard_start(side.guard);
	free(side_await(&side, "pid"));
	guard_free(side.guard, false);
	assert_text(&side, "word", "\n");
	side_end(&side);
}

static void
one_that_was_killed_is_started_again(void **state)
{
	struct side side;
	char *first, *second;

	(void)state;
	side_begin(&side, STAND_IN);
	guard_start(side.guard);
	first = side_await(&side, "pid");
	kill(atoi(first), SIGKILL);
	second = side_await(&side, "pid");
	assert_string_not_equal(first, second);
	free(first);
	free(second);
	guard_free(side.guard, true);
	assert_text(&side, "word", ".\n");
	side_end(&side);
}

static void
one_that_cannot_be_started_hinders_nobody(void **state)
{
	struct side side;

	(void)state;
	side_begin(&side, NULL);
	guard_start(side.guard);
	guard_free(side.guard, true);
	guard_free(NULL, false);
	side_end(&side);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pins_of_a_daemon_that_is_gone_are_taken_back),
		cmocka_unit_test(nothing_is_done_after_its_last_word),
		cmocka_unit_test(what_ends_the_daemon_does_not_end_its_guardian),
		cmocka_unit_test(what_a_new_daemon_looks_after_is_left_to_it),
		cmocka_unit_test(the_socket_of_a_dead_daemon_is_nobody),
		cmocka_unit_test(only_the_daemon_starts_one),
		cmocka_unit_test(it_has_a_pipe_and_a_session_and_nothing_else),
		cmocka_unit_test(without_a_last_word_it_reads_the_end),
		cmocka_unit_test(one_that_was_killed_is_started_again),
		cmocka_unit_test(one_that_cannot_be_started_hinders_nobody),
	};

	return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
