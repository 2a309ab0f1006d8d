/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

static void
reserve(struct strbuf *sb, size_t more)
{
	size_t want = sb->length + more + 1;

	if (want <= sb->capacity)
		return;
	if (want < sb->capacity * 2)
		want = sb->capacity * 2;
	sb->text = xreallocarray(sb->capacity ? sb->text : NULL, want, 1);
	sb->text[sb->length] = '\0';
	sb->capacity = want;
}

void
strbuf_free(struct strbuf *sb)
{
	if (sb->capacity)
		free(sb->text);
	*sb = (struct strbuf)STRBUF_EMPTY;
}

void
strbuf_clear(struct strbuf *sb)
{
	sb->length = 0;
	if (sb->capacity)
		sb->text[0] = '\0';
}

void
strbuf_add(struct strbuf *sb, const char *bytes, size_t length)
{
	reserve(sb, length);
	memcpy(sb->text + sb->length, bytes, length);
	sb->length += length;
	sb->text[sb->length] = '\0';
}

void
strbuf_puts(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void
strbuf_putc(struct strbuf *sb, char c)
{
	strbuf_add(sb, &c, 1);
}

void
strbuf_printf(struct strbuf *sb, const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (length < 0)
		BUG("bad format '%s'", fmt);

	reserve(sb, (size_t)length);
	va_start(args, fmt);
	vsnprintf(sb->text + sb->length, (size_t)length + 1, fmt, args);
	va_end(args);
	sb->length += (size_t)length;
}

void
strbuf_wrap(struct strbuf *sb, const char *text, size_t column, size_t indent,
	    size_t columns)
{
	for (const char *word = text + strspn(text, " "); *word;) {
		size_t length = strcspn(word, " "), n_blanks;

		for (size_t i = 0; i < length; i++)
			strbuf_putc(sb, word[i] == STRBUF_HARD_BLANK ? ' ' : word[i]);
		column += length;
		word += length;
		n_blanks = strspn(word, " ");
		word += n_blanks;
		if (*word && column + n_blanks + strcspn(word, " ") > columns) {
			strbuf_printf(sb, "\n%*s", (int)indent, "");
			column = indent;
		} else if (*word) {
			strbuf_printf(sb, "%*s", (int)n_blanks, "");
			column += n_blanks;
		}
	}
}

char *
strbuf_steal(struct strbuf *sb)
{
	char *text;

	reserve(sb, 0);
	text = sb->text;
	*sb = (struct strbuf)STRBUF_EMPTY;
	return text;
}
