/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_tidy.c - deletion of what is out of date or beyond the maximum size.
 *
 * Samples and history are dropped from their oldest end, which an index gives.  Documents
 * and names have no such order: once in a while a sweep looks at all of them, a page at a
 * time, where the last page ended.
 */
#include <limits.h>
#include <stdlib.h>

#include "scheduler/store/store_priv.h"

/* The interval of sweeps. */
#define SWEEP_US INT64_C(3600000000)
/* Rows with texts of a step: each takes as long to delete as 10 to 30 samples. */
#define MAX_TEXTS 64
/* The file's last use of a name is up to a day old. */
#define NAMES_US (2 * INT64_C(86400000000))

/* ---- The oldest rows ------------------------------------------------------------- */

/* Drops up to 'n_max' rows of before 'before'; returns how many. */
static size_t
drop(struct store *store, enum store_sql which, int64_t before, size_t n_max)
{
	sqlite3_stmt *statement;

	store_begin(store);
	statement = store_statement(store, which);
	if (!statement || store->failed)
		return 0;
	sqlite3_bind_int64(statement, 1, before);
	sqlite3_bind_int64(statement, 2, (int64_t)n_max);
	return store_run(store, statement) < 0 ? 0 : (size_t)sqlite3_changes(store->db);
}

static size_t
texts(size_t n_max)
{
	return n_max < MAX_TEXTS ? n_max : MAX_TEXTS;
}

/* Likewise, of samples and history; beyond the maximum size also younger ones. */
static size_t
drop_oldest(struct store *store, int64_t now_us, size_t n_max)
{
	bool is_too_large = store_bytes(store) > store->opts.max_bytes;
	size_t n = 0;

	for (unsigned grain = 0; grain < STORE_N_GRAINS && n < n_max; grain++) {
		int64_t before_us = now_us - store->opts.keep_us[grain];

		if (is_too_large && store_oldest_us(store, grain) < INT64_MAX) {
			before_us = INT64_MAX;
			is_too_large = false;
		}
		n += drop(store, SQL_DROP + grain, store_grain_of(before_us, grain),
			  n_max - n);
	}
	if (n < n_max)
		n += drop(store, SQL_HISTORY_DROP,
			  is_too_large ? INT64_MAX
				       : now_us - store->opts.keep_advice_us,
			  texts(n_max - n));
	return n;
}

/* ---- Sweeps ---------------------------------------------------------------------- */

struct document {
	int kind;
	char *key; /* Owned. */
};

/* Looks at the next page of documents; returns how many these are. */
static size_t
sweep_documents(struct store *store, int64_t before_us, size_t n_max)
{
	struct store_sweep *sweep = &store->sweep;
	sqlite3_stmt *page = store_statement(store, SQL_DOCUMENTS_FROM);
	VEC(struct document) old = VEC_EMPTY;
	size_t n = 0;
	int code;

	if (!page)
		return 0;
	sqlite3_bind_int(page, 1, sweep->kind);
	sqlite3_bind_text(page, 2, sweep->key ? sweep->key : "", -1, SQLITE_TRANSIENT);
	sqlite3_bind_int64(page, 3, (int64_t)n_max);
	while ((code = sqlite3_step(page)) == SQLITE_ROW) {
		const char *key = (const char *)sqlite3_column_text(page, 1);

		n++;
		free(sweep->key);
		sweep->kind = sqlite3_column_int(page, 0);
		sweep->key = xstrdup(key ? key : "");
		if (sqlite3_column_int64(page, 2) < before_us &&
		    sweep->kind != STORE_CHANGE)
			vec_push(&old, ((struct document){ sweep->kind,
							   xstrdup(sweep->key) }));
	}
	if (code != SQLITE_DONE)
		store_fail_now(store, NULL);
	sqlite3_reset(page);
	for (size_t i = 0; i < old.n; i++) {
		store_delete(store, (enum store_kind)old.items[i].kind,
			     old.items[i].key);
		free(old.items[i].key);
	}
	vec_free(&old);
	return n;
}

/* Likewise of names. */
static size_t
sweep_names(struct store *store, int64_t before_us, size_t n_max)
{
	sqlite3_stmt *page = store_statement(store, SQL_NAMES_FROM), *remove;
	VEC(int64_t) old = VEC_EMPTY;
	bool is_known = false;
	size_t n = 0;
	int code;

	if (!page)
		return 0;
	sqlite3_bind_int64(page, 1, store->sweep.name);
	sqlite3_bind_int64(page, 2, (int64_t)n_max);
	while ((code = sqlite3_step(page)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(page, 2);

		n++;
		store->sweep.name = sqlite3_column_int64(page, 0);
		if (sqlite3_column_int64(page, 1) >= before_us)
			continue;
		vec_push(&old, store->sweep.name);
		is_known |= name && store->names &&
			    strtab_find(store->names, name) != STRTAB_NONE;
	}
	if (code != SQLITE_DONE)
		store_fail_now(store, NULL);
	sqlite3_reset(page);
	if (old.n)
		store_begin(store);
	for (size_t i = 0; i < old.n && !store->failed; i++) {
		remove = store_statement(store, SQL_NAME_DROP);
		if (!remove)
			break;
		sqlite3_bind_int64(remove, 1, old.items[i]);
		store_run(store, remove);
	}
	if (is_known)
		store_forget_names(store);
	vec_free(&old);
	return n;
}

static int64_t
longest_us(const struct store_opts *opts)
{
	int64_t longest = opts->keep_advice_us;

	for (size_t i = 0; i < STORE_N_GRAINS; i++)
		if (opts->keep_us[i] > longest)
			longest = opts->keep_us[i];
	return longest;
}

/* Looks at the next documents or names, if a sweep is due; returns how many. */
static size_t
sweep(struct store *store, int64_t now_us, size_t n_max)
{
	struct store_sweep *at = &store->sweep;
	size_t n = 0;

	if (!at->is_on) {
		if (store->swept_us && now_us >= store->swept_us &&
		    now_us - store->swept_us < SWEEP_US)
			return 0;
		store->swept_us = now_us;
		*at = (struct store_sweep){ .is_on = true, .kind = -1 };
	}
	n_max = texts(n_max);
	if (!at->are_documents_done) {
		n = sweep_documents(store, now_us - store->opts.keep_advice_us, n_max);
		at->are_documents_done = n < n_max;
	}
	if (n < n_max) {
		size_t n_names = sweep_names(
			store, now_us - longest_us(&store->opts) - NAMES_US, n_max - n);

		if (n_names < n_max - n)
			store_sweep_end(store);
		n += n_names;
	}
	return n;
}

/* ---- Both ------------------------------------------------------------------------ */

size_t
store_tidy(struct store *store, int64_t now_us, size_t max_rows)
{
	size_t n_max = max_rows > INT_MAX / 2 ? INT_MAX / 2 : max_rows;
	size_t n = store->db ? drop_oldest(store, now_us, n_max) : 0;

	if (n == 0 && store->db && !store->failed)
		n = sweep(store, now_us, n_max);
	return n;
}
