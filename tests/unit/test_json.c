/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "tests/unit/test.h"

static struct json_doc *
parse(const char *text)
{
	struct json_doc *doc = NULL;
	struct err err = { 0 };

	if (json_parse("x.json", text, strlen(text), &doc, &err) < 0)
		fail_msg("%u:%u: %s", err.line, err.column, err.text);
	return doc;
}

static void
assert_at(const struct err *err, unsigned line, unsigned column, const char *part)
{
	if (err->line != line || err->column != column || !strstr(err->text, part))
		fail_msg("%u:%u: %s", err->line, err->column, err->text);
}

static void
assert_no_json(const char *text, size_t length, unsigned line, unsigned column,
	       const char *part)
{
	struct json_doc *doc = NULL;
	struct err err = { 0 };

	if (json_parse("x.json", text, length, &doc, &err) != -EINVAL)
		fail_msg("'%s' was taken for JSON", text);
	assert_null(doc);
	assert_string_equal(err.file, "x.json");
	assert_at(&err, line, column, part);
}

/* A string literal, which may contain NUL bytes, and its length. */
#define LITERAL(text) text, sizeof(text) - 1

/* A document of several lines, for the tests of positions. */
static const char fabric[] = "{\n"                                          /* 1 */
			     "  \"schema\": \"antiphase.fabric/1\",\n"      /* 2 */
			     "  \"hosts\": [\n"                             /* 3 */
			     "    { \"name\": \"n1\", \"slots\": 8 },\n"    /* 4 */
			     "    { \"name\": \"a \\\" : {\", \"slots\":\n" /* 5 */
			     "      2.5 }\n"                                /* 6 */
			     "  ],\n"                                       /* 7 */
			     "  \"flags\": [true, null, \"x\"],\n"          /* 8 */
			     "  \"gbps\": 1e2\n"                            /* 9 */
			     "}\n";

static void
values_are_got_by_key_and_in_order(void **state)
{
	struct json_doc *doc = parse(fabric);
	const struct json *hosts, *host;
	const char *name = NULL;
	int64_t slots = 0;
	double gbps = 0;
	size_t n = 0;

	(void)state;
	assert_int_equal(json_get_array(doc, json_root(doc), "hosts", &hosts, &n, NULL),
			 0);
	assert_int_equal(n, 2);
	host = json_first(hosts);
	assert_int_equal(json_get_str(doc, host, "name", &name, NULL), 0);
	assert_string_equal(name, "n1");
	assert_int_equal(json_get_int(doc, host, "slots", 1, 8, &slots, NULL), 0);
	assert_int_equal(slots, 8);
	host = json_next(host);
	assert_int_equal(json_get_str(doc, host, "name", &name, NULL), 0);
	assert_string_equal(name, "a \" : {");
	assert_null(json_next(host));
	assert_int_equal(json_get_num(doc, json_root(doc), "gbps", 0, 100, &gbps, NULL),
			 0);
	assert_near(gbps, 100, 0);
	assert_null(json_find(json_root(doc), "Gbps"));
	json_doc_free(doc);
}

static void
errors_name_the_line_and_column_of_the_value(void **state)
{
	struct json_doc *doc = parse(fabric);
	const struct json *root = json_root(doc), *hosts, *flags, *second;
	struct err err = { 0 };
	const char *text = "kept";
	int64_t slots = 77;
	double number = 77;
	bool flag = true;
	size_t n;

	(void)state;
	json_get_array(doc, root, "hosts", &hosts, &n, NULL);
	second = json_next(json_first(hosts));
	assert_int_equal(
		json_get_int(doc, json_first(hosts), "slots", 1, 4, &slots, &err),
		-EINVAL);
	assert_at(&err, 4, 30, "'slots' is 8, expected 1 to 4");
	assert_int_equal(json_get_int(doc, second, "slots", 1, 4, &slots, &err),
			 -EINVAL);
	assert_at(&err, 6, 7, "'slots' is 2.5, expected a whole number");
	assert_int_equal(json_get_int(doc, second, "name", 1, 4, &slots, &err),
			 -EINVAL);
	assert_at(&err, 5, 15, "has to be a number, found a string");
	assert_int_equal(json_get_int(doc, second, "cards", 1, 4, &slots, &err),
			 -EINVAL);
	assert_at(&err, 5, 5, "key 'cards' is missing");
	assert_int_equal(slots, 77);

	assert_int_equal(json_get_num(doc, root, "gbps", 0, 99.5, &number, &err),
			 -EINVAL);
	assert_at(&err, 9, 11, "'gbps' is 100, expected 0 to 99.5");
	assert_near(number, 77, 0);
	assert_int_equal(json_get_str(doc, root, "hosts", &text, &err), -EINVAL);
	assert_at(&err, 3, 12, "has to be a string, found an array");
	assert_string_equal(text, "kept");
	assert_int_equal(json_opt_bool(doc, root, "gbps", &flag, &err), -EINVAL);
	assert_at(&err, 9, 11, "true or false");
	assert_true(flag);

	assert_int_equal(json_get_array(doc, root, "flags", &flags, &n, &err), 0);
	assert_int_equal(json_as_str(doc, json_first(flags), &text, &err), -EINVAL);
	assert_at(&err, 8, 13, "expected a string, found true or false");
	assert_int_equal(json_as_object(doc, json_next(json_first(flags)), &err),
			 -EINVAL);
	assert_at(&err, 8, 19, "expected an object, found null");
	assert_int_equal(json_get_array(doc, json_first(flags), NULL, &flags, &n, &err),
			 -EINVAL);
	assert_at(&err, 8, 13, "has to be an array");
	assert_int_equal(json_get_str(doc, json_first(flags), "x", &text, &err),
			 -EINVAL);
	assert_at(&err, 8, 13, "expected an object");
	json_doc_free(doc);
}

static void
optional_values_may_be_absent_but_not_of_another_type(void **state)
{
	struct json_doc *doc = parse("{\"a\": null,\n \"b\": 3, \"c\": false}");
	const struct json *root = json_root(doc), *array = root;
	struct err err = { 0 };
	const char *text = "kept";
	int64_t integer = 5;
	double number = 6;
	bool flag = true;
	size_t n = 7;

	(void)state;
	assert_int_equal(json_opt_int(doc, root, "x", 0, 1, &integer, &err), 0);
	assert_int_equal(json_opt_num(doc, root, "x", 0, 1, &number, &err), 0);
	assert_int_equal(json_opt_str(doc, root, "x", &text, &err), 0);
	assert_int_equal(json_opt_bool(doc, root, "x", &flag, &err), 0);
	assert_int_equal(json_opt_array(doc, root, "x", &array, &n, &err), 0);
	assert_int_equal(integer, 5);
	assert_near(number, 6, 0);
	assert_string_equal(text, "kept");
	assert_true(flag && array == root && n == 7);

	assert_int_equal(json_opt_int(doc, root, "a", 0, 1, &integer, &err), -EINVAL);
	assert_at(&err, 1, 7, "found null");
	assert_int_equal(json_opt_str(doc, root, "b", &text, &err), -EINVAL);
	assert_at(&err, 2, 7, "has to be a string");
	assert_int_equal(json_opt_bool(doc, root, "c", &flag, &err), 0);
	assert_false(flag);
	json_doc_free(doc);
}

static void
unknown_and_repeated_keys_are_named(void **state)
{
	static const char *const keys[] = { "name", "slots", NULL };
	struct json_doc *doc = parse("[{\"name\": 1, \"slots\": 2},\n"
				     " {\"name\": 1, \"slost\": 2},\n"
				     " {\"name\": 1,\n  \"name\": 2}, 5]");
	const struct json *value = json_first(json_root(doc));
	struct err err = { 0 };

	(void)state;
	assert_int_equal(json_check_keys(doc, value, keys, &err), 0);
	value = json_next(value);
	assert_int_equal(json_check_keys(doc, value, keys, &err), -EINVAL);
	assert_at(&err, 2, 23, "unknown key 'slost' (did you mean 'slots'?)");
	value = json_next(value);
	assert_int_equal(json_check_keys(doc, value, keys, &err), -EINVAL);
	assert_at(&err, 4, 11, "'name' is given twice");
	value = json_next(value);
	assert_int_equal(json_check_keys(doc, value, keys, &err), -EINVAL);
	assert_at(&err, 4, 15, "expected an object");
	json_doc_free(doc);
}

static void
the_schema_has_to_fit(void **state)
{
	static const struct {
		const char *text;
		int result;
		const char *part;
	} cases[] = {
		{ "{\"schema\": \"antiphase.fabric/1\"}", 0, "" },
		{ "{\"schema\": \"antiphase.fabric/2\"}", 0, "" },
		{ "{\"schema\": \"antiphase.fabric/3\"}", -EINVAL, "reads" },
		{ "{\"schema\": \"antiphase.fabric/0\"}", -EINVAL, "reads" },
		{ "{\"schema\": \"antiphase.fabric/x\"}", -EINVAL, "reads" },
		{ "{\"schema\": \"antiphase.fabric/\"}", -EINVAL, "reads" },
		{ "{\"schema\": \"antiphase.fabrics/1\"}", -EINVAL, "expected" },
		{ "{\"schema\": \"antiphase.profiles/1\"}", -EINVAL, "expected" },
		{ "{\"schema\": 1}", -EINVAL, "string" },
		{ "{}", -EINVAL, "missing" },
		{ "[]", -EINVAL, "object" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct json_doc *doc = parse(cases[i].text);
		struct err err = { 0 };

		if (json_check_schema(doc, "antiphase.fabric", 2, &err) !=
			    cases[i].result ||
		    !strstr(err.text, cases[i].part))
			fail_msg("%s: '%s'", cases[i].text, err.text);
		json_doc_free(doc);
	}
}

static void
what_is_no_json_is_refused_where_it_goes_wrong(void **state)
{
	(void)state;
	assert_no_json(LITERAL(""), 0, 0, "empty");
	assert_no_json(LITERAL(" \n "), 0, 0, "empty");
	assert_no_json(LITERAL("{\n  \"a\": 1,\n  \"b\" 2\n}"), 3, 7, "not valid JSON");
	assert_no_json(LITERAL("{\n\"a\": nul\n}"), 2, 6, "not valid JSON");
	assert_no_json(LITERAL("{} \n x"), 2, 2, "after the end");
	assert_no_json(LITERAL("{}{}"), 1, 3, "after the end");
	assert_no_json(LITERAL("[1,\n2\a]"), 2, 2, "control character");
	assert_no_json(LITERAL("[\"a\nb\"]"), 1, 4, "control character");
	assert_no_json(LITERAL("[1\0]"), 1, 3, "control character");
	assert_no_json(LITERAL("[\n\"a\\u0000b\"]"), 2, 3, "NUL");
	json_doc_free(parse("[\"a\\\\u0000b\"]")); /* An escaped backslash. */
}

static void
cut_documents_are_refused_at_every_length(void **state)
{
	size_t length = strlen(fabric) - 2; /* Without the last '}'. */

	(void)state;
	for (size_t n = 0; n <= length; n++) {
		char *text = xstrndup(fabric, n);
		struct json_doc *doc;

		assert_int_equal(json_parse("x", text, n, &doc, NULL), -EINVAL);
		free(text);
	}
}

static void
deep_nesting_is_refused_before_it_costs_anything(void **state)
{
	struct strbuf text = STRBUF_EMPTY;

	(void)state;
	for (int i = 0; i < 32; i++)
		strbuf_putc(&text, '[');
	for (int i = 0; i < 32; i++)
		strbuf_putc(&text, ']');
	json_doc_free(parse(text.text));

	strbuf_clear(&text);
	for (int i = 0; i < 1000000; i++)
		strbuf_putc(&text, '[');
	assert_no_json(text.text, text.length, 1, 33, "nested too deeply");
	strbuf_free(&text);
}

static void
numbers_beyond_what_a_double_keeps_are_no_integers(void **state)
{
	struct json_doc *doc =
		parse("{\"a\": 9007199254740991, \"b\": -9007199254740991,\n"
		      "\"c\": 9007199254740993,\n"
		      "\"d\": 1e400,\n"
		      "\"e\": -1e300,\n"
		      "\"f\": 1e3}");
	const struct json *root = json_root(doc);
	struct err err = { 0 };
	int64_t value = 0;
	double number = 0;

	(void)state;
	assert_int_equal(
		json_get_int(doc, root, "a", INT64_MIN, INT64_MAX, &value, &err), 0);
	assert_true(value == INT64_C(9007199254740991));
	assert_int_equal(
		json_get_int(doc, root, "b", INT64_MIN, INT64_MAX, &value, &err), 0);
	assert_true(value == -INT64_C(9007199254740991));
	assert_int_equal(
		json_get_int(doc, root, "c", INT64_MIN, INT64_MAX, &value, &err),
		-EINVAL);
	assert_at(&err, 2, 6, "'c'");
	assert_int_equal(
		json_get_int(doc, root, "d", INT64_MIN, INT64_MAX, &value, &err),
		-EINVAL);
	assert_at(&err, 3, 6, "'d'");
	assert_int_equal(
		json_get_int(doc, root, "e", INT64_MIN, INT64_MAX, &value, &err),
		-EINVAL);
	/* The message names the allowed range, also for a number far outside. */
	assert_int_equal(json_get_int(doc, root, "e", 1, 3600000000, &value, &err),
			 -EINVAL);
	assert_at(&err, 4, 6, "'e' is -1e+300, expected 1 to 3600000000");
	assert_int_equal(json_get_num(doc, root, "d", 0, 1e308, &number, &err),
			 -EINVAL);
	assert_int_equal(json_get_int(doc, root, "f", 0, 1000, &value, &err), 0);
	assert_int_equal(value, 1000);
	json_doc_free(doc);
}

static void
numbers_have_the_form_that_json_gives_them(void **state)
{
	static const char *const bad[] = { "+1",  ".5",  "0x10",     "1.2.3",
					   "--1", "nan", "Infinity", "01",
					   "1.",  "-",   "1e",       "1e+" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct json_doc *doc;
		char text[32];
		int length = snprintf(text, sizeof text, "[%s]", bad[i]);

		if (json_parse("x", text, (size_t)length, &doc, NULL) != -EINVAL)
			fail_msg("'%s' was taken for a number", bad[i]);
	}
}

static void
strings_are_unicode_in_utf8(void **state)
{
	struct json_doc *doc = parse("[\"Z\xc3\xbcrich \\u00fc \\ud83d\\ude00\"]");
	const char *text = "";

	(void)state;
	assert_int_equal(json_as_str(doc, json_first(json_root(doc)), &text, NULL), 0);
	assert_string_equal(text, "Z\xc3\xbcrich \xc3\xbc \xf0\x9f\x98\x80");
	json_doc_free(doc);

	assert_no_json(LITERAL("[\n\"a\xff\"]"), 2, 3, "UTF-8");
	assert_no_json(LITERAL("[\"\xc0\xaf\"]"), 1, 3, "UTF-8");
	assert_no_json(LITERAL("[\"\xed\xa0\x80\"]"), 1, 3, "UTF-8");
	assert_no_json(LITERAL("[\"\xe2\x82\"]"), 1, 3, "UTF-8");
	assert_no_json(LITERAL("[\"\\ud83d\"]"), 1, 3, "not valid JSON");
}

static void
a_nul_cannot_cut_a_name_short(void **state)
{
	(void)state;
	assert_no_json(LITERAL("{\"a\": \"n1\\u0000x\"}"), 1, 10, "NUL");
	/* cJSON would end the text here. */
	assert_no_json(LITERAL("{\"a\": \"n1\\u00xyzw\"}"), 1, 10, "hexadecimal");
	/* Not an escape: an escaped backslash before a u. */
	json_doc_free(parse("[\"\\\\u0000\"]"));
}

static void
a_byte_order_mark_moves_no_place(void **state)
{
	struct json_doc *doc = parse("\xef\xbb\xbf{\"a\":\n 1}");
	struct err err = { 0 };
	const char *text;

	(void)state;
	assert_int_equal(json_get_str(doc, json_root(doc), "a", &text, &err), -EINVAL);
	assert_at(&err, 2, 2, "string");
	json_doc_free(doc);
}

static void
values_of_any_document_have_a_kind(void **state)
{
	const char *text = "[1.5, \"a\", [], {}, null, true]";

	const enum json_kind kinds[] = { JSON_NUMBER, JSON_STRING, JSON_ARRAY,
					 JSON_OBJECT, JSON_OTHER,  JSON_OTHER };
	struct json_doc *doc;
	size_t i = 0;

	(void)state;
	assert_int_equal(json_parse("x", text, strlen(text), &doc, NULL), 0);
	for (const struct json *v = json_first(json_root(doc)); v;
	     v = json_next(v), i++) {
		assert_int_equal(json_kind(v), kinds[i]);
		assert_int_equal(isnan(json_number(v)), i != 0);
		assert_int_equal(json_string(v) == NULL, i != 1);
	}
	assert_int_equal(i, 6);
	json_doc_free(doc);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_got_by_key_and_in_order),
		cmocka_unit_test(errors_name_the_line_and_column_of_the_value),
		cmocka_unit_test(optional_values_may_be_absent_but_not_of_another_type),
		cmocka_unit_test(unknown_and_repeated_keys_are_named),
		cmocka_unit_test(the_schema_has_to_fit),
		cmocka_unit_test(what_is_no_json_is_refused_where_it_goes_wrong),
		cmocka_unit_test(cut_documents_are_refused_at_every_length),
		cmocka_unit_test(deep_nesting_is_refused_before_it_costs_anything),
		cmocka_unit_test(numbers_beyond_what_a_double_keeps_are_no_integers),
		cmocka_unit_test(numbers_have_the_form_that_json_gives_them),
		cmocka_unit_test(strings_are_unicode_in_utf8),
		cmocka_unit_test(a_nul_cannot_cut_a_name_short),
		cmocka_unit_test(a_byte_order_mark_moves_no_place),
		cmocka_unit_test(values_of_any_document_have_a_kind),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
