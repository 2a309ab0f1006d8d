/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json.c - texts for json.h; valid JSON is walked with every getter */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct json_doc *doc;
	struct err err = { 0 };

	/* Each error is searched for in the text, so keep the product small. */
	if (size <= 4096 && json_parse("fuzz", text, size, &doc, &err) == 0) {
		json_check_schema(doc, "antiphase.fabric", 1, NULL);
		walk(doc, json_root(doc), size);
		json_doc_free(doc);
	}
	free(text);
	return 0;
}
