/* SPDX-License-Identifier: Apache-2.0 */
/* test_path_probe.c - probes over loopback, where each packet arrives at once */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/paths/path_probe.h"
#include "collector/paths/probe_distance.h"
#include "collector/paths/probe_socket.h"
#include "lib/base/address.h"
#include "lib/base/clk.h"
#include "tests/unit/test.h"

struct fixture {
	struct path_probe *probe;
	struct probe_message answer; /* The last one. */
	size_t n_answers;
};

static void
on_done(void *ctx, const struct probe_message *answer)
{
	struct fixture *f = ctx;

	f->answer = *answer;
	f->n_answers++;
}

/* A port of loopback that is free, or listens if 'ret_fd' is not NULL. */
static uint16_t
pick_port(int *ret_fd)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (void *)&address, length), 0);
	assert_int_equal(getsockname(fd, (void *)&address, &length), 0);
	if (ret_fd) {
		assert_int_equal(listen(fd, 4), 0);
		*ret_fd = fd;
	} else {
		close(fd);
	}
	return address.sin_port;
}

static struct probe_message
make_order(const char *source, uint16_t destination_port, size_t n_ports)
{
	struct probe_message order = { .number = 1,
				       .destination_port = destination_port,
				       .hops = { 1, 2 },
				       .n_hops = 2 };

	assert_int_equal(address_parse(source, order.source), 0);
	assert_int_equal(address_parse("127.0.0.1", order.destination), 0);
	for (size_t i = 0; i < n_ports; i++)
		order.ports[order.n_ports++].port = pick_port(NULL);
	return order;
}

static void
run(struct fixture *f, size_t n_answers)
{
	struct pollfd poll_fd = { .fd = path_probe_fd(f->probe), .events = POLLIN };

	for (int i = 0; i < 1000 && f->n_answers < n_answers; i++) {
		(void)poll(&poll_fd, 1, 100);
		path_probe_step(f->probe, clk_monotonic_ns());
	}
	assert_int_equal(f->n_answers, n_answers);
}

static void
a_packet_that_arrives_is_noticed(void **state)
{
	struct fixture f = { .n_answers = 0 };
	struct path_probe_stats stats;
	int listening;

	(void)state;
	assert_int_equal(path_probe_open(on_done, &f, &f.probe, NULL), 0);
	for (int is_open = 0; is_open < 2; is_open++) {
		uint16_t port = pick_port(is_open ? &listening : NULL);
		struct probe_message order = make_order("127.0.0.1", port, 3);

		assert_int_equal(path_probe_take(f.probe, clk_monotonic_ns(), &order),
				 0);
		run(&f, (size_t)is_open + 1);
		assert_true(f.answer.is_answer);
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(f.answer.ports[i].state, PROBE_REACHED);
			assert_int_equal(f.answer.ports[i].port, order.ports[i].port);
		}
	}
	path_probe_stats(f.probe, &stats);
	assert_int_equal(stats.n_waiting, 0);
	assert_int_equal(stats.n_unknown, 6);
	assert_int_equal(stats.n_found, 0);
	path_probe_close(f.probe);
	close(listening);
}

/* Addresses for documentation: not of this host. */
static void
an_address_of_others_is_not_probed(void **state)
{
	struct fixture f = { .n_answers = 0 };
	struct probe_message order = make_order("192.0.2.1", htons(9), 2);

	(void)state;
	assert_int_equal(path_probe_open(on_done, &f, &f.probe, NULL), 0);
	assert_int_equal(path_probe_take(f.probe, clk_monotonic_ns(), &order), 0);
	run(&f, 1);
	assert_int_equal(f.answer.ports[0].state, PROBE_FAILED);
	assert_int_equal(f.answer.ports[1].state, PROBE_FAILED);
	path_probe_close(f.probe);
}

static void
orders_wait_for_each_other(void **state)
{
	struct fixture f = { .n_answers = 0 };
	struct probe_message order = make_order("127.0.0.1", pick_port(NULL), 1);
	int64_t now_ns = clk_monotonic_ns();

	(void)state;
	assert_int_equal(path_probe_open(on_done, &f, &f.probe, NULL), 0);
	assert_int_equal(path_probe_take(f.probe, now_ns, &order), 0);
	assert_int_equal(path_probe_take(f.probe, now_ns, &order), -EALREADY);
	for (size_t i = 0; i < PATH_PROBE_MAX_ORDERS; i++) {
		order.number++;
		assert_int_equal(path_probe_take(f.probe, now_ns, &order), 0);
		assert_int_equal(path_probe_take(f.probe, now_ns, &order), -EALREADY);
	}
	order.number++;
	assert_int_equal(path_probe_take(f.probe, now_ns, &order), -E2BIG);
	run(&f, PATH_PROBE_MAX_ORDERS + 1);
	assert_int_equal(f.answer.number, order.number - 1);
	/* One that is under way, and one that waits. */
	assert_int_equal(path_probe_take(f.probe, now_ns, &order), 0);
	order.number++;
	assert_int_equal(path_probe_take(f.probe, now_ns, &order), 0);
	path_probe_close(f.probe);
}

static void
loopback_has_no_switches(void **state)
{
	uint8_t here[16], source[16];

	(void)state;
	assert_int_equal(address_parse("127.0.0.1", here), 0);
	assert_int_equal(probe_socket_source(here, htons(9), source), 0);
	assert_memory_equal(source, here, sizeof here);
	assert_int_equal(probe_distance(here, 3), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_that_arrives_is_noticed),
		cmocka_unit_test(an_address_of_others_is_not_probed),
		cmocka_unit_test(orders_wait_for_each_other),
		cmocka_unit_test(loopback_has_no_switches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
