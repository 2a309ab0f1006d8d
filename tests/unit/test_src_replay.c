/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "collector/sources/src_replay.h"
#include "lib/base/err.h"
#include "lib/wire/rec.h"
#include "tests/unit/sink.h"
#include "tests/unit/test.h"

#define MS       INT64_C(1000000)
#define BEGIN_MS 5000

/* A recording in a temporary file with 'frames' from write_frame(). */
static char path[] = "/tmp/antiphase-replay-XXXXXX";

static struct rec_writer *
begin(void)
{
	struct rec_writer *writer;
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(rec_writer_open(path, &writer, NULL), 0);
	return writer;
}

static void
write_frame(struct rec_writer *writer, const struct tele_frame *frame)
{
	struct tele_buffer buffer = { 0 };

	tele_encode(frame, &buffer);
	assert_int_equal(rec_write(writer, buffer.bytes, buffer.n, NULL), 0);
	tele_buffer_fini(&buffer);
}

/* Second 'i' of a host that sends 10 bytes per ms, beginning at total 1000. */
static void
fill(struct tele_frame *frame, enum tele_kind kind, const char *host, int i)
{
	uint32_t interface, job, bins[1000];

	tele_clear(frame);
	frame->kind = (uint8_t)kind;
	snprintf(frame->host, sizeof frame->host, "%s", host);
	frame->start_id = 1;
	frame->sequence = (uint64_t)i;
	frame->window_ns = 1000 * MS;
	frame->time_ns = (BEGIN_MS + (i + 1) * 1000) * MS;
	frame->lost_records = (uint64_t)i;
	interface = tele_add_interface(frame, "eth0");
	frame->interfaces.items[interface].capacity_bps = 1e9;
	job = tele_add_job(frame, "41");
	for (size_t b = 0; b < 1000; b++)
		bins[b] = b == 500 ? TELE_GAP : 10;
	if (kind == TELE_RAW)
		tele_add_series(frame, interface, job, TELE_TX, TELE_WIRE,
				BEGIN_MS + i * 1000, bins, 1000);
	else
		vec_push(&frame->traffic,
			 ((struct tele_traffic){
				 .interface = interface,
				 .job = job,
				 .direction = TELE_TX,
				 .total_bytes = 1000 + (uint64_t)(i + 1) * 9990,
				 .total_packets = 100 + (uint64_t)i * 7,
				 .window_bytes = 9990,
			 }));
}

static struct source *
open_replay(const char *host, bool is_paced)
{
	struct replay_options options = { .file = path,
					  .host = host,
					  .is_paced = is_paced };
	struct source *source;
	struct err err;

	if (src_replay_open(&options, &source, &err) < 0)
		fail_msg("%s", err.text);
	return source;
}

static int
drain(struct source *source, struct test_sink *sink, struct err *err)
{
	int error;

	do {
		error = source->class->poll(source, 0, &sink->sink, err);
	} while (error == 0);
	return error;
}

/* Records three seconds of one kind; the middle one is of host 'middle'. */
static void
record(enum tele_kind kind, const char *middle)
{
	struct rec_writer *writer = begin();
	struct tele_frame frame = { 0 };

	for (int i = 0; i < 3; i++) {
		fill(&frame, kind, i == 1 ? middle : "h1", i);
		write_frame(writer, &frame);
	}
	tele_fini(&frame);
	assert_int_equal(rec_writer_close(writer, NULL), 0);
}

/* Replays everything into the sink, which must be released; returns the result. */
static int
replay(const char *host, struct test_sink *sink, struct err *err)
{
	struct source *source = open_replay(host, false);
	int error;

	test_sink_init(sink);
	error = drain(source, sink, err);
	source->class->close(source);
	return error;
}

static void
raw_frames_come_back_as_the_same_bins(void **state)
{
	struct rec_writer *writer = begin();
	struct tele_frame frame = { 0 }, out = { 0 };
	struct source_extra extra;
	struct test_sink sink;
	uint64_t bytes;

	(void)state;
	for (int i = 0; i < 3; i++) {
		fill(&frame, TELE_SUMMARY, "h1", i);
		write_frame(writer, &frame);
		fill(&frame, TELE_RAW, "h1", i);
		write_frame(writer, &frame);
	}
	assert_int_equal(rec_writer_close(writer, NULL), 0);
	assert_int_equal(replay(NULL, &sink, NULL), -ENODATA);
	assert_true(test_sink_total(&sink, "eth0", "41", TELE_TX, &bytes, &extra));
	assert_int_equal(bytes, 3 * 9990);      /* Without the summaries. */
	assert_int_equal(extra.packets, 2 * 7); /* Since the first summary. */
	assert_int_equal(sink.n_lost, 2);
	assert_near(sink.seen.items[0].capacity_bps, 1e9, 0);
	binner_raw(sink.binner, BEGIN_MS + 2000, BEGIN_MS + 3000, &out);
	assert_int_equal(out.series.n, 1);
	assert_memory_equal(out.bins.items, frame.bins.items, 1000 * sizeof(uint32_t));
	test_sink_fini(&sink);
	tele_fini(&frame);
	tele_fini(&out);
	unlink(path);
}

static void
summaries_alone_become_counters(void **state)
{
	struct source_extra extra;
	struct test_sink sink;
	uint64_t bytes;

	(void)state;
	record(TELE_SUMMARY, "h1");
	assert_int_equal(replay("h1", &sink, NULL), -ENODATA);
	assert_true(test_sink_total(&sink, "eth0", "41", TELE_TX, &bytes, &extra));
	assert_int_equal(bytes, 2 * 9990);
	assert_int_equal(sink.n_counters, 3);
	test_sink_fini(&sink);
	unlink(path);
}

static void
another_host_is_an_error_unless_one_is_chosen(void **state)
{
	struct test_sink sink;
	struct err err = { 0 };

	(void)state;
	record(TELE_RAW, "h2");
	assert_int_equal(replay(NULL, &sink, &err), -EINVAL);
	assert_non_null(strstr(err.text, "h2"));
	test_sink_fini(&sink);
	assert_int_equal(replay("h2", &sink, &err), -ENODATA);
	assert_int_equal(sink.n_bins, 1000);
	test_sink_fini(&sink);
	unlink(path);
}

static void
a_paced_one_takes_as_long_as_it_was_recorded(void **state)
{
	struct test_sink sink;
	struct source *source;

	static const struct {
		int64_t now_ms;
		uint64_t bins;
	} steps[] = { { 100000, 0 },
		      { 100999, 0 },
		      { 101000, 1000 },
		      { 101500, 1000 },
		      { 103000, 3000 } };

	(void)state;
	record(TELE_RAW, "h1");
	test_sink_init(&sink);
	source = open_replay(NULL, true);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		source->class->poll(source, steps[i].now_ms * MS, &sink.sink, NULL);
		assert_int_equal(sink.n_bins, steps[i].bins);
	}
	assert_int_equal(sink.complete_ms, 103000);
	assert_int_equal(source->class->poll(source, 200000 * MS, &sink.sink, NULL),
			 -ENODATA);
	source->class->close(source);
	test_sink_fini(&sink);
	unlink(path);
}

static void
a_file_that_is_no_recording_is_refused(void **state)
{
	struct replay_options options = { .file = "README.md" };
	struct source *source;
	struct err err = { 0 };

	(void)state;
	assert_true(src_replay_open(&options, &source, &err) < 0);
	assert_true(strlen(err.text) > 0);
	options.file = "/nonexistent/x.tele";
	assert_int_equal(src_replay_open(&options, &source, &err), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw_frames_come_back_as_the_same_bins),
		cmocka_unit_test(summaries_alone_become_counters),
		cmocka_unit_test(another_host_is_an_error_unless_one_is_chosen),
		cmocka_unit_test(a_paced_one_takes_as_long_as_it_was_recorded),
		cmocka_unit_test(a_file_that_is_no_recording_is_refused),
	};

	return cmocka_run_group_tests_name("src_replay", tests, NULL, NULL);
}
