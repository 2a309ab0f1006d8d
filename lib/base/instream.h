/*
 * instream.h - a file, pipe or descriptor read forwards, unpacked as it is read.
 *
 * libarchive unpacks gzip, xz, zstd and bzip2; it is the only reader of packed files here.
 * It does not compare the checksums of gzip, so zlib inflates that.  All four are checked:
 * a file that is damaged or cut off is an error where the damage is met; up to 64 KiB
 * before it, which libarchive has unpacked and not handed on, are lost with it (of gzip
 * none).  What is packed more than once is refused, so that the size of a small file has a
 * bound; the caller limits how much it takes.  Libarchive allows xz a dictionary of any
 * size, which takes as much memory as was unpacked, at most.
 *
 * What a pipe has is handed on as it comes.
 */
#ifndef LIB_BASE_INSTREAM_H
#define LIB_BASE_INSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct instream;

/* "-" is standard input.  Returns 0 or -errno with 'err' filled, as instream_read(). */
int instream_open(const char *path, struct instream **ret_stream, struct err *err);
/*
 * The same; "ARCHIVE:MEMBER" is a member of a tar archive, where there is no file of that
 * name, and an archive without a member is refused.  Not for pipes that are slow in coming.
 */
int instream_open_member(const char *path, struct instream **ret_stream,
			 struct err *err);

/*
 * Reads what is there, at least a byte and at most 'n': how many, 0 at the end, or
 * -errno with 'err' filled: -ENODATA for packed data that is cut off, -EINVAL for such
 * that is damaged.
 */
ssize_t instream_read(struct instream *stream, uint8_t *bytes, size_t n,
		      struct err *err);

/* Bytes of the file that were read, packed as they are; 0 of what cannot be sought in. */
uint64_t instream_at(const struct instream *stream);

void instream_close(struct instream *stream); /* Accepts NULL. */

#endif
