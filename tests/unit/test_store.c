/* What is remembered, and what of it survives whatever happens to the process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "scheduler/store/store.h"
#include "tests/unit/test.h"

#define S  INT64_C(1000000)
#define T0 (1700000100 * S) /* Whole grains of all three. */

static char directory[64], path[128];

static int
make_directory(void **state)
{
	(void)state;
	snprintf(directory, sizeof directory, "/tmp/ap-store-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof path, "%s/history.db", directory);
	return 0;
}

static int
remove_directory(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", directory);
	return system(command);
}

static struct store *
opened_with(const struct store_opts *opts)
{
	struct store *store = NULL;
	struct err err = { 0 };

	if (store_open(path, opts, &store, &err) < 0)
		fail_msg("%s", err.text);
	return store;
}

static struct store *
opened(void)
{
	return opened_with(NULL);
}

static void
add(struct store *store, const char *link, const char *job, int64_t at_us,
    uint64_t bytes, uint64_t peak_bps)
{
	struct store_sample sample = { .link = link,
				       .job = job,
				       .at_us = at_us,
				       .bytes = bytes,
				       .peak_bps = peak_bps,
				       .over_ms = 1 };

	store_add_sample(store, &sample);
}

struct seen {
	size_t n;
	uint64_t bytes, peak_bps, over_ms;
	int64_t first_us, last_us;
	enum store_grain grain;
	size_t stop_at;
};

static bool
see(void *ctx, enum store_grain grain, const struct store_sample *sample)
{
	struct seen *seen = ctx;

	if (seen->n++ == 0)
		seen->first_us = sample->at_us;
	assert_true(sample->at_us >= seen->first_us);
	seen->last_us = sample->at_us;
	seen->bytes += sample->bytes;
	seen->over_ms += sample->over_ms;
	if (sample->peak_bps > seen->peak_bps)
		seen->peak_bps = sample->peak_bps;
	seen->grain = grain;
	return seen->n != seen->stop_at;
}

static struct seen
read_of(struct store *store, const char *link, const char *job, int64_t from_us,
	int64_t to_us, int64_t step_us)
{
	struct seen seen = { 0 };
	struct err err = { 0 };

	if (store_read_samples(store, link, job, from_us, to_us, step_us, see, &seen,
			       &err) < 0)
		fail_msg("%s", err.text);
	return seen;
}

static void
samples_add_up_in_every_grain(void **state)
{
	struct store *store = opened();
	struct seen seen;

	(void)state;
	for (int i = 0; i < 600; i++) {
		add(store, "a>b", "", T0 + i * S, 10, 100 + (uint64_t)i);
		add(store, "a>b", "4711", T0 + i * S, 4, 50);
		add(store, "b>a", "", T0 + i * S, 1, 1);
	}
	seen = read_of(store, "a>b", "", T0, T0 + 600 * S, S);
	assert_int_equal(seen.grain, STORE_1S);
	assert_int_equal(seen.n, 600);
	assert_int_equal(seen.bytes, 6000);
	assert_int_equal(seen.over_ms, 600);
	seen = read_of(store, "a>b", "", T0, T0 + 600 * S, 10 * S);
	assert_int_equal(seen.grain, STORE_10S);
	assert_int_equal(seen.n, 60);
	assert_int_equal(seen.bytes, 6000);
	assert_int_equal(seen.peak_bps, 699);
	seen = read_of(store, "a>b", NULL, T0, T0 + 600 * S, 3600 * S);
	assert_int_equal(seen.grain, STORE_5MIN);
	assert_int_equal(seen.n, 4); /* The total and the job, twice. */
	assert_int_equal(seen.bytes, 6000 + 2400);
	assert_int_equal(seen.first_us, T0);
	assert_int_equal(seen.last_us, T0 + 300 * S);
	seen = read_of(store, "a>b", "4711", T0 + 10 * S, T0 + 20 * S, S);
	assert_int_equal(seen.n, 10);
	assert_int_equal(seen.first_us, T0 + 10 * S);
	assert_int_equal(read_of(store, "no>link", NULL, T0, T0 + S, S).n, 0);
	assert_int_equal(read_of(store, "a>b", "no job", T0, T0 + S, S).n, 0);
	store_close(store);
}

static void
reading_can_be_ended_and_is_bounded(void **state)
{
	struct store *store = opened();
	struct seen seen = { .stop_at = 3 };
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < 10; i++)
		add(store, "a>b", "", T0 + i * S, 10, 1);
	assert_int_equal(store_read_samples(store, "a>b", NULL, T0, T0 + 10 * S, S, see,
					    &seen, &err),
			 0);
	assert_int_equal(seen.n, 3);
	assert_int_equal(store_read_samples(store, "a>b", NULL, T0, T0 + 200000 * S, S,
					    see, &seen, &err),
			 -E2BIG);
	assert_non_null(strstr(err.text, "200000 steps of 1 s"));
	assert_int_equal(read_of(store, "a>b", NULL, T0 + 5 * S, T0, S).n, 0);
	store_close(store);
}

static void
what_is_out_of_date_goes_a_little_at_a_time(void **state)
{
	struct store_opts opts = { .keep_us = { 100 * S, 1000 * S, 10000 * S } };
	struct store *store = opened_with(&opts);
	int64_t now_us = T0 + 600 * S;
	struct err err = { 0 };
	int dropped, rounds = 0, all = 0;

	(void)state;
	for (int i = 0; i < 600; i++)
		add(store, "a>b", "", T0 + i * S, 10, 1);
	store_put(store, STORE_ADVICE, "1", T0 - 100 * 86400 * S, "{}");
	while ((dropped = store_tidy(store, now_us, 64, &err)) > 0) {
		assert_true(dropped <= 64);
		all += dropped;
		rounds++;
	}
	assert_int_equal(dropped, 0);
	assert_int_equal(all, 500 + 2); /* The advice, and its history. */
	assert_int_equal(rounds, 8);
	/* What the finest grain has no more, a coarser one still has. */
	assert_int_equal(read_of(store, "a>b", "", T0 + 500 * S, now_us, S).n, 100);
	assert_int_equal(read_of(store, "a>b", "", T0, now_us, S).grain, STORE_10S);
	assert_int_equal(read_of(store, "a>b", "", T0, now_us, S).bytes, 6000);
	/* Long after, all is gone, the names too. */
	while ((dropped = store_tidy(store, now_us + 200 * 86400 * S, 10000, &err)) > 0)
		;
	assert_int_equal(dropped, 0);
	assert_int_equal(read_of(store, "a>b", "", T0, now_us, S).n, 0);
	add(store, "a>b", "", now_us, 7, 1);
	assert_int_equal(read_of(store, "a>b", "", now_us, now_us + S, S).bytes, 7);
	store_close(store);
}

static int64_t
count_of(const char *table)
{
	char text[64];
	sqlite3_stmt *count;
	sqlite3 *db;
	int64_t n;

	snprintf(text, sizeof text, "SELECT count(*) FROM %s", table);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &count, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(count), SQLITE_ROW);
	n = sqlite3_column_int64(count, 0);
	sqlite3_finalize(count);
	sqlite3_close(db);
	return n;
}

static bool
is_there(void *ctx, const char *key, int64_t at_us, const char *json)
{
	(void)key;
	(void)at_us;
	(void)json;
	return ++*(int *)ctx;
}

/* Jobs come and go for half a year, and the store tidies up while it is written to. */
static void
what_is_kept_does_not_grow_with_jobs_that_are_gone(void **state)
{
	struct store_opts opts = { .keep_us = { 100 * S, 1000 * S, 86400 * S } };
	struct store *store = opened_with(&opts);
	struct err err = { 0 };
	int n = 0;

	(void)state;
	store_put(store, STORE_CHANGE, "0", T0, "{}");
	for (int64_t day = 0; day < 200; day++) {
		int64_t at_us = T0 + day * 86400 * S;
		char job[16];

		snprintf(job, sizeof job, "%lld", (long long)day);
		add(store, "a>b", job, at_us, 10, 1);
		store_put(store, STORE_PROFILE, job, at_us, "{}");
		assert_true(store_tidy(store, at_us, 1000, &err) >= 0);
	}
	assert_true(count_of("name") < 96);
	assert_true(count_of("document") > 89 && count_of("document") < 93);
	/* What we have not undone stays. */
	assert_int_equal(store_read(store, STORE_CHANGE, "0", 1, is_there, &n, &err),
			 0);
	assert_int_equal(n, 1);
	store_close(store);
}

static void
a_file_that_is_too_large_loses_its_finest_grain_first(void **state)
{
	struct store_opts opts = { .max_bytes = 1 };
	struct store *store = opened_with(&opts);
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		add(store, "a>b", "", T0 + i * S, 10, 1);
	assert_int_equal(store_commit(store, &err), 0);
	assert_int_equal(store_tidy(store, T0 + 100 * S, 1000, &err), 100);
	assert_int_equal(read_of(store, "a>b", "", T0, T0 + 100 * S, S).grain,
			 STORE_10S);
	assert_true(store_bytes(store) > 0);
	store_close(store);
}

struct documents {
	size_t n;
	char key[16], json[64];
};

static bool
take(void *ctx, const char *key, int64_t at_us, const char *json)
{
	struct documents *documents = ctx;

	assert_true(at_us > 0);
	if (documents->n++ == 0) {
		snprintf(documents->key, sizeof documents->key, "%s", key);
		snprintf(documents->json, sizeof documents->json, "%s", json);
	}
	return true;
}

static struct documents
documents_of(struct store *store, enum store_kind kind, const char *key)
{
	struct documents documents = { 0 };
	struct err err = { 0 };

	assert_int_equal(store_read(store, kind, key, 100, take, &documents, &err), 0);
	return documents;
}

/* What was put last comes first. */
struct lines {
	size_t n, n_wanted;
	int64_t last_id;
	char text[200]; /* "KEY:JSON " of each. */
};

static bool
take_line(void *ctx, const struct store_line *line)
{
	struct lines *lines = ctx;
	size_t at = strlen(lines->text);

	assert_true(line->at_us > 0);
	assert_true(lines->n == 0 || line->id < lines->last_id);
	lines->last_id = line->id;
	snprintf(lines->text + at, sizeof lines->text - at, "%s:%s ", line->key,
		 line->json);
	return ++lines->n != lines->n_wanted;
}

static struct lines
history_of(struct store *store, enum store_kind kind, const struct store_page *page)
{
	struct lines lines = { .n_wanted = 0 };
	struct err err = { 0 };

	assert_int_equal(store_read_history(store, kind, page, take_line, &lines, &err),
			 0);
	return lines;
}

static void
documents_are_replaced_and_their_history_is_kept(void **state)
{
	struct store *store = opened();

	(void)state;
	store_put(store, STORE_ADVICE, "4711", T0, "{\"a\":1}");
	store_put(store, STORE_ADVICE, "4711", T0 + S, "{\"a\":2}");
	store_put(store, STORE_ADVICE, "12", T0 + S, "{\"a\":3}");
	store_put(store, STORE_CHANGE, "4711", T0, "{\"c\":1}");
	store_put(store, STORE_CHANGE, "4711", T0, "{\"c\":'\"}");
	assert_int_equal(store_commit(store, NULL), 0);
	store_close(store);

	store = opened();
	assert_int_equal(documents_of(store, STORE_ADVICE, NULL).n, 2);
	assert_string_equal(documents_of(store, STORE_ADVICE, NULL).key, "12");
	assert_string_equal(documents_of(store, STORE_ADVICE, "4711").json,
			    "{\"a\":2}");
	assert_string_equal(
		history_of(store, STORE_ADVICE, &(struct store_page){ "4711", 0, 100 })
			.text,
		"4711:{\"a\":2} 4711:{\"a\":1} ");
	assert_string_equal(
		history_of(store, STORE_ADVICE, &(struct store_page){ NULL, 0, 1 })
			.text,
		"12:{\"a\":3} ");
	assert_int_equal(
		history_of(store, STORE_CHANGE, &(struct store_page){ "4711", 0, 100 })
			.n,
		0);
	assert_string_equal(documents_of(store, STORE_CHANGE, "4711").json,
			    "{\"c\":'\"}");
	store_delete(store, STORE_CHANGE, "4711");
	assert_int_equal(documents_of(store, STORE_CHANGE, NULL).n, 0);
	store_close(store);
}

/* Page after page, as a reader asks for them, while there is more of other kinds. */
static void
history_is_read_in_pages_newest_first(void **state)
{
	struct store *store = opened();
	struct store_page page = { NULL, 0, 3 };
	struct lines lines;
	char key[8], json[16];

	(void)state;
	for (int i = 0; i < 7; i++) {
		snprintf(key, sizeof key, "%d", i % 2);
		snprintf(json, sizeof json, "%d", i);
		store_put(store, STORE_LOG, key, T0 + i, json);
		store_put(store, STORE_ADVICE, key, T0 + i, "{}");
	}
	lines = history_of(store, STORE_LOG, &page);
	assert_string_equal(lines.text, "0:6 1:5 0:4 ");
	/* What is put meanwhile does not move what follows. */
	store_put(store, STORE_LOG, "0", T0 + 7, "7");
	page.before_id = lines.last_id;
	lines = history_of(store, STORE_LOG, &page);
	assert_string_equal(lines.text, "1:3 0:2 1:1 ");
	page.before_id = lines.last_id;
	lines = history_of(store, STORE_LOG, &page);
	assert_string_equal(lines.text, "0:0 ");
	page.before_id = lines.last_id;
	assert_int_equal(history_of(store, STORE_LOG, &page).n, 0);
	page = (struct store_page){ "1", 0, 2 };
	lines = history_of(store, STORE_LOG, &page);
	assert_string_equal(lines.text, "1:5 1:3 ");
	page.before_id = lines.last_id;
	assert_string_equal(history_of(store, STORE_LOG, &page).text, "1:1 ");
	store_close(store);
}

/* ---- What happens to files ---------------------------------------------------------- */

static void
run_sql(const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Of a file that was made before there was such an index, too. */
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

static void
a_directory_that_is_not_there_is_said(void **state)
{
	struct store *store = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(store_open("/nonexistent/history.db", NULL, &store, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "directory"));
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
	store_close(store); /* All is in the file itself then. */
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
		assert_true(store_tidy(store, T0, 100, &err) < 0);
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

/* ---- Kill -9 -------------------------------------------------------------------------- */

/* Writes until it is killed; says on 'fd' how many seconds are committed. */
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
	for (int round = 0; round < 60; round++) {
		uint32_t n = write_and_kill((int64_t)(rng_uniform(&rng) * 15e6));
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
			/* All of a second or nothing, in all grains. */
			assert_int_equal(fine, last * ((uint64_t)i + 1));
		}
		assert_int_equal(fine, coarse);
		/* One commit may be done, and not be told. */
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
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_directory, remove_directory)
		TEST(samples_add_up_in_every_grain),
		TEST(reading_can_be_ended_and_is_bounded),
		TEST(what_is_out_of_date_goes_a_little_at_a_time),
		TEST(what_is_kept_does_not_grow_with_jobs_that_are_gone),
		TEST(a_file_that_is_too_large_loses_its_finest_grain_first),
		TEST(documents_are_replaced_and_their_history_is_kept),
		TEST(history_is_read_in_pages_newest_first),
		TEST(reading_a_kind_does_not_read_the_others),
		TEST(files_of_others_and_of_later_versions_are_refused),
		TEST(a_directory_that_is_not_there_is_said),
		TEST(a_damaged_file_is_moved_aside_and_begun_anew),
		TEST(a_file_of_text_is_moved_aside_too),
		TEST(one_that_cannot_be_moved_aside_is_said_until_it_can),
		TEST(damage_while_it_runs_is_said_and_history_begins_anew),
		TEST(kill_9_at_any_instant_loses_nothing_that_was_committed),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
