/* SPDX-License-Identifier: Apache-2.0 */
/* test_newfile.c - files that appear whole or not at all */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/newfile.h"
#include "tests/unit/temp_file.h"
#include "tests/unit/test.h"

static void
assert_text(const char *wanted)
{
	char *text;
	size_t n;

	assert_int_equal(file_read(temp_path, 1 << 20, &text, &n, NULL), 0);
	assert_string_equal(text, wanted);
	free(text);
}

static void
put_text(const char *text)
{
	assert_int_equal(file_write(temp_path, text, strlen(text), NULL), 0);
}

static void
what_was_there_stays_until_it_is_finished(void **state)
{
	struct newfile file;

	(void)state;
	put_text("old");
	assert_int_equal(newfile_open(temp_path, &file, NULL), 0);
	assert_true(fputs("new", file.out) >= 0 && fflush(file.out) == 0);
	assert_text("old");
	assert_int_equal(newfile_finish(&file, 0, NULL), 0);
	assert_text("new");
}

static void
an_error_leaves_what_was_there_and_is_handed_on(void **state)
{
	struct newfile file;
	struct err err = { 0 };

	(void)state;
	put_text("old");
	assert_int_equal(newfile_open(temp_path, &file, NULL), 0);
	fputs("half", file.out);
	assert_int_equal(newfile_finish(&file, -EBADMSG, &err), -EBADMSG);
	assert_string_equal(err.text, "");
	assert_text("old");
}

static void
a_name_that_is_taken_beside_is_left_alone(void **state)
{
	struct newfile file;
	char beside[128];
	struct stat st;

	(void)state;
	snprintf(beside, sizeof beside, "%s.%d-0", temp_path, (int)getpid());
	assert_int_equal(file_write(beside, "mine", 4, NULL), 0);
	assert_int_equal(newfile_open(temp_path, &file, NULL), 0);
	fputs("new", file.out);
	assert_int_equal(newfile_finish(&file, 0, NULL), 0);
	assert_text("new");
	assert_int_equal(stat(beside, &st), 0);
	assert_int_equal(st.st_size, 4);
	unlink(beside);
}

static void
nothing_is_left_of_a_process_that_is_killed(void **state)
{
	struct newfile file;
	pid_t pid;
	int status;

	(void)state;
	put_text("old");
	assert_int_equal(newfile_open(temp_path, &file, NULL), 0);
	if (file.temporary) {
		/* The file system has no unnamed files. */
		newfile_finish(&file, -EIO, NULL);
		skip();
	}
	newfile_finish(&file, -EIO, NULL);
	pid = fork();
	if (pid == 0) {
		if (newfile_open(temp_path, &file, NULL) == 0)
			fputs("half", file.out);
		fflush(file.out);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_text("old"); /* And temp_file_teardown() finds no other file. */
}

static void
a_full_device_and_a_folder_are_told(void **state)
{
	struct newfile file;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(newfile_open("/dev/full", &file, &err), 0);
	for (int i = 0; i < 100000; i++)
		fputs("more than a buffer has room for\n", file.out);
	assert_int_equal(newfile_finish(&file, 0, &err), -ENOSPC);
	assert_string_equal(err.file, "/dev/full");
	assert_int_equal(newfile_open(temp_folder, &file, &err), -EISDIR);
	snprintf(err.file, sizeof err.file, "%s/none/file", temp_folder);
	assert_int_equal(newfile_open(err.file, &file, &err), -ENOENT);
}

#define in_folder(test) \
	cmocka_unit_test_setup_teardown(test, temp_file_setup, temp_file_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(what_was_there_stays_until_it_is_finished),
		in_folder(an_error_leaves_what_was_there_and_is_handed_on),
		in_folder(a_name_that_is_taken_beside_is_left_alone),
		in_folder(nothing_is_left_of_a_process_that_is_killed),
		in_folder(a_full_device_and_a_folder_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
