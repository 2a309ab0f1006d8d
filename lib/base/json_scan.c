/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/json_scan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json_priv.h"
#include "lib/base/utf8.h"

static bool
fail(struct json_scan *scan, size_t at, const char *why)
{
	if (!scan->why) {
		scan->at = at;
		scan->why = why;
	}
	return false;
}

static char
skip_blanks(struct json_scan *scan)
{
	const char *text = scan->text;
	size_t at = scan->at;

	while (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' ||
	       text[at] == '\r')
		at++;
	scan->at = at;
	return text[at];
}

void
json_scan_init(struct json_scan *scan, const char *text, size_t length)
{
	*scan = (struct json_scan){ .text = text, .length = length, .is_first = true };
}

int
json_scan_fail(const struct json_scan *scan, const char *file, struct err *err,
	       const char *format, ...)
{
	struct json_place place;
	char text[sizeof err->text];
	va_list args;

	if (!err)
		return -EINVAL;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	place = json_place_at(scan->text, scan->at);
	return err_set(err, file, place.line, place.column, "%s", text);
}

int
json_scan_end(struct json_scan *scan, const char *file, struct err *err)
{
	if (!scan->why) {
		skip_blanks(scan);
		if (scan->is_first || scan->depth)
			fail(scan, scan->at, "expected JSON here");
		else if (scan->at != scan->length)
			fail(scan, scan->at,
			     "unexpected text after the end of the JSON value");
	}
	return scan->why ? json_scan_fail(scan, file, err, "not valid JSON: %s",
					  scan->why)
			 : 0;
}

/* ---- Objects and arrays ------------------------------------------------------------ */

char
json_scan_peek(struct json_scan *scan)
{
	char c = scan->why ? '\0' : skip_blanks(scan);

	return c && (strchr("{[\"-tfn", c) || (c >= '0' && c <= '9')) ? c : '\0';
}

bool
json_scan_begin(struct json_scan *scan, char bracket)
{
	if (json_scan_peek(scan) != bracket)
		return false;
	if (scan->depth == JSON_SCAN_MAX_DEPTH)
		return fail(scan, scan->at, "nested too deeply");
	scan->objects = scan->objects << 1 | (bracket == '{');
	scan->depth++;
	scan->at++;
	scan->is_first = true;
	return true;
}

/* Goes on behind the comma; false, and behind the bracket, at the end. */
static bool
go_on(struct json_scan *scan, char bracket)
{
	char c = scan->why ? '\0' : skip_blanks(scan);

	if (scan->why)
		return false;
	if (c == bracket) {
		scan->at++;
		scan->depth--;
		scan->objects >>= 1;
		scan->is_first = false;
		return false;
	}
	if (!scan->is_first) {
		if (c != ',')
			return fail(scan, scan->at, "expected a comma or a bracket");
		scan->at++;
	}
	return true;
}

bool
json_scan_element(struct json_scan *scan)
{
	return go_on(scan, ']');
}

static bool take_string(struct json_scan *scan, char *text, size_t size,
			bool *ret_fits);

bool
json_scan_member(struct json_scan *scan, char *key, size_t size)
{
	bool fits;

	if (!go_on(scan, '}'))
		return false;
	if (skip_blanks(scan) != '"')
		return fail(scan, scan->at, "expected a key");
	if (!take_string(scan, key, size, &fits))
		return false;
	if (!fits)
		*key = '\0';
	if (skip_blanks(scan) != ':')
		return fail(scan, scan->at, "expected a colon");
	scan->at++;
	return true;
}

/* ---- Strings ------------------------------------------------------------------------- */

static int
hex_of(const char *digits)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		char c = digits[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

static size_t
put_utf8(char *out, unsigned c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/*
 * Decodes the escape at 'text' to at most four bytes; returns the number of bytes that
 * it has in the text, 0 if it is none.
 */
static size_t
decode_escape(const char *text, char *out, size_t *ret_n)
{
	static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *letter = text[1] ? strchr(letters, text[1]) : NULL;
	int c, low;

	*ret_n = 1;
	if (letter) {
		*out = values[letter - letters];
		return 2;
	}
	if (text[1] != 'u')
		return 0;
	c = hex_of(text + 2);
	if (c <= 0 || (c >= 0xdc00 && c < 0xe000)) /* NUL ends texts. */
		return 0;
	if (c < 0xd800 || c >= 0xe000) {
		*ret_n = put_utf8(out, (unsigned)c);
		return 6;
	}
	if (text[6] != '\\' || text[7] != 'u')
		return 0;
	low = hex_of(text + 8);
	if (low < 0xdc00 || low >= 0xe000)
		return 0;
	*ret_n = put_utf8(out, 0x10000u + ((unsigned)(c - 0xd800) << 10) +
				       (unsigned)(low - 0xdc00));
	return 12;
}

/* Length of the character at 's' in the text, decoded to 'out' if escaped; 0: a fault. */
static size_t
read_character(const char *s, char *out, const char **ret_bytes, size_t *ret_n,
	       const char **ret_why)
{
	size_t n_read;

	*ret_bytes = s;
	if ((unsigned char)*s < 0x20) {
		*ret_why = *s ? "a control character" : "expected a quote";
		return 0;
	}
	if (*s == '\\') {
		*ret_bytes = out;
		*ret_why = "an invalid escape";
		return decode_escape(s, out, ret_n);
	}
	n_read = *ret_n = utf8_length(s);
	*ret_why = "a byte that is not UTF-8";
	return n_read;
}

/* Takes the string at hand, checked; a longer one is cut and does not fit. */
static bool
take_string(struct json_scan *scan, char *text, size_t size, bool *ret_fits)
{
	const char *s = scan->text + scan->at + 1;
	size_t n = 0;

	for (;;) {
		const char *bytes = s, *why;
		size_t n_bytes, n_read;
		char decoded[4];

		while (*s >= ' ' && *s != '"' && *s != '\\') /* Plain ASCII. */
			s++;
		n_bytes = n_read = (size_t)(s - bytes);
		if (!n_bytes) {
			if (*s == '"')
				break;
			n_read = read_character(s, decoded, &bytes, &n_bytes, &why);
			if (!n_read)
				return fail(scan, (size_t)(s - scan->text), why);
			s += n_read;
		}
		if (n < size && n_bytes < size - n)
			memcpy(text + n, bytes, n_bytes);
		n += n_bytes;
	}
	*ret_fits = n < size;
	if (n < size)
		text[n] = '\0';
	scan->at = (size_t)(s + 1 - scan->text);
	return true;
}

bool
json_scan_text(struct json_scan *scan, char *text, size_t size)
{
	struct json_scan before = *scan;
	bool fits;

	if (json_scan_peek(scan) != '"' || !take_string(scan, text, size, &fits))
		return false;
	if (!fits) {
		*scan = before;
		return false;
	}
	scan->is_first = false;
	return true;
}

/* ---- Other values --------------------------------------------------------------------- */

bool
json_scan_true(struct json_scan *scan)
{
	if (json_scan_peek(scan) != 't' ||
	    strncmp(scan->text + scan->at, "true", 4) != 0)
		return false;
	scan->at += 4;
	scan->is_first = false;
	return true;
}

/* Behind the string whose first quote is at 's'; NULL: it has no end. */
static const char *
behind_string(const char *s)
{
	for (s++; *s != '"'; s++)
		if (!*s || (*s == '\\' && !*++s))
			return NULL;
	return s + 1;
}

/* Skips a string or a word such as -1.5e3 or null. */
static void
skip_scalar(struct json_scan *scan)
{
	const char *s = scan->text + scan->at, *end = s;

	if (*s == '"') {
		end = behind_string(s);
		if (!end) {
			fail(scan, scan->length, "expected a quote");
			return;
		}
	} else {
		while ((*end >= '0' && *end <= '9') || (*end >= 'a' && *end <= 'z') ||
		       *end == '-' || *end == '+' || *end == '.' || *end == 'E')
			end++;
	}
	scan->at = (size_t)(end - scan->text);
}

/* Skips to behind the bracket that closes the one at hand. */
static void
skip_brackets(struct json_scan *scan)
{
	unsigned outside = scan->depth;
	const char *s = scan->text + scan->at;

	do {
		if (*s == '{' || *s == '[') {
			if (scan->depth++ == JSON_SCAN_MAX_DEPTH) {
				fail(scan, (size_t)(s - scan->text),
				     "nested too deeply");
				return;
			}
			scan->objects = scan->objects << 1 | (*s++ == '{');
		} else if (*s == '}' || *s == ']') {
			if ((scan->objects & 1) != (*s++ == '}')) {
				fail(scan, (size_t)(s - 1 - scan->text),
				     "the wrong bracket");
				return;
			}
			scan->objects >>= 1;
			scan->depth--;
		} else if (*s == '"') {
			s = behind_string(s);
			if (!s) {
				fail(scan, scan->length, "expected a quote");
				return;
			}
		} else if (!*s) {
			fail(scan, (size_t)(s - scan->text), "expected a bracket");
			return;
		} else {
			s++;
		}
	} while (scan->depth > outside);
	scan->at = (size_t)(s - scan->text);
}

void
json_scan_skip(struct json_scan *scan)
{
	char c = json_scan_peek(scan);

	if (scan->why)
		return;
	if (!c) {
		fail(scan, scan->at, "expected a value");
		return;
	}
	if (c == '{' || c == '[')
		skip_brackets(scan);
	else
		skip_scalar(scan);
	scan->is_first = false;
}
