/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_scan.c - one pass through JSON texts, as json.h reads them */
#include <errno.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/json_scan.h"
#include "lib/base/strbuf.h"
#include "tests/unit/test.h"

/* Walks a value of the tree and of the text, which have to agree. */
static void
walk(struct json_scan *scan, const struct json *value)
{
	char text[256];
	const struct json *item = json_first(value);

	switch (json_kind(value)) {
	case JSON_OBJECT:
		assert_true(json_scan_begin(scan, '{'));
		for (; json_scan_member(scan, text, sizeof text);
		     item = json_next(item)) {
			assert_string_equal(text, json_key(item));
			walk(scan, item);
		}
		assert_null(item);
		break;
	case JSON_ARRAY:
		assert_true(json_scan_begin(scan, '['));
		for (; json_scan_element(scan); item = json_next(item))
			walk(scan, item);
		assert_null(item);
		break;
	case JSON_STRING:
		assert_true(json_scan_text(scan, text, sizeof text));
		assert_string_equal(text, json_string(value));
		break;
	default:
		assert_false(json_scan_text(scan, text, sizeof text));
		if (!json_scan_true(scan))
			json_scan_skip(scan);
	}
}

static void
valid_texts_are_read_as_by_the_tree(void **state)
{
	static const char *const texts[] = {
		"{}",
		" [ ] ",
		"\"\"",
		"true",
		"-1.5e+3",
		"{\"a\":[1,2,{\"b\":null}],\"c\":\"d\",\"e\":false,\"f\":true}",
		"[[],[[]],{\"\":{}}, \"]\", \"}\", \"\\\"\", \"\\\\\"]",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\u00e9\\u20ac\\ud83d\\ude00\"",
		"\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"",
		"{\"\\u0061\":1,\"a\":2}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		size_t n = strlen(texts[i]);
		struct json_scan scan;
		struct json_doc *doc;
		struct err err = { 0 };

		if (json_parse("tree", texts[i], n, &doc, &err) < 0)
			fail_msg("%s: %s", texts[i], err.text);
		json_scan_init(&scan, texts[i], n);
		walk(&scan, json_root(doc));
		if (json_scan_end(&scan, "scan", &err) < 0)
			fail_msg("%s: %s", texts[i], err.text);
		json_scan_init(&scan, texts[i], n);
		json_scan_skip(&scan);
		assert_int_equal(json_scan_end(&scan, "scan", &err), 0);
		json_doc_free(doc);
	}
}

/* Reads all that can be read. */
static void
read_all(struct json_scan *scan)
{
	char text[16];

	if (json_scan_begin(scan, '{'))
		while (json_scan_member(scan, text, sizeof text))
			read_all(scan);
	else if (json_scan_begin(scan, '['))
		while (json_scan_element(scan))
			read_all(scan);
	else if (!json_scan_text(scan, text, sizeof text))
		json_scan_skip(scan);
}

static void
faults_are_named_with_their_place(void **state)
{
	static const struct {
		const char *text, *why;
		unsigned column;
	} faults[] = {
		{ "", "expected a value", 1 },
		{ "{", "expected a key", 2 },
		{ "[1", "comma or a bracket", 3 },
		{ "[1 2]", "comma or a bracket", 4 },
		{ "[1,]", "expected a value", 4 },
		{ "{\"a\":1,}", "expected a key", 8 },
		{ "{\"a\" 1}", "expected a colon", 6 },
		{ "{\"a\":}", "expected a value", 6 },
		{ "{a:1}", "expected a key", 2 },
		{ "[\"a]", "expected a quote", 5 },
		{ "[\"\\x\"]", "invalid escape", 3 },
		{ "[\"\\u0000\"]", "invalid escape", 3 },
		{ "[\"\\ud83d\"]", "invalid escape", 3 },
		{ "[\"\\ude00\"]", "invalid escape", 3 },
		{ "[\"\\u12", "invalid escape", 3 },
		{ "[\"\\", "invalid escape", 3 },
		{ "[\"\xff\"]", "not UTF-8", 3 },
		{ "[\"\x01\"]", "control character", 3 },
		{ "[] []", "after the end", 4 },
		{ "[}", "expected a value", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		struct err err = { 0 };
		struct json_scan scan;

		json_scan_init(&scan, faults[i].text, strlen(faults[i].text));
		read_all(&scan);
		if (json_scan_end(&scan, "scan", &err) != -EINVAL)
			fail_msg("%s is taken", faults[i].text);
		if (!strstr(err.text, faults[i].why) || err.column != faults[i].column)
			fail_msg("%s: %u: %s", faults[i].text, err.column, err.text);
	}
}

static void
what_is_skipped_has_its_quotes_and_brackets(void **state)
{
	static const char *const faults[] = {
		"[1", "{\"a\":[1}", "[\"a", "[\"\\", "[{\"a\":1]}", "\"",
	};
	struct strbuf deep = STRBUF_EMPTY;
	struct json_scan scan;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		json_scan_init(&scan, faults[i], strlen(faults[i]));
		json_scan_skip(&scan);
		assert_int_equal(json_scan_end(&scan, "scan", &err), -EINVAL);
	}
	for (unsigned depth = 0; depth <= JSON_SCAN_MAX_DEPTH; depth++) {
		strbuf_putc(&deep, '[');
		json_scan_init(&scan, deep.text, deep.length);
		json_scan_skip(&scan);
		assert_int_equal(json_scan_end(&scan, "scan", &err), -EINVAL);
		assert_int_equal(depth == JSON_SCAN_MAX_DEPTH,
				 strstr(err.text, "nested too deeply") != NULL);
	}
	strbuf_free(&deep);
}

static void
long_texts_stay_and_long_keys_are_nobodys(void **state)
{
	const char *text = "{\"0123456\":\"0123456\",\"01234567\":\"01234567\"}";
	struct json_scan scan;
	char seven[8];

	(void)state;
	json_scan_init(&scan, text, strlen(text));
	assert_true(json_scan_begin(&scan, '{'));
	assert_true(json_scan_member(&scan, seven, sizeof seven));
	assert_string_equal(seven, "0123456");
	assert_true(json_scan_text(&scan, seven, sizeof seven));
	assert_string_equal(seven, "0123456");
	assert_true(json_scan_member(&scan, seven, sizeof seven));
	assert_string_equal(seven, "");
	assert_false(json_scan_text(&scan, seven, sizeof seven));
	assert_int_equal(json_scan_peek(&scan), '"');
	json_scan_skip(&scan);
	assert_false(json_scan_member(&scan, seven, sizeof seven));
	assert_int_equal(json_scan_end(&scan, "scan", NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_texts_are_read_as_by_the_tree),
		cmocka_unit_test(faults_are_named_with_their_place),
		cmocka_unit_test(what_is_skipped_has_its_quotes_and_brackets),
		cmocka_unit_test(long_texts_stay_and_long_keys_are_nobodys),
	};

	return cmocka_run_group_tests_name("json_scan", tests, NULL, NULL);
}
