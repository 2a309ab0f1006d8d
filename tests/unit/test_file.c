/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/rng.h"
#include "tests/unit/packed.h"
#include "tests/unit/temp_file.h"
#include "tests/unit/test.h"

static void
put_file(const void *bytes, size_t length)
{
	FILE *out = fopen(temp_path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, length, out), length);
	assert_int_equal(fclose(out), 0);
}

/* Data packed by ARCHIVE_FILTER_... that expands to 'length' bytes 'c'. */
static uint8_t *
packed(int filter, char c, size_t length, size_t *ret_size)
{
	size_t capacity = length + 1024;
	uint8_t *plain = xcalloc(length, 1), *bytes = xcalloc(capacity, 1);

	memset(plain, c, length);
	*ret_size =
		packed_bytes(filter, 1, (char *)plain, length, (char *)bytes, capacity);
	free(plain);
	return bytes;
}

static void
assert_unread(size_t max_bytes, int want, const char *part)
{
	struct err err = { 0 };
	char *text = (char *)"kept";
	size_t length = 77;
	int result = file_read(temp_path, max_bytes, &text, &length, &err);

	if (result != want || !strstr(err.text, part))
		fail_msg("%d: '%s'", result, err.text);
	assert_string_equal(err.file, temp_path);
	assert_string_equal(text, "kept");
	assert_int_equal(length, 77);
}

static void
what_is_written_is_read_back_with_its_nul_bytes(void **state)
{
	char *text;
	size_t length;

	(void)state;
	assert_int_equal(file_write(temp_path, "a\0b\n", 4, NULL), 0);
	assert_int_equal(file_read(temp_path, 100, &text, &length, NULL), 0);
	assert_int_equal(length, 4);
	assert_memory_equal(text, "a\0b\n", 5); /* NUL-terminated. */
	free(text);

	assert_int_equal(file_write(temp_path, "", 0, NULL), 0);
	assert_int_equal(file_read(temp_path, 100, &text, &length, NULL), 0);
	assert_int_equal(length, 0);
	assert_string_equal(text, "");
	free(text);
}

static void
a_file_of_many_blocks_is_read_whole(void **state)
{
	const size_t size = 3000001;
	char *want = xcalloc(size, 1), *text;
	struct rng rng;
	size_t length;

	(void)state;
	rng_init(&rng, 14);
	for (size_t i = 0; i < size; i++)
		want[i] = (char)rng_next(&rng);
	put_file(want, size);
	assert_int_equal(file_read(temp_path, size, &text, &length, NULL), 0);
	assert_int_equal(length, size);
	assert_memory_equal(text, want, size);
	free(text);
	free(want);
}

static void
the_limit_is_exact(void **state)
{
	char *text;
	size_t length;

	(void)state;
	put_file("12345", 5);
	assert_int_equal(file_read(temp_path, 5, &text, &length, NULL), 0);
	free(text);
	assert_unread(4, -EFBIG, "larger than");
}

static void
an_endless_file_ends_at_the_limit(void **state)
{
	struct err err = { 0 };
	char *text;
	size_t length;

	(void)state;
	assert_int_equal(file_read("/dev/zero", 1000000, &text, &length, &err), -EFBIG);
	assert_string_equal(err.file, "/dev/zero");
}

static void
missing_files_and_folders_are_named(void **state)
{
	struct err err = { 0 };
	char *text;
	size_t length;

	(void)state;
	unlink(temp_path);
	assert_unread(100, -ENOENT, "No such file");
	assert_int_equal(file_read(temp_folder, 100, &text, &length, &err), -EISDIR);
	assert_string_equal(err.file, temp_folder);
	assert_non_null(strstr(err.text, "Is a directory"));
}

static const int filters[] = { ARCHIVE_FILTER_XZ, ARCHIVE_FILTER_GZIP,
			       ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_BZIP2 };

static void
packed_files_are_unpacked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
		size_t size, length;
		uint8_t *bytes = packed(filters[i], 'x', 300000, &size);
		uint8_t *twice = xcalloc(size, 2);
		char *text;

		put_file(bytes, size);
		assert_int_equal(file_read(temp_path, 300000, &text, &length, NULL), 0);
		assert_int_equal(length, 300000);
		assert_int_equal(strspn(text, "x"), 300000);
		free(text);

		/* Two streams in one file, as cat makes them. */
		memcpy(twice, bytes, size);
		memcpy(twice + size, bytes, size);
		put_file(twice, 2 * size);
		assert_int_equal(file_read(temp_path, 600000, &text, &length, NULL), 0);
		assert_int_equal(length, 600000);
		free(text);
		free(twice);
		free(bytes);
	}
}

static void
a_bomb_stops_at_the_limit(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
		size_t size;
		uint8_t *bytes = packed(filters[i], '\0', 50000000, &size);

		assert_true(size < 100000);
		put_file(bytes, size);
		assert_unread(1000000, -EFBIG, "larger than 1 MB");
		assert_unread(49999999, -EFBIG, "larger than");
		free(bytes);
	}
}

static void
files_that_are_damaged_or_cut_off_are_refused(void **state)
{
	size_t size, length;
	uint8_t *bytes = packed(ARCHIVE_FILTER_XZ, 'x', 5000, &size);
	char *text;

	(void)state;
	for (size_t cut = 6; cut < size; cut++) {
		put_file(bytes, cut);
		assert_unread(100000, -EINVAL, "cannot be unpacked: it is cut off");
	}
	/* Every byte of the format is covered by a magic or a checksum. */
	for (size_t i = 6; i < size; i++) {
		bytes[i] ^= 0x10;
		put_file(bytes, size);
		assert_unread(100000, -EINVAL, "cannot be unpacked: ");
		bytes[i] ^= 0x10;
	}
	/* Without the magic it is an uncompressed file. */
	bytes[0] ^= 1;
	put_file(bytes, size);
	assert_int_equal(file_read(temp_path, 100000, &text, &length, NULL), 0);
	assert_int_equal(length, size);
	free(text);
	free(bytes);
	for (size_t i = 1; i < sizeof filters / sizeof *filters; i++) {
		bytes = packed(filters[i], 'x', 5000, &size);
		for (size_t cut = 20; cut < size; cut++) {
			put_file(bytes, cut);
			assert_unread(100000, -EINVAL, "it is cut off");
		}
		bytes[size / 2] ^= 0x10;
		put_file(bytes, size);
		assert_unread(100000, -EINVAL, "cannot be unpacked: ");
		free(bytes);
	}
}

static void
writing_replaces_the_whole_file_and_leaves_nothing_beside_it(void **state)
{
	struct stat status;
	mode_t mask = umask(027);
	char *text;
	size_t length;

	(void)state;
	put_file("a long text that was there before", 33);
	unlink(temp_path);
	assert_int_equal(file_write(temp_path, "new", 3, NULL), 0);
	umask(mask);
	assert_int_equal(file_read(temp_path, 100, &text, &length, NULL), 0);
	assert_string_equal(text, "new");
	free(text);
	assert_int_equal(stat(temp_path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	/* temp_file_teardown() fails if a temporary file is left. */
}

static void
a_file_that_cannot_be_written_stays_as_it_was(void **state)
{
	struct err err = { 0 };
	char missing[128];

	(void)state;
	snprintf(missing, sizeof missing, "%s/no-such-folder/file", temp_folder);
	assert_int_equal(file_write(missing, "x", 1, &err), -ENOENT);
	assert_string_equal(err.file, missing);
	assert_int_equal(file_write(temp_folder, "x", 1, &err), -EISDIR);
	assert_string_equal(err.file, temp_folder);
}

static void
a_byte_order_mark_is_no_part_of_the_text(void **state)
{
	char *text;
	size_t length;

	(void)state;
	put_file("\xef\xbb\xbfkey", 6);
	assert_int_equal(file_read(temp_path, 100, &text, &length, NULL), 0);
	assert_int_equal(length, 3);
	assert_string_equal(text, "key");
	free(text);
	put_file("\xef\xbb", 2);
	assert_int_equal(file_read(temp_path, 100, &text, &length, NULL), 0);
	assert_int_equal(length, 2);
	free(text);
}

static void
devices_and_pipes_are_written_to_and_not_replaced(void **state)
{
	struct err err = { 0 };
	struct stat status;
	char text[8] = { 0 };
	int pipe_fds[2];
	char name[64], *large;

	(void)state;
	assert_int_equal(mkfifo(temp_path, 0600), 0);
	/* Without a reader, opening would block. */
	pipe_fds[0] = open(temp_path, O_RDONLY | O_NONBLOCK);
	assert_true(pipe_fds[0] >= 0);
	assert_int_equal(file_write(temp_path, "text", 4, &err), 0);
	assert_int_equal(read(pipe_fds[0], text, sizeof text), 4);
	assert_string_equal(text, "text");
	assert_int_equal(stat(temp_path, &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
	close(pipe_fds[0]);

	assert_int_equal(pipe(pipe_fds), 0);
	snprintf(name, sizeof name, "/dev/fd/%d", pipe_fds[1]);
	assert_int_equal(file_write(name, "more", 4, &err), 0);
	assert_int_equal(read(pipe_fds[0], text, sizeof text), 4);
	assert_string_equal(text, "more");
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	assert_int_equal(file_write("/dev/full", "x", 1, &err), -ENOSPC);
	assert_string_equal(err.file, "/dev/full");
	/* Also more than a buffer of stdio. */
	large = xcalloc(1 << 20, 1);
	assert_int_equal(file_write("/dev/full", large, 1 << 20, &err), -ENOSPC);
	free(large);
}

static void
a_link_stays_and_what_it_names_is_replaced(void **state)
{
	struct stat status;
	char link_path[128], *text;
	size_t length;

	(void)state;
	put_file("old", 3);
	snprintf(link_path, sizeof link_path, "%s.link", temp_path);
	assert_int_equal(symlink(temp_path, link_path), 0);
	assert_int_equal(file_write(link_path, "newer", 5, NULL), 0);
	assert_int_equal(lstat(link_path, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	unlink(link_path);
	assert_int_equal(file_read(temp_path, 100, &text, &length, NULL), 0);
	assert_string_equal(text, "newer");
	free(text);
}

int
main(void)
{
#define in_folder(test) \
	cmocka_unit_test_setup_teardown(test, temp_file_setup, temp_file_teardown)
	const struct CMUnitTest tests[] = {
		in_folder(what_is_written_is_read_back_with_its_nul_bytes),
		in_folder(a_file_of_many_blocks_is_read_whole),
		in_folder(the_limit_is_exact),
		in_folder(an_endless_file_ends_at_the_limit),
		in_folder(missing_files_and_folders_are_named),
		in_folder(packed_files_are_unpacked),
		in_folder(a_bomb_stops_at_the_limit),
		in_folder(files_that_are_damaged_or_cut_off_are_refused),
		in_folder(writing_replaces_the_whole_file_and_leaves_nothing_beside_it),
		in_folder(a_file_that_cannot_be_written_stays_as_it_was),
		in_folder(a_byte_order_mark_is_no_part_of_the_text),
		in_folder(devices_and_pipes_are_written_to_and_not_replaced),
		in_folder(a_link_stays_and_what_it_names_is_replaced),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
