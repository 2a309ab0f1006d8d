/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_scan.h - one pass through a JSON text, for large ones of which little is needed.
 *
 * Unlike json.h it builds no tree: it allocates nothing, and a byte that is skipped costs
 * about a nanosecond.  The caller takes the members that it knows in the order of the
 * text and skips the others:
 *
 *	json_scan_init(&scan, text, n);
 *	if (json_scan_begin(&scan, '{'))
 *		while (json_scan_member(&scan, key, sizeof key))
 *			if (strcmp(key, "name") != 0 ||
 *			    !json_scan_text(&scan, name, sizeof name))
 *				json_scan_skip(&scan);
 *	if (json_scan_end(&scan, "the request", err) < 0)
 *		return -EINVAL;
 *
 * After a fault in the text, each function returns false and json_scan_end() says what
 * and where it was.  Of what is skipped, only quotes and brackets are checked.
 */
#ifndef LIB_BASE_JSON_SCAN_H
#define LIB_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define JSON_SCAN_MAX_DEPTH 32 /* Deeper texts are refused. */

struct json_scan {
	const char *text; /* Borrowed; terminated. */
	size_t length, at;
	unsigned depth;
	uint32_t objects; /* One bit for each open bracket: it is '{'. */
	bool is_first;    /* The open bracket has had no value yet. */
	const char *why;  /* The fault at 'at'; NULL: none. */
};

/* Begins at the only value of 'text', 'length' bytes and a NUL. */
void json_scan_init(struct json_scan *scan, const char *text, size_t length);
/* 0 after the whole text; -EINVAL with 'err' filled after a fault, or if text is left. */
int json_scan_end(struct json_scan *scan, const char *file, struct err *err);
/* Fills 'err' with the place reached and a text; returns -EINVAL. */
int json_scan_fail(const struct json_scan *scan, const char *file, struct err *err,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Enters the value if it begins with 'bracket', '{' or '['; else false, and it stays. */
bool json_scan_begin(struct json_scan *scan, char bracket);
/*
 * Goes on to the next member of the object, or element of the array, that was entered.
 * False: it had no more, and is behind.  A key that does not fit in 'size' bytes is "".
 */
bool json_scan_member(struct json_scan *scan, char *key, size_t size);
bool json_scan_element(struct json_scan *scan);

/* What the value begins with: '{', '[', '"', a digit or '-', 't', 'f' or 'n'; 0: none. */
char json_scan_peek(struct json_scan *scan);
/* Takes a string of less than 'size' bytes, decoded; else false, and the value stays. */
bool json_scan_text(struct json_scan *scan, char *text, size_t size);
/* Takes "true"; else false, and the value stays. */
bool json_scan_true(struct json_scan *scan);
void json_scan_skip(struct json_scan *scan);

#endif
