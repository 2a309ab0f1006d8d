/* SPDX-License-Identifier: Apache-2.0 */
/* memory_file.h - unnamed files in memory, for readers that take a path */
#ifndef TESTS_UNIT_MEMORY_FILE_H
#define TESTS_UNIT_MEMORY_FILE_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/alloc.h"

struct memory_file {
	int fd; /* 0: not created yet. */
	char path[32];
};

/* Replaces the contents of the file; returns its path. */
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
