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

static int
read_documents(struct store *store, enum store_sql which, enum store_kind kind,
	       const char *key, size_t n_max, store_document_fn *each, void *ctx,
	       struct err *err)
{
	sqlite3_stmt *get = store_statement(store, which);
	int code, rc = 0;

	if (!get)
		return store_fail_now(store, err);
	sqlite3_bind_int(get, 1, (int)kind);
	if (key)
		sqlite3_bind_text(get, 2, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(get, 3, n_max > INT64_MAX ? INT64_MAX : (int64_t)n_max);
	while ((code = sqlite3_step(get)) == SQLITE_ROW)
		if (!each(ctx, (const char *)sqlite3_column_text(get, 0),
			  sqlite3_column_int64(get, 1),
			  (const char *)sqlite3_column_text(get, 2)))
			break;
	if (code != SQLITE_DONE && code != SQLITE_ROW)
		rc = store_fail_now(store, err);
	sqlite3_reset(get);
	return rc;
}

int
store_read(struct store *store, enum store_kind kind, const char *key, size_t n_max,
	   store_document_fn *each, void *ctx, struct err *err)
{
	return read_documents(store, key ? SQL_GET : SQL_GET_ALL, kind, key, n_max,
			      each, ctx, err);
}

int
store_read_history(struct store *store, enum store_kind kind, const char *key,
		   size_t n_max, store_document_fn *each, void *ctx, struct err *err)
{
	return read_documents(store, key ? SQL_HISTORY : SQL_HISTORY_ALL, kind, key,
			      n_max, each, ctx, err);
}
