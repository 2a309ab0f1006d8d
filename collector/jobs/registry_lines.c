/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/registry_lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/strbuf.h"

static void
add_word(struct strbuf *out, const char *word, char end)
{
	for (; *word; word++) {
		unsigned char byte = (unsigned char)*word;

		if (byte <= ' ' || byte == '%' || byte == 0x7f)
			strbuf_printf(out, "%%%02x", byte);
		else
			strbuf_putc(out, *word);
	}
	strbuf_putc(out, end);
}

void
registry_lines_add(struct strbuf *out, const char *name, const char *path)
{
	add_word(out, name, ' ');
	add_word(out, path, '\n');
}

/* The byte of two hexadecimal digits; 0, which no word has, if they are not. */
static unsigned char
byte_of(const char *digits)
{
	char pair[3] = { 0 };

	if (!isxdigit((unsigned char)digits[0]) || !isxdigit((unsigned char)digits[1]))
		return 0;
	memcpy(pair, digits, 2);
	return (unsigned char)strtoul(pair, NULL, 16);
}

/* Decodes in place; false if the word is malformed or empty. */
static bool
decode_word(char *word)
{
	char *to = word;

	for (const char *from = word; *from; from++) {
		unsigned char byte = (unsigned char)*from;

		if (*from == '%') {
			byte = byte_of(from + 1);
			if (!byte)
				return false;
			from += 2;
		}
		*to++ = (char)byte;
	}
	*to = '\0';
	return to > word;
}

size_t
registry_lines_read(char *text,
		    bool (*each)(void *ctx, const char *name, const char *path),
		    void *ctx)
{
	char *line = text;
	size_t n_bad = 0;

	for (char *end; (end = strchr(line, '\n')); line = end + 1) {
		char *path;

		*end = '\0';
		path = strchr(line, ' ');
		if (path)
			*path++ = '\0';
		if (!path || strchr(path, ' ') || !decode_word(line) ||
		    !decode_word(path))
			n_bad += !each(ctx, NULL, NULL);
		else
			n_bad += !each(ctx, line, path);
	}
	return n_bad + (*line != '\0');
}
