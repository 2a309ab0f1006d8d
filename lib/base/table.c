/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"

#define GAP 2 /* Blanks between columns. */

void
table_init(struct table *t, const char *const *headings)
{
	*t = (struct table){ .cells = VEC_EMPTY };
	for (; headings[t->n_columns]; t->n_columns++) {
		BUG_ON(t->n_columns == TABLE_MAX_COLUMNS);
		t->headings[t->n_columns] = headings[t->n_columns];
	}
	BUG_ON(!t->n_columns);
}

void
table_cell(struct table *t, const char *fmt, ...)
{
	va_list args;
	char *cell;

	va_start(args, fmt);
	if (vasprintf(&cell, fmt, args) < 0)
		BUG("bad format '%s'", fmt);
	va_end(args);
	vec_push(&t->cells, cell);
}

void
table_fini(struct table *t)
{
	for (size_t i = 0; i < t->cells.n; i++)
		free(t->cells.items[i]);
	vec_free(&t->cells);
}

static bool
is_right(const struct table *t, size_t column)
{
	return t->headings[column][0] == '%';
}

static const char *
heading(const struct table *t, size_t column)
{
	return t->headings[column] + is_right(t, column);
}

static size_t
n_rows(const struct table *t)
{
	return (t->cells.n + t->n_columns - 1) / t->n_columns;
}

/* The cell, or "" where the last row is short.  Row 0 is the headings. */
static const char *
cell_at(const struct table *t, size_t row, size_t column)
{
	size_t i;

	if (!row)
		return heading(t, column);
	i = (row - 1) * t->n_columns + column;
	return i < t->cells.n ? t->cells.items[i] : "";
}

/* UTF-8 characters: all bytes but continuation bytes. */
static size_t
width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void
put_blanks(size_t n, FILE *out)
{
	while (n--)
		putc(' ', out);
}

/* Names from files must not control the terminal. */
static void
put_printable(const char *s, FILE *out)
{
	while (*s) {
		size_t n = utf8_control(s);

		putc(n ? '?' : *s, out);
		s += n ? n : 1;
	}
}

static void
print_row(const struct table *t, size_t row, const size_t *widths, FILE *out)
{
	size_t owed = 0; /* Blanks to write before the next text. */

	for (size_t i = 0; i < t->n_columns; i++) {
		const char *cell = cell_at(t, row, i);
		size_t pad = widths[i] - width(cell);

		if (t->is_hidden[i])
			continue;
		if (is_right(t, i))
			owed += pad;
		if (*cell) {
			put_blanks(owed, out);
			put_printable(cell, out);
			owed = 0;
		}
		owed += is_right(t, i) ? GAP : pad + GAP;
	}
	putc('\n', out);
}

static void
find_widths(const struct table *t, size_t widths[TABLE_MAX_COLUMNS])
{
	memcpy(widths, t->min_widths, TABLE_MAX_COLUMNS * sizeof *widths);
	for (size_t row = 0; row <= n_rows(t); row++) {
		for (size_t i = 0; i < t->n_columns; i++) {
			size_t w = width(cell_at(t, row, i));

			if (w > widths[i])
				widths[i] = w;
		}
	}
}

void
table_fit(struct table *t, size_t most, const size_t *order, size_t n)
{
	size_t widths[TABLE_MAX_COLUMNS], all = 0;

	find_widths(t, widths);
	for (size_t i = 0; i < t->n_columns; i++)
		all += widths[i] + (i ? GAP : 0);
	for (size_t i = 0; i < n && all > most; i++) {
		t->is_hidden[order[i]] = true;
		all -= widths[order[i]] + GAP;
	}
}

void
table_print(const struct table *t, FILE *out)
{
	size_t widths[TABLE_MAX_COLUMNS];

	find_widths(t, widths);
	for (size_t row = 0; row <= n_rows(t); row++)
		print_row(t, row, widths, out);
}

void
table_print_new(struct table *t, FILE *out)
{
	size_t widths[TABLE_MAX_COLUMNS];

	find_widths(t, widths);
	for (; t->n_printed <= n_rows(t); t->n_printed++)
		print_row(t, t->n_printed, widths, out);
}

void
table_reserve(struct table *t, size_t column, size_t width)
{
	BUG_ON(column >= t->n_columns);
	if (width > t->min_widths[column])
		t->min_widths[column] = width;
}

char **
table_lines(const struct table *t)
{
	char **lines = xcalloc(n_rows(t) + 1, sizeof *lines);
	size_t widths[TABLE_MAX_COLUMNS], size;

	find_widths(t, widths);
	for (size_t row = 0; row <= n_rows(t); row++) {
		FILE *out = open_memstream(&lines[row], &size);

		BUG_ON(!out);
		print_row(t, row, widths, out);
		fclose(out);
		lines[row][size - 1] = '\0'; /* The line's end. */
	}
	return lines;
}

/* RFC 4180: quoted if it has a comma, a quote or a line end. */
void
table_put_csv(const char *s, FILE *out)
{
	/* A leading '#' is a comment to many readers, including ours. */
	if (*s != '#' && !s[strcspn(s, ",\"\r\n")]) {
		fputs(s, out);
		return;
	}
	putc('"', out);
	for (; *s; s++) {
		if (*s == '"')
			putc('"', out);
		putc(*s, out);
	}
	putc('"', out);
}

void
table_add(const struct table *t, struct strbuf *out)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	BUG_ON(!file);
	table_print(t, file);
	fclose(file);
	strbuf_puts(out, text);
	free(text);
}

void
table_print_csv(const struct table *t, FILE *out)
{
	for (size_t row = 0; row <= n_rows(t); row++) {
		for (size_t i = 0; i < t->n_columns; i++) {
			if (i)
				putc(',', out);
			table_put_csv(cell_at(t, row, i), out);
		}
		putc('\n', out);
	}
}
