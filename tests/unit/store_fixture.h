/* SPDX-License-Identifier: Apache-2.0 */
/* store_fixture.h - a store in its own folder, and its samples as text */
#ifndef TESTS_UNIT_STORE_FIXTURE_H
#define TESTS_UNIT_STORE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "lib/base/err.h"
#include "scheduler/store/store.h"
#include "tests/unit/test.h"

#define S  INT64_C(1000000)
#define T0 (1700000100 * S) /* A multiple of all three grains. */

static char directory[64], path[128];

static inline int
make_directory(void **state)
{
	(void)state;
	snprintf(directory, sizeof directory, "/tmp/ap-store-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof path, "%s/history.db", directory);
	return 0;
}

static inline int
remove_directory(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", directory);
	return system(command);
}

static inline struct store *
opened_with(const struct store_opts *opts)
{
	struct store *store = NULL;
	struct err err = { 0 };

	if (store_open(path, opts, &store, &err) < 0)
		fail_msg("%s", err.text);
	return store;
}

static inline struct store *
opened(void)
{
	return opened_with(NULL);
}

static inline void
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

static inline bool
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

static inline struct seen
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

/* Changes the database without the store. */
static inline void
run_sql(const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

#define STORE_TEST(f) \
	cmocka_unit_test_setup_teardown(f, make_directory, remove_directory)

#endif
