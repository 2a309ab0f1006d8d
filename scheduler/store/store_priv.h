/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_priv.h - what the store's files share.
 *
 *	store.c          the file: opening, schema, transactions
 *	store_names.c    names of links and jobs as numbers
 *	store_samples.c  history
 *	store_docs.c     documents
 */
#ifndef SCHEDULER_STORE_STORE_PRIV_H
#define SCHEDULER_STORE_STORE_PRIV_H

#include <sqlite3.h>

#include "lib/base/err.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "scheduler/store/store.h"

/* All statements; each is prepared at its first use. */
enum store_sql {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_NAME_FIND,
	SQL_NAME_ADD,
	SQL_NAME_SEEN,
	SQL_NAMES_DROP,
	SQL_DOCUMENTS_DROP,
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
	int64_t swept_us; /* Last search for unused names and documents; 0: never. */
	struct strtab *names; /* Recently used ones; numbers are indexes of 'known'. */
	VEC(struct store_name) known;
};

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

/* The number of a name in the file, which is added; 0 after a failure. */
int64_t store_name(struct store *store, const char *name, int64_t at_us);
/* The number, or 0 if there is none. */
int64_t store_find_name(struct store *store, const char *name);

#endif
