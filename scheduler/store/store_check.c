/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "scheduler/store/store_file.h"
#include "scheduler/store/store_priv.h"

/* For a commit, or the recovery of a log, by another program. */
#define BUSY_MS 2000
/* Instructions of SQLite's machine between two questions whether to stop: about 1 ms. */
#define STOP_EVERY 20000

/* The tables of STORE_VERSION, their column of time and its unit. */
static const struct {
	const char *name, *column;
	int64_t unit_us;
} tables[STORE_N_TABLES] = {
	{ "sample_1s", "at", INT64_C(1000000) },
	{ "sample_10s", "at", INT64_C(10000000) },
	{ "sample_5min", "at", INT64_C(300000000) },
	{ "document", "at", 1 },
	{ "history", "at", 1 },
	{ "name", "seen", 1 },
};

/* ---- Reading ------------------------------------------------------------------------ */

/* POSIX lets a function's address be a 'void *'. */
static int
ask_to_stop(void *ctx)
{
	bool (*is_stopped)(void) = (bool (*)(void))ctx;

	return is_stopped();
}

/* Of what SQLite said last. */
static int
fail(sqlite3 *db, const char *path, struct err *err)
{
	int code = sqlite3_extended_errcode(db), rc = store_errno(code);

	if ((code & 0xff) == SQLITE_INTERRUPT) {
		err_set(err, path, 0, 0, "interrupted");
		return -EINTR;
	}
	if (rc == -ENOENT || rc == -EACCES) {
		err_set(err, path, 0, 0,
			"%s; run this as its owner, or as root: reading it while it is in "
			"use takes files beside it",
			sqlite3_errmsg(db));
		return -EACCES;
	}
	err_set(err, path, 0, 0, "%s%s", sqlite3_errmsg(db),
		rc == -EBUSY ? "; another program has locked it: try again" : "");
	return rc ? rc : -EIO;
}

int
store_open_to_read(const char *path, bool (*is_stopped)(void), sqlite3 **ret_db,
		   struct err *err)
{
	struct stat st;
	sqlite3 *db = NULL;
	int rc = 0;

	if (stat(path, &st) < 0)
		return err_set_errno(err, path, errno, "cannot read the store");
	if (!S_ISREG(st.st_mode))
		return err_set(err, path, 0, 0, "is no file; name the file of a store");
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		rc = fail(db, path, err);
	if (rc == 0) {
		sqlite3_extended_result_codes(db, 1);
		sqlite3_busy_timeout(db, BUSY_MS);
		sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		if (is_stopped)
			sqlite3_progress_handler(db, STOP_EVERY, ask_to_stop,
						 (void *)is_stopped);
		/* All that follows reads one state; the schema is read with it. */
		if (sqlite3_exec(db, "PRAGMA cell_size_check = ON; BEGIN", NULL, NULL,
				 NULL) != SQLITE_OK)
			rc = fail(db, path, err);
	}
	if (rc < 0)
		sqlite3_close(db);
	else
		*ret_db = db;
	return rc;
}

/* ---- Faults ------------------------------------------------------------------------- */

static void
add_fault(struct store_report *report, const char *text)
{
	struct err clean;

	if (report->n_faults == STORE_MAX_FAULTS)
		return;
	err_set(&clean, NULL, 0, 0, "%s", text); /* Without unprintable bytes. */
	report->faults[report->n_faults++] = xstrdup(clean.text);
}

/*
 * A failure of reading: a fault of the file, and 0, if its content is why; else -errno.
 */
static int
fault_or_fail(struct store_report *report, const char *table, sqlite3 *db,
	      const char *path, struct err *err)
{
	char *text;
	int code = sqlite3_errcode(db);

	if (code != SQLITE_CORRUPT && code != SQLITE_NOTADB && code != SQLITE_ERROR &&
	    code != SQLITE_SCHEMA && code != SQLITE_TOOBIG)
		return fail(db, path, err);
	text = xasprintf("%s%s%s", table ? table : "", table ? ": " : "",
			 sqlite3_errmsg(db));
	add_fault(report, text);
	free(text);
	return 0;
}

/* Each line of a result of the check is a fault, but the heading. */
static void
add_lines(struct store_report *report, const char *text)
{
	char *copy = xstrdup(text), *rest = NULL;

	for (char *line = strtok_r(copy, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (strncmp(line, "*** in database", 15) != 0)
			add_fault(report, line);
	free(copy);
}

/* ---- The parts of a check ----------------------------------------------------------- */

/* Reads 'n' numbers; false if there is no row, or on failure. */
static bool
read_numbers(sqlite3 *db, const char *sql, size_t n, int64_t *ret_numbers)
{
	sqlite3_stmt *statement = NULL;
	bool found = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
		     sqlite3_step(statement) == SQLITE_ROW;

	for (size_t i = 0; found && i < n; i++)
		ret_numbers[i] = sqlite3_column_int64(statement, (int)i);
	sqlite3_finalize(statement);
	return found;
}

/* Whether it is a store of this version; adds a fault if not. */
static int
check_identity(struct store_report *report, sqlite3 *db, const char *path,
	       bool *ret_is_ours, struct err *err)
{
	int64_t application, version, n_tables, size[3];
	char text[160];

	*ret_is_ours = false;
	if (!read_numbers(db, "PRAGMA application_id", 1, &application) ||
	    !read_numbers(db, "PRAGMA user_version", 1, &version) ||
	    !read_numbers(db, "SELECT count(*) FROM sqlite_master", 1, &n_tables) ||
	    !read_numbers(db, "PRAGMA page_count", 1, &size[0]) ||
	    !read_numbers(db, "PRAGMA page_size", 1, &size[1]) ||
	    !read_numbers(db, "PRAGMA freelist_count", 1, &size[2]))
		return fault_or_fail(report, NULL, db, path, err);
	report->bytes = size[0] * size[1];
	report->free_bytes = size[2] * size[1];
	if (application != STORE_APPLICATION_ID) {
		add_fault(report, n_tables == 0 ? "is empty"
						: "is a database of another program");
		return 0;
	}
	report->version = version;
	if (version != STORE_VERSION) {
		snprintf(
			text, sizeof text,
			"is of version %lld, and this program knows %d; use the program "
			"that made it",
			(long long)version, STORE_VERSION);
		add_fault(report, text);
		return 0;
	}
	*ret_is_ours = true;
	return 0;
}

static int
check_pages(struct store_report *report, sqlite3 *db, const char *path, struct err *err)
{
	sqlite3_stmt *statement = NULL;
	char sql[64];
	int code;

	snprintf(sql, sizeof sql, "PRAGMA integrity_check(%d)", STORE_MAX_FAULTS);
	code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW) {
			const char *text =
				(const char *)sqlite3_column_text(statement, 0);

			if (text && strcmp(text, "ok") != 0)
				add_lines(report, text);
		}
	}
	code = code == SQLITE_DONE ? 0 : fault_or_fail(report, NULL, db, path, err);
	sqlite3_finalize(statement);
	return code;
}

/* In microseconds; the ends of the range for what a hostile file says. */
static int64_t
time_us(int64_t at, int64_t unit_us)
{
	int64_t us;

	if (__builtin_mul_overflow(at, unit_us, &us))
		return at < 0 ? INT64_MIN : INT64_MAX;
	return us;
}

static int
check_table(struct store_report *report, size_t i, sqlite3 *db, const char *path,
	    struct err *err)
{
	int64_t n_found, figures[3];
	char *sql = xasprintf("SELECT count(*) FROM sqlite_master WHERE type = 'table'"
			      " AND rootpage > 0 AND name = '%s'",
			      tables[i].name);
	bool found = read_numbers(db, sql, 1, &n_found);

	free(sql);
	if (!found)
		return fault_or_fail(report, tables[i].name, db, path, err);
	if (n_found != 1) { /* A view of that name could take for ever. */
		sql = xasprintf("%s: there is no such table", tables[i].name);
		add_fault(report, sql);
		free(sql);
		return 0;
	}
	sql = xasprintf("SELECT count(*), min(%s), max(%s) FROM %s", tables[i].column,
			tables[i].column, tables[i].name);
	found = read_numbers(db, sql, 3, figures);
	free(sql);
	if (!found)
		return fault_or_fail(report, tables[i].name, db, path, err);
	report->tables[report->n_tables++] = (struct store_table){
		.name = tables[i].name,
		.n_rows = figures[0],
		.first_us = time_us(figures[1], tables[i].unit_us),
		.last_us = time_us(figures[2], tables[i].unit_us),
	};
	return 0;
}

int
store_check(const char *path, bool (*is_stopped)(void), struct store_report *ret_report,
	    struct err *err)
{
	struct store_report report = { .version = -1 };
	bool is_ours = false;
	sqlite3 *db;
	int rc = store_open_to_read(path, is_stopped, &db, err);

	if (rc < 0)
		return rc;
	rc = check_identity(&report, db, path, &is_ours, err);
	if (rc == 0 && is_ours)
		rc = check_pages(&report, db, path, err);
	for (size_t i = 0; rc == 0 && is_ours && i < STORE_N_TABLES; i++)
		rc = check_table(&report, i, db, path, err);
	sqlite3_close(db);
	if (rc < 0)
		store_report_fini(&report);
	else
		*ret_report = report;
	return rc;
}

void
store_report_fini(struct store_report *report)
{
	for (size_t i = 0; i < report->n_faults; i++)
		free(report->faults[i]);
	report->n_faults = 0;
}
