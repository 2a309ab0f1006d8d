/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "scheduler/store/store_priv.h"

/* Rounded down, also before 1970. */
int64_t
store_grain_of(int64_t at_us, enum store_grain grain)
{
	int64_t width_us = store_grain_us[grain];

	return at_us / width_us - (at_us % width_us < 0);
}

static int64_t
limited(uint64_t value)
{
	return value > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)value;
}

void
store_add_sample(struct store *store, const struct store_sample *sample)
{
	int64_t link, job;

	store_begin(store);
	if (store->failed)
		return;
	link = store_name(store, sample->link, sample->at_us);
	job = store_name(store, sample->job, sample->at_us);
	if (!link || !job)
		return;
	for (unsigned grain = 0; grain < STORE_N_GRAINS; grain++) {
		sqlite3_stmt *add = store_statement(store, SQL_ADD + grain);

		if (!add)
			return;
		sqlite3_bind_int64(add, 1, store_grain_of(sample->at_us, grain));
		sqlite3_bind_int64(add, 2, link);
		sqlite3_bind_int64(add, 3, job);
		sqlite3_bind_int64(add, 4, limited(sample->bytes));
		sqlite3_bind_int64(add, 5, limited(sample->peak_bps));
		sqlite3_bind_int64(add, 6, sample->over_ms);
		if (store_run(store, add) < 0)
			return;
	}
}

int64_t
store_oldest_us(struct store *store, enum store_grain grain)
{
	sqlite3_stmt *oldest = store_statement(store, SQL_OLDEST + grain);
	int64_t at_us = INT64_MAX;

	if (!oldest)
		return at_us;
	if (sqlite3_step(oldest) == SQLITE_ROW &&
	    sqlite3_column_type(oldest, 0) == SQLITE_INTEGER)
		at_us = sqlite3_column_int64(oldest, 0) * store_grain_us[grain];
	sqlite3_reset(oldest);
	return at_us;
}

static enum store_grain
grain_for(struct store *store, int64_t from_us, int64_t step_us)
{
	unsigned grain = STORE_1S, best;

	while (grain + 1 < STORE_N_GRAINS && store_grain_us[grain + 1] <= step_us)
		grain++;
	best = grain;
	for (int64_t at_us = store_oldest_us(store, grain);
	     at_us > from_us && grain + 1 < STORE_N_GRAINS;) {
		int64_t coarser_us = store_oldest_us(store, ++grain);

		/* A gain of less than its own width does not count. */
		if (at_us == INT64_MAX ? coarser_us < INT64_MAX
				       : coarser_us / store_grain_us[grain] <
						 at_us / store_grain_us[grain])
			best = grain;
		at_us = coarser_us;
	}
	return best;
}

int
store_read_samples(struct store *store, const char *link, const char *job,
		   int64_t from_us, int64_t to_us, int64_t step_us,
		   store_sample_fn *each, void *ctx, struct err *err)
{
	enum store_grain grain;
	int64_t link_id, job_id = 0, from, to;
	sqlite3_stmt *read;
	int code;

	if (from_us >= to_us)
		return 0;
	grain = grain_for(store, from_us, step_us);
	from = store_grain_of(from_us, grain);
	to = store_grain_of(to_us - 1, grain) + 1;
	if (to - from > STORE_MAX_STEPS) {
		err_set(err, NULL, 0, 0,
			"that is %lld steps of %lld s; at most %d can be read at once: "
			"ask for longer steps or less time",
			(long long)(to - from),
			(long long)(store_grain_us[grain] / 1000000), STORE_MAX_STEPS);
		return -E2BIG;
	}
	link_id = store_find_name(store, link);
	if (job)
		job_id = store_find_name(store, job);
	if (!link_id || (job && !job_id))
		return 0;
	read = store_statement(store, SQL_READ + grain);
	if (!read)
		return store_fail_now(store, err);
	sqlite3_bind_int64(read, 1, from);
	sqlite3_bind_int64(read, 2, to);
	sqlite3_bind_int64(read, 3, link_id);
	if (job)
		sqlite3_bind_int64(read, 4, job_id);
	while ((code = sqlite3_step(read)) == SQLITE_ROW) {
		struct store_sample sample = {
			.link = link,
			.job = (const char *)sqlite3_column_text(read, 1),
			.at_us = sqlite3_column_int64(read, 0) * store_grain_us[grain],
			.bytes = (uint64_t)sqlite3_column_int64(read, 2),
			.peak_bps = (uint64_t)sqlite3_column_int64(read, 3),
			.over_ms = (uint32_t)sqlite3_column_int64(read, 4),
		};

		if (!each(ctx, grain, &sample)) {
			code = SQLITE_DONE;
			break;
		}
	}
	if (code != SQLITE_DONE) {
		int rc = store_fail_now(store, err);

		sqlite3_reset(read);
		return rc;
	}
	sqlite3_reset(read);
	return 0;
}
