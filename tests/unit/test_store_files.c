/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_files.c - durability of a store when its file or process fails */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "scheduler/store/store.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

/* ---- Files ----------------------------------------------------------------------- */

static bool
count_empty(void *ctx, const char *key, int64_t at_us, const char *json)
{
	size_t *n = ctx;

	(void)at_us;
	assert_string_equal(key, "4711");
	assert_string_equal(json, "");
	(*n)++;
	return true;
}

static bool
count_empty_line(void *ctx, const struct store_line *line)
{
	size_t *n = ctx;

	assert_string_equal(line->key, "");
	assert_string_equal(line->json, "");
	(*n)++;
	return true;
}

/* Other programs may write NULL into any column that is no key. */
static void
a_row_without_text_is_read_as_empty(void **state)
{
	const struct store_page page = { .n_max = 10 };
	struct store *store = opened();
	size_t n = 0;

	(void)state;
	store_close(store);
	run_sql("INSERT INTO document VALUES (3, '4711', 1, NULL);"
		"INSERT INTO history VALUES (1, 4, NULL, 1, NULL)");
	store = opened();
	assert_int_equal(STORE_CHANGE, 3);
	assert_int_equal(
		store_read(store, STORE_CHANGE, NULL, 10, count_empty, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(STORE_LOG, 4);
	assert_int_equal(
		store_read_history(store, STORE_LOG, &page, count_empty_line, &n, NULL),
		0);
	assert_int_equal(n, 2);
	store_close(store);
}

/* Also in a file from before this index existed. */
static void
reading_a_kind_does_not_read_the_others(void **state)
{
	struct store *store = opened();
	sqlite3_stmt *plan;
	sqlite3 *db;
	char text[400] = "";

	(void)state;
	store_close(store);
	run_sql("DROP INDEX history_of_kind");
	store = opened();
	store_close(store);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db,
				   "EXPLAIN QUERY PLAN SELECT id, json FROM history"
				   " WHERE kind = ?1 AND ?2 IS NULL AND id < ?4"
				   " ORDER BY id DESC LIMIT ?3",
				   -1, &plan, NULL),
		SQLITE_OK);
	while (sqlite3_step(plan) == SQLITE_ROW)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n",
			 (const char *)sqlite3_column_text(plan, 3));
	sqlite3_finalize(plan);
	sqlite3_close(db);
	assert_non_null(strstr(text, "INDEX history_of_kind (kind=?"));
	assert_null(strstr(text, "TEMP B-TREE"));
}

static void
files_of_others_and_of_later_versions_are_refused(void **state)
{
	struct store *store = NULL;
	struct err err = { 0 };

	(void)state;
	run_sql("CREATE TABLE theirs (x)");
	assert_int_equal(store_open(path, NULL, &store, &err), -EINVAL);
	assert_non_null(strstr(err.text, "another program"));
	assert_int_equal(unlink(path), 0);
	store_close(opened());
	run_sql("PRAGMA user_version = 99");
	assert_int_equal(store_open(path, NULL, &store, &err), -EINVAL);
	assert_non_null(strstr(err.text, "version 99"));
	assert_null(store);
}

/* Started by hand, without the unit that makes /var/lib/antiphase. */
static void
its_directory_is_made_and_closed_to_others(void **state)
{
	const mode_t mask = umask(022);
	struct store *store = NULL;
	struct err err = { 0 };
	char inner[200];
	struct stat stat_of;

	(void)state;
	snprintf(inner, sizeof inner, "%s/antiphase/history.db", directory);
	if (store_open(inner, NULL, &store, &err) < 0)
		fail_msg("%s", err.text);
	store_close(store);
	umask(mask);
	*strrchr(inner, '/') = '\0';
	assert_int_equal(stat(inner, &stat_of), 0);
	assert_int_equal(stat_of.st_mode & 07777, 0750);
}

/* What is above it is not made: the path may have a mistake. */
static void
a_directory_that_cannot_be_made_is_said(void **state)
{
	struct store *store = NULL;
	struct err err = { 0 };
	char inner[200];

	(void)state;
	snprintf(inner, sizeof inner, "%s/a/b/history.db", directory);
	assert_int_equal(store_open(inner, NULL, &store, &err), -ENOENT);
	assert_non_null(strstr(err.text, "cannot make the directory"));
	assert_null(store);
}

static void
a_damaged_file_is_moved_aside_and_begun_anew(void **state)
{
	struct store *store = opened();
	char aside[160];
	FILE *file;

	(void)state;
	for (int i = 0; i < 5000; i++)
		add(store, "a>b", "", T0 + i * S, 10, 1);
	store_close(store);
	file = fopen(path, "r+");
	assert_non_null(file);
	for (long at = 4096; at < 300000; at += 64) {
		fseek(file, at, SEEK_SET);
		fputs("rubbish rubbish rubbish", file);
	}
	fclose(file);
	store = opened();
	assert_non_null(store_begun_anew(store));
	assert_int_equal(read_of(store, "a>b", "", T0, T0 + 5000 * S, S).n, 0);
	add(store, "a>b", "", T0, 10, 1);
	assert_int_equal(store_commit(store, NULL), 0);
	store_close(store);
	snprintf(aside, sizeof aside, "%s.damaged-1", path);
	assert_int_equal(access(aside, F_OK), 0);
}

static void
a_file_of_text_is_moved_aside_too(void **state)
{
	struct store *store;
	FILE *file = fopen(path, "w");

	(void)state;
	for (int i = 0; i < 1000; i++)
		fputs("not a database at all\n", file);
	fclose(file);
	store = opened();
	assert_non_null(store_begun_anew(store));
	store_close(store);
}

static void
fill(struct store *store)
{
	for (int i = 0; i < 20000; i++)
		add(store, "a>b", "", T0 + i * S, 10, 1);
}

static void
spoil(void)
{
	FILE *file = fopen(path, "r+");

	for (long at = 8192; at < 800000; at += 16) {
		fseek(file, at, SEEK_SET);
		fputs("rubbish rubbish", file);
	}
	fclose(file);
}

static void
damage_while_it_runs_is_said_and_history_begins_anew(void **state)
{
	struct store *store = opened();
	struct err err = { 0 };
	int rc = 0;

	(void)state;
	fill(store);
	store_close(store); /* Now everything is in the file itself. */
	store = opened();
	spoil();
	for (int i = 0; i < 20000 && rc == 0; i++) {
		add(store, "a>b", "", T0 + i * S, 10, 1);
		if (i % 1000 == 999)
			rc = store_commit(store, &err);
	}
	assert_int_equal(rc, -EBADMSG);
	assert_non_null(store_begun_anew(store));
	add(store, "a>b", "", T0, 3, 1);
	assert_int_equal(store_commit(store, &err), 0);
	assert_int_equal(read_of(store, "a>b", "", T0, T0 + S, S).bytes, 3);
	store_close(store);
}

static void
one_that_cannot_be_moved_aside_is_said_until_it_can(void **state)
{
	struct store *store = opened();
	struct err err = { 0 };
	char aside[160];
	int rc = 0;

	(void)state;
	for (int i = 1; i < 1000; i++) {
		snprintf(aside, sizeof aside, "%s.damaged-%d", path, i);
		assert_int_equal(mkdir(aside, 0700), 0);
	}
	fill(store);
	store_close(store);
	store = opened();
	spoil();
	for (int i = 0; i < 20000 && rc == 0; i++) {
		add(store, "a>b", "", T0 + i * S, 10, 1);
		if (i % 1000 == 999)
			rc = store_commit(store, &err);
	}
	for (int i = 0; i < 3; i++) {
		add(store, "a>b", "", T0, 3, 1);
		store_put(store, STORE_ADVICE, "job", T0, "{}");
		assert_int_equal(store_tidy(store, T0, 100), 0);
		assert_true(store_commit(store, &err) < 0);
		assert_non_null(strstr(err.text, "cannot move it aside"));
		assert_int_equal(store_bytes(store), 0);
	}
	assert_int_equal(rmdir(aside), 0);
	assert_true(store_commit(store, &err) < 0);
	add(store, "a>b", "", T0, 3, 1);
	assert_int_equal(store_commit(store, &err), 0);
	assert_int_equal(read_of(store, "a>b", "", T0, T0 + S, S).bytes, 3);
	store_close(store);
}

/* ---- No room ---------------------------------------------------------------------- */

/* As if the disk were full: no file may grow beyond 'bytes'; 0: all may again. */
static void
limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
what_cannot_be_written_is_told_until_something_is(void **state)
{
	struct store *store = opened();
	struct err err = { 0 };
	uint64_t n;
	int rc;

	(void)state;
	assert_null(store_error(store));
	assert_int_equal(store_n_errors(store), 0);
	fill(store);
	assert_int_equal(store_commit(store, &err), 0);
	limit_files(8192);
	store_put(store, STORE_CHANGE, "job", T0, "{}");
	fill(store);
	rc = store_commit(store, &err);
	n = store_n_errors(store);
	/* Nothing is written now, so this passes, and proves nothing. */
	store_delete(store, STORE_CHANGE, "another");
	assert_int_equal(store_commit(store, NULL), 0);
	limit_files(0);
	assert_true(rc < 0);
	assert_int_equal(n, 1);
	assert_string_equal(store_error(store), err.text);
	store_put(store, STORE_CHANGE, "job", T0, "{}");
	assert_int_equal(store_commit(store, &err), 0);
	assert_null(store_error(store));
	assert_int_equal(store_n_errors(store), 1);
	store_close(store);
}

/* ---- Kill -9 --------------------------------------------------------------------- */

/* Writes until killed; reports the number of committed seconds on 'fd'. */
static void
write_for_ever(int fd)
{
	struct store *store = NULL;
	uint32_t second = 0;

	if (store_open(path, NULL, &store, NULL) < 0)
		_exit(1);
	for (;; second++) {
		char link[16];
		uint32_t committed = second + 1;

		for (int i = 0; i < 20; i++) {
			snprintf(link, sizeof link, "link%d", i);
			add(store, link, "", T0 + second * S, 1, 1);
		}
		store_put(store, STORE_ADVICE, "job", T0 + second * S, "{}");
		if (store_commit(store, NULL) < 0)
			_exit(2);
		if (write(fd, &committed, sizeof committed) != sizeof committed)
			_exit(3);
	}
}

/* Starts the writer, kills it after 'ns', and returns what it had committed. */
static uint32_t
write_and_kill(int64_t ns)
{
	struct timespec pause = { .tv_nsec = (long)ns };
	uint32_t committed = 0, told;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		write_for_ever(fds[1]);
	}
	close(fds[1]);
	nanosleep(&pause, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	while (read(fds[0], &told, sizeof told) == sizeof told)
		committed = told;
	close(fds[0]);
	return committed;
}

static void
kill_9_at_any_instant_loses_nothing_that_was_committed(void **state)
{
	struct rng rng;
	uint64_t all = 0;

	(void)state;
	rng_init(&rng, 7);
	/* More and longer rounds where a busy machine lets the writer do nothing. */
	for (int round = 0; round < 60 || (all <= 20 && round < 1000); round++) {
		double longest_ns = 15e6 * (1 + round / 60);
		uint32_t n = write_and_kill((int64_t)(rng_uniform(&rng) * longest_ns));
		struct store *store = opened();
		uint64_t fine = 0, coarse = 0, last = 0;

		assert_null(store_begun_anew(store));
		all += n;
		for (int i = 0; i < 20; i++) {
			char link[16];

			snprintf(link, sizeof link, "link%d", i);
			fine += read_of(store, link, "", T0, T0 + 3000 * S, S).bytes;
			coarse += read_of(store, link, "", T0, T0 + 3000 * S, 300 * S)
					  .bytes;
			if (i == 0)
				last = fine;
			/* All samples of a second or none, in all grains. */
			assert_int_equal(fine, last * ((uint64_t)i + 1));
		}
		assert_int_equal(fine, coarse);
		/* One commit may be done but not yet reported. */
		assert_true(last >= all && last <= all + 1);
		all = last;
		store_close(store);
	}
	assert_true(all > 20);
	run_sql("SELECT CASE (SELECT * FROM pragma_integrity_check) WHEN 'ok' THEN 1"
		" ELSE json('damaged') END");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(a_row_without_text_is_read_as_empty),
		STORE_TEST(reading_a_kind_does_not_read_the_others),
		STORE_TEST(files_of_others_and_of_later_versions_are_refused),
		STORE_TEST(its_directory_is_made_and_closed_to_others),
		STORE_TEST(a_directory_that_cannot_be_made_is_said),
		STORE_TEST(a_damaged_file_is_moved_aside_and_begun_anew),
		STORE_TEST(a_file_of_text_is_moved_aside_too),
		STORE_TEST(one_that_cannot_be_moved_aside_is_said_until_it_can),
		STORE_TEST(damage_while_it_runs_is_said_and_history_begins_anew),
		STORE_TEST(what_cannot_be_written_is_told_until_something_is),
		STORE_TEST(kill_9_at_any_instant_loses_nothing_that_was_committed),
	};

	return cmocka_run_group_tests_name("store_files", tests, NULL, NULL);
}
