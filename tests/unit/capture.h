/* SPDX-License-Identifier: Apache-2.0 */
/* capture.h - capture of the output of a function as a string */
#ifndef TESTS_UNIT_CAPTURE_H
#define TESTS_UNIT_CAPTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct capture {
	int fd, saved_fd;
	FILE *file;
};

/* Starts capturing output to 'fd' (1 or 2). */
static inline void
capture_begin(struct capture *c, int fd)
{
	fflush(NULL);
	c->fd = fd;
	c->saved_fd = dup(fd);
	c->file = tmpfile();
	if (c->saved_fd < 0 || !c->file || dup2(fileno(c->file), fd) < 0)
		abort();
}

/* Returns the captured output; free with free(). */
static inline char *
capture_end(struct capture *c)
{
	long size;
	char *text;

	fflush(NULL);
	dup2(c->saved_fd, c->fd);
	close(c->saved_fd);
	fseek(c->file, 0, SEEK_END);
	size = ftell(c->file);
	rewind(c->file);
	text = calloc((size_t)size + 1, 1);
	if (!text || fread(text, 1, (size_t)size, c->file) != (size_t)size)
		abort();
	fclose(c->file);
	return text;
}

#endif
