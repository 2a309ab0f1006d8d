/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "collector/sources/packets/src_pcap.h"
#include "lib/base/err.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/detect.h"
#include "tests/unit/packets.h"
#include "tests/unit/sink.h"
#include "tests/unit/test.h"

#define MS       INT64_C(1000000)
#define A        0x0a000001 /* 10.0.0.1 */
#define B        0x0a000002
#define ETHERNET 1
#define SPAN     SHARED_DATA "/captures/mpi-span"

static char path[64];

static FILE *
begin_file(uint32_t link)
{
	FILE *file;
	int fd;

	strcpy(path, "/tmp/antiphase-pcap-XXXXXX");
	fd = mkstemp(path);
	file = fdopen(fd, "wb");
	assert_non_null(file);
	pcap_file_header(file, link);
	return file;
}

/* A TCP segment with 'n' bytes of data, of which 96 bytes are captured. */
static void
put_segment(FILE *file, int64_t time_ns, uint32_t from, uint32_t to, uint32_t sequence,
	    unsigned n)
{
	struct frame f;

	frame_begin(&f, 42);
	frame_tcp(&f, 5001, 443, sequence);
	frame_ipv4(&f, 6, from, to, 0);
	put16(f.room + f.at + 2, n + 40);
	frame_ethernet(&f, 0x0800);
	pcap_file_packet(file, time_ns, &f, 96, n + 54);
}

static struct source *
open_capture(const struct pcap_options *options)
{
	struct source *source;
	struct err err;

	if (src_pcap_open(options, &source, &err) < 0)
		fail_msg("%s: %s", err.file, err.text);
	return source;
}

static void
drain(struct source *source, struct test_sink *sink)
{
	int error;

	do {
		error = source->class->poll(source, 0, &sink->sink, NULL);
	} while (error == 0);
	assert_int_equal(error, -ENODATA);
}

static uint64_t
total(const struct test_sink *sink, const char *interface, const char *job,
      enum tele_direction direction, struct source_extra *ret_extra)
{
	uint64_t bytes;

	if (!test_sink_total(sink, interface, job, direction, &bytes, ret_extra))
		fail_msg("no series of %s, job '%s'", interface, job);
	return bytes;
}

static void
without_local_addresses_each_end_is_an_interface(void **state)
{
	FILE *file = begin_file(ETHERNET);
	struct pcap_options options = { .file = path, .capacity_bps = 1e9 };
	struct source_extra extra;
	struct pcap_status status;
	struct source *source;
	struct test_sink sink;
	uint32_t bins[3] = { 0 };
	struct tele_frame frame = { 0 };

	(void)state;
	put_segment(file, 5000 * MS, A, B, 1000, 1446);
	put_segment(file, 5000 * MS + 999999, A, B, 2446, 1446);
	put_segment(file, 5002 * MS, B, A, 7, 46);
	fclose(file);
	test_sink_init(&sink);
	source = open_capture(&options);
	drain(source, &sink);
	assert_int_equal(total(&sink, "10.0.0.1", "", TELE_TX, &extra), 3000);
	assert_int_equal(extra.packets, 2);
	assert_int_equal(total(&sink, "10.0.0.1", "", TELE_RX, &extra), 100);
	assert_int_equal(total(&sink, "10.0.0.2", "", TELE_RX, &extra), 3000);
	assert_int_equal(total(&sink, "10.0.0.2", "other", TELE_RX, &extra), 3000);
	binner_raw(sink.binner, 5000, 5003, &frame);
	for (size_t i = 0; i < frame.series.n; i++)
		if (frame.series.items[i].interface == 0 &&
		    frame.series.items[i].job == TELE_LINK &&
		    frame.series.items[i].direction == TELE_TX)
			memcpy(bins, tele_bins(&frame, &frame.series.items[i]),
			       sizeof bins);
	assert_int_equal(bins[0], 3000);
	assert_int_equal(bins[1], 0);
	assert_int_equal(bins[2], 0);
	assert_near(sink.seen.items[0].capacity_bps, 1e9, 0);
	src_pcap_status(source, &status);
	assert_int_equal(status.n_packets, 3);
	assert_int_equal(status.n_bytes, 3100);
	assert_int_equal(status.last_ns - status.first_ns, 2 * MS);
	source->class->close(source);
	test_sink_fini(&sink);
	tele_fini(&frame);
	unlink(path);
}

static void
local_addresses_give_one_interface_its_direction_and_jobs(void **state)
{
	static const char *const local[] = { "10.0.0.2" };
	static const char *const jobs[] = { "41=10.0.0.1", "42=10.0.0.3" };
	FILE *file = begin_file(ETHERNET);
	struct pcap_options options = { .file = path,
					.interface = "swp7",
					.local = local,
					.n_local = 1,
					.jobs = jobs,
					.n_jobs = 2 };
	struct source_extra extra;
	struct source *source;
	struct test_sink sink;

	(void)state;
	put_segment(file, 5000 * MS, A, B, 1000, 1446);
	put_segment(file, 5001 * MS, B, A, 1, 46);
	put_segment(file, 5002 * MS, 0x0a000003, B, 1, 946);
	put_segment(file, 5003 * MS, 0x0b000003, B, 1, 446);
	fclose(file);
	test_sink_init(&sink);
	source = open_capture(&options);
	drain(source, &sink);
	assert_int_equal(sink.seen.n, 1);
	assert_int_equal(total(&sink, "swp7", "", TELE_TX, &extra), 100);
	assert_int_equal(total(&sink, "swp7", "", TELE_RX, &extra), 3000);
	assert_int_equal(total(&sink, "swp7", "41", TELE_RX, &extra), 1500);
	assert_int_equal(total(&sink, "swp7", "42", TELE_RX, &extra), 1000);
	assert_int_equal(total(&sink, "swp7", "other", TELE_RX, &extra), 500);
	source->class->close(source);
	test_sink_fini(&sink);
	unlink(path);
}

static void
segments_that_do_not_advance_are_retransmits(void **state)
{
	FILE *file = begin_file(ETHERNET);
	struct pcap_options options = { .file = path };
	struct source_extra extra;
	struct source *source;
	struct test_sink sink;

	(void)state;
	put_segment(file, 5000 * MS, A, B, 0xfffffc00, 1000); /* Near the end. */
	put_segment(file, 5001 * MS, A, B, 0xfffffc00, 1000); /* Retransmission. */
	put_segment(file, 5002 * MS, A, B, 0xfffffc00 + 1000, 1000);
	put_segment(file, 5003 * MS, A, B, 0xfffffc00 + 2000, 0); /* An ACK. */
	put_segment(file, 5004 * MS, A, B, 0xfffffc00 + 1999, 1); /* Keep-alive. */
	put_segment(file, 5005 * MS, A, B, 0xfffffc00, 1500);     /* Retransmission. */
	put_segment(file, 5006 * MS, B, A, 0xfffffc00, 1000);     /* Other direction. */
	fclose(file);
	test_sink_init(&sink);
	source = open_capture(&options);
	drain(source, &sink);
	total(&sink, "10.0.0.1", "", TELE_TX, &extra);
	assert_int_equal(extra.retransmits, 2);
	total(&sink, "10.0.0.2", "", TELE_TX, &extra);
	assert_int_equal(extra.retransmits, 0);
	source->class->close(source);
	test_sink_fini(&sink);
	unlink(path);
}

static void
a_capture_cut_off_is_read_as_far_as_it_goes(void **state)
{
	FILE *file = begin_file(ETHERNET);
	struct pcap_options options = { .file = path };
	struct source_extra extra;
	struct source *source;
	struct test_sink sink;

	(void)state;
	put_segment(file, 5000 * MS, A, B, 1, 946);
	put_segment(file, 5001 * MS, A, B, 947, 946);
	fflush(file);
	assert_int_equal(ftruncate(fileno(file), ftell(file) - 10), 0);
	fclose(file);
	test_sink_init(&sink);
	source = open_capture(&options);
	drain(source, &sink);
	assert_int_equal(total(&sink, "10.0.0.1", "", TELE_TX, &extra), 1000);
	source->class->close(source);
	test_sink_fini(&sink);
	unlink(path);
}

static void
a_filter_leaves_packets_out(void **state)
{
	FILE *file = begin_file(ETHERNET);
	struct pcap_options options = { .file = path, .filter = "src host 10.0.0.1" };
	struct pcap_status status;
	struct source *source;
	struct test_sink sink;

	(void)state;
	put_segment(file, 5000 * MS, A, B, 1, 946);
	put_segment(file, 5001 * MS, B, A, 947, 946);
	fclose(file);
	test_sink_init(&sink);
	source = open_capture(&options);
	drain(source, &sink);
	src_pcap_status(source, &status);
	assert_int_equal(status.n_packets, 1);
	source->class->close(source);
	test_sink_fini(&sink);
	unlink(path);
}

/* Opening fails with 'error' and a message that contains 'part'. */
static void
assert_refused(const struct pcap_options *options, int error, const char *part)
{
	struct source *source;
	struct err err = { 0 };

	assert_int_equal(src_pcap_open(options, &source, &err), error);
	if (!strstr(err.text, part))
		fail_msg("'%s' has no '%s'", err.text, part);
}

static void
what_cannot_be_read_is_refused_with_what_was_expected(void **state)
{
	static const char *const bad[] = { "10.0.0" };
	FILE *file = begin_file(0x7fff);
	struct pcap_options options = { .file = path };

	(void)state;
	fclose(file);
	assert_refused(&options, -EINVAL, "EN10MB");
	unlink(path);
	file = begin_file(ETHERNET);
	fclose(file);
	options.filter = "no such words";
	assert_refused(&options, -EINVAL, "filter");
	options = (struct pcap_options){ .file = path, .local = bad, .n_local = 1 };
	assert_refused(&options, -EINVAL, "10.0.0.0/24");
	options = (struct pcap_options){ .file = path, .jobs = bad, .n_jobs = 1 };
	assert_refused(&options, -EINVAL, "JOB=");
	unlink(path);
	options = (struct pcap_options){ .file = "README.md" };
	assert_refused(&options, -EINVAL, "pcap");
	options = (struct pcap_options){ .file = "/nonexistent" };
	assert_refused(&options, -ENOENT, "");
}

/* ---- A real capture of a switch's port ------------------------------------------- */

static double
true_median_ms(void)
{
	FILE *in = fopen(SPAN ".truth.csv", "r");
	double starts[1000], d[1000];
	size_t n = 0;
	char line[200];

	assert_non_null(in);
	while (fgets(line, sizeof line, in) && n < 1000)
		n += sscanf(line, "%*d,%lf,", &starts[n]) == 1;
	fclose(in);
	assert_true(n > 5);
	for (size_t i = 0; i + 1 < n; i++)
		d[i] = (starts[i + 1] - starts[i]) * 1e3;
	stats_sort(d, n - 1);
	return stats_quantile(d, n - 1, 0.5);
}

#define SPAN_MAX_MS 100000

/* Keeps all bins, while the binner keeps only the last seconds. */
struct kept {
	int64_t first_ms, last_ms;
	uint64_t bytes[2], packets;
	float series[2][SPAN_MAX_MS];
};

static uint32_t
keep_interface(void *ctx, const struct tele_interface *interface)
{
	(void)ctx;
	assert_string_equal(interface->name, "p0");
	return 0;
}

static uint32_t
keep_job(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return 0;
}

static void
keep_bins(void *ctx, const struct source_key *key, int64_t first_ms,
	  const uint32_t *bytes, size_t n, const struct source_extra *extra)
{
	struct kept *kept = ctx;

	if (key->job != TELE_LINK)
		return;
	if (!kept->first_ms)
		kept->first_ms = first_ms;
	kept->packets += extra ? extra->packets : 0;
	for (size_t i = 0; i < n; i++) {
		int64_t at_ms = first_ms + (int64_t)i;

		kept->bytes[key->direction] += bytes[i];
		assert_true(at_ms >= kept->first_ms &&
			    at_ms - kept->first_ms < SPAN_MAX_MS);
		kept->series[key->direction][at_ms - kept->first_ms] += (float)bytes[i];
		if (at_ms > kept->last_ms)
			kept->last_ms = at_ms;
	}
}

static void
keep_complete(void *ctx, uint32_t interface, int64_t until_ms)
{
	(void)ctx;
	(void)interface;
	(void)until_ms;
}

static void
read_span(struct kept *kept)
{
	static const char *const local[] = { "10.78.0.10" };
	struct pcap_options options = {
		.file = SPAN ".pcap.xz", .interface = "p0", .local = local, .n_local = 1
	};
	const struct source_sink sink = { .ctx = kept,
					  .interface = keep_interface,
					  .job = keep_job,
					  .bins = keep_bins,
					  .complete = keep_complete };
	struct source *source = open_capture(&options);
	int error;

	do {
		error = source->class->poll(source, 0, &sink, NULL);
	} while (error == 0);
	assert_int_equal(error, -ENODATA);
	source->class->close(source);
}

static void
a_real_mirror_has_its_bytes_and_the_job_s_period(void **state)
{
	struct kept *kept;
	struct detection found;
	struct series_set set;
	double want_ms;
	size_t n;

	(void)state;
	if (access(SPAN ".pcap.xz", R_OK) != 0) {
		print_message("no %s\n", SPAN ".pcap.xz");
		skip();
	}
	kept = calloc(1, sizeof *kept);
	read_span(kept);
	/* Counted by tcpdump with 'src host 10.78.0.10'. */
	assert_int_equal(kept->packets, 35967);
	assert_int_equal(kept->bytes[TELE_TX], 756187561);
	assert_int_equal(kept->bytes[TELE_TX] + kept->bytes[TELE_RX], 1512368390);
	n = (size_t)(kept->last_ms - kept->first_ms + 1);
	series_init(&set, 2, n);
	for (size_t d = 0; d < 2; d++) {
		set.ids[d] = (struct series_id){ 0, d == TELE_RX };
		memcpy(series_row(&set, d), kept->series[d], n * sizeof(float));
	}
	assert_int_equal(detect_profile(&set, "span", "1", &found, NULL), 0);
	want_ms = true_median_ms();
	assert_near((double)found.profile.period_us / 1e3, want_ms, 0.02 * want_ms);
	detection_fini(&found);
	series_fini(&set);
	free(kept);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_local_addresses_each_end_is_an_interface),
		cmocka_unit_test(
			local_addresses_give_one_interface_its_direction_and_jobs),
		cmocka_unit_test(segments_that_do_not_advance_are_retransmits),
		cmocka_unit_test(a_capture_cut_off_is_read_as_far_as_it_goes),
		cmocka_unit_test(a_filter_leaves_packets_out),
		cmocka_unit_test(what_cannot_be_read_is_refused_with_what_was_expected),
		cmocka_unit_test(a_real_mirror_has_its_bytes_and_the_job_s_period),
	};

	return cmocka_run_group_tests_name("src_pcap", tests, NULL, NULL);
}
