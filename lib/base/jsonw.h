/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jsonw.h - JSON writer to a stream.
 *
 *	jsonw_document(&w, stdout, "antiphase.compat/2");
 *	jsonw_array(&w, "jobs");
 *	...
 *	jsonw_end(&w);
 *	jsonw_end(&w);
 *	jsonw_finish(&w);
 *
 * 'key' is NULL inside arrays and for the root.  Misuse is a BUG.  Numbers have the
 * fewest digits that read back the same; numbers that are not finite become null; bytes
 * that are not UTF-8 become U+FFFD.
 */
#ifndef LIB_BASE_JSONW_H
#define LIB_BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSONW_MAX_DEPTH 16

struct jsonw {
	FILE *out; /* Borrowed. */
	unsigned depth;
	bool is_array[JSONW_MAX_DEPTH];
	bool has_items[JSONW_MAX_DEPTH];
	bool is_flat[JSONW_MAX_DEPTH]; /* On one line. */
};

void jsonw_init(struct jsonw *w, FILE *out);
/* As jsonw_init(), and begins the root: an object with its schema. */
void jsonw_document(struct jsonw *w, FILE *out, const char *schema);
/* The same, on one line. */
void jsonw_line(struct jsonw *w, FILE *out, const char *schema);

void jsonw_object(struct jsonw *w, const char *key);
void jsonw_array(struct jsonw *w, const char *key);
/* The same, on one line. */
void jsonw_flat_object(struct jsonw *w, const char *key);
void jsonw_flat_array(struct jsonw *w, const char *key);
void jsonw_end(struct jsonw *w);

void jsonw_str(struct jsonw *w, const char *key, const char *value); /* NULL: null. */
void jsonw_int(struct jsonw *w, const char *key, int64_t value);
void jsonw_num(struct jsonw *w, const char *key, double value);
/* Rounded to 'decimals', for measured figures. */
void jsonw_rounded(struct jsonw *w, const char *key, double value, int decimals);
void jsonw_bool(struct jsonw *w, const char *key, bool value);
void jsonw_null(struct jsonw *w, const char *key);

/* Ends the document with a newline.  All objects must be closed. */
void jsonw_finish(struct jsonw *w);

#endif
