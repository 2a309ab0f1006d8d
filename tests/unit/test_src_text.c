/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/sources/src_text.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "tests/unit/sink.h"
#include "tests/unit/test.h"

#define MS INT64_C(1000000)

struct fixture {
	char path[64];
	int fd; /* The writer's end. */
	struct source *source;
	struct test_sink sink;
	struct err err;
};

static void
begin(struct fixture *f, bool is_fifo)
{
	memset(f, 0, sizeof *f);
	strcpy(f->path, "/tmp/antiphase-text-XXXXXX");
	f->fd = mkstemp(f->path);
	assert_true(f->fd >= 0);
	if (is_fifo) {
		close(f->fd);
		unlink(f->path);
		assert_int_equal(mkfifo(f->path, 0600), 0);
		f->fd = open(f->path, O_RDWR);
		assert_true(f->fd >= 0);
	}
	test_sink_init(&f->sink);
	assert_int_equal(src_text_open(f->path, &f->source, &f->err), 0);
}

static void
end(struct fixture *f)
{
	f->source->class->close(f->source);
	test_sink_fini(&f->sink);
	close(f->fd);
	unlink(f->path);
}

static int
poll_at(struct fixture *f, int64_t ms)
{
	return f->source->class->poll(f->source, ms * MS, &f->sink.sink, &f->err);
}

static void
put(struct fixture *f, const char *text)
{
	assert_int_equal(write(f->fd, text, strlen(text)), strlen(text));
}

static uint64_t
total(const struct fixture *f, const char *interface, const char *job,
      enum tele_direction direction)
{
	uint64_t bytes;
	struct source_extra extra;

	assert_true(
		test_sink_total(&f->sink, interface, job, direction, &bytes, &extra));
	return bytes;
}

static void
differences_of_lines_are_counted(void **state)
{
	struct fixture f;
	uint64_t bytes;
	struct source_extra extra;

	(void)state;
	begin(&f, true);
	put(&f, "# from the switch chip\n\n"
		"dpu0 tx=1000 rx=5 tx_packets=10 gbps=100\r\n"
		"dpu0 job=4711 tx=100\n");
	assert_int_equal(poll_at(&f, 1000), 0);
	put(&f, "dpu0 tx=4000 rx=9 tx_packets=40 up=0\ndpu0 job=4711 tx=2100\n");
	assert_int_equal(poll_at(&f, 1100), 0);
	assert_true(test_sink_total(&f.sink, "dpu0", "", TELE_TX, &bytes, &extra));
	assert_int_equal(bytes, 3000);
	assert_int_equal(extra.packets, 30);
	assert_int_equal(total(&f, "dpu0", "", TELE_RX), 4);
	assert_int_equal(total(&f, "dpu0", "4711", TELE_TX), 2000);
	assert_int_equal(f.sink.complete_ms, 1100);
	assert_near(f.sink.seen.items[0].capacity_bps, 100e9, 1);
	assert_false(f.sink.seen.items[0].is_up);
	assert_int_equal(f.sink.n_lost, 0);
	end(&f);
}

static void
a_line_may_come_in_parts(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, true);
	put(&f, "a tx=1");
	assert_int_equal(poll_at(&f, 1), 0);
	assert_int_equal(f.sink.n_counters, 0);
	put(&f, "00\na t");
	assert_int_equal(poll_at(&f, 2), 0);
	put(&f, "x=250\n");
	assert_int_equal(poll_at(&f, 3), 0);
	assert_int_equal(total(&f, "a", "", TELE_TX), 150);
	assert_int_equal(poll_at(&f, 4), 0); /* Without data it does not block. */
	end(&f);
}

static void
malformed_lines_are_lost_and_named(void **state)
{
	static const char *const lines[] = {
		"a",
		"a tx",
		"a tx=",
		"a tx=-1",
		"a tx=1x",
		"a tx=99999999999999999999",
		"a gbps=10",
		"a tx=1 color=red",
		"a tx=1 job=",
		"a tx=1 up=2",
		"a tx=1 time=1",
		"a tx=1 gbps=nan",
	};
	struct fixture f;

	(void)state;
	begin(&f, true);
	put(&f, "a tx=7\n");
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		put(&f, lines[i]);
		put(&f, "\n");
		assert_int_equal(poll_at(&f, (int64_t)i + 1), -EINVAL);
		assert_int_equal(f.err.line, i + 2);
		assert_int_equal(f.sink.n_lost, i + 1);
	}
	assert_int_equal(f.sink.n_counters, 1);
	put(&f, "a tx=8\n");
	assert_int_equal(poll_at(&f, 100), 0);
	end(&f);
}

static void
an_endless_line_is_lost_once(void **state)
{
	char text[2001];
	struct fixture f;

	(void)state;
	memset(text, 'x', 2000);
	text[2000] = '\0';
	begin(&f, true);
	for (int i = 0; i < 10; i++) {
		put(&f, text);
		poll_at(&f, i + 1);
	}
	assert_int_equal(f.sink.n_lost, 1);
	put(&f, "\na tx=1\n");
	assert_int_equal(poll_at(&f, 20), 0);
	assert_int_equal(f.sink.n_counters, 1);
	end(&f);
}

static void
a_file_ends_with_its_last_line(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, false);
	put(&f, "a tx=1\nb rx=2");
	assert_int_equal(poll_at(&f, 1), 0);
	assert_int_equal(poll_at(&f, 2), -ENODATA);
	assert_int_equal(f.sink.n_counters, 2);
	end(&f);
}

static void
the_time_of_a_reading_is_taken_over(void **state)
{
	char line[80];
	struct fixture f;
	int64_t error_ms;

	(void)state;
	begin(&f, true);
	snprintf(line, sizeof line, "a tx=1 time=%.6f\n",
		 (double)clk_wall_us() * 1e-6 - 2);
	put(&f, line);
	assert_int_equal(poll_at(&f, 10000), 0);
	error_ms = f.sink.last_counter_ns / MS - 8000;
	assert_true(error_ms > -1000 && error_ms <= 1);
	end(&f);
}

static void
noise_does_no_harm(void **state)
{
	struct rng rng;
	struct fixture f;

	(void)state;
	rng_init(&rng, 1);
	begin(&f, true);
	for (int i = 0; i < 2000; i++) {
		char noise[600];

		for (size_t k = 0; k < sizeof noise; k++)
			noise[k] = "ab=1 \n\ttxrjogpsu#.\0\xff"[rng_below(&rng, 20)];
		assert_int_equal(write(f.fd, noise, sizeof noise), sizeof noise);
		poll_at(&f, i + 1);
	}
	end(&f);
}

static void
what_cannot_be_opened_is_an_error(void **state)
{
	struct source *source;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(src_text_open("/nowhere/fifo", &source, &err), -ENOENT);
	assert_non_null(strstr(err.file, "/nowhere/fifo"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_of_lines_are_counted),
		cmocka_unit_test(a_line_may_come_in_parts),
		cmocka_unit_test(malformed_lines_are_lost_and_named),
		cmocka_unit_test(an_endless_line_is_lost_once),
		cmocka_unit_test(a_file_ends_with_its_last_line),
		cmocka_unit_test(the_time_of_a_reading_is_taken_over),
		cmocka_unit_test(noise_does_no_harm),
		cmocka_unit_test(what_cannot_be_opened_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
