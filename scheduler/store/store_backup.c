/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/store/store_file.h"
#include "scheduler/store/store_priv.h"

#define STEP_PAGES 1024 /* 4 MiB. */

/* ---- The names ---------------------------------------------------------------------- */

static bool
there_is(const char *path, const char *suffix)
{
	char *name = xasprintf("%s%s", path, suffix);
	struct stat st;
	bool found = lstat(name, &st) == 0;

	free(name);
	return found;
}

/* Before anything is written. */
static int
check_names(const char *path, const char *copy, bool is_replaced, struct err *err)
{
	struct stat a, b;

	if (stat(path, &a) < 0)
		return err_set_errno(err, path, errno, "cannot read the store");
	if (lstat(copy, &b) < 0) {
		if (errno != ENOENT)
			return err_set_errno(err, copy, errno, "cannot make the copy");
	} else if (a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
		return err_set(err, copy, 0, 0,
			       "is the store itself; name another file");
	} else if (!S_ISREG(b.st_mode)) {
		return err_set(err, copy, 0, 0, "is no file; name another one");
	} else if (!is_replaced) {
		err_set(err, copy, 0, 0, "is there already; --replace replaces it");
		return -EEXIST;
	}
	/* They would be taken for the copy's, and damage it. */
	if (there_is(copy, "-wal") || there_is(copy, "-journal"))
		return err_set(err, copy, 0, 0,
			       "has a -wal or -journal beside it: a store in use; name "
			       "another file");
	return 0;
}

/*
 * Opens the unfinished copy, alone: one that a killed program left is emptied.  Returns
 * the descriptor, or -errno.
 */
static int
open_part(const char *part, struct err *err)
{
	struct stat here, named;
	int fd = open(part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
		      0600);

	if (fd < 0)
		return err_set_errno(err, part, errno, "cannot make the copy");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return err_set(err, part, 0, 0, "another backup is writing it");
	}
	/*
	 * Another backup may have renamed it before the lock; or another user has put a
	 * file or link there.
	 */
	if (fstat(fd, &here) < 0 || lstat(part, &named) < 0 ||
	    here.st_ino != named.st_ino || !S_ISREG(here.st_mode) ||
	    here.st_nlink != 1 || here.st_uid != geteuid()) {
		close(fd);
		return err_set(err, part, 0, 0, "is in the way; remove it");
	}
	if (ftruncate(fd, 0) < 0 || fchmod(fd, 0600) < 0) {
		int error = errno;

		close(fd);
		return err_set_errno(err, part, error, "cannot make the copy");
	}
	return fd;
}

/* ---- Copying ------------------------------------------------------------------------ */

static int
fail(sqlite3 *db, int code, const char *path, struct err *err)
{
	int rc = store_errno(code);

	err_set(err, path, 0, 0, "%s%s", db ? sqlite3_errmsg(db) : sqlite3_errstr(code),
		rc == -ENOSPC ? "; make room on its disk" : "");
	return rc ? rc : -EIO;
}

static int
copy_pages(sqlite3 *from, sqlite3 *to, const char *path, const char *part,
	   bool (*is_stopped)(void), struct err *err)
{
	sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
	int code;

	if (!backup)
		return fail(to, sqlite3_extended_errcode(to), part, err);
	do
		code = sqlite3_backup_step(backup, STEP_PAGES);
	while (code == SQLITE_OK && !(is_stopped && is_stopped()));
	sqlite3_backup_finish(backup);
	if (code == SQLITE_OK) {
		err_set(err, part, 0, 0, "interrupted; there is no copy");
		return -EINTR;
	}
	if (code == SQLITE_DONE)
		return 0;
	/* What is wrong with the content is so in the file that was read. */
	return fail(NULL, code, store_errno(code) == -EBADMSG ? path : part, err);
}

/* Fills 'part' from one state of 'path', as one file that needs no log. */
static int
write_part(const char *path, const char *part, bool (*is_stopped)(void),
	   struct err *err)
{
	sqlite3 *from = NULL, *to = NULL;
	int rc = store_open_to_read(path, is_stopped, &from, err);

	if (rc < 0)
		return rc;
	/* It is removed after any failure, so it needs neither a journal nor flushes. */
	if (sqlite3_open_v2(part, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK ||
	    sqlite3_exec(to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF",
			 NULL, NULL, NULL) != SQLITE_OK)
		rc = fail(to, sqlite3_extended_errcode(to), part, err);
	/* The first reading begins the state that all steps see. */
	if (rc == 0 && sqlite3_exec(from, "SELECT count(*) FROM sqlite_master", NULL,
				    NULL, NULL) != SQLITE_OK)
		rc = fail(from, sqlite3_extended_errcode(from), path, err);
	if (rc == 0)
		rc = copy_pages(from, to, path, part, is_stopped, err);
	if (rc == 0 && sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL,
				    NULL) != SQLITE_OK)
		rc = fail(to, sqlite3_extended_errcode(to), part, err);
	sqlite3_close(to);
	sqlite3_close(from);
	return rc;
}

static int
check_part(const char *path, const char *part, bool (*is_stopped)(void),
	   int64_t *ret_bytes, struct err *err)
{
	struct store_report report;
	int rc = store_check(part, is_stopped, &report, err);

	if (rc < 0)
		return rc;
	if (report.n_faults > 0) {
		err_set(err, path, 0, 0, "%s; there is no copy", report.faults[0]);
		rc = -EBADMSG;
	} else {
		*ret_bytes = report.bytes;
	}
	store_report_fini(&report);
	return rc;
}

/* ---- The copy's name ---------------------------------------------------------------- */

/* Flushes the entry of a file in its directory. */
static int
flush_directory(const char *path)
{
	const char *end = strrchr(path, '/');
	char *directory = !end          ? xstrdup(".")
			  : end == path ? xstrdup("/")
					: xstrndup(path, (size_t)(end - path));
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;

	free(directory);
	if (fd < 0)
		return -errno;
	if (fsync(fd) < 0)
		error = -errno;
	close(fd);
	return error;
}

static int
give_name(int fd, const char *part, const char *copy, bool is_replaced, struct err *err)
{
	int error;

	if (fsync(fd) < 0)
		return err_set_errno(err, copy, errno, "cannot write the copy");
	if (renameat2(AT_FDCWD, part, AT_FDCWD, copy,
		      is_replaced ? 0 : RENAME_NOREPLACE) < 0)
		return err_set_errno(err, copy, errno, "cannot name the copy so");
	error = flush_directory(copy);
	return error < 0 ? err_set_errno(err, copy, error, "cannot flush its directory")
			 : 0;
}

int
store_backup(const char *path, const char *copy, const struct store_backup_opts *opts,
	     int64_t *ret_bytes, struct err *err)
{
	static const char *const suffixes[] = { "-wal", "-shm", "" };
	char *part = xasprintf("%s.part", copy);
	int64_t bytes = 0;
	int rc = check_names(path, copy, opts->is_replaced, err), fd = -1;

	if (rc == 0)
		rc = fd = open_part(part, err);
	if (rc >= 0)
		rc = write_part(path, part, opts->is_stopped, err);
	if (rc == 0)
		rc = check_part(path, part, opts->is_stopped, &bytes, err);
	if (rc == 0)
		rc = give_name(fd, part, copy, opts->is_replaced, err);
	if (rc == 0)
		*ret_bytes = bytes;
	for (size_t i = 0; rc < 0 && fd >= 0 && i < 3; i++) {
		char *name = xasprintf("%s%s", part, suffixes[i]);

		unlink(name);
		free(name);
	}
	if (fd >= 0)
		close(fd);
	free(part);
	return rc;
}
