/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_page.h - a page that shows documents without a server, as one file.
 */
#ifndef CLI_REPORT_PAGE_H
#define CLI_REPORT_PAGE_H

#include <stddef.h>

struct err;
struct strbuf;

/*
 * Checks a document of 'path' and appends it to 'documents', which are separated by
 * commas.  No text in it can end the script that will hold it.  Returns 0, or -EINVAL
 * with 'err' filled.
 */
int report_add(const char *path, const char *text, size_t length,
	       struct strbuf *documents, struct err *err);

/* Appends the page that shows 'documents'. */
void report_page(const struct strbuf *documents, struct strbuf *out);

#endif
