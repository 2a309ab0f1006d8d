/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobtrace_packed.c - compressed and archived traces, whole and damaged */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "lib/base/err.h"
#include "sim/trace/jobtrace.h"
#include "tests/unit/jobtraces.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/packed.h"
#include "tests/unit/test.h"

/* The text being read. */
static struct memory_file file;

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
	assert_string_equal(jobtraces_next(trace)->id, "a");
	assert_null(jobtraces_next(trace));
	jobtrace_close(trace);
	snprintf(member, sizeof member, "%s:none", name);
	assert_true(jobtrace_open(member, JOBTRACE_AUTO, &trace, &err) < 0);
	assert_non_null(strstr(err.text, "no member 'none'"));
	/* An archive is not a trace. */
	assert_true(jobtrace_open(name, JOBTRACE_AUTO, &trace, &err) < 0);
	assert_non_null(strstr(err.text, "is an archive; name a member as in"));
	/* Cut off in the middle. */
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
	/* Libarchive would run lrzip for this. */
	static const char other[] = "LRZI\0\6 and so on, for longer than a header is";
	struct jobtrace *trace;
	struct err err = { 0 };
	char bytes[1024];

	(void)state;
	for (int n_times = 1; n_times <= 2; n_times++) {
		size_t n = packed_bytes(ARCHIVE_FILTER_GZIP, n_times, text,
					sizeof text - 1, bytes, sizeof bytes);

		memory_file_set(&file, bytes, n);
		if (n_times == 1) {
			assert_int_equal(
				jobtrace_open(file.path, JOBTRACE_AUTO, &trace, &err),
				0);
			assert_string_equal(jobtraces_next(trace)->id, "a");
			jobtrace_close(trace);
		}
	}
	assert_true(jobtrace_open(file.path, JOBTRACE_AUTO, &trace, &err) < 0);
	assert_non_null(strstr(err.text, "packed 2 times"));
	memory_file_set(&file, other, sizeof other);
	assert_true(jobtrace_open(file.path, JOBTRACE_AUTO, &trace, &err) < 0);
	assert_non_null(strstr(err.text, "a zero byte"));
}

/* Found by us: libarchive does not check gzip's checksums. */
static void
packed_files_that_are_damaged_or_cut_off_are_errors(void **state)
{
	static const char header[] = "job_id,submit_s,duration_s,num_gpus\n";
	struct jobtrace_job job;
	struct jobtrace *trace;
	struct err err = { 0 };
	char text[2048] = "", bytes[4096], damaged[4096];
	size_t n_text = sizeof header - 1, n, n_errors = 0;

	(void)state;
	memcpy(text, header, n_text);
	for (int i = 0; i < 100; i++)
		n_text += (size_t)snprintf(text + n_text, sizeof text - n_text,
					   "%d,%d,%d,1\n", i, i * i, 7 * i + 1);
	n = packed_bytes(ARCHIVE_FILTER_GZIP, 1, text, n_text, bytes, sizeof bytes);

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
	/* Concatenated files are one file. */
	memcpy(damaged, bytes, n);
	memcpy(damaged + n, bytes, n);
	memory_file_set(&file, damaged, 2 * n);
	assert_int_equal(jobtrace_open(file.path, JOBTRACE_AUTO, &trace, &err), 0);
	while (jobtrace_next(trace, &job, &err) > 0)
		;
	assert_int_equal(jobtrace_counts(trace).jobs, 200);
	assert_int_equal(jobtrace_counts(trace).malformed, 1); /* A second header. */
	jobtrace_close(trace);
}

/* A row may span lines and blocks. */
static void
packed_files_have_rows_of_many_lines(void **state)
{
	static const int filters[] = { ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_XZ,
				       ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_BZIP2 };
	static const char header[] = "job_id,submit_s,duration_s,num_gpus,note\n",
			  begin[] = "a,0,1,1,\"", end[] = "\"\nb,0,1,1,\n";
	static char text[300000], bytes[300000];
	const unsigned n_lines = 200000;
	char *at = text;

	(void)state;
	at = stpcpy(stpcpy(at, header), begin);
	memset(at, '\n', n_lines);
	at = stpcpy(at + n_lines, end);
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
		size_t n = packed_bytes(filters[i], 1, text, (size_t)(at - text), bytes,
					sizeof bytes);
		struct jobtrace *trace = jobtraces_open(&file, bytes, n);

		assert_int_equal(jobtraces_next(trace)->line, 2);
		assert_int_equal(jobtraces_next(trace)->line, 2 + n_lines + 1);
		assert_null(jobtraces_next(trace));
		assert_int_equal(jobtrace_counts(trace).malformed, 0);
		jobtrace_close(trace);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(archives_and_compressed_files_are_read),
		cmocka_unit_test(what_is_packed_twice_or_by_a_program_is_refused),
		cmocka_unit_test(packed_files_that_are_damaged_or_cut_off_are_errors),
		cmocka_unit_test(packed_files_have_rows_of_many_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
