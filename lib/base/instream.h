/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instream.h - a file or pipe read forward and decompressed on the way.
 *
 * libarchive decompresses xz, zstd and bzip2.  It does not verify the checksums of
 * gzip, so zlib decompresses that.  A damaged or truncated file is an error where the
 * damage is; up to 64 KiB before it, which libarchive holds back, are lost (none of
 * gzip).  Files that are compressed more than once are refused, which bounds the output
 * of a small file; callers limit what they take.  An xz dictionary takes at most as
 * much memory as the output so far.
 *
 * Data from a pipe is passed on as it arrives.
 */
#ifndef LIB_BASE_INSTREAM_H
#define LIB_BASE_INSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct instream;

/*
 * "-" is standard input.  Returns 0, or -errno with 'err' filled, as instream_read().
 */
int instream_open(const char *path, struct instream **ret_stream, struct err *err);
/*
 * The same, and opens a member of a tar archive for "ARCHIVE:MEMBER", unless a file has
 * that name.  Refuses an archive without a member.  It waits for the first data of a
 * pipe.
 */
int instream_open_member(const char *path, struct instream **ret_stream,
			 struct err *err);

/*
 * Reads at least one byte and at most 'n'.  Returns their number, 0 at the end, or
 * -errno with 'err' filled: -ENODATA for truncated compressed data, -EINVAL for damaged
 * data.
 */
ssize_t instream_read(struct instream *stream, uint8_t *bytes, size_t n,
		      struct err *err);

/* Position in the (compressed) file; 0 if it is not seekable. */
uint64_t instream_at(const struct instream *stream);

void instream_close(struct instream *stream); /* Accepts NULL. */

#endif
