/* SPDX-License-Identifier: Apache-2.0 */
/* test_hft.c - files after the example in Cumulus Linux's manual; none was recorded */
#include <errno.h>

#include "collector/import/hft.h"
#include "collector/sources/source.h"
#include "lib/base/err.h"
#include "tests/unit/sink.h"
#include "tests/unit/test.h"

#define MS INT64_C(1000000)

static int
parse(const char *text, enum hft_counts counts, struct hft *ret_hft, struct err *err)
{
	char *copy = xstrdup(text);
	int error = hft_parse("t.json", copy, strlen(copy), counts, ret_hft, err);

	free(copy);
	return error;
}

/* The manual's example with its missing comma, and a queue's data. */
static const char manual[] =
	"{\n"
	"  \"hostname\":  \"leaf01\"\n"
	"  \"0\": {\n"
	"    \"sample_index\": 1,\n"
	"    \"metadata\": { \"sec\": 1715957858, \"nsec\": 714503118 },\n"
	"    \"port_data\": { \"swp1\": {\n"
	"      \"if_out_octets\": 10, \"if_in_octets\": 20,\n"
	"      \"tc_data\": { \"0\": { \"tc_curr_occupancy\": 0 } }\n"
	"    } } }\n"
	"}\n";

static void
the_manual_s_example_is_read_as_it_is_printed(void **state)
{
	struct hft hft;

	(void)state;
	assert_int_equal(parse(manual, HFT_AUTO, &hft, NULL), 0);
	assert_string_equal(hft.host, "leaf01");
	assert_int_equal(hft.ports.n, 1);
	assert_string_equal(hft.ports.items[0].name, "swp1");
	assert_int_equal(hft.samples.n, 1);
	assert_true(hft.samples.items[0].time_ns == INT64_C(1715957858714503118));
	assert_int_equal(hft.samples.items[0].out_bytes, 10);
	assert_int_equal(hft.samples.items[0].in_bytes, 20);
	hft_fini(&hft);
}

/* 'n' samples of swp1, 1 ms apart from 1000 s on, with these octets out. */
static char *
samples(const unsigned *out, size_t n)
{
	char *text = xstrdup("{\"hostname\":\"leaf01\"");

	for (size_t i = 0; i < n; i++) {
		char *longer = xasprintf(
			"%s,\"%zu\":{\"metadata\":{\"sec\":1000,\"nsec\":%zu},"
			"\"port_data\":{\"swp1\":{\"if_out_octets\":%u}}}",
			text, i, i * 1000000, out[i]);

		free(text);
		text = longer;
	}
	text = realloc(text, strlen(text) + 2);
	return strcat(text, "}");
}

static void
octets_that_fall_are_those_of_each_interval(void **state)
{
	static const unsigned rising[] = { 5, 5, 9, 20 }, falling[] = { 5, 9, 3, 0 };
	struct hft hft;
	char *text;

	(void)state;
	text = samples(rising, 4);
	assert_int_equal(parse(text, HFT_AUTO, &hft, NULL), 0);
	assert_int_equal(hft.counts, HFT_CUMULATIVE);
	assert_int_equal(hft.samples.items[3].out_bytes, 20);
	hft_fini(&hft);
	assert_int_equal(parse(text, HFT_INTERVAL, &hft, NULL), 0);
	assert_int_equal(hft.samples.items[3].out_bytes, 39);
	hft_fini(&hft);
	free(text);
	text = samples(falling, 4);
	assert_int_equal(parse(text, HFT_AUTO, &hft, NULL), 0);
	assert_int_equal(hft.counts, HFT_INTERVAL);
	assert_int_equal(hft.samples.items[3].out_bytes, 17);
	hft_fini(&hft);
	free(text);
}

static void
samples_become_bins_of_the_port(void **state)
{
	static const unsigned out[] = { 0, 1000, 1000, 4000, 4500 };
	struct tele_frame frame = { 0 };
	struct source *source;
	struct test_sink sink;
	struct hft hft;
	char *text = samples(out, 5);
	int error;

	(void)state;
	assert_int_equal(parse(text, HFT_CUMULATIVE, &hft, NULL), 0);
	free(text);
	src_hft_open(&hft, 100e9, &source);
	test_sink_init(&sink);
	do {
		error = source->class->poll(source, 0, &sink.sink, NULL);
	} while (error == 0);
	assert_int_equal(error, -ENODATA);
	binner_raw(sink.binner, 1000000, 1000005, &frame);
	assert_int_equal(frame.series.n, 1); /* Octets in were absent. */
	assert_int_equal(frame.series.items[0].direction, TELE_TX);
	assert_int_equal(frame.bins.items[0], 1000);
	assert_int_equal(frame.bins.items[1], 0);
	assert_int_equal(frame.bins.items[2], 3000);
	assert_int_equal(frame.bins.items[3], 500);
	assert_int_equal(frame.bins.items[4], TELE_GAP);
	assert_near(sink.seen.items[0].capacity_bps, 100e9, 0);
	tele_fini(&frame);
	source->class->close(source);
	test_sink_fini(&sink);
}

static void
what_is_no_such_file_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *part;
	} bad[] = {
		{ "[]", "object" },
		{ "{}", "no samples" },
		{ "{\"hostname\":7}", "hostname" },
		{ "{\"0\":{}}", "metadata" },
		{ "{\"0\":{\"metadata\":{},\"port_data\":{}}}", "sec" },
		{ "{\"0\":{\"metadata\":{\"sec\":1,\"nsec\":1000000000},"
		  "\"port_data\":{}}}",
		  "nsec" },
		{ "{\"0\":{\"metadata\":{\"sec\":1,\"nsec\":1},\"port_data\":{\"a\":1}}}",
		  "object" },
		{ "{\"0\":{\"metadata\":{\"sec\":1,\"nsec\":1},\"port_data\":{\"a\":"
		  "{\"if_out_octets\":-1}}}}",
		  "if_out_octets" },
		{ "{\"hostname\": \"x\"", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct hft hft;
		struct err err = { 0 };

		if (parse(bad[i].text, HFT_AUTO, &hft, &err) >= 0)
			fail_msg("'%s' was taken", bad[i].text);
		if (!strstr(err.text, bad[i].part))
			fail_msg("'%s' has no '%s'", err.text, bad[i].part);
		assert_string_equal(err.file, "t.json");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_manual_s_example_is_read_as_it_is_printed),
		cmocka_unit_test(octets_that_fall_are_those_of_each_interval),
		cmocka_unit_test(samples_become_bins_of_the_port),
		cmocka_unit_test(what_is_no_such_file_is_refused_with_its_place),
	};

	return cmocka_run_group_tests_name("hft", tests, NULL, NULL);
}
