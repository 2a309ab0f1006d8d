/*
 * file.h - whole files in memory, with a limit.
 *
 * Packed files are unpacked as they are read (instream.h), within the same limit.  "-" is
 * standard input, or output.
 */
#ifndef LIB_BASE_FILE_H
#define LIB_BASE_FILE_H

#include <stddef.h>

struct err;

/*
 * Reads 'path' into a new terminated buffer, which the caller frees; a byte order
 * mark of UTF-8 in front is no part of the text.  Returns
 * 0, -EFBIG if it holds more than 'max_bytes', -EINVAL if it is damaged, or
 * another negative errno; 'err' then says what to do.
 */
int file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_length,
	      struct err *err);

/*
 * Writes 'length' bytes to 'path', so that a reader sees the old file or the whole new
 * one (lib/base/newfile.h).
 */
int file_write(const char *path, const char *text, size_t length, struct err *err);

#endif
