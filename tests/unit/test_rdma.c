/* SPDX-License-Identifier: Apache-2.0 */
/* test_rdma.c - units, pace and netlink messages of RDMA devices */
#include <errno.h>

#include "collector/sources/rdma/rdma_nl.h"
#include "collector/sources/rdma/rdma_units.h"
#include "tests/unit/rdma_reply.h"
#include "tests/unit/test.h"

static void
data_counters_count_four_bytes_for_every_known_driver(void **state)
{
	static const char *const drivers[] = { "mlx5_core", "mlx4_core", "bnxt_en",
					       "hfi1",      "ib_qib",    "be2net",
					       "rdma_rxe",  "unheard_of" };

	(void)state;
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
		assert_int_equal(rdma_unit_bytes(drivers[i], NULL), 4);
}

static void
an_override_comes_before_the_table(void **state)
{
	(void)state;
	assert_int_equal(rdma_unit_bytes("mlx5_core", "mlx5_core=1"), 1);
	assert_int_equal(rdma_unit_bytes("odd", "mlx5_core=4,odd=1"), 1);
	assert_int_equal(rdma_unit_bytes("mlx5", "mlx5_core=1"), 4);
	assert_int_equal(rdma_unit_bytes("mlx5_core", "mlx5=1"), 4);
}

static void
overrides_that_say_nothing_clear_are_refused(void **state)
{
	static const char *const bad[] = {
		"mlx5_core", "=4",   "a=",    "a=0",   "a=65",
		"a=4x",      "a=-1", "a,b=4", "a=4,b", "a=99999999999999999999999"
	};

	(void)state;
	assert_true(rdma_override_is_valid(NULL));
	assert_true(rdma_override_is_valid("a=1"));
	assert_true(rdma_override_is_valid("a=1,b=8"));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (rdma_override_is_valid(bad[i]))
			fail_msg("'%s' was taken", bad[i]);
}

static void
a_counter_stuck_at_32_bits_says_nothing(void **state)
{
	struct rdma_counter c = { 0 };

	(void)state;
	assert_true(rdma_counter_take(&c, 4294967294u));
	assert_false(rdma_counter_take(&c, 4294967295u));
	assert_int_equal(c.last, 4294967294u);
	assert_true(rdma_counter_take(&c, 10)); /* The counter was cleared. */
}

static void
a_wide_counter_may_pass_through_32_bits(void **state)
{
	struct rdma_counter c = { 0 };

	(void)state;
	assert_true(rdma_counter_take(&c, 4294967296u));
	assert_true(rdma_counter_take(&c, 4294967295u));
}

static void
the_rate_of_a_port_is_read(void **state)
{
	(void)state;
	assert_near(rdma_parse_rate_bps("100 Gb/sec (4X EDR)\n"), 100e9, 1);
	assert_near(rdma_parse_rate_bps("2.5 Gb/sec (1X SDR)"), 2.5e9, 1);
	assert_near(rdma_parse_rate_bps("fast"), 0, 0);
	assert_near(rdma_parse_rate_bps("nan Gb/sec"), 0, 0);
	assert_near(rdma_parse_rate_bps("inf Gb/sec"), 0, 0);
	assert_near(rdma_parse_rate_bps("10 Mb/sec"), 0, 0);
}

static void
slow_reads_make_it_read_less_often_and_quick_ones_more(void **state)
{
	struct rdma_pace pace = { 2, 2, 10, 200, 0 };

	(void)state;
	rdma_pace_note(&pace, 200);
	assert_int_equal(pace.interval_ns, 2);
	rdma_pace_note(&pace, 201);
	assert_int_equal(pace.interval_ns, 4);
	for (int i = 0; i < 5; i++)
		rdma_pace_note(&pace, 1000);
	assert_int_equal(pace.interval_ns, 10);
	for (int i = 0; i < RDMA_QUICK_READS; i++)
		rdma_pace_note(&pace, 10);
	assert_int_equal(pace.interval_ns, 5);
	for (int i = 0; i < 5 * RDMA_QUICK_READS; i++)
		rdma_pace_note(&pace, 10);
	assert_int_equal(pace.interval_ns, 2);
}

static void
requests_are_as_the_kernel_wants_them(void **state)
{
	/* Type 0x1411: client 5 (NLDEV), command 17; REQUEST and ACK. */
	static const uint8_t port[] = {
		32, 0, 0, 0, 0x11, 0x14, 5, 0, 7, 0, 0, 0, 0, 0, 0, 0,
		8,  0, 1, 0, 2,    0,    0, 0, 8, 0, 3, 0, 1, 0, 0, 0,
	};
	static const uint8_t devices[] = { 16, 0, 0, 0, 0x01, 0x14, 1, 3,
					   9,  0, 0, 0, 0,    0,    0, 0 };
	uint8_t request[RDMA_NL_MAX_REQUEST];

	(void)state;
	assert_int_equal(rdma_nl_ask_port(request, 7, 2, 1), sizeof port);
	assert_memory_equal(request, port, sizeof port);
	assert_int_equal(rdma_nl_ask_devices(request, 9), sizeof devices);
	assert_memory_equal(request, devices, sizeof devices);
	assert_int_equal(rdma_nl_ask_bound(request, 9), 24);
	assert_int_equal(request[16 + 2], 75); /* STAT_RES. */
	assert_int_equal(request[16 + 4], 19); /* RES_QP. */
}

struct seen {
	struct rdma_nl_counter counters[8];
	size_t n, n_devices;
	char device[64];
	uint32_t index;
};

static void
on_counter(void *ctx, const struct rdma_nl_counter *counter)
{
	struct seen *seen = ctx;

	assert_true(seen->n < 8);
	seen->counters[seen->n++] = *counter;
}

static void
on_device(void *ctx, uint32_t index, const char *name, uint32_t n_ports)
{
	struct seen *seen = ctx;

	seen->n_devices++;
	seen->index = index;
	assert_int_equal(n_ports, 2);
	strcpy(seen->device, name);
}

static int
parse(const struct reply *r, uint32_t sequence, struct seen *seen)
{
	const struct rdma_nl_handler handler = { seen, on_device, on_counter };

	memset(seen, 0, sizeof *seen);
	return rdma_nl_parse(r->bytes, r->n, sequence, &handler);
}

static void
the_counters_of_a_port_come_with_names_and_values(void **state)
{
	struct reply r = { 0 };
	struct seen seen;

	(void)state;
	reply_port(&r, 4, 2, 1, 900, 30);
	assert_int_equal(parse(&r, 4, &seen), 0); /* The result is yet to come. */
	reply_error(&r, 4, 0);
	assert_int_equal(parse(&r, 4, &seen), 1);
	assert_int_equal(seen.n, 4);
	assert_string_equal(seen.counters[0].name, "np_ecn_marked_roce_packets");
	assert_int_equal(seen.counters[0].value, 900);
	assert_int_equal(seen.counters[0].device, 2);
	assert_int_equal(seen.counters[0].port, 1);
	assert_false(seen.counters[0].has_pid);
	assert_string_equal(seen.counters[2].name, "packet_seq_err");
	assert_int_equal(seen.counters[2].value, 30);
}

static void
counters_bound_to_a_process_come_with_it(void **state)
{
	struct reply r = { 0 };
	struct seen seen;

	(void)state;
	reply_bound(&r, 4, 2, 1, 4711, UINT64_C(1) << 40, 17);
	reply_done(&r, 4);
	assert_int_equal(parse(&r, 4, &seen), 1);
	assert_int_equal(seen.n, 3);
	assert_true(seen.counters[1].has_pid);
	assert_int_equal(seen.counters[1].pid, 4711);
	assert_int_equal(seen.counters[1].id, 5);
	assert_int_equal(seen.counters[1].port, 1);
	assert_string_equal(seen.counters[1].name, "rdma_tx_bytes");
	assert_true(seen.counters[1].value == UINT64_C(1) << 40);
}

static void
devices_come_with_their_index(void **state)
{
	struct reply r = { 0 };
	struct seen seen;

	(void)state;
	reply_device(&r, 4, 3, "mlx5_0");
	reply_done(&r, 4);
	assert_int_equal(parse(&r, 4, &seen), 1);
	assert_int_equal(seen.n_devices, 1);
	assert_string_equal(seen.device, "mlx5_0");
	assert_int_equal(seen.index, 3);
}

static void
replies_to_others_are_passed_over(void **state)
{
	struct reply r = { 0 };
	struct seen seen;

	(void)state;
	reply_device(&r, 5, 3, "mlx5_0");
	reply_done(&r, 5);
	assert_int_equal(parse(&r, 4, &seen), 0);
	assert_int_equal(seen.n_devices, 0);
}

static void
what_the_kernel_refuses_is_passed_on(void **state)
{
	struct reply r = { 0 };
	struct seen seen;

	(void)state;
	reply_error(&r, 4, -EOPNOTSUPP);
	assert_int_equal(parse(&r, 4, &seen), -EOPNOTSUPP);
	r.n = 0;
	reply_error(&r, 4, INT32_MIN);
	assert_int_equal(parse(&r, 4, &seen), -EBADMSG);
}

static void
a_reply_cut_short_anywhere_is_noticed_or_harmless(void **state)
{
	struct reply r = { 0 };
	struct seen seen;
	size_t whole;

	(void)state;
	reply_bound(&r, 4, 2, 1, 4711, 1, 17);
	whole = r.n;
	for (r.n = 0; r.n < whole; r.n++) {
		int got = parse(&r, 4, &seen);

		assert_int_equal(got, r.n == 0 ? 0 : -EBADMSG);
	}
	/* Wrong lengths inside. */
	for (size_t i = NLMSG_HDRLEN; i + 1 < whole; i++) {
		struct reply bent = r;

		bent.n = whole;
		bent.bytes[i] = 0xff;
		bent.bytes[i + 1] = 0xff;
		assert_int_equal(parse(&bent, 4, &seen), 0);
		assert_true(seen.n <= 3);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_counters_count_four_bytes_for_every_known_driver),
		cmocka_unit_test(an_override_comes_before_the_table),
		cmocka_unit_test(overrides_that_say_nothing_clear_are_refused),
		cmocka_unit_test(a_counter_stuck_at_32_bits_says_nothing),
		cmocka_unit_test(a_wide_counter_may_pass_through_32_bits),
		cmocka_unit_test(the_rate_of_a_port_is_read),
		cmocka_unit_test(
			slow_reads_make_it_read_less_often_and_quick_ones_more),
		cmocka_unit_test(requests_are_as_the_kernel_wants_them),
		cmocka_unit_test(the_counters_of_a_port_come_with_names_and_values),
		cmocka_unit_test(counters_bound_to_a_process_come_with_it),
		cmocka_unit_test(devices_come_with_their_index),
		cmocka_unit_test(replies_to_others_are_passed_over),
		cmocka_unit_test(what_the_kernel_refuses_is_passed_on),
		cmocka_unit_test(a_reply_cut_short_anywhere_is_noticed_or_harmless),
	};

	return cmocka_run_group_tests_name("rdma", tests, NULL, NULL);
}
