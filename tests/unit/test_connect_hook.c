/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_connect_hook.c - connect() gets offered ports, and else is as without us; in a
 * network namespace and a control group of the test's own
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/jobs/cgroups.h"
#include "collector/paths/connect_hook.h"
#include "tests/unit/test.h"

#define PORT 61900 /* The first offered port. */

static char root[256], group[512], before[1024];
static uint16_t listening;

/* ---- The place ------------------------------------------------------------------- */

static int
set_loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), rc;

	request.ifr_flags = IFF_UP;
	rc = ioctl(fd, SIOCSIFFLAGS, &request);
	close(fd);
	return rc;
}

/* Moves this process into a control group. */
static int
enter(const char *path)
{
	char file[1100], pid[32];
	int fd, n;

	snprintf(file, sizeof file, "%s/cgroup.procs", path);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = (int)write(fd, pid, (size_t)snprintf(pid, sizeof pid, "%d", getpid()));
	close(fd);
	return n > 0 ? 0 : -1;
}

/* The control group of this process, in 'before'. */
static int
find_own(void)
{
	FILE *file = fopen("/proc/self/cgroup", "r");
	char line[700];
	int rc = -1;

	while (file && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) != 0)
			continue;
		snprintf(before, sizeof before, "%s%s", root, line + 3);
		rc = 0;
	}
	if (file)
		fclose(file);
	return rc;
}

/* A listener for both families; port 0: any. */
static void
listen_at(uint16_t port)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = port };
	socklen_t length = sizeof any;
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (void *)&any, sizeof any), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (void *)&any, &length), 0);
	listening = any.sin6_port;
}

static int
make_place(void **state)
{
	struct cgroups *cgroups;

	(void)state;
	if (geteuid() != 0 || cgroups_open(NULL, NULL, &cgroups, NULL) < 0)
		return 0;
	snprintf(root, sizeof root, "%s", cgroups_root(cgroups));
	cgroups_close(cgroups);
	snprintf(group, sizeof group, "%s/test_connect_hook.%d", root, getpid());
	if (find_own() < 0 || unshare(CLONE_NEWNET) < 0 || set_loopback_up() < 0 ||
	    mkdir(group, 0755) < 0 || enter(group) < 0) {
		rmdir(group);
		*root = '\0';
		return 0;
	}
	listen_at(0);
	return 0;
}

static int
leave_place(void **state)
{
	(void)state;
	if (!*root)
		return 0;
	return enter(before) < 0 || rmdir(group) < 0;
}

/* ---- Connections ----------------------------------------------------------------- */

static struct connect_hook *
open_hook(void)
{
	struct connect_hook *hook = NULL;

	if (!*root || connect_hook_open(root, &hook, NULL) < 0)
		skip();
	return hook;
}

static uint64_t
id_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_ino;
}

static struct connect_key
key_of(uint32_t job, uint32_t index, int family)
{
	struct connect_key key = { .job = job, .index = index };

	key.to.port = listening;
	if (family == AF_INET6) {
		key.to.address[15] = 1;
		return key;
	}
	key.to.address[10] = key.to.address[11] = 0xff;
	key.to.address[12] = 127;
	key.to.address[15] = 1;
	return key;
}

/* Offers ports from PORT on. */
static void
offer(struct connect_hook *hook, uint32_t job, uint32_t n, int family)
{
	for (uint32_t i = 0; i < n; i++) {
		struct connect_key key = key_of(job, i, family);

		assert_int_equal(
			connect_hook_put(hook, &key, htons((uint16_t)(PORT + i))), 0);
	}
}

static uint16_t
port_of(int fd)
{
	struct sockaddr_in6 address;
	socklen_t length = sizeof address;

	assert_int_equal(getsockname(fd, (void *)&address, &length), 0);
	return ntohs(address.sin6_port);
}

/* A connection to the listener over loopback; 'is_mapped': IPv4 by an IPv6 socket. */
static int
connect_by(int fd, int family, bool is_mapped)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_port = listening,
				    .sin6_addr = in6addr_loopback };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_port = listening,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (is_mapped)
		inet_pton(AF_INET6, "::ffff:127.0.0.1", &six.sin6_addr);
	if (family == AF_INET)
		assert_int_equal(connect(fd, (void *)&four, sizeof four), 0);
	else
		assert_int_equal(connect(fd, (void *)&six, sizeof six), 0);
	return fd;
}

static int
connect_new(int family)
{
	return connect_by(socket(family, SOCK_STREAM, 0), family, false);
}

/* Ends it without TIME_WAIT. */
static void
reset(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
	close(fd);
}

/* ---- Tests ----------------------------------------------------------------------- */

static void
connections_get_ports_in_turn(void **state)
{
	struct connect_hook *hook = open_hook();
	struct connect_key key = key_of(7, 0, AF_INET);
	struct connect_counts counts;
	int fds[3];

	(void)state;
	assert_int_equal(connect_hook_set_job(hook, id_of(group), 7), 0);
	assert_false(connect_hook_has_seen(hook, &key.to));
	offer(hook, 7, 2, AF_INET);
	assert_true(connect_hook_has(hook, &key));
	assert_int_equal(connect_hook_put(hook, &key, htons(PORT)), -EEXIST);
	for (int i = 0; i < 3; i++)
		fds[i] = connect_new(AF_INET);
	assert_true(connect_hook_has_seen(hook, &key.to));
	assert_false(connect_hook_has(hook, &key));
	assert_int_equal(port_of(fds[0]), PORT);
	assert_int_equal(port_of(fds[1]), PORT + 1);
	/* None is left: the kernel chooses. */
	assert_false(port_of(fds[2]) == PORT || port_of(fds[2]) == PORT + 1);
	connect_hook_counts(hook, &counts);
	assert_int_equal(counts.n_given, 2);
	assert_int_equal(counts.n_in_use, 0);
	for (int i = 0; i < 3; i++)
		reset(fds[i]);
	connect_hook_close(hook);
}

static void
ipv6_works_too(void **state)
{
	struct connect_hook *hook = open_hook();
	int fd;

	(void)state;
	connect_hook_set_job(hook, id_of(group), 7);
	offer(hook, 7, 1, AF_INET6);
	fd = connect_new(AF_INET6);
	assert_int_equal(port_of(fd), PORT);
	reset(fd);
	/* An IPv6 socket that connects to an IPv4 address. */
	offer(hook, 7, 1, AF_INET);
	fd = connect_by(socket(AF_INET6, SOCK_STREAM, 0), AF_INET6, true);
	assert_int_equal(port_of(fd), PORT);
	reset(fd);
	connect_hook_close(hook);
}

static void
sockets_that_have_a_port_keep_it(void **state)
{
	struct connect_hook *hook = open_hook();
	struct sockaddr_in own = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct connect_key key = key_of(7, 0, AF_INET);
	int fd = socket(AF_INET, SOCK_STREAM, 0), datagrams;
	uint16_t port;

	(void)state;
	connect_hook_set_job(hook, id_of(group), 7);
	offer(hook, 7, 1, AF_INET);
	/* As Open MPI does: an address, and any port. */
	assert_int_equal(bind(fd, (void *)&own, sizeof own), 0);
	port = port_of(fd);
	connect_by(fd, AF_INET, false);
	assert_int_equal(port_of(fd), port);
	reset(fd);
	datagrams = connect_by(socket(AF_INET, SOCK_DGRAM, 0), AF_INET, false);
	assert_int_not_equal(port_of(datagrams), PORT);
	close(datagrams);
	assert_true(connect_hook_has(hook, &key));
	assert_false(connect_hook_has_seen(hook, &key.to));
	connect_hook_close(hook);
}

static void
ports_in_use_are_passed_over(void **state)
{
	struct connect_hook *hook = open_hook();
	struct sockaddr_in used = { .sin_family = AF_INET };
	struct connect_counts counts;
	int fds[CONNECT_MAX_TRIES], fd;

	(void)state;
	connect_hook_set_job(hook, id_of(group), 7);
	for (int i = 0; i < CONNECT_MAX_TRIES; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		used.sin_port = htons((uint16_t)(PORT + i));
		assert_int_equal(bind(fds[i], (void *)&used, sizeof used), 0);
	}
	/* As many tries, then the kernel chooses; the last port is for the next. */
	offer(hook, 7, CONNECT_MAX_TRIES + 1, AF_INET);
	fd = connect_new(AF_INET);
	assert_false(port_of(fd) >= PORT && port_of(fd) <= PORT + CONNECT_MAX_TRIES);
	reset(fd);
	fd = connect_new(AF_INET);
	assert_int_equal(port_of(fd), PORT + CONNECT_MAX_TRIES);
	reset(fd);
	connect_hook_counts(hook, &counts);
	assert_int_equal(counts.n_given, 1);
	assert_int_equal(counts.n_in_use, CONNECT_MAX_TRIES);
	for (int i = 0; i < CONNECT_MAX_TRIES; i++)
		close(fds[i]);
	connect_hook_close(hook);
}

/* As NCCL does: the same socket connects again after a refusal. */
static void
a_refused_socket_may_try_again(void **state)
{
	struct connect_hook *hook = open_hook();
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof to;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct connect_key key = key_of(7, 0, AF_INET);

	(void)state;
	connect_hook_set_job(hook, id_of(group), 7);
	assert_int_equal(bind(listener, (void *)&to, sizeof to), 0);
	assert_int_equal(getsockname(listener, (void *)&to, &length), 0);
	key.to.port = to.sin_port;
	assert_int_equal(connect_hook_put(hook, &key, htons(PORT)), 0);
	assert_int_equal(connect(fd, (void *)&to, sizeof to), -1);
	assert_int_equal(errno, ECONNREFUSED);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(fd, (void *)&to, sizeof to), 0);
	assert_int_equal(port_of(fd), PORT);
	reset(fd);
	close(listener);
	connect_hook_close(hook);
}

/* With SO_REUSEADDR bind() would give two sockets the same port, and connect() fail. */
static void
a_port_is_given_once(void **state)
{
	struct connect_hook *hook = open_hook();
	const int yes = 1;
	int fds[2];

	(void)state;
	connect_hook_set_job(hook, id_of(group), 7);
	offer(hook, 7, 1, AF_INET);
	for (int i = 0; i < 2; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		setsockopt(fds[i], SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
		connect_by(fds[i], AF_INET, false);
	}
	assert_int_equal(port_of(fds[0]), PORT);
	assert_int_not_equal(port_of(fds[1]), PORT);
	for (int i = 0; i < 2; i++)
		reset(fds[i]);
	connect_hook_close(hook);
}

static void
only_the_job_and_its_destination_have_ports(void **state)
{
	struct connect_hook *hook = open_hook();
	struct connect_key key = key_of(7, 0, AF_INET);
	int fd;

	(void)state;
	offer(hook, 7, 1, AF_INET);
	/* No job; another one; and a control group above that is of the job. */
	fd = connect_new(AF_INET);
	assert_int_not_equal(port_of(fd), PORT);
	reset(fd);
	connect_hook_set_job(hook, id_of(group), 8);
	fd = connect_new(AF_INET);
	assert_int_not_equal(port_of(fd), PORT);
	reset(fd);
	/* Another destination. */
	connect_hook_set_job(hook, id_of(group), 7);
	fd = connect_new(AF_INET6);
	assert_int_not_equal(port_of(fd), PORT);
	reset(fd);
	assert_true(connect_hook_has(hook, &key));
	connect_hook_remove(hook, &key);
	fd = connect_new(AF_INET);
	assert_int_not_equal(port_of(fd), PORT);
	reset(fd);
	connect_hook_close(hook);
}

static void
the_innermost_job_counts(void **state)
{
	struct connect_hook *hook = open_hook();
	char inner[600];
	int fd;

	(void)state;
	snprintf(inner, sizeof inner, "%s/step", group);
	assert_int_equal(mkdir(inner, 0755), 0);
	assert_int_equal(enter(inner), 0);
	/* A group that was made after the job became known. */
	connect_hook_set_job(hook, id_of(group), 7);
	offer(hook, 7, 1, AF_INET);
	fd = connect_new(AF_INET);
	assert_int_equal(port_of(fd), PORT);
	reset(fd);
	connect_hook_set_job(hook, id_of(inner), 8);
	offer(hook, 7, 1, AF_INET);
	fd = connect_new(AF_INET);
	assert_int_not_equal(port_of(fd), PORT);
	reset(fd);
	assert_int_equal(enter(group), 0);
	assert_int_equal(rmdir(inner), 0);
	connect_hook_close(hook);
}

/* The port of a connection to the same destination in another network namespace. */
static uint16_t
connect_elsewhere(void)
{
	if (unshare(CLONE_NEWNET) < 0 || set_loopback_up() < 0)
		return PORT;
	listen_at(listening);
	return port_of(connect_new(AF_INET));
}

static void
other_network_namespaces_are_left_alone(void **state)
{
	struct connect_hook *hook = open_hook();
	struct connect_key key = key_of(7, 0, AF_INET);
	int status;

	(void)state;
	connect_hook_set_job(hook, id_of(group), 7);
	offer(hook, 7, 1, AF_INET);
	if (fork() == 0)
		_exit(connect_elsewhere() == PORT);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
	assert_true(connect_hook_has(hook, &key));
	connect_hook_close(hook);
}

struct groups {
	struct connect_hook *hook;
	size_t n;
};

static void
drop_even(void *ctx, uint64_t cgroup, uint32_t job)
{
	struct groups *groups = ctx;

	groups->n++;
	if (job % 2 == 0)
		assert_int_equal(connect_hook_set_job(groups->hook, cgroup, 0), 0);
}

static void
control_groups_are_listed_and_removed(void **state)
{
	struct groups groups = { .hook = open_hook() };

	(void)state;
	for (uint32_t i = 1; i <= 50; i++)
		connect_hook_set_job(groups.hook, i, i);
	connect_hook_each_group(groups.hook, drop_even, &groups);
	assert_int_equal(groups.n, 50);
	groups.n = 0;
	connect_hook_each_group(groups.hook, drop_even, &groups);
	assert_int_equal(groups.n, 25);
	connect_hook_close(groups.hook);
}

/* The process that loaded the programs is killed while ports are offered. */
static void
nothing_is_left_after_sigkill(void **state)
{
	int ready[2], fd, status;
	pid_t child;
	char byte;

	(void)state;
	connect_hook_close(open_hook());
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		struct connect_hook *hook = open_hook();

		connect_hook_set_job(hook, id_of(group), 7);
		offer(hook, 7, 2, AF_INET);
		_exit(write(ready[1], "", 1) == 1 ? pause() : 1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	fd = connect_new(AF_INET);
	assert_int_equal(port_of(fd), PORT);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_true(waitpid(child, &status, 0) == child);
	/* The connection is there still, and the next one is as without programs. */
	assert_int_equal(write(fd, "", 1), 1);
	reset(fd);
	for (int i = 0; i < 3; i++) {
		fd = connect_new(AF_INET);
		assert_false(port_of(fd) == PORT || port_of(fd) == PORT + 1);
		reset(fd);
	}
	close(ready[0]);
	close(ready[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_get_ports_in_turn),
		cmocka_unit_test(ipv6_works_too),
		cmocka_unit_test(sockets_that_have_a_port_keep_it),
		cmocka_unit_test(ports_in_use_are_passed_over),
		cmocka_unit_test(a_refused_socket_may_try_again),
		cmocka_unit_test(a_port_is_given_once),
		cmocka_unit_test(only_the_job_and_its_destination_have_ports),
		cmocka_unit_test(the_innermost_job_counts),
		cmocka_unit_test(other_network_namespaces_are_left_alone),
		cmocka_unit_test(control_groups_are_listed_and_removed),
		cmocka_unit_test(nothing_is_left_after_sigkill),
	};

	return cmocka_run_group_tests(tests, make_place, leave_place);
}
