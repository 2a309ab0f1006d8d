/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/jsonw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/utf8.h"

void
jsonw_init(struct jsonw *w, FILE *out)
{
	memset(w, 0, sizeof *w);
	w->out = out;
}

void
jsonw_document(struct jsonw *w, FILE *out, const char *schema)
{
	jsonw_init(w, out);
	jsonw_object(w, NULL);
	jsonw_str(w, "schema", schema);
}

void
jsonw_line(struct jsonw *w, FILE *out, const char *schema)
{
	jsonw_init(w, out);
	jsonw_flat_object(w, NULL);
	jsonw_str(w, "schema", schema);
}

static bool
is_flat(const struct jsonw *w)
{
	return w->depth && w->is_flat[w->depth - 1];
}

static void
new_line(struct jsonw *w)
{
	putc_unlocked('\n', w->out);
	for (unsigned i = 0; i < w->depth; i++)
		fputs_unlocked("  ", w->out);
}

/* Counts leading characters that need no escape: in most texts, all. */
static size_t
plain_length(const char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

static void
put_string(struct jsonw *w, const char *s)
{
	size_t n;

	putc_unlocked('"', w->out);
	for (; *s; s += n ? n : 1) {
		unsigned char c = (unsigned char)*s;

		n = plain_length(s);
		if (n) {
			fwrite_unlocked(s, 1, n, w->out);
			continue;
		}
		n = utf8_length(s);
		if (!n)
			fputs_unlocked("\\ufffd", w->out); /* U+FFFD. */
		else if (c == '"' || c == '\\')
			fprintf(w->out, "\\%c", c);
		else if (c == '\n')
			fputs_unlocked("\\n", w->out);
		else if (c == '\t')
			fputs_unlocked("\\t", w->out);
		else if (c < 0x20 || c == 0x7f)
			fprintf(w->out, "\\u%04x", c);
		else
			fwrite_unlocked(s, 1, n, w->out);
	}
	putc_unlocked('"', w->out);
}

/* Writes the comma, line break and key before a value. */
static void
begin_value(struct jsonw *w, const char *key)
{
	if (!w->depth) {
		BUG_ON(key != NULL);
		return;
	}
	BUG_ON(w->is_array[w->depth - 1] != (key == NULL));
	if (w->has_items[w->depth - 1])
		fputs_unlocked(is_flat(w) ? ", " : ",", w->out);
	w->has_items[w->depth - 1] = true;
	if (!is_flat(w))
		new_line(w);
	if (key) {
		put_string(w, key);
		fputs_unlocked(": ", w->out);
	}
}

static void
open_container(struct jsonw *w, const char *key, bool is_array, bool flat)
{
	bool inherited = is_flat(w);

	begin_value(w, key);
	BUG_ON(w->depth == JSONW_MAX_DEPTH);
	w->is_array[w->depth] = is_array;
	w->has_items[w->depth] = false;
	w->is_flat[w->depth] = flat || inherited;
	w->depth++;
	putc_unlocked(is_array ? '[' : '{', w->out);
}

void
jsonw_object(struct jsonw *w, const char *key)
{
	open_container(w, key, false, false);
}

void
jsonw_array(struct jsonw *w, const char *key)
{
	open_container(w, key, true, false);
}

void
jsonw_flat_object(struct jsonw *w, const char *key)
{
	open_container(w, key, false, true);
}

void
jsonw_flat_array(struct jsonw *w, const char *key)
{
	open_container(w, key, true, true);
}

void
jsonw_end(struct jsonw *w)
{
	bool flat = is_flat(w);

	BUG_ON(!w->depth);
	w->depth--;
	if (w->has_items[w->depth] && !flat)
		new_line(w);
	putc_unlocked(w->is_array[w->depth] ? ']' : '}', w->out);
}

void
jsonw_str(struct jsonw *w, const char *key, const char *value)
{
	begin_value(w, key);
	if (value)
		put_string(w, value);
	else
		fputs_unlocked("null", w->out);
}

static void
put_int(struct jsonw *w, int64_t value)
{
	char text[24], *at = text + sizeof text;
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do
		*--at = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		*--at = '-';
	fwrite_unlocked(at, 1, (size_t)(text + sizeof text - at), w->out);
}

void
jsonw_int(struct jsonw *w, const char *key, int64_t value)
{
	begin_value(w, key);
	put_int(w, value);
}

void
jsonw_num(struct jsonw *w, const char *key, double value)
{
	char text[40];

	begin_value(w, key);
	if (!isfinite(value)) {
		fputs_unlocked("null", w->out);
		return;
	}
	if (value == floor(value) && fabs(value) < 1e15) {
		/* Writes whole numbers without exponent and without "-0". */
		put_int(w, (int64_t)value);
		return;
	}
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs_unlocked(text, w->out);
}

void
jsonw_rounded(struct jsonw *w, const char *key, double value, int decimals)
{
	char text[64];

	BUG_ON(decimals < 0 || decimals > 12);
	if (!isfinite(value) || fabs(value) > 1e15) {
		jsonw_num(w, key, value);
		return;
	}
	if (decimals == 0) {
		jsonw_num(w, key, nearbyint(value)); /* As printf() rounds. */
		return;
	}
	snprintf(text, sizeof text, "%.*f", decimals, value);
	jsonw_num(w, key, strtod(text, NULL));
}

void
jsonw_bool(struct jsonw *w, const char *key, bool value)
{
	begin_value(w, key);
	fputs_unlocked(value ? "true" : "false", w->out);
}

void
jsonw_null(struct jsonw *w, const char *key)
{
	begin_value(w, key);
	fputs_unlocked("null", w->out);
}

void
jsonw_finish(struct jsonw *w)
{
	BUG_ON(w->depth);
	putc_unlocked('\n', w->out);
}
