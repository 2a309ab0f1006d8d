/* SPDX-License-Identifier: Apache-2.0 */
/* test_spawn.c - what a started program inherits */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/daemon/spawn.h"
#include "tests/unit/test.h"

/* Its stderr is ours. */
static pid_t
start(const char *script, int in, int out, enum spawn_of of)
{
	const char *argv[] = { "a-name", "-c", script, NULL };
	const struct spawn_opts opts = {
		.program = "sh",
		.argv = argv,
		.fds = { in, out, STDERR_FILENO },
		.of = of,
	};
	pid_t pid = -1;

	assert_int_equal(spawn_start(&opts, &pid), 0);
	assert_true(pid > 0);
	return pid;
}

static int
status_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return status;
}

static void
it_has_the_descriptors_that_it_was_given_and_no_others(void **state)
{
	int in[2], out[2];
	char text[64];
	ssize_t n;
	pid_t pid;

	(void)state;
	/* Descriptors without close-on-exec; the program must not get them. */
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	pid = start("cat; echo $0 $(ls /proc/self/fd)", in[0], out[1], SPAWN_GROUP);
	assert_int_equal(write(in[1], "read ", 5), 5);
	close(in[0]);
	close(in[1]);
	close(out[1]);
	assert_int_equal(status_of(pid), 0);
	n = read(out[0], text, sizeof text - 1);
	assert_true(n > 0);
	text[n] = '\0';
	/* The last one is the descriptor of the folder itself. */
	assert_string_equal(text, "read a-name 0 1 2 3\n");
	close(out[0]);
}

static void
in_place_of_a_descriptor_there_may_be_nothing(void **state)
{
	pid_t pid = start("[ -z \"$(cat)\" ] && echo more && "
			  "[ /proc/self/fd/1 -ef /dev/null ] && exit 7",
			  SPAWN_NULL, SPAWN_NULL, SPAWN_GROUP);
	int status = status_of(pid);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
}

static void
no_signal_is_blocked_or_ignored_in_it(void **state)
{
	sigset_t blocked, before;
	int status;

	(void)state;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	signal(SIGPIPE, SIG_IGN);
	status = status_of(start("kill -USR1 $$", SPAWN_NULL, SPAWN_NULL, SPAWN_GROUP));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGUSR1);
	status = status_of(
		start("kill -PIPE $$", SPAWN_NULL, SPAWN_NULL, SPAWN_SESSION));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGPIPE);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void
it_is_the_first_of_a_group_or_of_a_session(void **state)
{
	pid_t first = start("exit", SPAWN_NULL, SPAWN_NULL, SPAWN_GROUP);
	pid_t second = start("exit", SPAWN_NULL, SPAWN_NULL, SPAWN_SESSION);

	(void)state;
	/* Also for a child that has ended, until it is reaped. */
	assert_int_equal(getpgid(first), first);
	assert_int_equal(getsid(first), getsid(0));
	assert_int_equal(getpgid(second), second);
	assert_int_equal(getsid(second), second);
	status_of(first);
	status_of(second);
}

static void
the_environment_may_be_another_one(void **state)
{
	static const char *const envp[] = { "ONLY=this", NULL };
	const char *argv[] = { "sh", "-c", "[ $ONLY = this ] && exit 5", NULL };
	const struct spawn_opts opts = {
		.program = "/bin/sh",
		.argv = argv,
		.envp = envp,
		.fds = { SPAWN_NULL, SPAWN_NULL, STDERR_FILENO },
	};
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(spawn_start(&opts, &pid), 0);
	status = status_of(pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 5);
}

static void
what_is_not_there_is_an_error_at_once(void **state)
{
	const char *argv[] = { "antiphase-no-such-program", NULL };
	const struct spawn_opts opts = {
		.program = argv[0],
		.argv = argv,
		.fds = { SPAWN_NULL, SPAWN_NULL, SPAWN_NULL },
	};
	pid_t pid;

	(void)state;
	assert_int_equal(spawn_start(&opts, &pid), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			it_has_the_descriptors_that_it_was_given_and_no_others),
		cmocka_unit_test(in_place_of_a_descriptor_there_may_be_nothing),
		cmocka_unit_test(no_signal_is_blocked_or_ignored_in_it),
		cmocka_unit_test(it_is_the_first_of_a_group_or_of_a_session),
		cmocka_unit_test(the_environment_may_be_another_one),
		cmocka_unit_test(what_is_not_there_is_an_error_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
