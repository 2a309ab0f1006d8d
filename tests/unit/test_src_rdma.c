/* SPDX-License-Identifier: Apache-2.0 */
/* test_src_rdma.c - a device made of files, and netlink replies built by hand */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/sources/rdma/rdma_nl.h"
#include "collector/sources/rdma/src_rdma.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "tests/unit/rdma_reply.h"
#include "tests/unit/sink.h"
#include "tests/unit/test.h"

#define MS INT64_C(1000000)

static char root[64];

static void
put(const char *path, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof whole, "%s/sys/class/infiniband/mlx5_0/%s", root, path);
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void
put_counter(const char *name, unsigned long long value)
{
	char path[64], text[32];

	snprintf(path, sizeof path, "ports/1/counters/%s", name);
	snprintf(text, sizeof text, "%llu\n", value);
	put(path, text);
}

static int
make_device(void **state)
{
	char command[512];

	(void)state;
	strcpy(root, "/tmp/antiphase-rdma-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(command, sizeof command,
		 "d=%s/sys/class/infiniband/mlx5_0 && mkdir -p $d/ports/1/counters "
		 "$d/device && ln -s ../../../bus/pci/drivers/mlx5_core "
		 "$d/device/driver",
		 root);
	assert_int_equal(system(command), 0);
	put("ports/1/rate", "100 Gb/sec (4X EDR)\n");
	put("ports/1/state", "4: ACTIVE\n");
	put_counter("port_xmit_data", 1000);
	put_counter("port_rcv_data", 2000);
	put_counter("port_xmit_packets", 10);
	put_counter("port_rcv_packets", 20);
	return 0;
}

static int
remove_device(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

static struct source *
open_root(const char *units)
{
	struct rdma_options options = { .sysroot = root, .units = units };
	struct source *source;
	struct err err;

	if (src_rdma_open(&options, &source, &err) < 0)
		fail_msg("%s", err.text);
	return source;
}

static void
poll_at(struct source *source, struct test_sink *sink, int64_t now_ms)
{
	usleep(1500); /* The source stamps readings with the real clock. */
	assert_int_equal(source->class->poll(source, now_ms * MS, &sink->sink, NULL),
			 0);
}

static void
bytes_are_four_times_the_counters(void **state)
{
	struct source *source = open_root(NULL);
	struct source_extra extra;
	struct test_sink sink;
	uint64_t bytes;

	(void)state;
	test_sink_init(&sink);
	poll_at(source, &sink, 1000);
	assert_string_equal(sink.seen.items[0].name, "mlx5_0/1");
	assert_true(sink.seen.items[0].is_rdma);
	assert_true(sink.seen.items[0].is_up);
	assert_near(sink.seen.items[0].capacity_bps, 100e9, 1);
	put_counter("port_xmit_data", 1000 + 250);
	put_counter("port_rcv_data", 2000 + 1000);
	put_counter("port_xmit_packets", 13);
	poll_at(source, &sink, 1020);
	assert_true(test_sink_total(&sink, "mlx5_0/1", "", TELE_TX, &bytes, &extra));
	assert_int_equal(bytes, 1000);
	assert_int_equal(extra.packets, 3);
	assert_true(test_sink_total(&sink, "mlx5_0/1", "", TELE_RX, &bytes, &extra));
	assert_int_equal(bytes, 4000);
	source->class->close(source);
	test_sink_fini(&sink);
}

static void
the_units_of_a_driver_may_be_given(void **state)
{
	struct source *source = open_root("mlx5_core=1");
	struct source_extra extra;
	struct test_sink sink;
	uint64_t bytes;

	(void)state;
	put_counter("port_xmit_data", 1000);
	test_sink_init(&sink);
	poll_at(source, &sink, 1000);
	put_counter("port_xmit_data", 1000 + 250);
	poll_at(source, &sink, 1020);
	assert_true(test_sink_total(&sink, "mlx5_0/1", "", TELE_TX, &bytes, &extra));
	assert_int_equal(bytes, 250);
	source->class->close(source);
	test_sink_fini(&sink);
}

static void
a_counter_at_its_end_gives_no_reading(void **state)
{
	struct source *source = open_root(NULL);
	struct rdma_status status;
	struct test_sink sink;

	(void)state;
	put_counter("port_xmit_data", 4294967295u);
	test_sink_init(&sink);
	poll_at(source, &sink, 1000);
	poll_at(source, &sink, 1010);
	assert_int_equal(sink.n_counters, 2); /* The RX counters. */
	src_rdma_status(source, &status);
	assert_int_equal(status.n_saturated, 2);
	assert_int_equal(status.n_reads, 4);
	put_counter("port_xmit_data", 1000);
	source->class->close(source);
	test_sink_fini(&sink);
}

static void
a_device_without_counters_is_passed_over(void **state)
{
	struct source *source;
	struct test_sink sink;

	(void)state;
	put("ports/1/counters/port_xmit_data", "N/A (no PMA)\n");
	source = open_root(NULL);
	test_sink_init(&sink);
	poll_at(source, &sink, 1000);
	poll_at(source, &sink, 1010);
	assert_int_equal(sink.n_counters, 0);
	put_counter("port_xmit_data", 1000);
	source->class->close(source);
	test_sink_fini(&sink);
}

static void
a_device_gone_and_back_is_the_same_interface(void **state)
{
	struct source *source = open_root(NULL);
	struct test_sink sink;
	char from[128], to[128];

	(void)state;
	test_sink_init(&sink);
	poll_at(source, &sink, 1000);
	snprintf(from, sizeof from, "%s/sys/class/infiniband/mlx5_0", root);
	snprintf(to, sizeof to, "%s/away", root);
	assert_int_equal(rename(from, to), 0);
	poll_at(source, &sink, 2100);
	assert_int_equal(sink.n_gone, 1);
	assert_int_equal(rename(to, from), 0);
	poll_at(source, &sink, 3200);
	assert_int_equal(sink.seen.n, 1);
	assert_int_equal(sink.n_counters, 4);
	source->class->close(source);
	test_sink_fini(&sink);
}

static void
no_device_is_said_with_the_place_it_was_looked_for(void **state)
{
	const char *names[] = { "mlx5_7" };
	struct rdma_options options = { .sysroot = root, .names = names, .n_names = 1 };
	struct source *source;
	struct err err;

	(void)state;
	assert_int_equal(src_rdma_open(&options, &source, &err), -ENODEV);
	assert_non_null(strstr(err.text, "of that name"));
	options = (struct rdma_options){ .sysroot = "/nonexistent" };
	assert_int_equal(src_rdma_open(&options, &source, &err), -ENODEV);
	assert_non_null(strstr(err.text, "/nonexistent/sys/class/infiniband"));
	options = (struct rdma_options){ .sysroot = root, .units = "x" };
	assert_int_equal(src_rdma_open(&options, &source, &err), -EINVAL);
}

/* A kernel that counts bytes by process; values grow with each request. */
struct kernel {
	uint64_t round;
};

static ssize_t
exchange(void *ctx, const uint8_t *request, size_t n, uint8_t *reply, size_t size)
{
	struct kernel *kernel = ctx;
	struct reply r = { 0 };
	struct nlmsghdr header;

	memcpy(&header, request, sizeof header);
	assert_int_equal(header.nlmsg_len, n);
	if (header.nlmsg_type == 0x1401) {
		reply_device(&r, header.nlmsg_seq, 3, "mlx5_0");
		reply_done(&r, header.nlmsg_seq);
	} else if (header.nlmsg_flags & NLM_F_DUMP) {
		kernel->round++;
		reply_bound(&r, header.nlmsg_seq, 3, 1, 100, kernel->round * 1000,
			    kernel->round * 10);
		reply_bound(&r, header.nlmsg_seq, 3, 1, 101, kernel->round * 500, 0);
		/* The process and its counter end after the second request. */
		if (kernel->round <= 2)
			reply_bound(&r, header.nlmsg_seq, 3, 1, 102,
				    kernel->round * 7000, 0);
		reply_done(&r, header.nlmsg_seq);
	} else {
		reply_port(&r, header.nlmsg_seq, 3, 1, 100 + kernel->round * 7,
			   kernel->round * 2);
		reply_error(&r, header.nlmsg_seq, 0);
	}
	assert_true(r.n <= size);
	memcpy(reply, r.bytes, r.n);
	return (ssize_t)r.n;
}

static bool
job_of_pid(void *ctx, uint32_t pid, char ret_name[TELE_MAX_NAME + 1])
{
	(void)ctx;
	if (pid == 101)
		return false;
	snprintf(ret_name, TELE_MAX_NAME + 1, "%s", "4711");
	return true;
}

static void
bytes_of_processes_become_those_of_their_jobs(void **state)
{
	struct kernel kernel = { 0 };
	struct rdma_options options = { .sysroot = root,
					.exchange = exchange,
					.job_of_pid = job_of_pid,
					.ctx = &kernel };
	struct source_extra extra;
	struct source *source;
	struct test_sink sink;
	uint64_t bytes;

	(void)state;
	assert_int_equal(src_rdma_open(&options, &source, NULL), 0);
	test_sink_init(&sink);
	for (int i = 0; i < 4; i++)
		poll_at(source, &sink, 1000 + i * 20);
	/* The difference between the fourth and the first reading. */
	assert_true(
		test_sink_total(&sink, "mlx5_0/1", "4711", TELE_TX, &bytes, &extra));
	assert_int_equal(bytes, 3 * 1000 + 7000);
	assert_true(
		test_sink_total(&sink, "mlx5_0/1", "4711", TELE_RX, &bytes, &extra));
	assert_int_equal(bytes, 3 * 10);
	assert_true(
		test_sink_total(&sink, "mlx5_0/1", "other", TELE_TX, &bytes, &extra));
	assert_int_equal(bytes, 3 * 500);
	/* The port's marks and retransmissions. */
	assert_true(test_sink_total(&sink, "mlx5_0/1", "", TELE_RX, &bytes, &extra));
	assert_int_equal(extra.ce, 3 * 7);
	assert_true(test_sink_total(&sink, "mlx5_0/1", "", TELE_TX, &bytes, &extra));
	assert_int_equal(extra.retransmits, 3 * 2);
	source->class->close(source);
	test_sink_fini(&sink);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_four_times_the_counters),
		cmocka_unit_test(the_units_of_a_driver_may_be_given),
		cmocka_unit_test(a_counter_at_its_end_gives_no_reading),
		cmocka_unit_test(a_device_without_counters_is_passed_over),
		cmocka_unit_test(a_device_gone_and_back_is_the_same_interface),
		cmocka_unit_test(no_device_is_said_with_the_place_it_was_looked_for),
		cmocka_unit_test(bytes_of_processes_become_those_of_their_jobs),
	};

	return cmocka_run_group_tests_name("src_rdma", tests, make_device,
					   remove_device);
}
