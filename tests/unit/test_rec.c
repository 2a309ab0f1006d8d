/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/wire/crc32c.h"
#include "lib/wire/pack.h"
#include "lib/wire/rec.h"
#include "lib/wire/tele_layout.h"
#include "tests/unit/tele_fixture.h"

#define N_FRAMES 20

/* A folder, and a recording of frames 0 to 19 in it and in memory. */
struct lab {
	char directory[32], path[64];
	uint8_t *bytes;
	size_t n;
	size_t ends[N_FRAMES]; /* End of each frame. */
};

static void
setup_lab(struct lab *lab)
{
	struct tele_frame frame = { 0 };
	struct tele_buffer bytes = { 0 };
	struct rec_writer *writer;
	struct err err;
	struct rng rng;
	char *text;

	strcpy(lab->directory, "/tmp/antiphase-rec-XXXXXX");
	assert_non_null(mkdtemp(lab->directory));
	snprintf(lab->path, sizeof lab->path, "%s/x.tele", lab->directory);
	assert_int_equal(rec_writer_open(lab->path, &writer, &err), 0);
	lab->n = strlen(REC_FIRST_LINE);
	rng_init(&rng, 5);
	for (unsigned i = 0; i < N_FRAMES; i++) {
		random_frame(&rng, &frame);
		frame.sequence = i;
		bytes.n = 0;
		tele_encode(&frame, &bytes);
		assert_int_equal(rec_write(writer, bytes.bytes, bytes.n, &err), 0);
		lab->n += bytes.n;
		lab->ends[i] = lab->n;
	}
	assert_int_equal(rec_writer_close(writer, &err), 0);
	assert_int_equal(file_read(lab->path, 1 << 24, &text, &lab->n, &err), 0);
	assert_int_equal(lab->n, lab->ends[N_FRAMES - 1]);
	lab->bytes = (uint8_t *)text;
	tele_fini(&frame);
	tele_buffer_fini(&bytes);
}

static void
teardown_lab(struct lab *lab)
{
	unlink(lab->path);
	assert_int_equal(rmdir(lab->directory), 0);
	free(lab->bytes);
}

static void
put_file(const struct lab *lab, const uint8_t *bytes, size_t n)
{
	assert_int_equal(file_write(lab->path, (const char *)bytes, n, NULL), 0);
}

/* Reads the whole recording; returns a bit for each frame, which must be in order. */
static uint32_t
frames_read(const char *path, struct rec_counts *ret_counts, int *ret_error)
{
	struct rec_reader *reader;
	struct tele_frame frame = { 0 };
	const uint8_t *bytes;
	size_t n;
	uint32_t seen = 0;
	struct err err = { 0 };
	int error;

	assert_int_equal(rec_reader_open(path, &reader, &err), 0);
	while ((error = rec_read(reader, &frame, &bytes, &n, &err)) > 0) {
		assert_true(frame.sequence < N_FRAMES);
		assert_true(seen < UINT32_C(1) << frame.sequence);
		assert_int_equal(tele_frame_bytes(bytes), n);
		seen |= UINT32_C(1) << frame.sequence;
	}
	assert_true(error == 0 || err.text[0]);
	*ret_counts = *rec_reader_counts(reader);
	if (ret_error)
		*ret_error = error;
	rec_reader_close(reader);
	tele_fini(&frame);
	return seen;
}

#define ALL_FRAMES ((UINT32_C(1) << N_FRAMES) - 1)

static void
frames_come_back_in_order(void **state)
{
	struct rec_counts counts;
	struct lab lab;

	(void)state;
	setup_lab(&lab);
	assert_int_equal(frames_read(lab.path, &counts, NULL), ALL_FRAMES);
	assert_int_equal(counts.frames, N_FRAMES);
	assert_int_equal(counts.bytes, lab.n - strlen(REC_FIRST_LINE));
	assert_int_equal(counts.skipped_bytes, 0);
	assert_false(counts.is_cut_off);
	teardown_lab(&lab);
}

static void
recordings_one_after_another_are_a_recording(void **state)
{
	struct rec_counts counts;
	struct lab lab;
	uint8_t *twice;

	(void)state;
	setup_lab(&lab);
	/* The first ten frames, then a complete file with the others. */
	twice = xcalloc(lab.n + strlen(REC_FIRST_LINE), 1);
	memcpy(twice, lab.bytes, lab.n);
	memmove(twice + lab.ends[9] + strlen(REC_FIRST_LINE), lab.bytes + lab.ends[9],
		lab.n - lab.ends[9]);
	memcpy(twice + lab.ends[9], REC_FIRST_LINE, strlen(REC_FIRST_LINE));
	put_file(&lab, twice, lab.n + strlen(REC_FIRST_LINE));
	assert_int_equal(frames_read(lab.path, &counts, NULL), ALL_FRAMES);
	assert_int_equal(counts.skipped_bytes, 0);
	free(twice);
	teardown_lab(&lab);
}

static void
what_was_cut_off_is_read_up_to_the_last_whole_frame(void **state)
{
	struct rec_counts counts;
	struct lab lab;
	size_t line = strlen(REC_FIRST_LINE);

	(void)state;
	setup_lab(&lab);
	for (size_t n = line; n <= lab.n; n += 1 + n / 40) {
		unsigned whole = 0;
		bool is_whole;

		while (whole < N_FRAMES && lab.ends[whole] <= n)
			whole++;
		is_whole = n == (whole ? lab.ends[whole - 1] : line);
		put_file(&lab, lab.bytes, n);
		assert_int_equal(frames_read(lab.path, &counts, NULL),
				 (UINT32_C(1) << whole) - 1);
		assert_int_equal(counts.is_cut_off, !is_whole);
		assert_int_equal(counts.skipped_bytes,
				 n - (whole ? lab.ends[whole - 1] : line));
	}
	teardown_lab(&lab);
}

static void
a_damaged_byte_costs_one_frame(void **state)
{
	struct rec_counts counts;
	struct lab lab;
	struct rng rng;

	(void)state;
	setup_lab(&lab);
	rng_init(&rng, 8);
	for (unsigned k = 0; k < 300; k++) {
		uint8_t *copy = xmemdup(lab.bytes, lab.n, 1);
		size_t at = strlen(REC_FIRST_LINE);
		unsigned hit = 0;

		at += rng_below(&rng, lab.n - at);
		while (lab.ends[hit] <= at)
			hit++;
		copy[at] ^= (uint8_t)(1 + rng_below(&rng, 255));
		put_file(&lab, copy, lab.n);
		assert_int_equal(frames_read(lab.path, &counts, NULL),
				 ALL_FRAMES & ~(UINT32_C(1) << hit));
		assert_int_equal(counts.damaged, 1);
		free(copy);
	}
	teardown_lab(&lab);
}

static void
a_stretch_that_is_missing_or_strange_is_skipped(void **state)
{
	struct strbuf words = STRBUF_EMPTY;
	struct rec_counts counts;
	struct lab lab;
	uint8_t *copy;

	(void)state;
	setup_lab(&lab);
	/* Cut from within frame 4 to within frame 6. */
	copy = xmemdup(lab.bytes, lab.n, 1);
	memmove(copy + lab.ends[3] + 30, copy + lab.ends[5] + 20,
		lab.n - lab.ends[5] - 20);
	put_file(&lab, copy, lab.n - (lab.ends[5] + 20 - lab.ends[3] - 30));
	assert_int_equal(frames_read(lab.path, &counts, NULL),
			 ALL_FRAMES & ~UINT32_C(0x70));
	assert_int_equal(counts.damaged, 1);
	free(copy);
	/* Text before the recording, such as an error message in a pipe. */
	copy = xcalloc(lab.n + 50, 1);
	memset(copy, 'a', 50);
	memcpy(copy + 50, lab.bytes, lab.n);
	put_file(&lab, copy, lab.n + 50);
	assert_int_equal(frames_read(lab.path, &counts, NULL), ALL_FRAMES);
	assert_int_equal(counts.skipped_bytes, 50);
	rec_describe_damage(&counts, &words);
	assert_string_equal(words.text, "50 bytes in 1 place skipped");
	strbuf_free(&words);
	free(copy);
	teardown_lab(&lab);
}

static void
frames_of_a_later_version_are_counted_and_passed_over(void **state)
{
	struct rec_counts counts;
	struct lab lab;
	uint8_t *frame;
	size_t n;
	uint32_t crc;

	(void)state;
	setup_lab(&lab);
	frame = lab.bytes + lab.ends[6];
	n = lab.ends[7] - lab.ends[6];
	frame[TELE_AT_MAJOR]++;
	crc = crc32c(0, frame, TELE_AT_CRC);
	crc = crc32c(crc, frame + TELE_HEADER_BYTES, n - TELE_HEADER_BYTES);
	pack_u32_at(frame + TELE_AT_CRC, crc);
	put_file(&lab, lab.bytes, lab.n);
	assert_int_equal(frames_read(lab.path, &counts, NULL),
			 ALL_FRAMES & ~UINT32_C(0x80));
	assert_int_equal(counts.foreign, 1);
	assert_int_equal(counts.skipped_bytes, 0);
	teardown_lab(&lab);
}

static void
what_is_no_recording_is_refused_and_an_empty_file_is_empty(void **state)
{
	struct rec_counts counts;
	struct lab lab;
	int error;

	(void)state;
	setup_lab(&lab);
	put_file(&lab, (const uint8_t *)"time_ms,bytes\n0,17\n", 19);
	assert_int_equal(frames_read(lab.path, &counts, &error), 0);
	assert_int_equal(error, -EBADMSG);
	put_file(&lab, lab.bytes, strlen(REC_FIRST_LINE));
	assert_int_equal(frames_read(lab.path, &counts, &error), 0);
	assert_int_equal(error, 0);
	put_file(&lab, lab.bytes, 0);
	assert_int_equal(frames_read(lab.path, &counts, &error), 0);
	assert_int_equal(error, 0);
	teardown_lab(&lab);
}

/* Each header promises 32 MB, which follow, but none is a frame. */
static void
a_file_made_to_be_slow_is_refused(void **state)
{
	const size_t n = 24 << 20;
	struct rec_counts counts;
	struct lab lab;
	uint8_t *bytes = xcalloc(n, 1);
	int error;

	(void)state;
	setup_lab(&lab);
	for (size_t at = 0; at + 16 <= n; at += 16) {
		pack_u32_at(bytes + at, TELE_MAGIC);
		pack_u32_at(bytes + at + TELE_AT_LENGTH, 8 << 20);
	}
	put_file(&lab, bytes, n);
	frames_read(lab.path, &counts, &error);
	assert_int_equal(error, -EBADMSG);
	free(bytes);
	teardown_lab(&lab);
}

static void
xz_is_unpacked_as_it_is_read(void **state)
{
	char command[200], path[80];
	struct rec_counts counts;
	struct lab lab;
	struct stat status;

	(void)state;
	setup_lab(&lab);
	snprintf(path, sizeof path, "%s.xz", lab.path);
	snprintf(command, sizeof command, "xz -k %s 2>/dev/null", lab.path);
	if (system(command) != 0) {
		teardown_lab(&lab);
		skip(); /* xz is not installed. */
	}
	assert_int_equal(frames_read(path, &counts, NULL), ALL_FRAMES);
	assert_false(counts.is_cut_off);
	/* A truncated file gives the frames packed so far. */
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(truncate(path, status.st_size - 40), 0);
	frames_read(path, &counts, NULL);
	assert_true(counts.is_cut_off);
	unlink(path);
	teardown_lab(&lab);
}

static void
a_pipe_is_read_as_the_frames_come(void **state)
{
	struct rec_reader *reader;
	struct tele_frame frame = { 0 };
	struct lab lab;
	char path[32];
	int fds[2];

	(void)state;
	setup_lab(&lab);
	assert_int_equal(pipe(fds), 0);
	snprintf(path, sizeof path, "/dev/fd/%d", fds[0]);
	assert_int_equal(write(fds[1], lab.bytes, lab.ends[0]), lab.ends[0]);
	assert_int_equal(rec_reader_open(path, &reader, NULL), 0);
	/* The second frame is not there yet: the first must not wait for it. */
	assert_int_equal(rec_read(reader, &frame, NULL, NULL, NULL), 1);
	assert_int_equal(
		write(fds[1], lab.bytes + lab.ends[0], lab.ends[1] - lab.ends[0]),
		lab.ends[1] - lab.ends[0]);
	assert_int_equal(rec_read(reader, &frame, NULL, NULL, NULL), 1);
	assert_int_equal(frame.sequence, 1);
	close(fds[1]);
	assert_int_equal(rec_read(reader, &frame, NULL, NULL, NULL), 0);
	close(fds[0]);
	rec_reader_close(reader);
	tele_fini(&frame);
	teardown_lab(&lab);
}

static void
a_full_disk_is_reported(void **state)
{
	struct rec_writer *writer;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(rec_writer_open("/dev/full", &writer, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "cannot write"));
	assert_int_equal(rec_writer_open("/nowhere/x", &writer, &err), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_come_back_in_order),
		cmocka_unit_test(recordings_one_after_another_are_a_recording),
		cmocka_unit_test(what_was_cut_off_is_read_up_to_the_last_whole_frame),
		cmocka_unit_test(a_damaged_byte_costs_one_frame),
		cmocka_unit_test(a_stretch_that_is_missing_or_strange_is_skipped),
		cmocka_unit_test(frames_of_a_later_version_are_counted_and_passed_over),
		cmocka_unit_test(
			what_is_no_recording_is_refused_and_an_empty_file_is_empty),
		cmocka_unit_test(a_file_made_to_be_slow_is_refused),
		cmocka_unit_test(xz_is_unpacked_as_it_is_read),
		cmocka_unit_test(a_pipe_is_read_as_the_frames_come),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
