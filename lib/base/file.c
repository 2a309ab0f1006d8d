/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/instream.h"
#include "lib/base/newfile.h"

/* The UTF-8 byte order mark, which some editors write. */
static const char utf8_mark[3] = { '\xef', '\xbb', '\xbf' };

static int
too_large(const char *path, size_t max_bytes, struct err *err)
{
	err_set(err, path, 0, 0, "is larger than %.3g MB, the limit for such a file",
		(double)max_bytes / 1e6);
	return -EFBIG;
}

/* Reads all, NUL-terminated; the caller frees 'ret_text' also after a failure. */
static int
read_all(struct instream *in, const char *path, size_t max_bytes, char **ret_text,
	 size_t *ret_length, struct err *err)
{
	size_t capacity = 0, length = 0;

	for (;;) {
		ssize_t n;

		if (length + 2 > capacity) {
			capacity = capacity ? capacity * 2 : 65536;
			*ret_text = xreallocarray(*ret_text, capacity, 1);
		}
		n = instream_read(in, (uint8_t *)*ret_text + length,
				  capacity - 1 - length, err);
		if (n < 0)
			return n == -ENODATA ? -EINVAL : (int)n;
		if (n == 0)
			break;
		length += (size_t)n;
		if (length > max_bytes)
			return too_large(path, max_bytes, err);
	}
	(*ret_text)[length] = '\0';
	*ret_length = length;
	return 0;
}

int
file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_length,
	  struct err *err)
{
	struct instream *in;
	char *text = NULL;
	size_t length = 0;
	int r = instream_open(path, &in, err);

	if (r < 0)
		return r == -ENODATA ? -EINVAL : r;
	r = read_all(in, path, max_bytes, &text, &length, err);
	instream_close(in);
	if (r < 0) {
		free(text);
		return r;
	}
	if (length >= sizeof utf8_mark &&
	    memcmp(text, utf8_mark, sizeof utf8_mark) == 0) {
		length -= sizeof utf8_mark;
		memmove(text, text + sizeof utf8_mark, length + 1);
	}
	*ret_text = text;
	*ret_length = length;
	return 0;
}

int
file_write(const char *path, const char *text, size_t length, struct err *err)
{
	struct newfile file;
	int r;

	if (strcmp(path, "-") == 0) {
		fwrite(text, 1, length, stdout); /* cli_finish() looks for errors. */
		return 0;
	}
	r = newfile_open(path, &file, err);
	if (r < 0)
		return r;
	if (fwrite(text, 1, length, file.out) != length)
		r = err_set_errno(err, path, errno, "cannot write");
	return newfile_finish(&file, r, err);
}
