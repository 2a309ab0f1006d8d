/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_page.h - a page that shows documents without a server, as one file.
 */
#ifndef CLI_REPORT_PAGE_H
#define CLI_REPORT_PAGE_H

#include <stddef.h>

#include "lib/base/strbuf.h"

struct err;

struct report {
	struct strbuf documents; /* As JSON, separated by commas. */
	struct strbuf tables;    /* Links and jobs as HTML, without JavaScript. */
};

#define REPORT_EMPTY                                              \
	{                                                         \
		.documents = STRBUF_EMPTY, .tables = STRBUF_EMPTY \
	}

/*
 * Checks a document of 'path' and adds it.  No text in it can end the script that will
 * hold it.  Returns 0, or -EINVAL with 'err' filled.
 */
int report_add(const char *path, const char *text, size_t length, struct report *report,
	       struct err *err);

/* Appends the page that shows them. */
void report_page(const struct report *report, struct strbuf *out);
void report_free(struct report *report);

#endif
