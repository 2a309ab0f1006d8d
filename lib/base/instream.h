/*
 * instream.h - a file, pipe or descriptor read forwards, unpacked by xz if it is xz.
 *
 * For what is too large, or too slow in coming, for file_read().
 */
#ifndef LIB_BASE_INSTREAM_H
#define LIB_BASE_INSTREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct instream;

/* "-" is standard input.  Returns 0 or -errno with 'err' filled. */
int instream_open(const char *path, struct instream **ret_stream, struct err *err);

/*
 * Reads what is there, at least a byte and at most 'n': how many, 0 at the end, or
 * -errno with 'err' filled: -ENODATA for xz data that is cut off, -EINVAL for such
 * that is damaged.
 */
ssize_t instream_read(struct instream *stream, uint8_t *bytes, size_t n,
		      struct err *err);

/* Bytes of the file that were read, packed as they are; 0 of what cannot be sought in. */
uint64_t instream_at(const struct instream *stream);

void instream_close(struct instream *stream); /* Accepts NULL. */

#endif
