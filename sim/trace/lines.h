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

#define LINES_MAX_BYTES (1u << 20) /* Of a line, or of joined lines. */

/* As instream_open_member(). */
int lines_open(const char *path, struct lines **ret_lines, struct err *err);
void lines_close(struct lines *lines); /* Accepts NULL. */

/*
 * 1 with the next line, terminated, without its end; the caller may change it until the
 * next one is read.  0 at the end; -errno with 'err' filled: -EMSGSIZE for a line that
 * is too long, -EINVAL for a NUL in it, or that of instream_read().
 */
int lines_next(struct lines *lines, char **ret_line, size_t *ret_n, struct err *err);

/*
 * For rows that span lines: 1 with the last line and the next one as one text of 'n'
 * bytes, including the end of line between them; the caller must not have changed the
 * last line.  0, with the last line, which may be elsewhere now, if there is no next line
 * or both exceed LINES_MAX_BYTES; -errno as above.  May be called repeatedly.  O(the next
 * line).
 */
int lines_join(struct lines *lines, char **ret_text, size_t *ret_n, struct err *err);

/* Returns joined lines to be read again: only the first one remains. */
void lines_back(struct lines *lines, char **ret_line, size_t *ret_n);

/* Number of that line, or of the first of the joined ones; from 1. */
uint64_t lines_number(const struct lines *lines);

#endif
