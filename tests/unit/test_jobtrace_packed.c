/*
 * test_jobtrace_packed.c - traces that are compressed or in an archive, whole and damaged.
 */
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "sim/jobtrace/jobtrace.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/test.h"

/* What is being read. */
static struct memory_file file;

static const struct jobtrace_job *
next(struct jobtrace *trace)
{
	static struct jobtrace_job job;
	struct err err = { 0 };
	int r = jobtrace_next(trace, &job, &err);

	if (r < 0)
		fail_msg("%s", err.text);
	return r ? &job : NULL;
}

static void
archives_and_compressed_files_are_read(void **state)
{
	static const char text[] = "job_id,submit_s,duration_s,num_gpus\na,0,1,1\n";
	char name[] = "jobtrace-XXXXXX", member[64];
	struct archive *out = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	struct jobtrace *trace;
	struct err err = { 0 };
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	archive_write_add_filter_gzip(out);
	archive_write_set_format_ustar(out);
	assert_int_equal(archive_write_open_fd(out, fd), ARCHIVE_OK);
	archive_entry_set_pathname(entry, "in/t.csv");
	archive_entry_set_size(entry, sizeof text - 1);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	assert_int_equal(archive_write_header(out, entry), ARCHIVE_OK);
	assert_int_equal(archive_write_data(out, text, sizeof text - 1),
			 sizeof text - 1);
	archive_entry_free(entry);
	archive_write_free(out);
	close(fd);
	snprintf(member, sizeof member, "%s:in/t.csv", name);
	assert_int_equal(jobtrace_open(member, JOBTRACE_AUTO, &trace, &err), 0);
	assert_string_equal(next(trace)->id, "a");
	assert_null(next(trace));
	jobtrace_close(trace);
	snprintf(member, sizeof member, "%s:none", name);
	assert_true(jobtrace_open(member, JOBTRACE_AUTO, &trace, &err) < 0);
	assert_non_null(strstr(err.text, "no member 'none'"));
	/* An archive is not a trace. */
	assert_true(jobtrace_open(name, JOBTRACE_AUTO, &trace, &err) < 0);
	assert_non_null(strstr(err.text, "is an archive; name a member as in"));
	/* Cut off amid it. */
	assert_int_equal(truncate(name, 60), 0);
	snprintf(member, sizeof member, "%s:in/t.csv", name);
	assert_true(jobtrace_open(member, JOBTRACE_AUTO, &trace, &err) < 0);
	unlink(name);
	assert_true(jobtrace_open(name, JOBTRACE_AUTO, &trace, &err) < 0);
}

static void
what_is_packed_twice_or_by_a_program_is_refused(void **state)
{
	static const char text[] = "job_id,submit_s,duration_s,num_gpus\na,0,1,1\n";
	/* Libarchive would run lrzip for it. */
	static const char other[] = "LRZI\0\6 and so on, for longer than a header is";
	struct jobtrace *trace;
	struct err err = { 0 };
	char bytes[1024];
	size_t n = 0;

	(void)state;
	for (int n_times = 1; n_times <= 2; n_times++) {
		struct archive *out = archive_write_new();
		struct archive_entry *entry = archive_entry_new();

		for (int i = 0; i < n_times; i++)
			archive_write_add_filter_gzip(out);
		archive_write_set_format_raw(out);
		archive_write_set_bytes_in_last_block(out, 1);
		assert_int_equal(
			archive_write_open_memory(out, bytes, sizeof bytes, &n),
			ARCHIVE_OK);
		archive_entry_set_filetype(entry, AE_IFREG);
		archive_write_header(out, entry);
		archive_write_data(out, text, sizeof text - 1);
		archive_entry_free(entry);
		archive_write_free(out);
		memory_file_set(&file, bytes, n);
		if (n_times == 1) {
			assert_int_equal(
				jobtrace_open(file.path, JOBTRACE_AUTO, &trace, &err),
				0);
			assert_string_equal(next(trace)->id, "a");
			jobtrace_close(trace);
		}
	}
	assert_true(jobtrace_open(file.path, JOBTRACE_AUTO, &trace, &err) < 0);
	assert_non_null(strstr(err.text, "packed 2 times"));
	memory_file_set(&file, other, sizeof other);
	assert_true(jobtrace_open(file.path, JOBTRACE_AUTO, &trace, &err) < 0);
	assert_non_null(strstr(err.text, "a zero byte"));
}

/* Not by libarchive, which does not look at the sums of gzip. */
static void
packed_files_that_are_damaged_or_cut_off_are_errors(void **state)
{
	static const char header[] = "job_id,submit_s,duration_s,num_gpus\n";
	struct jobtrace_job job;
	struct jobtrace *trace;
	struct err err = { 0 };
	char bytes[4096], damaged[4096];
	size_t n = 0, n_errors = 0;
	struct archive *out = archive_write_new();
	struct archive_entry *entry = archive_entry_new();

	(void)state;
	archive_write_add_filter_gzip(out);
	archive_write_set_format_raw(out);
	archive_write_set_bytes_in_last_block(out, 1);
	assert_int_equal(archive_write_open_memory(out, bytes, sizeof bytes, &n),
			 ARCHIVE_OK);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_write_header(out, entry);
	archive_write_data(out, header, sizeof header - 1);
	for (int i = 0; i < 100; i++) {
		char row[64];

		archive_write_data(out, row,
				   (size_t)snprintf(row, sizeof row, "%d,%d,%d,1\n", i,
						    i * i, 7 * i + 1));
	}
	archive_entry_free(entry);
	archive_write_free(out);

	/* Each byte of the rows, the sum and the length in turn. */
	for (size_t i = 64; i < n; i++) {
		int r;

		memcpy(damaged, bytes, n);
		damaged[i] = (char)(damaged[i] ^ 1);
		r = jobtrace_open(memory_file_set(&file, damaged, n), JOBTRACE_AUTO,
				  &trace, &err);
		if (r == 0) {
			while ((r = jobtrace_next(trace, &job, &err)) > 0)
				;
			jobtrace_close(trace);
		}
		n_errors += r < 0;
	}
	assert_int_equal(n_errors, n - 64);
	for (size_t length = n - 1; length > 20; length--) {
		int r;

		memory_file_set(&file, bytes, length);
		r = jobtrace_open(file.path, JOBTRACE_AUTO, &trace, &err);
		if (r == 0) {
			while ((r = jobtrace_next(trace, &job, &err)) > 0)
				;
			jobtrace_close(trace);
		}
		assert_true(r < 0);
		assert_non_null(strstr(err.text, "it is cut off"));
	}
	/* One after another are one file. */
	memcpy(damaged, bytes, n);
	memcpy(damaged + n, bytes, n);
	memory_file_set(&file, damaged, 2 * n);
	assert_int_equal(jobtrace_open(file.path, JOBTRACE_AUTO, &trace, &err), 0);
	while (jobtrace_next(trace, &job, &err) > 0)
		;
	assert_int_equal(jobtrace_counts(trace).jobs, 200);
	assert_int_equal(jobtrace_counts(trace).malformed, 1); /* A header amid it. */
	jobtrace_close(trace);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(archives_and_compressed_files_are_read),
		cmocka_unit_test(what_is_packed_twice_or_by_a_program_is_refused),
		cmocka_unit_test(packed_files_that_are_damaged_or_cut_off_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
