/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - text tables.
 *
 *	table_init(&t, (const char *const[]){ "LINK", "%GB/S", NULL });
 *	table_cell(&t, "%s", name);
 *	table_cell(&t, "%.1f", gbps);
 *	table_print(&t, stdout);
 *	table_fini(&t);
 *
 * Columns are two spaces apart and as wide as their widest cell, in UTF-8 characters.
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
	size_t min_widths[TABLE_MAX_COLUMNS];
	size_t n_printed; /* Lines, of table_print_new(). */
};

/* 'headings' ends with NULL; a leading '%' aligns the column right. */
void table_init(struct table *t, const char *const *headings);
void table_cell(struct table *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Hides columns in the given 'order' (numbers of columns, least important first) until
 * lines have at most 'width' characters.
 */
void table_fit(struct table *t, size_t width, const size_t *order, size_t n);
void table_print(const struct table *t, FILE *out);
/*
 * For rows that become known one by one: prints those since the last call, before the
 * first one the headings.  Lines align if no cell is wider than its heading, than those
 * already printed, or than table_reserve() said.
 */
void table_print_new(struct table *t, FILE *out);
void table_reserve(struct table *t, size_t column, size_t width);
/* As table_print(), appended to a text. */
void table_add(const struct table *t, struct strbuf *out);
/* The lines, the headings' first: a new array of new strings. */
char **table_lines(const struct table *t);
/* As comma-separated values (RFC 4180). */
void table_print_csv(const struct table *t, FILE *out);
/* Writes one value of such a row. */
void table_put_csv(const char *text, FILE *out);
void table_fini(struct table *t);

#endif
