/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_file.h - a store's file from outside: whether it is whole, what it holds, and a
 * copy of it.
 *
 * The scheduler may write to the file meanwhile and is not blocked: both read the state
 * of one commit. Until they end, SQLite cannot reuse its log (FILE-wal), which grows.
 * The content of the file is not changed, even if it is damaged.
 */
#ifndef SCHEDULER_STORE_STORE_FILE_H
#define SCHEDULER_STORE_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define STORE_N_TABLES   6
#define STORE_MAX_FAULTS 20

struct store_table {
	const char *name; /* Static. */
	int64_t n_rows;
	/* Earliest and latest time of a row; 0 without rows. Names: when last seen. */
	int64_t first_us, last_us;
};

struct store_report {
	int64_t version; /* Of the tables; -1: not known. */
	int64_t bytes;   /* Of all pages, with those that are free. */
	int64_t free_bytes;
	struct store_table tables[STORE_N_TABLES];
	size_t n_tables;                /* Those that could be read. */
	char *faults[STORE_MAX_FAULTS]; /* Owned. One line each, the first ones. */
	size_t n_faults;
};

/*
 * Reads all of the file. 0 with '*ret_report', whose faults say whether it is a whole
 * store of the known version; or -errno with 'err' filled: it cannot be read, or -EINTR
 * once 'is_stopped' (may be NULL) says so. O(size of the file).
 */
int store_check(const char *path, bool (*is_stopped)(void),
		struct store_report *ret_report, struct err *err);
void store_report_fini(struct store_report *report);

struct store_backup_opts {
	bool is_replaced;         /* An existing file of that name. */
	bool (*is_stopped)(void); /* May be NULL. */
};

/*
 * Makes 'copy', readable by its owner only, in a few MB at a time; checks it, flushes it
 * to the disk, and only then gives it its name; until then it is COPY.part, which the
 * next call uses again if this one is killed. 0 with its size; or -errno with 'err'
 * filled and 'copy' as before: -EEXIST, -ENOSPC, -EBADMSG for a file that is damaged or
 * no store, -EINTR, or as store_check().
 */
int store_backup(const char *path, const char *copy,
		 const struct store_backup_opts *opts, int64_t *ret_bytes,
		 struct err *err);

#endif
