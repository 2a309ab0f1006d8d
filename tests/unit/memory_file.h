/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_file.h - some bytes as a file without a name, for readers that take a path.  Of
 * fuzz targets, too.
 */
#ifndef TESTS_UNIT_MEMORY_FILE_H
#define TESTS_UNIT_MEMORY_FILE_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/alloc.h"

struct memory_file {
	int fd; /* 0: there is none yet. */
	char path[32];
};

/* The path; what was in the file before is gone. */
static inline const char *
memory_file_set(struct memory_file *file, const void *bytes, size_t n)
{
	if (!file->fd) {
		file->fd = memfd_create("test", MFD_CLOEXEC);
		BUG_ON(file->fd <= 0);
		snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
	}
	BUG_ON(ftruncate(file->fd, 0) < 0);
	BUG_ON(pwrite(file->fd, bytes, n, 0) != (ssize_t)n);
	return file->path;
}

#endif
