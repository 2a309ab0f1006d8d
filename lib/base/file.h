/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - whole files in memory, with a size limit.
 *
 * Compressed files are decompressed (instream.h), within the same limit.  "-" is
 * standard input or output.
 */
#ifndef LIB_BASE_FILE_H
#define LIB_BASE_FILE_H

#include <stddef.h>

struct err;

/*
 * Reads 'path' into a new NUL-terminated buffer, which the caller frees, without a
 * UTF-8 byte order mark.  Returns 0, or with 'err' filled -EFBIG for more than
 * 'max_bytes', -EINVAL for a damaged file, or another negative errno.
 */
int file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_length,
	      struct err *err);

/*
 * Writes 'path' atomically (newfile.h): readers see the old file or the whole new one.
 */
int file_write(const char *path, const char *text, size_t length, struct err *err);

#endif
