/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_priv.h - what the store's files share.
 *
 *	store.c          the file: opening, schema, transactions
 *	store_names.c    names of links and jobs as numbers
 *	store_samples.c  history
 *	store_docs.c     documents
 *	store_tidy.c     deletion of what is out of date
 *	store_check.c    a file from outside (store_file.h)
 *	store_backup.c   its copy
 */
#ifndef SCHEDULER_STORE_STORE_PRIV_H
#define SCHEDULER_STORE_STORE_PRIV_H

#include <sqlite3.h>

#include "lib/base/err.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "scheduler/store/store.h"

/*
 * "anti" in the header of the file, and the version of the tables.  It rises only when an
 * older program, which runs its statements on any file of its own version, could not use
 * the file: indexes may come, tables and columns of this version stay as they are.
 */
#define STORE_APPLICATION_ID 0x616e7469
#define STORE_VERSION        1

/* All statements; each is prepared at its first use. */
enum store_sql {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_NAME_FIND,
	SQL_NAME_ADD,
	SQL_NAME_SEEN,
	SQL_NAME_DROP,
	SQL_NAMES_FROM,
	SQL_DOCUMENTS_FROM,
	SQL_ADD, /* One per grain. */
	SQL_ADD_10S,
	SQL_ADD_5MIN,
	SQL_READ, /* Likewise. */
	SQL_READ_10S,
	SQL_READ_5MIN,
	SQL_DROP, /* Likewise. */
	SQL_DROP_10S,
	SQL_DROP_5MIN,
	SQL_OLDEST, /* Likewise. */
	SQL_OLDEST_10S,
	SQL_OLDEST_5MIN,
	SQL_PUT,
	SQL_PUT_HISTORY,
	SQL_DELETE,
	SQL_GET,
	SQL_GET_ALL,
	SQL_HISTORY,
	SQL_HISTORY_ALL,
	SQL_HISTORY_DROP,
	N_SQL,
};

struct store_name {
	int64_t id;      /* Of the file. */
	int64_t seen_us; /* As in the file. */
};

/* A search for old documents, and then for unused names, in the order of their keys. */
struct store_sweep {
	bool is_on;
	bool are_documents_done;
	int kind;  /* Of the last document looked at. */
	char *key; /* Owned.  Likewise. */
	int64_t name;
};

struct store {
	char *path;
	struct store_opts opts; /* Defaults filled in. */
	sqlite3 *db; /* NULL: a damaged file that could not be moved aside. */
	sqlite3_stmt *statements[N_SQL];
	bool in_transaction;
	int failed;         /* -errno of the first failure since the last commit. */
	struct err failure; /* What it was. */
	bool is_damaged;    /* The file is to be begun anew. */
	uint64_t n_errors;
	bool is_failing; /* Nothing was written since 'last_failure'. */
	struct err last_failure;
	int64_t changes;  /* Of the connection, at the begin of the transaction. */
	char *begun_anew; /* Owned.  Why, or NULL. */
	int64_t swept_us; /* Begin of the last sweep; 0: never. */
	struct store_sweep sweep;
	struct strtab *names; /* Recently used ones; numbers are indexes of 'known'. */
	VEC(struct store_name) known;
};

/* The -errno of a code of SQLite; 0 for those of success. */
int store_errno(int code);

/* Opens an existing file for reading only, also one that is in use. As store_check(). */
int store_open_to_read(const char *path, bool (*is_stopped)(void), sqlite3 **ret_db,
		       struct err *err);

/* The statement, reset and without values; NULL, and 'failed' set, on failure. */
sqlite3_stmt *store_statement(struct store *store, enum store_sql which);
/* Begins a transaction if none is. */
void store_begin(struct store *store);
/* Runs a statement without result rows. 0, or -errno, which is noted. */
int store_run(struct store *store, sqlite3_stmt *statement);
/* Notes a failure of the database, reported at once; returns -errno. */
int store_fail_now(struct store *store, struct err *err);

/* Forgets the numbers of names. */
void store_forget_names(struct store *store);
/* Ends a sweep. */
void store_sweep_end(struct store *store);

/* The number of a name in the file, which is added; 0 after a failure. */
int64_t store_name(struct store *store, const char *name, int64_t at_us);
/* The number, or 0 if there is none. */
int64_t store_find_name(struct store *store, const char *name);

/* The number of the grain of time that 'at_us' is in. */
int64_t store_grain_of(int64_t at_us, enum store_grain grain);
/* The begin of the oldest sample of a grain; INT64_MAX if there is none. */
int64_t store_oldest_us(struct store *store, enum store_grain grain);

#endif
