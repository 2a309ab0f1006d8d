/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/netns_tcp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_ADDRESS 0x0a000000u
#define PORT          5001

/* What this thread opens from now on is in the namespace of 'host'. */
static int
enter(const char *prefix, uint32_t host)
{
	char path[256];
	int fd, rc;

	snprintf(path, sizeof path, "/run/netns/%s-h%u", prefix, host);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = setns(fd, CLONE_NEWNET) ? -errno : 0;
	close(fd);
	return rc;
}

static int
set_algorithm(int fd, const char *algorithm)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm,
			  (socklen_t)strlen(algorithm));
}

bool
netns_tcp_has(const char *algorithm)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has;

	if (fd < 0)
		return false;
	has = set_algorithm(fd, algorithm) == 0;
	close(fd);
	return has;
}

/* ------ Connections ------ */

static struct sockaddr_in
address(uint32_t number)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(PORT),
				     .sin_addr.s_addr = htonl(FIRST_ADDRESS + number) };
}

/* Returns a socket, or -errno. */
static int
bound_socket(const struct sockaddr_in *at, const char *algorithm)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, rc;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0 &&
	    set_algorithm(fd, algorithm) == 0 &&
	    bind(fd, (const struct sockaddr *)at, sizeof *at) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* From a socket in the namespace of 'src' to 'listener'. */
static int
connect_to(int listener, const struct sockaddr_in *to, const struct sockaddr_in *from,
	   const char *algorithm, int *ret_sender, int *ret_receiver)
{
	int sender = bound_socket(from, algorithm), rc;

	if (sender < 0)
		return sender;
	if (listen(listener, 1) == 0 &&
	    connect(sender, (const struct sockaddr *)to, sizeof *to) == 0 &&
	    fcntl(sender, F_SETFL, O_NONBLOCK) == 0) {
		int receiver =
			accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (receiver >= 0) {
			*ret_sender = sender;
			*ret_receiver = receiver;
			return 0;
		}
	}
	rc = -errno;
	close(sender);
	return rc;
}

int
netns_tcp_connect(const char *prefix, uint32_t flow, uint32_t src, uint32_t dst,
		  const char *algorithm, int *ret_sender, int *ret_receiver)
{
	struct sockaddr_in from = address(2 * flow + 1), to = address(2 * flow + 2);
	int rc = enter(prefix, dst), listener;

	if (rc)
		return rc;
	listener = bound_socket(&to, algorithm);
	if (listener < 0)
		return listener;
	rc = enter(prefix, src);
	if (rc == 0)
		rc = connect_to(listener, &to, &from, algorithm, ret_sender,
				ret_receiver);
	close(listener);
	return rc;
}

/* ------ Marks ------ */

/* The value below 'name' in two lines of /proc/net/netstat. */
static uint64_t
value_below(char *names, char *values, const char *name)
{
	char *names_left, *values_left;
	char *n = strtok_r(names, " \n", &names_left);
	char *v = strtok_r(values, " \n", &values_left);

	while (n && v && strcmp(n, name)) {
		n = strtok_r(NULL, " \n", &names_left);
		v = strtok_r(NULL, " \n", &values_left);
	}
	return n && v ? strtoull(v, NULL, 10) : 0;
}

int
netns_tcp_marked(const char *prefix, uint32_t n_hosts, uint64_t *ret_marked)
{
	char names[4096], values[4096];

	*ret_marked = 0;
	for (uint32_t host = 0; host < n_hosts; host++) {
		int rc = enter(prefix, host);
		FILE *file = rc ? NULL : fopen("/proc/thread-self/net/netstat", "re");

		if (!file)
			return rc ? rc : -errno;
		while (fgets(names, sizeof names, file) &&
		       fgets(values, sizeof values, file))
			*ret_marked += value_below(names, values, "InCEPkts");
		fclose(file);
	}
	return 0;
}
