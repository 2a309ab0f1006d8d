/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_text.h - a JSON document in memory
 *
 *	json_text_begin(&text, "antiphase.top/1");
 *	jsonw_int(&text.w, "at_us", 0);
 *	json_text_end(&text, &out);
 */
#ifndef LIB_BASE_JSON_TEXT_H
#define LIB_BASE_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include "lib/base/jsonw.h"

struct strbuf;

struct json_text {
	struct jsonw w;
	FILE *out;
	char *text;
	size_t length;
};

/* Begins the root, an object with its schema; '_line': all of it on one line. */
void json_text_begin(struct json_text *text, const char *schema);
void json_text_begin_line(struct json_text *text, const char *schema);
/* Ends the root and appends the document; one that is a line has no newline. */
void json_text_end(struct json_text *text, struct strbuf *out);

#endif
