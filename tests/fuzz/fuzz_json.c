/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_json.c - texts for json.h and json_scan.h; valid JSON is walked with every getter,
 * and is the same for both
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/json_scan.h"
#include "tests/fuzz/fuzz.h"

/* Errors about a value must name a position in the text. */
static void
check_err(const struct err *err, size_t size)
{
	BUG_ON(!err->line || err->line > size + 1);
	BUG_ON(!err->column || err->column > size + 1);
	BUG_ON(!err->text[0]);
}

static void
walk(const struct json_doc *doc, const struct json *value, size_t size)
{
	static const char *const keys[] = { "schema", "name", "a", NULL };
	const struct json *array;
	struct err err = { 0 };
	const char *text;
	int64_t integer;
	double number;
	bool flag;
	size_t n, n_items = 0;

	for (const char *const *key = keys; *key; key++) {
		if (json_get_str(doc, value, *key, &text, &err) < 0)
			check_err(&err, size);
		if (json_get_num(doc, value, *key, -1e9, 1e9, &number, &err) < 0)
			check_err(&err, size);
		if (!json_opt_int(doc, value, *key, -5, 5, &integer, &err) &&
		    json_as_object(doc, value, NULL) == 0 && json_find(value, *key))
			BUG_ON(integer < -5 || integer > 5);
		if (json_opt_bool(doc, value, *key, &flag, &err) < 0)
			check_err(&err, size);
	}
	if (json_check_keys(doc, value, keys, &err) < 0)
		check_err(&err, size);
	if (json_as_str(doc, value, &text, &err) == 0)
		return;
	for (const struct json *item = json_first(value); item;
	     item = json_next(item)) {
		n_items++;
		walk(doc, item, size);
	}
	if (json_get_array(doc, value, NULL, &array, &n, &err) == 0)
		BUG_ON(n != n_items);
}

#define MAX_SIZE 4096

static void
compare(struct json_scan *scan, const struct json *value)
{
	const struct json *item = json_first(value);
	char text[MAX_SIZE];

	if (json_kind(value) == JSON_OBJECT) {
		BUG_ON(!json_scan_begin(scan, '{'));
		for (; json_scan_member(scan, text, sizeof text);
		     item = json_next(item)) {
			BUG_ON(strcmp(text, json_key(item)) != 0);
			compare(scan, item);
		}
		BUG_ON(item != NULL);
	} else if (json_kind(value) == JSON_ARRAY) {
		BUG_ON(!json_scan_begin(scan, '['));
		for (; json_scan_element(scan); item = json_next(item))
			compare(scan, item);
		BUG_ON(item != NULL);
	} else if (json_kind(value) == JSON_STRING) {
		BUG_ON(!json_scan_text(scan, text, sizeof text));
		BUG_ON(strcmp(text, json_string(value)) != 0);
	} else if (!json_scan_true(scan)) {
		json_scan_skip(scan);
	}
}

/* As a caller that knows no member; 'doc' NULL: the text is no JSON. */
static void
scan_text(const char *text, size_t size, const struct json_doc *doc)
{
	struct err err = { 0 };
	struct json_scan scan;

	json_scan_init(&scan, text, size);
	json_scan_skip(&scan);
	if (json_scan_end(&scan, "fuzz", &err) < 0) {
		BUG_ON(doc != NULL);
		check_err(&err, size);
	}
	if (!doc)
		return;
	json_scan_init(&scan, text, size);
	compare(&scan, json_root(doc));
	BUG_ON(json_scan_end(&scan, "fuzz", NULL) < 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct json_doc *doc = NULL;
	struct err err = { 0 };

	/* Each error is searched for in the text, so keep the product small. */
	if (size >= MAX_SIZE) {
		free(text);
		return 0;
	}
	json_parse("fuzz", text, size, &doc, &err);
	scan_text(text, size, doc);
	if (doc) {
		json_check_schema(doc, "antiphase.fabric", 1, NULL);
		walk(doc, json_root(doc), size);
		json_doc_free(doc);
	}
	free(text);
	return 0;
}
