/* SPDX-License-Identifier: Apache-2.0 */
/* test_feed.c - frames from recordings and from the bus */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/wire/bus.h"
#include "lib/wire/rec.h"
#include "scheduler/live/feed.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"

static const struct frames_square square = { 100, 0, 40, 1000 };

struct place {
	char folder[64];
	char files[2][96];
};

static int
set_up(void **state)
{
	struct place *place = xcalloc(1, sizeof *place);

	snprintf(place->folder, sizeof place->folder, "/tmp/feed-XXXXXX");
	if (!mkdtemp(place->folder))
		return -1;
	for (int i = 0; i < 2; i++)
		snprintf(place->files[i], sizeof place->files[i], "%s/%d.tele",
			 place->folder, i);
	*state = place;
	return 0;
}

static int
tear_down(void **state)
{
	struct place *place = *state;

	for (int i = 0; i < 2; i++)
		unlink(place->files[i]);
	rmdir(place->folder);
	free(place);
	return 0;
}

/* Frame number i of a host whose clock is 'offset_ms' off. */
static void
make(struct tele_frame *frame, const char *host, int i, int64_t offset_ms)
{
	frames_begin(frame, TELE_RAW, host, 1000 * i + offset_ms,
		     1000 * (i + 1) + offset_ms, offset_ms * 1000000, (uint64_t)i);
	frames_add(frame, "e0", 1e9, "a", TELE_TX, frames_square, &square);
}

static void
record(const char *file, const char *host, int n, int64_t offset_ms)
{
	struct tele_frame frame = { 0 };
	struct tele_buffer buffer = { 0 };
	struct rec_writer *writer;
	struct err err;

	assert_int_equal(rec_writer_open(file, &writer, &err), 0);
	for (int i = 0; i < n; i++) {
		make(&frame, host, i, offset_ms);
		buffer.n = 0;
		tele_encode(&frame, &buffer);
		assert_int_equal(rec_write(writer, buffer.bytes, buffer.n, &err), 0);
	}
	assert_int_equal(rec_writer_close(writer, &err), 0);
	tele_buffer_fini(&buffer);
	tele_fini(&frame);
}

static void
recordings_are_merged_by_wall_clock_time(void **state)
{
	const struct place *place = *state;
	const char *sources[] = { place->files[0], place->files[1] };
	const struct tele_frame *frame;
	struct feed *feed;
	struct err err;
	int64_t last_ns = 0;
	int n = 0, r;

	record(place->files[0], "h0", 5, 0);
	record(place->files[1], "h1", 5, 500);
	assert_int_equal(feed_open(sources, 2, NULL, &feed, &err), 0);
	assert_false(feed_is_live(feed));
	while ((r = feed_next(feed, 0, &frame, &err)) > 0) {
		int64_t ns = frame->time_ns + frame->wall_offset_ns;

		assert_true(ns > last_ns);
		assert_string_equal(frame->host, n % 2 ? "h1" : "h0");
		last_ns = ns;
		n++;
	}
	assert_int_equal(r, -ENODATA);
	assert_int_equal(n, 10);
	assert_int_equal(feed_counts(feed).frames, 10);
	feed_close(feed);
}

static void
the_environment_says_where_frames_are(void **state)
{
	const struct place *place = *state;
	const struct tele_frame *frame;
	struct feed *feed;
	struct err err;

	record(place->files[0], "h0", 1, 0);
	setenv("ANTIPHASE_BUS", place->files[0], 1);
	assert_int_equal(feed_open(NULL, 0, NULL, &feed, &err), 0);
	assert_string_equal(feed_name(feed), place->files[0]);
	assert_int_equal(feed_next(feed, 0, &frame, &err), 1);
	feed_close(feed);
	unsetenv("ANTIPHASE_BUS");
}

static void
a_file_that_is_not_there_is_named(void **state)
{
	const struct place *place = *state;
	const char *sources[] = { place->files[0] };
	struct feed *feed;
	struct err err;

	assert_int_equal(feed_open(sources, 1, NULL, &feed, &err), -ENOENT);
	assert_string_equal(err.file, place->files[0]);
}

/* Publishes until the feed has 'n' frames; compares each with the sent one. */
static void
what_is_published_arrives_as_it_was_sent(void **state)
{
	const struct place *place = *state;
	char endpoint[128];
	const char *sources[] = { endpoint };
	struct tele_frame sent = { 0 };
	struct tele_buffer wanted = { 0 }, got = { 0 };
	const struct tele_frame *frame;
	struct bus_pub *pub;
	struct feed *feed;
	struct err err;
	int n = 0;

	snprintf(endpoint, sizeof endpoint, "ipc://%s/bus", place->folder);
	assert_int_equal(bus_pub_open(endpoint, true, NULL, &pub, &err), 0);
	assert_int_equal(feed_open(sources, 1, NULL, &feed, &err), 0);
	assert_true(feed_is_live(feed));
	assert_int_equal(feed_next(feed, 1000000, &frame, &err), 0);
	for (int i = 0; i < 200 && !bus_pub_is_wanted(pub, TELE_RAW, "h0"); i++)
		bus_pub_wait(pub, 10000000);
	assert_true(bus_pub_is_wanted(pub, TELE_RAW, "h0"));
	for (int i = 0; i < 5; i++) {
		make(&sent, "h0", i, 0);
		assert_int_equal(bus_pub_frame(pub, &sent), 0);
		assert_int_equal(feed_next(feed, 2000000000, &frame, &err), 1);
		wanted.n = got.n = 0;
		tele_encode(&sent, &wanted);
		tele_encode(frame, &got);
		assert_int_equal(got.n, wanted.n);
		assert_memory_equal(got.bytes, wanted.bytes, wanted.n);
		n++;
	}
	assert_int_equal(n, 5);
	feed_close(feed);
	bus_pub_close(pub);
	snprintf(endpoint, sizeof endpoint, "%s/bus", place->folder);
	unlink(endpoint);
	tele_fini(&sent);
	tele_buffer_fini(&wanted);
	tele_buffer_fini(&got);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			recordings_are_merged_by_wall_clock_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_environment_says_where_frames_are,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_not_there_is_named,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_published_arrives_as_it_was_sent, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
