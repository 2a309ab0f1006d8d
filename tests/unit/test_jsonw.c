/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"

/* A document being written to memory. */
struct page {
	struct jsonw w;
	FILE *out;
	char *text;
	size_t size;
};

static void
page_begin(struct page *page)
{
	page->out = open_memstream(&page->text, &page->size);
	jsonw_init(&page->w, page->out);
}

static void
page_end(struct page *page)
{
	jsonw_finish(&page->w);
	fclose(page->out);
}

static void
assert_page(struct page *page, const char *want)
{
	page_end(page);
	assert_string_equal(page->text, want);
	free(page->text);
}

static void
a_document_names_its_schema_first(void **state)
{
	struct page page;

	(void)state;
	page.out = open_memstream(&page.text, &page.size);
	jsonw_document(&page.w, page.out, "antiphase.compat/2");
	jsonw_int(&page.w, "jobs", 2);
	jsonw_end(&page.w);
	assert_page(&page, "{\n"
			   "  \"schema\": \"antiphase.compat/2\",\n"
			   "  \"jobs\": 2\n"
			   "}\n");
}

static void
a_document_is_indented_and_flat_parts_are_not(void **state)
{
	struct page page;

	(void)state;
	page_begin(&page);
	jsonw_object(&page.w, NULL);
	jsonw_str(&page.w, "schema", "antiphase.compat/2");
	jsonw_array(&page.w, "jobs");
	jsonw_flat_object(&page.w, NULL);
	jsonw_str(&page.w, "job", "vgg");
	jsonw_int(&page.w, "shift_us", -1500);
	jsonw_array(&page.w, "links");
	jsonw_str(&page.w, NULL, "a");
	jsonw_str(&page.w, NULL, NULL);
	jsonw_end(&page.w);
	jsonw_end(&page.w);
	jsonw_end(&page.w);
	jsonw_array(&page.w, "none");
	jsonw_end(&page.w);
	jsonw_object(&page.w, "empty");
	jsonw_end(&page.w);
	jsonw_bool(&page.w, "ok", true);
	jsonw_null(&page.w, "nothing");
	jsonw_num(&page.w, "score", 0.75);
	jsonw_end(&page.w);
	assert_page(
		&page,
		"{\n"
		"  \"schema\": \"antiphase.compat/2\",\n"
		"  \"jobs\": [\n"
		"    {\"job\": \"vgg\", \"shift_us\": -1500, \"links\": [\"a\", null]}\n"
		"  ],\n"
		"  \"none\": [],\n"
		"  \"empty\": {},\n"
		"  \"ok\": true,\n"
		"  \"nothing\": null,\n"
		"  \"score\": 0.75\n"
		"}\n");
}

static void
numbers_have_few_digits_and_nothing_is_infinite(void **state)
{
	struct page page;

	(void)state;
	page_begin(&page);
	jsonw_flat_array(&page.w, NULL);
	jsonw_num(&page.w, NULL, 0.1);
	jsonw_num(&page.w, NULL, 1.0 / 3);
	jsonw_num(&page.w, NULL, -0.0);
	jsonw_num(&page.w, NULL, INFINITY);
	jsonw_num(&page.w, NULL, NAN);
	jsonw_num(&page.w, NULL, 6.5e6);
	jsonw_rounded(&page.w, NULL, 2.0 / 3, 2);
	jsonw_rounded(&page.w, NULL, -0.001, 2);
	jsonw_rounded(&page.w, NULL, 5, 3);
	jsonw_int(&page.w, NULL, INT64_MIN);
	jsonw_end(&page.w);
	assert_page(&page,
		    "[0.1, 0.3333333333333333, 0, null, null, 6500000, 0.67, 0, 5, "
		    "-9223372036854775808]\n");
}

static void
strings_are_escaped(void **state)
{
	struct page page;

	(void)state;
	page_begin(&page);
	jsonw_str(&page.w, NULL, "a\"b\\c\nd\te\x01\x7fZ\xc3\xbcrich");
	assert_page(&page, "\"a\\\"b\\\\c\\nd\\te\\u0001\\u007fZ\xc3\xbcrich\"\n");
}

static void
bytes_that_are_no_utf8_become_the_replacement_character(void **state)
{
	struct page page;
	struct json_doc *doc;

	(void)state;
	page_begin(&page);
	jsonw_flat_array(&page.w, NULL);
	jsonw_str(&page.w, NULL,
		  "a\xff"
		  "b\xe2\x82");
	jsonw_end(&page.w);
	page_end(&page);
	/* JSON text must be UTF-8 (RFC 8259, section 8.1). */
	assert_int_equal(json_parse("x", page.text, page.size, &doc, NULL), 0);
	assert_null(strchr(page.text, 0xff));
	json_doc_free(doc);
	free(page.text);
}

static void
doubles_read_back_the_same(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 13);
	for (int i = 0; i < 20000; i++) {
		union {
			uint64_t bits;
			double value;
		} x = { .bits = rng_next(&rng) };
		struct page page;

		if (!isfinite(x.value))
			continue;
		page_begin(&page);
		jsonw_num(&page.w, NULL, x.value);
		page_end(&page);
		assert_near(strtod(page.text, NULL), x.value, 0);
		assert_true(page.size <= 26);
		free(page.text);
	}
}

/* ---- Random trees, written and read ----------------------------------------- */

static void
random_string(struct rng *rng, char *text)
{
	static const char *const parts[] = { "a",
					     "\"",
					     "\\",
					     "\n",
					     "{",
					     "}",
					     ",",
					     ":",
					     "\xc3\xbc",
					     "/",
					     " ",
					     "\x1f",
					     "\xf0\x9f\x98\x80" };
	uint64_t n = rng_below(rng, 6);

	*text = '\0';
	while (n--)
		strcat(text, parts[rng_below(rng, sizeof parts / sizeof *parts)]);
}

static void write_value(struct jsonw *w, const char *key, struct rng *rng, int depth);

static void
write_container(struct jsonw *w, const char *key, struct rng *rng, int depth)
{
	bool is_array = rng_below(rng, 2), is_flat = rng_below(rng, 3) == 0;
	int n = (int)rng_below(rng, 5);

	if (is_array)
		(is_flat ? jsonw_flat_array : jsonw_array)(w, key);
	else
		(is_flat ? jsonw_flat_object : jsonw_object)(w, key);
	for (int i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof name, "key %d\"", i);
		write_value(w, is_array ? NULL : name, rng, depth + 1);
	}
	jsonw_end(w);
}

static void
write_value(struct jsonw *w, const char *key, struct rng *rng, int depth)
{
	char text[64];

	switch (rng_below(rng, depth < 8 ? 5 : 3)) {
	case 0:
		random_string(rng, text);
		jsonw_str(w, key, text);
		break;
	case 1:
		/* Arrays of numbers have no getter: see the header. */
		if (key)
			jsonw_int(w, key,
				  (int64_t)rng_below(rng, 1u << 31) - (1 << 30));
		else
			jsonw_str(w, key, "");
		break;
	case 2:
		if (key)
			jsonw_bool(w, key, rng_below(rng, 2));
		else
			jsonw_str(w, key, "");
		break;
	default:
		write_container(w, key, rng, depth);
	}
}

static void check_value(const struct json_doc *doc, const struct json *parent,
			const char *key, const struct json *value, struct rng *rng,
			int depth);

static void
check_container(const struct json_doc *doc, const struct json *value, struct rng *rng,
		int depth)
{
	bool is_array = rng_below(rng, 2), is_flat = rng_below(rng, 3) == 0;
	int n = (int)rng_below(rng, 5);
	const struct json *item = json_first(value);

	(void)is_flat;
	for (int i = 0; i < n; i++, item = json_next(item)) {
		char name[16];

		assert_non_null(item);
		snprintf(name, sizeof name, "key %d\"", i);
		if (!is_array)
			assert_ptr_equal(json_find(value, name), item);
		check_value(doc, value, is_array ? NULL : name, item, rng, depth + 1);
	}
	assert_null(item);
	if (is_array) {
		const struct json *array;
		size_t length;

		assert_int_equal(
			json_get_array(doc, value, NULL, &array, &length, NULL), 0);
		assert_int_equal(length, n);
	} else {
		assert_int_equal(json_as_object(doc, value, NULL), 0);
	}
}

static void
check_value(const struct json_doc *doc, const struct json *parent, const char *key,
	    const struct json *value, struct rng *rng, int depth)
{
	char want[64] = "";
	const char *text;
	int64_t number;
	bool flag;

	switch (rng_below(rng, depth < 8 ? 5 : 3)) {
	case 0:
		random_string(rng, want);
		assert_int_equal(json_as_str(doc, value, &text, NULL), 0);
		assert_string_equal(text, want);
		break;
	case 1:
		if (!key)
			break;
		assert_int_equal(json_get_int(doc, parent, key, INT64_MIN, INT64_MAX,
					      &number, NULL),
				 0);
		assert_int_equal(number, (int64_t)rng_below(rng, 1u << 31) - (1 << 30));
		break;
	case 2:
		if (!key)
			break;
		assert_int_equal(json_opt_bool(doc, parent, key, &flag, NULL), 0);
		assert_int_equal(flag, rng_below(rng, 2));
		break;
	default:
		check_container(doc, value, rng, depth);
	}
}

static void
random_trees_read_back(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct json_doc *doc;
		struct err err = { 0 };
		struct page page;
		struct rng rng;

		page_begin(&page);
		rng_init(&rng, seed);
		write_container(&page.w, NULL, &rng, 1);
		page_end(&page);
		if (json_parse("x", page.text, page.size, &doc, &err) < 0)
			fail_msg("seed %d: %u:%u: %s\n%s", (int)seed, err.line,
				 err.column, err.text, page.text);
		rng_init(&rng, seed);
		check_container(doc, json_root(doc), &rng, 1);
		json_doc_free(doc);
		free(page.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_names_its_schema_first),
		cmocka_unit_test(a_document_is_indented_and_flat_parts_are_not),
		cmocka_unit_test(numbers_have_few_digits_and_nothing_is_infinite),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(
			bytes_that_are_no_utf8_become_the_replacement_character),
		cmocka_unit_test(doubles_read_back_the_same),
		cmocka_unit_test(random_trees_read_back),
	};

	return cmocka_run_group_tests_name("jsonw", tests, NULL, NULL);
}
