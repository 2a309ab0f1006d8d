/* SPDX-License-Identifier: Apache-2.0 */
/* test_port_sockets.c - the kernel finds the sockets of flows; over loopback */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/paths/port_sockets.h"
#include "tests/unit/test.h"

/* A connection over loopback, and its flow from the client to the server. */
struct pair {
	int listener, client, server;
	struct port_flow flow;
};

static uint16_t
port_of(int fd)
{
	struct sockaddr_in6 address;
	socklen_t length = sizeof address;

	assert_int_equal(getsockname(fd, (void *)&address, &length), 0);
	return address.sin6_port;
}

static bool
connect_pair(struct pair *pair, int family)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
				    .sin6_addr = in6addr_loopback };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	void *address = family == AF_INET ? (void *)&four : (void *)&six;
	socklen_t length = family == AF_INET ? sizeof four : sizeof six;

	memset(pair, 0, sizeof *pair);
	pair->listener = socket(family, SOCK_STREAM, 0);
	pair->client = socket(family, SOCK_STREAM, 0);
	if (pair->listener < 0 || bind(pair->listener, address, length) < 0)
		return false;
	assert_int_equal(listen(pair->listener, 1), 0);
	assert_int_equal(getsockname(pair->listener, address, &length), 0);
	assert_int_equal(connect(pair->client, address, length), 0);
	pair->server = accept(pair->listener, NULL, NULL);
	assert_true(pair->server >= 0);
	if (family == AF_INET) {
		memset(pair->flow.source + 10, 0xff, 2);
		memcpy(pair->flow.source + 12, &four.sin_addr, 4);
	} else {
		memcpy(pair->flow.source, &in6addr_loopback, 16);
	}
	memcpy(pair->flow.destination, pair->flow.source, 16);
	pair->flow.source_port = port_of(pair->client);
	pair->flow.destination_port = port_of(pair->listener);
	return true;
}

static void
check_pair(int family)
{
	struct port_sockets *sockets;
	struct port_flow other;
	struct pair pair;
	uint64_t cgroup = 7, same = 8;

	if (port_sockets_open(&sockets, NULL) < 0 || !connect_pair(&pair, family))
		skip();
	assert_int_equal(port_sockets_find(sockets, &pair.flow, true, &cgroup), 1);
	assert_int_equal(port_sockets_find(sockets, &pair.flow, false, &same), 1);
	assert_true(cgroup == same);
	/* A flow that only the listening socket would take is none. */
	other = pair.flow;
	other.source_port = htons(1);
	assert_int_equal(port_sockets_find(sockets, &other, false, &cgroup), 0);
	assert_int_equal(port_sockets_find(sockets, &other, true, &cgroup), 0);
	close(pair.server);
	close(pair.client);
	close(pair.listener);
	port_sockets_close(sockets);
}

static void
connections_are_found_at_both_ends(void **state)
{
	(void)state;
	check_pair(AF_INET);
}

static void
connections_over_ipv6_too(void **state)
{
	(void)state;
	check_pair(AF_INET6);
}

struct search {
	const struct pair *pair;
	unsigned n_client, n_server;
	uint64_t client_bytes;
};

static void
look_for(void *ctx, const struct port_socket *socket)
{
	struct search *search = ctx;
	struct port_flow back = search->pair->flow;

	back.source_port = search->pair->flow.destination_port;
	back.destination_port = search->pair->flow.source_port;
	if (!memcmp(&socket->flow, &search->pair->flow, sizeof back)) {
		search->n_client++;
		search->client_bytes = socket->bytes;
	}
	search->n_server += !memcmp(&socket->flow, &back, sizeof back);
}

static void
check_list(int family)
{
	char data[1000] = { 0 };
	struct port_sockets *sockets;
	struct pair pair;
	struct search search = { .pair = &pair };

	if (port_sockets_open(&sockets, NULL) < 0 || !connect_pair(&pair, family))
		skip();
	assert_int_equal(send(pair.client, data, sizeof data, 0), sizeof data);
	assert_int_equal(recv(pair.server, data, sizeof data, MSG_WAITALL),
			 sizeof data);
	assert_int_equal(port_sockets_each(sockets, look_for, &search), 0);
	assert_int_equal(search.n_client, 1);
	assert_int_equal(search.n_server, 1);
	/* An acknowledgement may be late. */
	assert_true(search.client_bytes <= 1001);
	close(pair.server);
	close(pair.client);
	close(pair.listener);
	port_sockets_close(sockets);
}

static void
connections_are_listed(void **state)
{
	(void)state;
	check_list(AF_INET);
}

static void
connections_over_ipv6_are_listed(void **state)
{
	(void)state;
	check_list(AF_INET6);
}

static void
ports_of_sockets_are_taken(void **state)
{
	struct pair pair;
	uint16_t port;

	(void)state;
	if (!connect_pair(&pair, AF_INET))
		skip();
	port = port_of(pair.listener);
	assert_true(port_sockets_has_port(port));
	assert_true(port_sockets_has_port(port_of(pair.client)));
	close(pair.listener);
	/* The accepted connection has it still. */
	assert_true(port_sockets_has_port(port));
	close(pair.client);
	close(pair.server);
}

static void
free_ports_are_free(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in any = { .sin_family = AF_INET };
	uint16_t port;

	(void)state;
	assert_int_equal(bind(fd, (void *)&any, sizeof any), 0);
	port = port_of(fd);
	assert_true(port_sockets_has_port(port));
	close(fd);
	assert_false(port_sockets_has_port(port));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_are_found_at_both_ends),
		cmocka_unit_test(connections_over_ipv6_too),
		cmocka_unit_test(connections_are_listed),
		cmocka_unit_test(connections_over_ipv6_are_listed),
		cmocka_unit_test(ports_of_sockets_are_taken),
		cmocka_unit_test(free_ports_are_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
