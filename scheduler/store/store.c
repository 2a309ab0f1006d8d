/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "scheduler/store/store_priv.h"

#define SECOND_US INT64_C(1000000)
#define DAY_US    (86400 * SECOND_US)

/* For other programs that read the file at the same time. */
#define BUSY_MS 100

const int64_t store_grain_us[STORE_N_GRAINS] = { SECOND_US, 10 * SECOND_US,
						 300 * SECOND_US };

/* In order of time, so that samples are added and dropped at the ends. */
#define SAMPLES(table)                                                   \
	"CREATE TABLE " table " (at INTEGER, link INTEGER, job INTEGER," \
	" bytes INTEGER, peak INTEGER, over_ms INTEGER,"                 \
	" PRIMARY KEY (at, link, job)) WITHOUT ROWID;"

static const char schema[] =
	"CREATE TABLE name (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL,"
	" seen INTEGER NOT NULL);" SAMPLES("sample_1s") SAMPLES("sample_10s") SAMPLES(
		"sample_5min") "CREATE TABLE document (kind INTEGER, key TEXT, at INTEGER, json TEXT,"
			       " PRIMARY KEY (kind, key)) WITHOUT ROWID;"
			       "CREATE TABLE history (id INTEGER PRIMARY KEY, kind INTEGER, key TEXT,"
			       " at INTEGER, json TEXT);"
			       "CREATE INDEX history_of ON history (kind, key, id);"
			       "CREATE INDEX history_at ON history (at);";

#define ADD(table)                                                   \
	"INSERT INTO " table " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"      \
	" ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes," \
	" peak = max(peak, excluded.peak), over_ms = over_ms + excluded.over_ms"
/* One search per grain of time: the key begins with it. */
#define READ(table)                                                                  \
	"WITH RECURSIVE t(at) AS (SELECT ?1 UNION ALL SELECT at + 1 FROM t"          \
	" WHERE at + 1 < ?2) SELECT s.at, n.name, s.bytes, s.peak, s.over_ms FROM t" \
	" CROSS JOIN " table " s ON s.at = t.at AND s.link = ?3"                     \
	" CROSS JOIN name n ON n.id = s.job WHERE ?4 IS NULL OR s.job = ?4"
#define DROP(table)                                                            \
	"DELETE FROM " table " WHERE (at, link, job) IN (SELECT at, link, job" \
	" FROM " table " WHERE at < ?1 ORDER BY at, link, job LIMIT ?2)"
#define OLDEST(table) "SELECT min(at) FROM " table

static const char *const sql[N_SQL] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_NAME_FIND] = "SELECT id, seen FROM name WHERE name = ?1",
	[SQL_NAME_ADD] = "INSERT INTO name (name, seen) VALUES (?1, ?2)",
	[SQL_NAME_SEEN] = "UPDATE name SET seen = ?2 WHERE id = ?1",
	[SQL_NAME_DROP] = "DELETE FROM name WHERE id = ?1",
	[SQL_NAMES_FROM] = "SELECT id, seen, name FROM name WHERE id > ?1"
			   " ORDER BY id LIMIT ?2",
	[SQL_DOCUMENTS_FROM] =
		"SELECT kind, key, at FROM document"
		" WHERE (kind, key) > (?1, ?2) ORDER BY kind, key LIMIT ?3",
	[SQL_ADD] = ADD("sample_1s"),
	[SQL_ADD_10S] = ADD("sample_10s"),
	[SQL_ADD_5MIN] = ADD("sample_5min"),
	[SQL_READ] = READ("sample_1s"),
	[SQL_READ_10S] = READ("sample_10s"),
	[SQL_READ_5MIN] = READ("sample_5min"),
	[SQL_DROP] = DROP("sample_1s"),
	[SQL_DROP_10S] = DROP("sample_10s"),
	[SQL_DROP_5MIN] = DROP("sample_5min"),
	[SQL_OLDEST] = OLDEST("sample_1s"),
	[SQL_OLDEST_10S] = OLDEST("sample_10s"),
	[SQL_OLDEST_5MIN] = OLDEST("sample_5min"),
	[SQL_PUT] = "INSERT INTO document VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE"
		    " SET at = excluded.at, json = excluded.json",
	[SQL_PUT_HISTORY] = "INSERT INTO history (kind, key, at, json)"
			    " VALUES (?1, ?2, ?3, ?4)",
	[SQL_DELETE] = "DELETE FROM document WHERE kind = ?1 AND key = ?2",
	[SQL_GET] = "SELECT key, at, json FROM document WHERE kind = ?1 AND key = ?2"
		    " LIMIT ?3",
	[SQL_GET_ALL] = "SELECT key, at, json FROM document WHERE kind = ?1 AND"
			" ?2 IS NULL ORDER BY key LIMIT ?3",
	[SQL_HISTORY] = "SELECT id, at, key, json FROM history WHERE kind = ?1 AND"
			" key = ?2 AND id < ?4 ORDER BY id DESC LIMIT ?3",
	[SQL_HISTORY_ALL] = "SELECT id, at, key, json FROM history WHERE kind = ?1 AND"
			    " ?2 IS NULL AND id < ?4 ORDER BY id DESC LIMIT ?3",
	[SQL_HISTORY_DROP] = "DELETE FROM history WHERE id IN (SELECT id FROM history"
			     " WHERE at < ?1 ORDER BY at LIMIT ?2)",
};

/* ---- Failures ------------------------------------------------------------------- */

int
store_errno(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return -ENOENT;
	default:
		return -EIO;
	}
}

static const char *
remedy_of(int rc)
{
	switch (rc) {
	case -ENOSPC:
		return "; make room on its disk";
	case -EBUSY:
		return "; is another antiphase-scheduler using it?";
	case -EACCES:
	case -ENOENT:
		return "; its directory has to be there, and ours to write in";
	default:
		return "";
	}
}

static void
count_failure(struct store *store, const struct err *failure)
{
	store->n_errors++;
	store->is_failing = true;
	store->last_failure = *failure;
}

/* Notes a failure of the database, for the next commit; returns -errno. */
static int
store_fail(struct store *store)
{
	int rc = store_errno(sqlite3_extended_errcode(store->db));

	if (!store->failed) {
		store->failed = rc ? rc : -EIO;
		err_set(&store->failure, store->path, 0, 0, "%s%s",
			sqlite3_errmsg(store->db), remedy_of(store->failed));
		count_failure(store, &store->failure);
	}
	if (rc == -EBADMSG)
		store->is_damaged = true;
	return store->failed;
}

int
store_fail_now(struct store *store, struct err *err)
{
	int rc = store_errno(sqlite3_extended_errcode(store->db));
	struct err failure;

	err_set(&failure, store->path, 0, 0, "%s%s", sqlite3_errmsg(store->db),
		remedy_of(rc));
	count_failure(store, &failure);
	if (err)
		*err = failure;
	if (rc == -EBADMSG)
		store->is_damaged = true;
	return rc ? rc : -EIO;
}

/* ---- Statements and transactions ----------------------------------------------------- */

sqlite3_stmt *
store_statement(struct store *store, enum store_sql which)
{
	sqlite3_stmt **statement = &store->statements[which];

	if (!*statement &&
	    sqlite3_prepare_v3(store->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT,
			       statement, NULL) != SQLITE_OK) {
		store_fail(store);
		return NULL;
	}
	sqlite3_reset(*statement);
	sqlite3_clear_bindings(*statement);
	return *statement;
}

int
store_run(struct store *store, sqlite3_stmt *statement)
{
	int code;

	if (!statement)
		return store->failed;
	do
		code = sqlite3_step(statement);
	while (code == SQLITE_ROW);
	if (code != SQLITE_DONE) {
		int rc = store_fail(store);

		sqlite3_reset(statement);
		return rc;
	}
	sqlite3_reset(statement);
	return 0;
}

void
store_begin(struct store *store)
{
	if (store->in_transaction || store->failed)
		return;
	if (store_run(store, store_statement(store, SQL_BEGIN)) < 0)
		return;
	store->in_transaction = true;
	store->changes = sqlite3_total_changes(store->db);
}

/* ---- The file ------------------------------------------------------------------------- */

void
store_forget_names(struct store *store)
{
	strtab_free(store->names);
	store->names = NULL;
	vec_free(&store->known);
}

void
store_sweep_end(struct store *store)
{
	free(store->sweep.key);
	store->sweep = (struct store_sweep){ .is_on = false };
}

static void
close_file(struct store *store)
{
	for (size_t i = 0; i < N_SQL; i++) {
		sqlite3_finalize(store->statements[i]);
		store->statements[i] = NULL;
	}
	sqlite3_close(store->db);
	store->db = NULL;
	store->in_transaction = false;
	store_forget_names(store);
	store_sweep_end(store);
}

static int
run_text(struct store *store, const char *text, struct err *err)
{
	if (sqlite3_exec(store->db, text, NULL, NULL, NULL) != SQLITE_OK)
		return store_fail_now(store, err);
	return 0;
}

static int
read_number(struct store *store, const char *text, int64_t *ret_number, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(store->db, text, -1, &statement, NULL) != SQLITE_OK ||
	    sqlite3_step(statement) != SQLITE_ROW)
		rc = store_fail_now(store, err);
	else
		*ret_number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return rc;
}

/* Makes the tables of an empty file; refuses foreign files and later versions. */
static int
check_schema(struct store *store, struct err *err)
{
	int64_t application = 0, version = 0, tables = 0;
	int rc = read_number(store, "PRAGMA application_id", &application, err);

	if (rc == 0)
		rc = read_number(store, "PRAGMA user_version", &version, err);
	if (rc == 0)
		rc = read_number(store, "SELECT count(*) FROM sqlite_master", &tables,
				 err);
	if (rc < 0)
		return rc;
	if (tables == 0) {
		char *text =
			sqlite3_mprintf("BEGIN; %s PRAGMA application_id = %d;"
					" PRAGMA user_version = %d; COMMIT",
					schema, STORE_APPLICATION_ID, STORE_VERSION);

		rc = run_text(store, text, err);
		sqlite3_free(text);
		return rc;
	}
	if (application != STORE_APPLICATION_ID)
		return err_set(err, store->path, 0, 0,
			       "is a database of another program; name another file");
	if (version != STORE_VERSION)
		return err_set(err, store->path, 0, 0,
			       "is of version %lld, and this program knows %d; use the "
			       "program that made it, or name another file",
			       (long long)version, STORE_VERSION);
	return 0;
}

/* Reads both ends of every table, which fails in most damaged files. */
static int
check_content(struct store *store, struct err *err)
{
	static const char *const probes[] = {
		"SELECT count(*) FROM (SELECT 1 FROM sample_1s LIMIT 100)",
		"SELECT max(at) FROM sample_1s",
		"SELECT max(at) FROM sample_10s",
		"SELECT max(at) FROM sample_5min",
		"SELECT count(*) FROM document",
		"SELECT max(id) FROM history",
		"SELECT max(id) FROM name",
	};
	int64_t ignored;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof probes / sizeof *probes; i++)
		rc = read_number(store, probes[i], &ignored, err);
	return rc;
}

/*
 * Makes the index for the history of one kind, which older files lack. Without it (a
 * full disk) reading is slower, and still right.
 */
static int
make_late_index(struct store *store, struct err *err)
{
	struct err failure = { 0 };
	int rc = run_text(
		store, "CREATE INDEX IF NOT EXISTS history_of_kind ON history (kind)",
		&failure);

	if (rc != -EBADMSG)
		return 0;
	*err = failure;
	return rc;
}

static int
open_file(struct store *store, struct err *err)
{
	int rc;

	if (sqlite3_open_v2(store->path, &store->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
				    SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		return store_fail_now(store, err);
	sqlite3_extended_result_codes(store->db, 1);
	sqlite3_busy_timeout(store->db, BUSY_MS);
	/* Detects pages that contradict each other. */
	sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	rc = run_text(store,
		      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
		      " PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;"
		      " PRAGMA wal_autocheckpoint = 4000",
		      err);
	if (rc == 0)
		rc = check_schema(store, err);
	if (rc == 0)
		rc = check_content(store, err);
	return rc == 0 ? make_late_index(store, err) : rc;
}

/* Moves a damaged file, and its companions, out of the way. */
static int
move_aside(struct store *store, const char *why, struct err *err)
{
	static const char *const parts[] = { "", "-wal", "-shm" };
	char *to = NULL;
	int rc = 0;

	for (unsigned i = 1; i < 1000; i++) {
		free(to);
		to = xasprintf("%s.damaged-%u", store->path, i);
		if (access(to, F_OK) < 0)
			break;
	}
	for (size_t i = 0; rc == 0 && i < sizeof parts / sizeof *parts; i++) {
		char *a = xasprintf("%s%s", store->path, parts[i]);
		char *b = xasprintf("%s%s", to, parts[i]);

		if (rename(a, b) < 0 && errno != ENOENT)
			rc = err_set_errno(err, a, errno, "cannot move it aside");
		free(a);
		free(b);
	}
	if (rc == 0) {
		log_err("store", "%s is damaged (%s): moved to %s, history begins anew",
			store->path, why, to);
		free(store->begun_anew);
		store->begun_anew = xasprintf("%s; what was there is %s", why, to);
	}
	free(to);
	return rc;
}

static int
begin_anew(struct store *store, const char *why, struct err *err)
{
	int rc;

	close_file(store);
	store->is_damaged = false;
	rc = move_aside(store, why, err);
	if (rc == 0)
		return open_file(store, err);
	store->is_damaged =
		true; /* There is no file now; the next commit tries again. */
	return rc;
}

static void
fill_defaults(struct store_opts *opts)
{
	static const int64_t keep_us[STORE_N_GRAINS] = { 3600 * SECOND_US, DAY_US,
							 90 * DAY_US };

	for (size_t i = 0; i < STORE_N_GRAINS; i++)
		if (opts->keep_us[i] == 0)
			opts->keep_us[i] = keep_us[i];
	if (opts->keep_advice_us == 0)
		opts->keep_advice_us = 90 * DAY_US;
	if (opts->max_bytes == 0)
		opts->max_bytes = INT64_C(4) << 30;
}

void
store_set_opts(struct store *store, const struct store_opts *opts)
{
	store->opts = opts ? *opts : (struct store_opts){ 0 };
	fill_defaults(&store->opts);
}

/* Makes the directory of the file, such as /var/lib/antiphase; not those above it. */
static int
make_directory(const char *path, struct err *err)
{
	const char *end = strrchr(path, '/');
	char *directory;
	int rc = 0;

	if (!end || end == path)
		return 0;
	directory = xstrndup(path, (size_t)(end - path));
	if (mkdir(directory, 0750) < 0 && errno != EEXIST)
		rc = err_set_errno(err, directory, errno, "cannot make the directory");
	free(directory);
	return rc;
}

int
store_open(const char *path, const struct store_opts *opts, struct store **ret_store,
	   struct err *err)
{
	struct store *store = xcalloc(1, sizeof *store);
	struct err failure = { 0 };
	int rc;

	store->path = xstrdup(path);
	store_set_opts(store, opts);
	rc = make_directory(path, &failure);
	if (rc == 0)
		rc = open_file(store, &failure);
	if (rc == -EBADMSG) {
		char why[sizeof failure.text];

		memcpy(why, failure.text, sizeof why);
		rc = begin_anew(store, why, &failure);
	}
	if (rc < 0) {
		if (err)
			*err = failure;
		store_close(store);
		return rc;
	}
	*ret_store = store;
	return 0;
}

void
store_close(struct store *store)
{
	struct err err;

	if (!store)
		return;
	if (store->db && store->in_transaction && store_commit(store, &err) < 0)
		log_err("store", "%s; the last second is lost", err.text);
	close_file(store);
	free(store->begun_anew);
	free(store->path);
	free(store);
}

int
store_commit(struct store *store, struct err *err)
{
	int rc;

	if (store->in_transaction && !store->failed &&
	    store_run(store, store_statement(store, SQL_COMMIT)) == 0) {
		store->in_transaction = false;
		if (sqlite3_total_changes(store->db) != store->changes)
			store->is_failing = false;
	}
	if (!store->failed && !store->is_damaged)
		return 0;
	if (!store->failed) { /* Damage was found while reading. */
		store->failed =
			err_set(&store->failure, store->path, 0, 0, "is damaged");
		count_failure(store, &store->failure);
	}
	rc = store->failed;
	if (err)
		*err = store->failure;
	/* The failed statement may have ended the transaction. */
	if (store->db && !sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	store->in_transaction = false;
	store_forget_names(store); /* Some numbers may be undone. */
	store->failed = 0;
	if (store->is_damaged) {
		struct err why = store->failure;
		int again = begin_anew(store, why.text, err);

		return again < 0 ? again : rc;
	}
	return rc;
}

int64_t
store_bytes(const struct store *store)
{
	static const char *const pragmas[] = { "PRAGMA page_count",
					       "PRAGMA freelist_count",
					       "PRAGMA page_size" };
	struct store *s = (struct store *)store; /* Changes only its errors. */
	int64_t value[3] = { 0 };

	for (size_t i = 0; i < 3; i++)
		if (read_number(s, pragmas[i], &value[i], NULL) < 0)
			return 0;
	return (value[0] - value[1]) * value[2];
}

uint64_t
store_n_errors(const struct store *store)
{
	return store->n_errors;
}

const char *
store_error(const struct store *store)
{
	return store->is_failing ? store->last_failure.text : NULL;
}

const char *
store_begun_anew(const struct store *store)
{
	return store->begun_anew;
}
