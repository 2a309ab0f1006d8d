/* SPDX-License-Identifier: Apache-2.0 */
/* test_yaml.c - YAML as a JSON document: values, positions, and hostile texts */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/yaml.h"
#include "tests/unit/test.h"

static struct json_doc *
parse(const char *text)
{
	struct json_doc *doc;
	struct err err;

	if (yaml_parse("t", text, strlen(text), &doc, &err) < 0)
		fail_msg("%u:%u: %s", err.line, err.column, err.text);
	return doc;
}

static void
assert_refused_bytes(const char *text, size_t n, unsigned line, unsigned column,
		     const char *part)
{
	struct json_doc *doc;
	struct err err;

	assert_true(yaml_parse("t", text, n, &doc, &err) < 0);
	if (!strstr(err.text, part) || err.line != line || err.column != column)
		fail_msg("%u:%u: '%s' instead of %u:%u: '%s'", err.line, err.column,
			 err.text, line, column, part);
}

static void
assert_refused(const char *text, unsigned line, unsigned column, const char *part)
{
	assert_refused_bytes(text, strlen(text), line, column, part);
}

static void
all_scalars_are_strings(void **state)
{
	struct json_doc *doc = parse("\"a: b\": 'it # stays'\n"
				     "c: d#e # goes\n"
				     "f:\n"
				     "g: []\n"
				     "h:\n"
				     "- - 1\n"
				     "  - true\n"
				     "- i: {j: null, \"k\": \"\\u00e9\\n\"}\n"
				     "l: |\n"
				     "  two\n"
				     "  lines\n"
				     "m: >-\n"
				     "  one\n"
				     "  line\n");
	const struct json *root = json_first(json_root(doc)), *at;

	(void)state;
	assert_null(json_next(root));
	assert_string_equal(json_string(json_find(root, "a: b")), "it # stays");
	assert_string_equal(json_string(json_find(root, "c")), "d#e");
	assert_string_equal(json_string(json_find(root, "f")), "");
	assert_int_equal(json_kind(json_find(root, "g")), JSON_ARRAY);
	at = json_first(json_find(root, "h"));
	assert_string_equal(json_string(json_first(at)), "1");
	assert_string_equal(json_string(json_next(json_first(at))), "true");
	at = json_find(json_next(at), "i");
	assert_string_equal(json_string(json_find(at, "j")), "null");
	assert_string_equal(json_string(json_find(at, "k")), "\u00e9\n");
	assert_string_equal(json_string(json_find(root, "l")), "two\nlines\n");
	assert_string_equal(json_string(json_find(root, "m")), "one line");
	json_doc_free(doc);
}

static void
the_root_is_the_documents_that_are_not_empty(void **state)
{
	struct json_doc *doc = parse("---\n# nothing\n---\na: b\n...\n---\n- c\n---\n");
	const struct json *at = json_first(json_root(doc));

	(void)state;
	assert_int_equal(json_kind(at), JSON_OBJECT);
	at = json_next(at);
	assert_int_equal(json_kind(at), JSON_ARRAY);
	assert_null(json_next(at));
	json_doc_free(doc);
}

static void
values_have_their_places(void **state)
{
	struct json_doc *doc = parse("a:\n  - b\n  - c: d\n---\ne:\n  f: g\n");
	const struct json *first = json_first(json_root(doc));
	struct err err;

	(void)state;
	json_fail(doc, json_next(json_first(json_find(first, "a"))), &err, "x");
	assert_int_equal(err.line, 3);
	assert_int_equal(err.column, 5);
	/* In a mapping, the position of the key. */
	json_fail(doc, json_find(json_find(json_next(first), "e"), "f"), &err, "x");
	assert_int_equal(err.line, 6);
	assert_int_equal(err.column, 3);
	assert_string_equal(err.file, "t");
	assert_int_equal(json_line(doc, json_find(json_next(first), "e")), 5);
	json_doc_free(doc);
}

static void
what_is_wrong_is_told_with_its_place(void **state)
{
	(void)state;
	assert_refused("", 0, 0, "is empty");
	assert_refused("# nothing\n---\n", 0, 0, "is empty");
	assert_refused("a: b\nc: d\na: e\n", 3, 1, "key 'a' is given twice");
	assert_refused("a: [b\n", 2, 1, "did not find expected ',' or ']'");
	assert_refused("a: 'b\n", 2, 1, "unexpected end of stream");
	assert_refused("a:\n\tb: c\n", 2, 1, "cannot start any token");
	assert_refused("? [a]\n: b\n", 1, 3, "expected a name as the key");
	assert_refused("a: !!binary aGk=\n", 1, 4, "anchor, alias or tag");
	assert_refused("a: \"x\\0y\"\n", 1, 4, "a NUL character");
	assert_refused_bytes("a: b\nc: \0d\n", 11, 2, 4, "control characters");
	assert_refused("a: b\nc: \xff\n", 2, 4, "invalid leading UTF-8 octet");
	assert_refused("\xff\xfe"
		       "a",
		       1, 1, "UTF-8");
}

/* Each level has ten of the previous one: 10^9 values if expanded. */
static void
texts_that_grow_when_they_are_read_are_refused(void **state)
{
	(void)state;
	assert_refused("a: &a [x,x,x,x,x,x,x,x,x,x]\n"
		       "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n",
		       1, 4, "anchor, alias or tag");
	assert_refused("a: *a\n", 1, 4, "anchor, alias or tag");
}

static void
nesting_and_size_have_limits(void **state)
{
	struct strbuf text = STRBUF_EMPTY;
	struct json_doc *doc;
	struct err err;

	(void)state;
	for (int i = 0; i < YAML_MAX_DEPTH; i++)
		strbuf_puts(&text, "- ");
	json_doc_free(parse(text.text));
	strbuf_puts(&text, "- x");
	assert_refused(text.text, 1, 2 * YAML_MAX_DEPTH + 1, "nested too deeply");
	strbuf_clear(&text);
	for (int i = 0; i < 100000; i++)
		strbuf_putc(&text, '[');
	assert_refused(text.text, 1, YAML_MAX_DEPTH + 1, "nested too deeply");
	strbuf_clear(&text);
	for (int i = 0; i < YAML_MAX_VALUES + 1; i++)
		strbuf_puts(&text, "-\n");
	assert_int_equal(yaml_parse("t", text.text, text.length, &doc, &err), -E2BIG);
	strbuf_free(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_scalars_are_strings),
		cmocka_unit_test(the_root_is_the_documents_that_are_not_empty),
		cmocka_unit_test(values_have_their_places),
		cmocka_unit_test(what_is_wrong_is_told_with_its_place),
		cmocka_unit_test(texts_that_grow_when_they_are_read_are_refused),
		cmocka_unit_test(nesting_and_size_have_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
