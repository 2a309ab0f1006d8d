/* SPDX-License-Identifier: Apache-2.0 */
/* test_src_netlink.c - the netlink source in its own network namespace, if allowed */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/sources/src_netlink.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "tests/unit/sink.h"
#include "tests/unit/test.h"

#define MS INT64_C(1000000)

static bool has_namespace;

static int
enter_namespace(void **state)
{
	(void)state;
	has_namespace =
		unshare(CLONE_NEWNET) == 0 &&
		system("ip link add va type veth peer name vb 2>/dev/null && "
		       "ip addr add 10.99.0.1/24 dev va && ip link set va up && "
		       "ip link set vb up") == 0;
	return 0;
}

static void
need_namespace(void)
{
	if (has_namespace)
		return;
	print_message("no rights to make a network namespace with a veth pair\n");
	skip();
}

/* The interface's counters in /proc/net/dev. */
static void
proc_bytes(const char *name, uint64_t *ret_rx, uint64_t *ret_tx)
{
	char line[512], path[64];
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/net/dev", (int)getpid());
	file = fopen(path, "r");
	assert_non_null(file);
	*ret_rx = *ret_tx = 0;
	while (fgets(line, sizeof line, file)) {
		unsigned long long rx, tx;
		char found[64];

		if (sscanf(line, " %63[^:]: %llu %*u %*u %*u %*u %*u %*u %*u %llu",
			   found, &rx, &tx) == 3 &&
		    !strcmp(found, name)) {
			*ret_rx = rx;
			*ret_tx = tx;
		}
	}
	fclose(file);
}

/* Sends 'n' broadcast datagrams of 1000 bytes out of va; they arrive at vb. */
static void
send_some(int n)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	char payload[1000] = { 0 };

	inet_pton(AF_INET, "10.99.0.255", &to.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
	for (int i = 0; i < n; i++)
		assert_int_equal(sendto(fd, payload, sizeof payload, 0,
					(struct sockaddr *)&to, sizeof to),
				 sizeof payload);
	close(fd);
}

static void
poll_at(struct source *source, struct test_sink *sink, int64_t now_ns)
{
	struct err err = { 0 };

	if (source->class->poll(source, now_ns, &sink->sink, &err) != 0)
		fail_msg("%s: %s", err.file, err.text);
}

static struct source *
open_names(const char *const *names, size_t n)
{
	struct netlink_options options = { .names = names, .n_names = n };
	struct source *source;

	assert_int_equal(src_netlink_open(&options, &source, NULL), 0);
	return source;
}

static void
counts_are_those_of_the_interface(void **state)
{
	const char *names[] = { "va", "vb" };
	uint64_t rx, tx, rx_before, tx_before, bytes;
	struct source_extra extra;
	struct test_sink sink;
	struct source *source;

	(void)state;
	need_namespace();
	test_sink_init(&sink);
	source = open_names(names, 2);
	poll_at(source, &sink, clk_monotonic_ns());
	proc_bytes("va", &rx_before, &tx_before);
	usleep(20000);
	send_some(50);
	poll_at(source, &sink, clk_monotonic_ns());
	proc_bytes("va", &rx, &tx);
	/* Only neighbor discovery may come in between. */
	assert_true(tx - tx_before >= 50 * 1042);
	assert_true(test_sink_total(&sink, "va", "", TELE_TX, &bytes, &extra));
	assert_near((double)bytes, (double)(tx - tx_before), 500);
	assert_near((double)extra.packets, 50, 5);
	assert_true(test_sink_total(&sink, "vb", "", TELE_RX, &bytes, &extra));
	assert_near((double)bytes, (double)(tx - tx_before), 500);
	assert_true(sink.seen.items[0].is_up);
	assert_true(sink.seen.items[0].capacity_bps > 0); /* A veth reports 10 Gb/s. */
	source->class->close(source);
	test_sink_fini(&sink);
}

static void
all_but_loopback_are_watched_without_names(void **state)
{
	struct test_sink sink;
	struct source *source;

	(void)state;
	need_namespace();
	test_sink_init(&sink);
	source = open_names(NULL, 0);
	poll_at(source, &sink, clk_monotonic_ns());
	assert_int_equal(strtab_find(sink.interfaces, "lo"), STRTAB_NONE);
	assert_int_not_equal(strtab_find(sink.interfaces, "va"), STRTAB_NONE);
	assert_int_not_equal(strtab_find(sink.interfaces, "vb"), STRTAB_NONE);
	source->class->close(source);
	test_sink_fini(&sink);
}

static void
an_interface_that_goes_and_comes_back_is_found_by_its_name(void **state)
{
	const char *names[] = { "vc" };
	struct test_sink sink;
	struct source *source;

	(void)state;
	need_namespace();
	test_sink_init(&sink);
	source = open_names(names, 1); /* Does not exist yet. */
	poll_at(source, &sink, 1 * MS);
	assert_int_equal(sink.seen.n, 0);
	assert_int_equal(system("ip link add vc type veth peer name vd"), 0);
	poll_at(source, &sink, 100 * MS);
	assert_int_equal(sink.seen.n, 1);
	assert_false(sink.seen.items[0].is_up);
	assert_int_equal(system("ip link set vc up; ip link set vd up"), 0);
	/* The kernel reports it up to a second later. */
	for (int i = 0; i < 100 && !sink.seen.items[0].is_up; i++) {
		usleep(20000);
		poll_at(source, &sink, (200 + i) * MS);
	}
	assert_true(sink.seen.items[0].is_up);
	assert_int_equal(system("ip link del vc"), 0);
	poll_at(source, &sink, 300 * MS);
	assert_int_equal(sink.n_gone, 1);
	assert_int_equal(system("ip link add vc type veth peer name vd"), 0);
	poll_at(source, &sink, 400 * MS);
	assert_int_equal(sink.seen.n, 1); /* The same number. */
	assert_int_equal(sink.n_gone, 1);
	assert_int_equal(system("ip link set vc name ve"), 0);
	poll_at(source, &sink, 500 * MS);
	assert_int_equal(sink.n_gone, 2); /* No interface has this name any more. */
	assert_int_equal(system("ip link del ve"), 0);
	source->class->close(source);
	test_sink_fini(&sink);
}

static void
the_backlog_of_a_queue_is_seen(void **state)
{
	const char *names[] = { "va" };
	struct tele_frame frame = { 0 };
	struct test_sink sink;
	struct source *source;
	int64_t now_ns;

	(void)state;
	need_namespace();
	if (system("tc qdisc add dev va root tbf rate 1mbit burst 2kb latency 10s "
		   "2>/dev/null") != 0) {
		print_message("the kernel has no tbf\n");
		skip();
	}
	test_sink_init(&sink);
	source = open_names(names, 1);
	poll_at(source, &sink, clk_monotonic_ns());
	send_some(60);
	poll_at(source, &sink, clk_monotonic_ns() + 100 * MS);
	now_ns = clk_monotonic_ns();
	binner_summary(sink.binner, now_ns / MS - 1000, now_ns / MS, &frame);
	assert_true(frame.traffic.n == 2);
	assert_true(frame.traffic.items[0].queue_bytes > 30 * 1042);
	assert_int_equal(frame.traffic.items[0].direction, TELE_TX);
	assert_int_equal(frame.traffic.items[1].queue_bytes, 0);
	tele_fini(&frame);
	source->class->close(source);
	test_sink_fini(&sink);
	assert_int_equal(system("tc qdisc del dev va root"), 0);
}

static void
names_that_no_interface_can_have_are_refused(void **state)
{
	const char *names[] = { "aninterfacename16" };
	struct netlink_options options = { .names = names, .n_names = 1 };
	struct source *source;
	struct err err;

	(void)state;
	assert_int_equal(src_netlink_open(&options, &source, &err), -EINVAL);
	assert_non_null(strstr(err.text, "aninterfacename16"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_those_of_the_interface),
		cmocka_unit_test(all_but_loopback_are_watched_without_names),
		cmocka_unit_test(
			an_interface_that_goes_and_comes_back_is_found_by_its_name),
		cmocka_unit_test(the_backlog_of_a_queue_is_seen),
		cmocka_unit_test(names_that_no_interface_can_have_are_refused),
	};

	return cmocka_run_group_tests_name("src_netlink", tests, enter_namespace, NULL);
}
