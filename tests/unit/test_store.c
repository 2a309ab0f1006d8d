/* SPDX-License-Identifier: Apache-2.0 */
/* test_store.c - persistent data: samples in grains, documents, and their history */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "lib/base/err.h"
#include "scheduler/store/store.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

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
	assert_int_equal(seen.n, 4); /* The total and the job, two samples each. */
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

/* Tidies with at most 'n_max' rows a step until nothing is left; returns the steps. */
static int
tidy(struct store *store, int64_t now_us, size_t n_max)
{
	struct err err = { 0 };
	size_t n;
	int steps = 0;

	while ((n = store_tidy(store, now_us, n_max)) > 0) {
		assert_true(n <= n_max);
		steps++;
	}
	assert_int_equal(store_commit(store, &err), 0);
	return steps;
}

static void
what_is_out_of_date_goes_a_little_at_a_time(void **state)
{
	struct store_opts opts = { .keep_us = { 100 * S, 1000 * S, 10000 * S } };
	struct store *store = opened_with(&opts);
	int64_t now_us = T0 + 600 * S;

	(void)state;
	for (int i = 0; i < 600; i++)
		add(store, "a>b", "", T0 + i * S, 10, 1);
	store_put(store, STORE_ADVICE, "1", T0 - 100 * 86400 * S, "{}");
	/* 500 samples and a line of history; then the sweep, of a document and two names. */
	assert_int_equal(tidy(store, now_us, 64), (500 + 1 + 63) / 64 + 1);
	assert_int_equal(count_of("sample_1s"), 100);
	assert_int_equal(count_of("sample_10s"), 60);
	assert_int_equal(count_of("history"), 0);
	assert_int_equal(count_of("document"), 0);
	/* A coarser grain still has what the finest grain has dropped. */
	assert_int_equal(read_of(store, "a>b", "", T0 + 500 * S, now_us, S).n, 100);
	assert_int_equal(read_of(store, "a>b", "", T0, now_us, S).grain, STORE_10S);
	assert_int_equal(read_of(store, "a>b", "", T0, now_us, S).bytes, 6000);
	/* Long after, everything is gone, including the names. */
	tidy(store, now_us + 200 * 86400 * S, 10000);
	assert_int_equal(count_of("name"), 0);
	assert_int_equal(read_of(store, "a>b", "", T0, now_us, S).n, 0);
	add(store, "a>b", "", now_us, 7, 1);
	assert_int_equal(read_of(store, "a>b", "", now_us, now_us + S, S).bytes, 7);
	store_close(store);
}

/* Hours later a step still looks at few of them, and the last one is found. */
static void
many_documents_and_names_are_swept_in_steps(void **state)
{
	struct store *store = opened_with(NULL);
	char name[16];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t at_us = i % 2 ? T0 : T0 + 100 * 86400 * S;

		snprintf(name, sizeof name, "%d", i);
		store_put(store, i % 4 < 2 ? STORE_PROFILE : STORE_CHANGE, name, at_us,
			  "{}");
		add(store, "a>b", name, at_us, 10, 1);
	}
	/* The old half: 500 samples of each grain; 2001 documents and names. */
	assert_int_equal(tidy(store, T0 + 93 * 86400 * S, 100), 15 + 2001 / 64 + 1);
	assert_int_equal(count_of("document"), 1000 - 250);
	assert_int_equal(count_of("name"), 501);
	/* The next sweep is an hour later. */
	assert_int_equal(tidy(store, T0 + 93 * 86400 * S + 1800 * S, 100), 0);
	assert_int_equal(tidy(store, T0 + 93 * 86400 * S + 3600 * S, 100),
			 1251 / 64 + 1);
	store_close(store);
}

static void
other_limits_apply_from_the_next_step_on(void **state)
{
	const struct store_opts shorter = { .keep_us = { 10 * S, 100 * S, 86400 * S },
					    .keep_advice_us = 86400 * S };
	struct store *store = opened_with(NULL);

	(void)state;
	for (int i = 0; i < 300; i++)
		add(store, "a>b", "", T0 + i * S, 10, 1);
	store_put(store, STORE_ADVICE, "1", T0 - 2 * 86400 * S, "{}");
	tidy(store, T0 + 300 * S, 64);
	assert_int_equal(count_of("sample_1s"), 300);
	assert_int_equal(count_of("history"), 1);
	store_set_opts(store, &shorter);
	tidy(store, T0 + 300 * S, 64);
	assert_int_equal(count_of("sample_1s"), 10);
	assert_int_equal(count_of("sample_10s"), 10);
	assert_int_equal(count_of("sample_5min"), 1);
	assert_int_equal(count_of("history"), 0);
	store_close(store);
}

static bool
is_there(void *ctx, const char *key, int64_t at_us, const char *json)
{
	(void)key;
	(void)at_us;
	(void)json;
	return ++*(int *)ctx;
}

/* Jobs come and go for half a year while the store is tidied. */
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
		tidy(store, at_us, 1000);
	}
	assert_true(count_of("name") < 96);
	assert_true(count_of("document") > 89 && count_of("document") < 93);
	/* A change that is not undone stays. */
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
	for (int i = 0; i < 10; i++)
		store_put(store, STORE_ADVICE, "1", T0 + i * S, "{}");
	assert_int_equal(store_commit(store, &err), 0);
	assert_int_equal(store_tidy(store, T0 + 100 * S, 100), 100);
	assert_int_equal(count_of("sample_1s"), 100); /* Until the commit. */
	assert_int_equal(store_commit(store, &err), 0);
	assert_int_equal(count_of("sample_1s"), 0);
	assert_int_equal(read_of(store, "a>b", "", T0, T0 + 100 * S, S).grain,
			 STORE_10S);
	/* Then coarser ones, and then history, the oldest first; documents stay. */
	assert_int_equal(store_tidy(store, T0 + 100 * S, 10), 10);
	assert_int_equal(store_tidy(store, T0 + 100 * S, 1), 1);
	assert_int_equal(store_tidy(store, T0 + 100 * S, 4), 4);
	assert_int_equal(store_commit(store, &err), 0);
	assert_int_equal(count_of("sample_10s"), 0);
	assert_int_equal(count_of("sample_5min"), 0);
	assert_int_equal(count_of("history"), 6);
	tidy(store, T0 + 100 * S, 4);
	assert_int_equal(count_of("history"), 0);
	assert_int_equal(count_of("document"), 1);
	assert_true(store_bytes(store) > 0);
	store_close(store);
}

/* As much as the daemon writes in a second, and is allowed to delete. */
static void
a_store_stays_within_its_size_however_long_it_runs(void **state)
{
	struct store_opts opts = { .max_bytes = 1 << 20 };
	struct store *store = opened_with(&opts);
	struct err err = { 0 };
	int64_t largest = 0;

	(void)state;
	for (int second = 0; second < 120; second++) {
		for (int link = 0; link < 1000; link++) {
			char name[16];

			snprintf(name, sizeof name, "%d>x", link);
			add(store, name, "", T0 + second * S, 10, 1);
		}
		for (int step = 0; step < 5; step++)
			store_tidy(store, T0 + second * S, 250);
		assert_int_equal(store_commit(store, &err), 0);
		if (store_bytes(store) > largest)
			largest = store_bytes(store);
	}
	assert_true(count_of("sample_1s") < 60000);
	assert_in_range(largest, opts.max_bytes / 2, 2 * opts.max_bytes);
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

/* The newest comes first. */
struct lines {
	size_t n, n_wanted;
	int64_t last_id;
	char text[200]; /* "KEY:JSON " each. */
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

/* Reads page after page, while there are more documents of other kinds. */
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
	/* New documents do not move the following pages. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(samples_add_up_in_every_grain),
		STORE_TEST(reading_can_be_ended_and_is_bounded),
		STORE_TEST(what_is_out_of_date_goes_a_little_at_a_time),
		STORE_TEST(many_documents_and_names_are_swept_in_steps),
		STORE_TEST(other_limits_apply_from_the_next_step_on),
		STORE_TEST(a_store_stays_within_its_size_however_long_it_runs),
		STORE_TEST(what_is_kept_does_not_grow_with_jobs_that_are_gone),
		STORE_TEST(a_file_that_is_too_large_loses_its_finest_grain_first),
		STORE_TEST(documents_are_replaced_and_their_history_is_kept),
		STORE_TEST(history_is_read_in_pages_newest_first),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
