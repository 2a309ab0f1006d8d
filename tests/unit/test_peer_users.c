/* SPDX-License-Identifier: Apache-2.0 */
/* test_peer_users.c - who is at the other end of a connection, and who may be */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/daemon/peer_users.h"
#include "tests/unit/test.h"

#define ANOTHER 65534

/* A socket that listens at a port of loopback that the kernel chooses. */
static int
listen_at(int family, struct sockaddr_storage *ret_at, socklen_t *ret_n)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_at = (struct sockaddr_storage){ .ss_family = (sa_family_t)family };
	if (family == AF_INET) {
		((struct sockaddr_in *)ret_at)->sin_addr.s_addr =
			htonl(INADDR_LOOPBACK);
		*ret_n = sizeof(struct sockaddr_in);
	} else if (family == AF_INET6) {
		((struct sockaddr_in6 *)ret_at)->sin6_addr = in6addr_loopback;
		*ret_n = sizeof(struct sockaddr_in6);
	} else {
		/* An abstract name, chosen by the kernel. */
		*ret_n = sizeof(sa_family_t);
	}
	if (bind(fd, (void *)ret_at, *ret_n) < 0) {
		close(fd);
		return -1;
	}
	assert_int_equal(listen(fd, 4), 0);
	*ret_n = sizeof *ret_at;
	assert_int_equal(getsockname(fd, (void *)ret_at, ret_n), 0);
	return fd;
}

/* The user that is seen when a process of 'user' connects. */
static uid_t
seen(int family, uid_t user)
{
	struct sockaddr_storage at;
	socklen_t n;
	int listener = listen_at(family, &at, &n), fd;
	int done[2];
	pid_t child;
	uid_t found;

	assert_int_equal(pipe(done), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char byte;

		close(done[1]);
		if (user != getuid() && setresuid(user, user, user) < 0)
			_exit(1);
		fd = socket(family, SOCK_STREAM, 0);
		if (connect(fd, (void *)&at, n) < 0)
			_exit(2);
		_exit(read(done[0], &byte, 1) != 0);
	}
	close(done[0]);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	found = peer_user_of(fd);
	close(done[1]);
	waitpid(child, NULL, 0);
	close(fd);
	close(listener);
	return found;
}

static void
the_owner_of_the_other_end_is_seen(void **state)
{
	static const int families[] = { AF_INET, AF_INET6, AF_UNIX };

	(void)state;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		struct sockaddr_storage at;
		socklen_t n;
		int fd = listen_at(families[i], &at, &n);

		if (fd < 0)
			continue; /* Without IPv6. */
		close(fd);
		assert_int_equal(seen(families[i], getuid()), getuid());
		if (getuid() == 0)
			assert_int_equal(seen(families[i], ANOTHER), ANOTHER);
	}
}

static void
who_is_gone_is_unknown(void **state)
{
	struct sockaddr_storage at;
	socklen_t n;
	int listener = listen_at(AF_INET, &at, &n), client, fd;
	struct linger reset = { .l_onoff = 1 };

	(void)state;
	client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(client, (void *)&at, n), 0);
	fd = accept(listener, NULL, NULL);
	assert_int_equal(peer_user_of(fd), getuid());
	assert_int_equal(
		setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
	close(client);
	assert_int_equal(peer_user_of(fd), PEER_USER_UNKNOWN);
	assert_int_equal(peer_user_of(listener), PEER_USER_UNKNOWN);
	close(fd);
	close(listener);
	assert_int_equal(peer_user_of(fd), PEER_USER_UNKNOWN);
}

static void
a_list_has_names_and_numbers(void **state)
{
	struct peer_users users;
	struct err err = { .text = "" };

	(void)state;
	assert_int_equal(peer_users_read("root, 4711", &users, &err), 0);
	assert_true(peer_users_has(&users, 0));
	assert_true(peer_users_has(&users, 4711));
	assert_true(peer_users_has(&users, geteuid()));
	assert_false(peer_users_has(&users, 4712));
	assert_false(peer_users_has(&users, PEER_USER_UNKNOWN));
	peer_users_fini(&users);
	assert_int_equal(peer_users_read("", &users, &err), 0);
	assert_true(peer_users_has(&users, geteuid()));
	assert_false(peer_users_has(&users, geteuid() + 1));
	peer_users_fini(&users);
	assert_int_equal(peer_users_read("root,nobody-of-that-name", &users, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "nobody-of-that-name"));
	assert_int_equal(peer_users_read("4294967295", &users, &err), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_owner_of_the_other_end_is_seen),
		cmocka_unit_test(who_is_gone_is_unknown),
		cmocka_unit_test(a_list_has_names_and_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
