/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "scheduler/store/store_priv.h"

static bool
has_history(enum store_kind kind)
{
	return kind == STORE_ADVICE || kind == STORE_OUTCOME || kind == STORE_LOG;
}

void
store_put(struct store *store, enum store_kind kind, const char *key, int64_t at_us,
	  const char *json)
{
	store_begin(store);
	for (int i = 0; i < 1 + has_history(kind) && !store->failed; i++) {
		sqlite3_stmt *put =
			store_statement(store, i ? SQL_PUT_HISTORY : SQL_PUT);

		if (!put)
			return;
		sqlite3_bind_int(put, 1, (int)kind);
		sqlite3_bind_text(put, 2, key, -1, SQLITE_STATIC);
		sqlite3_bind_int64(put, 3, at_us);
		sqlite3_bind_text(put, 4, json, -1, SQLITE_STATIC);
		store_run(store, put);
	}
}

void
store_delete(struct store *store, enum store_kind kind, const char *key)
{
	sqlite3_stmt *statement;

	store_begin(store);
	statement = store_statement(store, SQL_DELETE);
	if (store->failed || !statement)
		return;
	sqlite3_bind_int(statement, 1, (int)kind);
	sqlite3_bind_text(statement, 2, key, -1, SQLITE_STATIC);
	store_run(store, statement);
}

static sqlite3_stmt *
bound(struct store *store, enum store_sql which, enum store_kind kind, const char *key,
      size_t n_max)
{
	sqlite3_stmt *get = store_statement(store, which);

	if (!get)
		return NULL;
	sqlite3_bind_int(get, 1, (int)kind);
	if (key)
		sqlite3_bind_text(get, 2, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(get, 3, n_max > INT64_MAX ? INT64_MAX : (int64_t)n_max);
	return get;
}

/* Ends a read that stopped at 'code'. */
static int
finish(struct store *store, sqlite3_stmt *get, int code, struct err *err)
{
	int rc = 0;

	if (code != SQLITE_DONE && code != SQLITE_ROW)
		rc = store_fail_now(store, err);
	sqlite3_reset(get);
	return rc;
}

/* "" for a value that is no text, as a file that was changed by others may have. */
static const char *
text_of(sqlite3_stmt *get, int column)
{
	const unsigned char *text = sqlite3_column_text(get, column);

	return text ? (const char *)text : "";
}

int
store_read(struct store *store, enum store_kind kind, const char *key, size_t n_max,
	   store_document_fn *each, void *ctx, struct err *err)
{
	sqlite3_stmt *get = bound(store, key ? SQL_GET : SQL_GET_ALL, kind, key, n_max);
	int code;

	if (!get)
		return store_fail_now(store, err);
	while ((code = sqlite3_step(get)) == SQLITE_ROW)
		if (!each(ctx, text_of(get, 0), sqlite3_column_int64(get, 1),
			  text_of(get, 2)))
			break;
	return finish(store, get, code, err);
}

int
store_read_history(struct store *store, enum store_kind kind,
		   const struct store_page *page, store_line_fn *each, void *ctx,
		   struct err *err)
{
	sqlite3_stmt *get = bound(store, page->key ? SQL_HISTORY : SQL_HISTORY_ALL,
				  kind, page->key, page->n_max);
	int code;

	if (!get)
		return store_fail_now(store, err);
	sqlite3_bind_int64(get, 4, page->before_id ? page->before_id : INT64_MAX);
	while ((code = sqlite3_step(get)) == SQLITE_ROW) {
		const struct store_line line = {
			.id = sqlite3_column_int64(get, 0),
			.at_us = sqlite3_column_int64(get, 1),
			.key = text_of(get, 2),
			.json = text_of(get, 3),
		};

		if (!each(ctx, &line))
			break;
	}
	return finish(store, get, code, err);
}
