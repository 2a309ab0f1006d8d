/* SPDX-License-Identifier: Apache-2.0 */
/* test_notify.c - messages to the service manager */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/daemon/loop.h"
#include "lib/daemon/notify.h"
#include "tests/unit/test.h"

/* A service manager's socket; sets $NOTIFY_SOCKET to 'name'. */
static int
manager(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	size_t n = strlen(name);

	memcpy(a.sun_path, name, n);
	if (name[0] == '@')
		a.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (struct sockaddr *)&a,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n +
					  (name[0] == '/'))),
			 0);
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static void
hears(int fd, const char *expected)
{
	char text[600];
	ssize_t n = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, expected);
}

static void
a_manager_at_a_path_is_told(void **state)
{
	char name[64];
	int fd;

	(void)state;
	snprintf(name, sizeof name, "/tmp/ap-notify-%d", (int)getpid());
	unlink(name);
	fd = manager(name);
	assert_int_equal(notify_send("READY=1"), 0);
	hears(fd, "READY=1");
	assert_int_equal(notify_status("%d interfaces", 2), 0);
	hears(fd, "STATUS=2 interfaces");
	close(fd);
	assert_int_equal(notify_send("READY=1"), -ECONNREFUSED);
	unlink(name);
	unsetenv("NOTIFY_SOCKET");
}

static void
a_manager_in_the_abstract_namespace_is_told(void **state)
{
	char name[64];
	int fd;

	(void)state;
	snprintf(name, sizeof name, "@ap-notify-%d", (int)getpid());
	fd = manager(name);
	assert_int_equal(notify_send("STOPPING=1"), 0);
	hears(fd, "STOPPING=1");
	close(fd);
	unsetenv("NOTIFY_SOCKET");
}

static void
without_a_manager_nothing_is_said_and_a_bad_name_is_refused(void **state)
{
	char longest[300];

	(void)state;
	unsetenv("NOTIFY_SOCKET");
	assert_int_equal(notify_send("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "", 1);
	assert_int_equal(notify_send("READY=1"), 0);
	setenv("NOTIFY_SOCKET", "relative", 1);
	assert_int_equal(notify_send("READY=1"), -EINVAL);
	memset(longest, 'a', sizeof longest - 1);
	longest[0] = '/';
	longest[sizeof longest - 1] = '\0';
	setenv("NOTIFY_SOCKET", longest, 1);
	assert_int_equal(notify_send("READY=1"), -EINVAL);
	unsetenv("NOTIFY_SOCKET");
}

/* A manager that does not read must not block us. */
static void
a_full_socket_is_an_error_not_a_wait(void **state)
{
	char name[64];
	int fd, rc = 0;

	(void)state;
	snprintf(name, sizeof name, "@ap-full-%d", (int)getpid());
	fd = manager(name);
	for (int i = 0; i < 100000 && rc == 0; i++)
		rc = notify_send("WATCHDOG=1");
	assert_int_equal(rc, -EAGAIN);
	close(fd);
	unsetenv("NOTIFY_SOCKET");
}

static void
the_watchdog_is_served_twice_as_often_as_it_asks(void **state)
{
	char pid[32];

	(void)state;
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	assert_int_equal(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "30000000", 1);
	assert_int_equal(notify_watchdog_ns(), INT64_C(15000000000));
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(notify_watchdog_ns(), INT64_C(15000000000));
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_PID", pid, 1);
	setenv("WATCHDOG_USEC", "3x", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "99999999999999999999999", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
}

static void
stop_loop(void *ctx)
{
	loop_stop(ctx, 0);
}

static void
a_loop_that_goes_round_tells_the_watchdog(void **state)
{
	struct loop *loop = loop_new();
	char name[64];
	int fd;

	(void)state;
	snprintf(name, sizeof name, "@ap-watchdog-%d", (int)getpid());
	fd = manager(name);
	setenv("WATCHDOG_USEC", "2000", 1);
	notify_watchdog_join(loop);
	unsetenv("WATCHDOG_USEC");
	loop_fd(loop, fd, stop_loop, loop);
	assert_int_equal(loop_run(loop), 0);
	hears(fd, "WATCHDOG=1");
	loop_free(loop);
	close(fd);
	unsetenv("NOTIFY_SOCKET");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_manager_at_a_path_is_told),
		cmocka_unit_test(a_manager_in_the_abstract_namespace_is_told),
		cmocka_unit_test(
			without_a_manager_nothing_is_said_and_a_bad_name_is_refused),
		cmocka_unit_test(a_full_socket_is_an_error_not_a_wait),
		cmocka_unit_test(the_watchdog_is_served_twice_as_often_as_it_asks),
		cmocka_unit_test(a_loop_that_goes_round_tells_the_watchdog),
	};

	return cmocka_run_group_tests_name("notify", tests, NULL, NULL);
}
