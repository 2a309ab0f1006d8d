/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rec.h - recordings: frames in a file, one after another, after a line of text
 *
 * A truncated recording (kill -9, full disk) is read up to the last whole frame, and the
 * reader reports it.  A damaged stretch is skipped to the next whole frame, and counted.
 * Descriptors work as well as files: both ends only read or write forwards.
 */
#ifndef LIB_WIRE_REC_H
#define LIB_WIRE_REC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct rec_reader;
struct rec_writer;
struct strbuf;
struct tele_frame;

#define REC_FIRST_LINE "antiphase.recording/1\n"

/*
 * "-" is stdout; a file that is there is begun anew.  Free with rec_writer_close(),
 * which says if all got there.
 */
int rec_writer_open(const char *file, struct rec_writer **ret_writer, struct err *err);
/* Writes an encoded frame, at once. 0 or -errno, with 'err' filled. */
int rec_write(struct rec_writer *writer, const uint8_t *bytes, size_t n,
	      struct err *err);
int rec_writer_close(struct rec_writer *writer, struct err *err); /* Accepts NULL. */

/* "-" is stdin.  Packed recordings are unpacked as they are read (instream.h). */
int rec_reader_open(const char *file, struct rec_reader **ret_reader, struct err *err);
/*
 * Reads the next frame; waits for it if the file is a pipe.  'ret_bytes' (may be
 * NULL) gets its encoded form, borrowed until the next call.  Returns 1, 0 at the
 * end, or a negative errno: -EBADMSG if there is no frame at all in what is no
 * empty file, or so much damage that it must be on purpose.
 */
int rec_read(struct rec_reader *reader, struct tele_frame *frame,
	     const uint8_t **ret_bytes, size_t *ret_n, struct err *err);

struct rec_counts {
	uint64_t frames, bytes; /* Whole and understood. */
	uint64_t skipped_bytes; /* That belonged to no whole frame. */
	uint64_t damaged;       /* Stretches of those. */
	uint64_t foreign;       /* Whole frames of a version not understood. */
	bool is_cut_off;        /* It ended within a frame. */
};
/* Counts so far; those of the end are final after rec_read() returned 0. */
const struct rec_counts *rec_reader_counts(const struct rec_reader *reader);
/* Appends what was wrong in words, "1204 bytes skipped, ..."; nothing if all was well. */
void rec_describe_damage(const struct rec_counts *counts, struct strbuf *out);
uint64_t rec_skipped_bytes(const struct rec_reader *reader);
void rec_reader_close(struct rec_reader *reader); /* Accepts NULL. */

#endif
