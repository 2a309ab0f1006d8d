/*
 * table.h - columns of text for people.
 *
 *	table_init(&t, (const char *const[]){ "LINK", "%GB/S", NULL });
 *	table_cell(&t, "%s", name);
 *	table_cell(&t, "%.1f", gbps);
 *	table_print(&t, stdout);
 *	table_fini(&t);
 *
 * Columns are two spaces apart and as wide as their widest cell (in characters of UTF-8).
 */
#ifndef LIB_BASE_TABLE_H
#define LIB_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/vec.h"

struct strbuf;

#define TABLE_MAX_COLUMNS 16

struct table {
	size_t n_columns;
	const char *headings[TABLE_MAX_COLUMNS]; /* Borrowed. */
	VEC(char *) cells;                       /* Owned; row by row. */
	bool is_hidden[TABLE_MAX_COLUMNS];       /* Not printed. */
};

/* 'headings' ends with NULL; a leading '%' aligns the column right. */
void table_init(struct table *t, const char *const *headings);
void table_cell(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Hides columns until lines have at most 'width' characters, or all of 'order' are
 * hidden: those come first that are missed least, by number.
 */
void table_fit(struct table *t, size_t width, const size_t *order, size_t n);
void table_print(const struct table *t, FILE *out);
/* The same, added to a text. */
void table_add(const struct table *t, struct strbuf *out);
/* The same as lines, a row each below the headings': a new array of new strings. */
char **table_lines(const struct table *t);
/* The same as comma-separated values, quoted where needed. */
void table_print_csv(const struct table *t, FILE *out);
/* One value of such, for those who write rows themselves. */
void table_put_csv(const char *text, FILE *out);
void table_fini(struct table *t);

#endif
