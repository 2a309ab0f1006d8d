/*
 * rec.h - frames in a file: one after another, after a line of text.
 *
 * A recording that was cut off (kill -9, full disk) is read up to the last whole
 * frame, and says so.  A damaged stretch is skipped to the next frame that is
 * whole, and counted.  A descriptor will do as well as a file: both ends only
 * read or write forwards.
 */
#ifndef LIB_WIRE_REC_H
#define LIB_WIRE_REC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct rec_reader;
struct rec_writer;
struct tele_frame;

/* "-" is stdout.  Free with rec_writer_close(), which says if all got there. */
int rec_writer_open(const char *file, struct rec_writer **ret_writer, struct err *err);
/* Writes an encoded frame. 0 or -errno, with 'err' filled. */
int rec_write(struct rec_writer *writer, const uint8_t *bytes, size_t n,
	      struct err *err);
int rec_writer_close(struct rec_writer *writer, struct err *err); /* Accepts NULL. */

/* "-" is stdin.  Recordings packed by xz are unpacked as they are read. */
int rec_reader_open(const char *file, struct rec_reader **ret_reader, struct err *err);
/*
 * Reads the next frame.  'ret_bytes' (may be NULL) gets its encoded form, borrowed
 * until the next call.  Returns 1, 0 at the end, or a negative errno.
 */
int rec_read(struct rec_reader *reader, struct tele_frame *frame,
	     const uint8_t **ret_bytes, size_t *ret_n, struct err *err);
/* Bytes that belonged to no whole frame so far. */
uint64_t rec_skipped_bytes(const struct rec_reader *reader);
void rec_reader_close(struct rec_reader *reader); /* Accepts NULL. */

#endif
