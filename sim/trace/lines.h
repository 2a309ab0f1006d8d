/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lines.h - a text file line by line, packed or a member of an archive (instream.h).
 */
#ifndef SIM_TRACE_LINES_H
#define SIM_TRACE_LINES_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct lines;

#define LINES_MAX_BYTES (1u << 20) /* Of one, or of some joined. */

/* As instream_open_member(). */
int lines_open(const char *path, struct lines **ret_lines, struct err *err);
void lines_close(struct lines *lines); /* Accepts NULL. */

/*
 * 1 with the next line, terminated, without its end, the caller's to change until the
 * next one is read; 0 at the end; -errno with 'err' filled: -EMSGSIZE for a line that
 * is too long, -EINVAL for a NUL in it, or that of instream_read().
 */
int lines_next(struct lines *lines, char **ret_line, size_t *ret_n, struct err *err);

/*
 * For rows that go on behind a line's end: 1 with the line that was read last and the
 * next one as one text of 'n' bytes, what ended the first between them; the caller
 * must not have changed it.  0 if there is no next one or both are more than
 * LINES_MAX_BYTES; -errno as above.  May be called again for one more.  O(the next
 * one).
 */
int lines_join(struct lines *lines, char **ret_text, size_t *ret_n, struct err *err);

/* Gives back what was joined, to be read again: only the first line is left of it. */
void lines_back(struct lines *lines, char **ret_line, size_t *ret_n);

/* Of that line, or of the first of those joined; from 1. */
uint64_t lines_number(const struct lines *lines);

#endif
