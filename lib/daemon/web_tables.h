/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_tables.h - links and jobs as plain HTML, for browsers without JavaScript
 *
 * Made of the documents that the page reads (antiphase.links/1, antiphase.jobs/1,
 * antiphase.top/1), which may be from outside: what is missing or of another kind is "-",
 * and all text is escaped.  Columns and figures are those of 'antiphase links' and
 * 'antiphase jobs'.  Pure.
 */
#ifndef LIB_DAEMON_WEB_TABLES_H
#define LIB_DAEMON_WEB_TABLES_H

#include <stddef.h>

struct err;
struct json;
struct strbuf;

/* Of each table; a line says how many more there are. */
#define WEB_TABLES_MAX_ROWS 250

/* Appends the age of the data, and a table for each array "links" and "jobs" of 'doc'. */
void web_tables_add(const struct json *doc, struct strbuf *out);

/*
 * A whole page of the texts of 'n' documents, which loads itself anew.  0, or -EINVAL with
 * 'err' filled if one is no JSON.
 */
int web_tables_page(const char *const *documents, size_t n, struct strbuf *out,
		    struct err *err);

#endif
