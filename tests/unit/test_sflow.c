/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "collector/sources/packets/sflow.h"
#include "collector/sources/packets/src_sflow.h"
#include "tests/unit/packets.h"
#include "tests/unit/sflow_datagram.h"
#include "tests/unit/sink.h"
#include "tests/unit/test.h"

#define MS INT64_C(1000000)

struct seen {
	struct sflow_counters counters[8];
	struct sflow_flow flows[8];
	size_t n_counters, n_flows;
};

static void
on_counters(void *ctx, const struct sflow_datagram *datagram,
	    const struct sflow_counters *counters)
{
	struct seen *seen = ctx;

	(void)datagram;
	seen->counters[seen->n_counters++ % 8] = *counters;
}

static void
on_flow(void *ctx, const struct sflow_datagram *datagram, const struct sflow_flow *flow)
{
	struct seen *seen = ctx;

	(void)datagram;
	seen->flows[seen->n_flows++ % 8] = *flow;
}

static int
parse(const struct datagram *d, struct seen *seen, struct sflow_datagram *ret)
{
	const struct sflow_handler handler = { seen, on_counters, on_flow };

	memset(seen, 0, sizeof *seen);
	return sflow_parse(d->bytes, d->n, &handler, ret);
}

/* A TCP packet from 10.0.0.1 to 10.0.0.2, as far as it is sampled. */
static struct frame
sampled(void)
{
	struct frame f;

	frame_begin(&f, 40);
	frame_tcp(&f, 5001, 443, 77);
	frame_ipv4(&f, 6, 0x0a000001, 0x0a000002, 0);
	put16(f.room + f.at + 2, 1500);
	frame_ethernet(&f, 0x0800);
	return f;
}

static void
counters_are_read_in_both_forms(void **state)
{
	(void)state;
	for (int is_expanded = 0; is_expanded <= 1; is_expanded++) {
		struct datagram d;
		struct sflow_datagram about;
		char text[PACKET_ADDRESS_TEXT];
		struct seen seen;

		datagram_begin(&d, 9, 2);
		datagram_counters(&d, is_expanded, 3, 1000, UINT64_C(1) << 40);
		datagram_counters(&d, is_expanded, 4, 5, 6);
		assert_int_equal(parse(&d, &seen, &about), 0);
		assert_int_equal(about.sequence, 9);
		packet_address_text(&about.agent, text, sizeof text);
		assert_string_equal(text, "192.0.2.1");
		assert_int_equal(seen.n_counters, 2);
		assert_int_equal(seen.counters[0].interface, 3);
		assert_int_equal(seen.counters[0].in_bytes, 1000);
		assert_true(seen.counters[0].out_bytes == UINT64_C(1) << 40);
		assert_int_equal(seen.counters[0].in_packets, 13);
		assert_int_equal(seen.counters[0].out_packets, 27);
		assert_true(seen.counters[0].is_up);
		assert_true(seen.counters[0].speed_bps == 100000000000);
	}
}

static void
sampled_headers_are_read_in_both_forms(void **state)
{
	struct frame f = sampled();

	(void)state;
	for (int is_expanded = 0; is_expanded <= 1; is_expanded++) {
		struct datagram d;
		struct sflow_datagram about;
		struct seen seen;

		datagram_begin(&d, 9, 1);
		datagram_flow(&d, is_expanded, 1000, 3, 0x3fffffff, frame_bytes(&f), 64,
			      1514);
		assert_int_equal(parse(&d, &seen, &about), 0);
		assert_int_equal(seen.n_flows, 1);
		assert_int_equal(seen.flows[0].rate, 1000);
		assert_int_equal(seen.flows[0].input, 3);
		if (!is_expanded)
			assert_int_equal(seen.flows[0].output, 0);
		assert_int_equal(seen.flows[0].packet.wire_bytes, 1514);
		assert_int_equal(seen.flows[0].packet.payload_bytes, 1460);
		assert_true(seen.flows[0].packet.is_tcp);
	}
}

static void
another_version_is_refused(void **state)
{
	struct sflow_datagram about;
	struct datagram d;
	struct seen seen;

	(void)state;
	datagram_begin(&d, 9, 0);
	d.bytes[3] = 4;
	assert_int_equal(parse(&d, &seen, &about), -EPROTONOSUPPORT);
}

static void
a_datagram_cut_anywhere_is_damaged(void **state)
{
	struct sflow_datagram about;
	struct datagram d;
	struct frame f = sampled();
	struct seen seen;
	size_t whole;

	(void)state;
	datagram_begin(&d, 9, 2);
	datagram_counters(&d, false, 3, 1000, 2000);
	datagram_flow(&d, true, 1000, 3, 4, frame_bytes(&f), 61, 1514);
	whole = d.n;
	assert_int_equal(parse(&d, &seen, &about), 0);
	for (d.n = 0; d.n < whole; d.n++)
		assert_int_equal(parse(&d, &seen, &about), -EBADMSG);
	/* One wrong word at a time. */
	for (size_t i = 4; i + 4 <= whole; i += 4) {
		struct datagram bent = d;

		bent.n = whole;
		memset(bent.bytes + i, 0xff, 4);
		parse(&bent, &seen, &about);
		assert_true(seen.n_counters <= 1 && seen.n_flows <= 1);
	}
}

/* ---- The source ------------------------------------------------------------------ */

static void
capture(FILE *file, int64_t at_ms, const struct datagram *d)
{
	struct frame f;

	frame_begin(&f, d->n);
	memcpy(f.room + f.at, d->bytes, d->n);
	frame_udp(&f, 40000, SFLOW_PORT);
	frame_ipv4(&f, 17, 0xc0000201, 0x0a000001, 0);
	frame_ethernet(&f, 0x0800);
	pcap_file_packet(file, at_ms * MS, &f, (uint32_t)frame_n(&f),
			 (uint32_t)frame_n(&f));
}

static void
poll_to_end(struct source *source, const struct test_sink *sink)
{
	int error;

	do {
		error = source->class->poll(source, 0, &sink->sink, NULL);
	} while (error == 0);
	assert_int_equal(error, -ENODATA);
}

static void
what_switches_send_becomes_counts_of_their_ports(void **state)
{
	static const char *const jobs[] = { "41=10.0.0.1,10.0.0.2" };
	char path[] = "/tmp/antiphase-sflow-XXXXXX";
	struct sflow_options options = { .file = path, .jobs = jobs, .n_jobs = 1 };
	FILE *file = fdopen(mkstemp(path), "wb");
	struct sflow_status status;
	struct source_extra extra;
	struct source *source;
	struct test_sink sink;
	struct frame f = sampled();
	struct datagram d;
	uint64_t bytes;

	(void)state;
	assert_non_null(file);
	pcap_file_header(file, 1);
	datagram_begin(&d, 1, 1);
	datagram_counters(&d, false, 3, 1000, 5000);
	capture(file, 1000, &d);
	datagram_begin(&d, 4, 2); /* Two are missing. */
	datagram_counters(&d, false, 3, 3000, 9000);
	datagram_flow(&d, false, 100, 3, 4, frame_bytes(&f), 64, 1514);
	capture(file, 2000, &d);
	d.n = 17;
	capture(file, 2000, &d);
	fclose(file);
	assert_int_equal(src_sflow_open(&options, &source, NULL), 0);
	test_sink_init(&sink);
	poll_to_end(source, &sink);
	assert_true(test_sink_total(&sink, "192.0.2.1/3", "", TELE_RX, &bytes, &extra));
	assert_int_equal(bytes, 2000);
	assert_true(test_sink_total(&sink, "192.0.2.1/3", "", TELE_TX, &bytes, &extra));
	assert_int_equal(bytes, 4000);
	assert_true(
		test_sink_total(&sink, "192.0.2.1/3", "41", TELE_RX, &bytes, &extra));
	assert_int_equal(bytes, 151400);
	assert_int_equal(extra.packets, 100);
	assert_true(
		test_sink_total(&sink, "192.0.2.1/4", "41", TELE_TX, &bytes, &extra));
	assert_int_equal(bytes, 151400);
	assert_near(sink.seen.items[0].capacity_bps, 100e9, 0);
	src_sflow_status(source, &status);
	assert_int_equal(status.n_datagrams, 3);
	assert_int_equal(status.n_malformed, 1);
	assert_int_equal(status.n_lost, 2);
	assert_int_equal(sink.n_lost, 3);
	source->class->close(source);
	test_sink_fini(&sink);
	unlink(path);
}

static void
captured_datagrams_are_stamped_by_the_capture(void **state)
{
	struct sflow_options options = { 0 };
	char path[] = "/tmp/antiphase-sflow-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "wb");
	struct tele_frame frame = { 0 };
	struct source_extra extra;
	struct source *source;
	struct test_sink sink;
	uint64_t bytes;

	(void)state;
	assert_non_null(file);
	pcap_file_header(file, 1);
	for (uint32_t i = 0; i < 3; i++) {
		struct datagram d;

		datagram_begin(&d, i, 1);
		datagram_counters(&d, true, 3, i * 1000, i * 2000);
		capture(file, 5000 + 1000 * i, &d);
	}
	fclose(file);
	options.file = path;
	assert_int_equal(src_sflow_open(&options, &source, NULL), 0);
	test_sink_init(&sink);
	poll_to_end(source, &sink);
	assert_true(test_sink_total(&sink, "192.0.2.1/3", "", TELE_TX, &bytes, &extra));
	assert_int_equal(bytes, 4000);
	binner_raw(sink.binner, 5000, 7000, &frame);
	assert_int_equal(frame.series.n, 2);
	assert_int_equal(frame.bins.items[0], 2); /* 2000 bytes in 1000 ms. */
	tele_fini(&frame);
	source->class->close(source);
	test_sink_fini(&sink);
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_read_in_both_forms),
		cmocka_unit_test(sampled_headers_are_read_in_both_forms),
		cmocka_unit_test(another_version_is_refused),
		cmocka_unit_test(a_datagram_cut_anywhere_is_damaged),
		cmocka_unit_test(what_switches_send_becomes_counts_of_their_ports),
		cmocka_unit_test(captured_datagrams_are_stamped_by_the_capture),
	};

	return cmocka_run_group_tests_name("sflow", tests, NULL, NULL);
}
