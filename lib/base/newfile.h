/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newfile.h - atomic replacement of a file, written as a stream.
 *
 * Until newfile_finish() the new file has no name (O_TMPFILE), or a temporary one in
 * the same folder if the file system does not support that; the old file stays
 * readable.  Devices and pipes are written directly; a symbolic link's target is
 * replaced.
 */
#ifndef LIB_BASE_NEWFILE_H
#define LIB_BASE_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

struct err;

struct newfile {
	FILE *out;       /* To write to. */
	char *path;      /* Owned.  As given. */
	char *target;    /* Owned.  The file to replace; NULL: written in place. */
	char *temporary; /* Owned.  The temporary name; NULL: none. */
};

/* Returns 0, or -errno with 'err' filled, without a need for newfile_finish(). */
int newfile_open(const char *path, struct newfile *ret_file, struct err *err);

/*
 * Replaces the old file if 'error' is 0 and all data was written.  Returns 'error', or
 * -errno with 'err' filled.
 */
int newfile_finish(struct newfile *file, int error, struct err *err);

#endif
