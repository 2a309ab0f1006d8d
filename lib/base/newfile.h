/*
 * newfile.h - a file that is written as a stream, and is there whole or not at all.
 *
 * Until newfile_finish() it has no name, or, where the file system knows no such files, one of
 * its own beside; what was at the path stays as it is, and may be read meanwhile.  A device
 * or a pipe is written to as it is; of a symbolic link, what it names is replaced.
 */
#ifndef LIB_BASE_NEWFILE_H
#define LIB_BASE_NEWFILE_H

#include <stdbool.h>
#include <stdio.h>

struct err;

struct newfile {
	FILE *out;       /* To write to. */
	char *path;      /* Owned.  As it was given. */
	char *target;    /* Owned.  What is replaced; NULL: written in place. */
	char *temporary; /* Owned.  Its name until then; NULL: none. */
};

/* 0, or -errno with 'err' filled; then there is nothing to finish. */
int newfile_open(const char *path, struct newfile *ret_file, struct err *err);

/*
 * Gives it its name if 'error' is 0 and all was written; else what was there stays.
 * Returns 'error', or -errno with 'err' filled.
 */
int newfile_finish(struct newfile *file, int error, struct err *err);

#endif
