/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strbuf.h - growable string.
 *
 * Invariant: 'text' is always NUL-terminated, also when empty.  Embed it and start with
 * STRBUF_EMPTY.
 */
#ifndef LIB_BASE_STRBUF_H
#define LIB_BASE_STRBUF_H

#include <stddef.h>

struct strbuf {
	char *text;      /* Owned, unless capacity is 0. */
	size_t length;   /* Without the terminator. */
	size_t capacity; /* Bytes allocated; 0 while empty. */
};

#define STRBUF_EMPTY                                           \
	{                                                      \
		.text = (char *)"", .length = 0, .capacity = 0 \
	}

void strbuf_free(struct strbuf *sb);
void strbuf_clear(struct strbuf *sb);

/* Adding data. */
void strbuf_add(struct strbuf *sb, const char *bytes, size_t length);
void strbuf_puts(struct strbuf *sb, const char *s);
void strbuf_putc(struct strbuf *sb, char c);
void strbuf_printf(struct strbuf *sb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Appends words of 'text' in lines of at most 'columns' bytes, longer words excepted.
 * 'column' is that of the first word; the other lines begin with 'indent' blanks.
 * STRBUF_HARD_BLANK becomes a blank without a line break.
 */
#define STRBUF_HARD_BLANK '\x1f'
void strbuf_wrap(struct strbuf *sb, const char *text, size_t column, size_t indent,
		 size_t columns);

/* Returns the string and leaves 'sb' empty.  Free with free(). */
char *strbuf_steal(struct strbuf *sb);

#endif
