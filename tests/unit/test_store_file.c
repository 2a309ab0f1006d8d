/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_file.c - checks and copies of a store's file, also while it is written */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scheduler/store/store_file.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

static char copy[128], part[136];

static int
make_names(void **state)
{
	int rc = make_directory(state);

	snprintf(copy, sizeof copy, "%s/copy.db", directory);
	snprintf(part, sizeof part, "%s.part", copy);
	return rc;
}

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, make_names, remove_directory)

static struct store_report
checked(const char *name)
{
	struct store_report report = { 0 };
	struct err err = { 0 };

	if (store_check(name, NULL, &report, &err) < 0)
		fail_msg("%s", err.text);
	return report;
}

static bool
is_there(const char *name)
{
	return access(name, F_OK) == 0;
}

static int
backup(bool is_replaced, struct err *err)
{
	const struct store_backup_opts opts = { .is_replaced = is_replaced };
	int64_t bytes = -1;
	int rc = store_backup(path, copy, &opts, &bytes, err);

	assert_true(rc < 0 ? bytes == -1 : bytes > 0);
	return rc;
}

static void
write_text(const char *name, const char *text, long at)
{
	FILE *out = fopen(name, at > 0 ? "r+" : "w");

	assert_non_null(out);
	assert_int_equal(fseek(out, at, SEEK_SET), 0);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void
fill(int n)
{
	struct store *store = opened();

	for (int i = 0; i < n; i++)
		add(store, "a>b", i % 2 ? "" : "4711", T0 + i * S, 10, 100);
	store_put(store, STORE_ADVICE, "4711", T0, "{}");
	store_close(store);
}

/* ---- check ----------------------------------------------------------------------- */

static void
rows_and_times_of_each_table_are_told(void **state)
{
	struct store_report report;

	(void)state;
	fill(600);
	report = checked(path);
	assert_int_equal(report.n_faults, 0);
	assert_int_equal(report.version, 1);
	assert_int_equal(report.n_tables, STORE_N_TABLES);
	assert_string_equal(report.tables[0].name, "sample_1s");
	assert_int_equal(report.tables[0].n_rows, 600);
	assert_int_equal(report.tables[0].first_us, T0);
	assert_int_equal(report.tables[0].last_us, T0 + 599 * S);
	assert_int_equal(report.tables[1].n_rows, 120);
	assert_int_equal(report.tables[1].last_us, T0 + 590 * S);
	assert_int_equal(report.tables[2].n_rows, 4);
	assert_int_equal(report.tables[2].last_us, T0 + 300 * S);
	assert_int_equal(report.tables[4].n_rows, 1);
	assert_int_equal(report.tables[4].first_us, T0);
	store_report_fini(&report);
}

static void
what_is_no_store_is_told_apart(void **state)
{
	struct store_report report;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(store_check(path, NULL, &report, &err), -ENOENT);
	assert_false(is_there(path)); /* It is not made. */
	assert_int_equal(store_check(directory, NULL, &report, &err), -EINVAL);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(store_check(path, NULL, &report, &err), -EINVAL);
	unlink(path);
	write_text(path, "", 0);
	report = checked(path);
	assert_string_equal(report.faults[0], "is empty");
	assert_int_equal(report.version, -1);
	store_report_fini(&report);
	write_text(path, "[sim]\n", 0);
	report = checked(path);
	assert_string_equal(report.faults[0], "file is not a database");
	store_report_fini(&report);
	unlink(path);
	run_sql("CREATE TABLE t (x)");
	report = checked(path);
	assert_string_equal(report.faults[0], "is a database of another program");
	store_report_fini(&report);
}

static void
an_unknown_version_or_table_is_a_fault(void **state)
{
	struct store_report report;

	(void)state;
	fill(10);
	run_sql("DROP TABLE sample_10s; CREATE VIEW sample_10s AS WITH RECURSIVE"
		" t(at) AS (SELECT 1 UNION ALL SELECT at FROM t) SELECT at FROM t;"
		" ALTER TABLE name RENAME COLUMN seen TO saw");
	report = checked(path);
	assert_int_equal(report.n_faults, 2);
	assert_string_equal(report.faults[0], "sample_10s: there is no such table");
	assert_string_equal(report.faults[1], "name: no such column: seen");
	assert_int_equal(report.n_tables, STORE_N_TABLES - 2);
	store_report_fini(&report);
	run_sql("PRAGMA user_version = 7");
	report = checked(path);
	assert_int_equal(report.n_faults, 1);
	assert_non_null(strstr(report.faults[0], "is of version 7"));
	assert_int_equal(report.version, 7);
	assert_int_equal(report.n_tables, 0);
	store_report_fini(&report);
}

/* Wherever a page is overwritten, a check that finds no fault has read all rows. */
static void
damage_is_a_fault_in_one_line_and_is_not_copied(void **state)
{
	int n_found = 0, n_refused = 0;

	(void)state;
	for (long at = 0; at < 40000; at += 1024) {
		struct store_report report;
		struct err err = { 0 };

		unlink(path);
		unlink(copy);
		fill(600);
		write_text(path, "\x01\xff\xfe damaged\n\x7f", at + 8);
		report = checked(path);
		n_found += report.n_faults > 0;
		for (size_t i = 0; i < report.n_faults; i++)
			assert_null(strchr(report.faults[i], '\n'));
		if (report.n_faults == 0) {
			assert_int_equal(report.tables[0].n_rows, 600);
			assert_int_equal(backup(false, &err), 0);
		} else {
			n_refused += backup(false, &err) == -EBADMSG;
			assert_false(is_there(copy));
		}
		assert_false(is_there(part));
		store_report_fini(&report);
	}
	assert_in_range(n_found, 10, 40);
	assert_int_equal(n_refused, n_found);
}

static bool
always(void)
{
	return true;
}

static void
both_end_when_asked(void **state)
{
	const struct store_backup_opts opts = { .is_stopped = always };
	struct store_report report;
	struct err err = { 0 };
	int64_t bytes;

	(void)state;
	fill(20000);
	assert_int_equal(store_check(path, always, &report, &err), -EINTR);
	assert_int_equal(store_backup(path, copy, &opts, &bytes, &err), -EINTR);
	assert_false(is_there(copy));
	assert_false(is_there(part));
}

/* ---- backup ---------------------------------------------------------------------- */

static void
a_copy_replaces_a_file_only_if_told(void **state)
{
	struct store_report report;
	struct err err = { 0 };
	struct stat st;
	char wal[136];

	(void)state;
	fill(600);
	write_text(copy, "other\n", 0);
	assert_int_equal(backup(false, &err), -EEXIST);
	assert_int_equal(stat(copy, &st), 0);
	assert_int_equal(st.st_size, 6);
	assert_int_equal(backup(true, &err), 0);
	assert_int_equal(stat(copy, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	report = checked(copy);
	assert_int_equal(report.n_faults, 0);
	assert_int_equal(report.tables[0].n_rows, 600);
	store_report_fini(&report);
	/* A log beside it would be taken for the copy's. */
	snprintf(wal, sizeof wal, "%s-wal", copy);
	write_text(wal, "", 0);
	assert_int_equal(backup(true, &err), -EINVAL);
	unlink(wal);
	unlink(copy);
	assert_int_equal(link(path, copy), 0);
	assert_int_equal(backup(true, &err), -EINVAL);
	assert_non_null(strstr(err.text, "the store itself"));
}

static void
a_copy_is_a_store(void **state)
{
	struct store *store;
	struct err err = { 0 };

	(void)state;
	fill(600);
	assert_int_equal(backup(false, &err), 0);
	unlink(path);
	assert_int_equal(rename(copy, path), 0);
	store = opened();
	assert_null(store_begun_anew(store));
	assert_int_equal(read_of(store, "a>b", "", T0, T0 + 600 * S, S).bytes, 3000);
	store_close(store);
}

static void
a_full_disk_leaves_the_copy_before(void **state)
{
	struct rlimit limit, small;
	struct store_report report;
	struct err err = { 0 };
	int rc;

	(void)state;
	fill(10);
	assert_int_equal(backup(false, &err), 0);
	fill(20000);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 100000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = backup(true, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_true(rc == -EIO || rc == -ENOSPC);
	assert_false(is_there(part));
	report = checked(copy);
	assert_int_equal(report.n_faults, 0);
	assert_int_equal(report.tables[0].n_rows, 10);
	store_report_fini(&report);
}

/* Each commit adds a row to two tables: 'sample_1s', and 'history' by its id. */
static void
write_for_ever(int ready)
{
	struct store *store = opened();
	struct err err;

	for (int i = 0;; i++) {
		add(store, "a>b", "", T0 + i * S, 10, 100);
		store_put(store, STORE_ADVICE, "4711", T0 + i * S, "{}");
		if (store_commit(store, &err) < 0)
			_exit(1);
		if (i == 200 && write(ready, "x", 1) != 1)
			_exit(1);
	}
}

static pid_t
begin_writer(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		write_for_ever(ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

static void
a_store_that_is_written_is_checked_and_copied_at_one_commit(void **state)
{
	struct store_report report;
	struct err err = { 0 };
	int64_t n_before = 0;
	int status;
	pid_t pid;

	(void)state;
	fill(50000); /* Several steps. */
	run_sql("DELETE FROM sample_1s; DELETE FROM history");
	pid = begin_writer();
	for (int i = 0; i < 10; i++) {
		report = checked(path);
		assert_int_equal(report.n_faults, 0);
		assert_int_equal(report.tables[0].n_rows, report.tables[4].n_rows);
		store_report_fini(&report);
		if (backup(true, &err) < 0)
			fail_msg("%s", err.text);
		report = checked(copy);
		assert_int_equal(report.n_faults, 0);
		assert_int_equal(report.tables[0].n_rows, report.tables[4].n_rows);
		/* The writer is not held up. */
		assert_true(report.tables[0].n_rows > n_before);
		n_before = report.tables[0].n_rows;
		store_report_fini(&report);
	}
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* It did not fail. */
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* Its log is read, too. */
	report = checked(path);
	assert_int_equal(report.n_faults, 0);
	assert_true(report.tables[0].n_rows >= n_before);
	store_report_fini(&report);
}

static void
a_killed_backup_leaves_the_copy_before_and_the_next_one_succeeds(void **state)
{
	struct store_report report;
	struct err err = { 0 };
	int n_parts = 0;

	(void)state;
	fill(10);
	assert_int_equal(backup(false, &err), 0);
	fill(50000);
	for (int i = 0; i < 20; i++) {
		const struct timespec wait = { .tv_nsec = i * 500000 };
		pid_t pid = fork();

		if (pid == 0)
			_exit(backup(true, &err) < 0);
		nanosleep(&wait, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		n_parts += is_there(part);
		report = checked(copy);
		assert_int_equal(report.n_faults, 0);
		assert_true(report.tables[0].n_rows == 10 ||
			    report.tables[0].n_rows == 50000);
		store_report_fini(&report);
	}
	assert_true(n_parts > 0);
	assert_int_equal(backup(true, &err), 0);
	report = checked(copy);
	assert_int_equal(report.tables[0].n_rows, 50000);
	store_report_fini(&report);
	assert_false(is_there(part));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(rows_and_times_of_each_table_are_told),
		FILE_TEST(what_is_no_store_is_told_apart),
		FILE_TEST(an_unknown_version_or_table_is_a_fault),
		FILE_TEST(damage_is_a_fault_in_one_line_and_is_not_copied),
		FILE_TEST(both_end_when_asked),
		FILE_TEST(a_copy_replaces_a_file_only_if_told),
		FILE_TEST(a_copy_is_a_store),
		FILE_TEST(a_full_disk_leaves_the_copy_before),
		FILE_TEST(a_store_that_is_written_is_checked_and_copied_at_one_commit),
		FILE_TEST(
			a_killed_backup_leaves_the_copy_before_and_the_next_one_succeeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
