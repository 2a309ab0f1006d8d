/* SPDX-License-Identifier: Apache-2.0 */
/* test_persist_log.c - lines of the log of actions as the API shows them */
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "scheduler/daemon/persist.h"
#include "scheduler/store/store.h"
#include "tests/unit/test.h"

static bool
write_line(const char *json, struct strbuf *out)
{
	const struct store_line line = { .id = 12, .key = "4711", .json = json };

	*out = (struct strbuf)STRBUF_EMPTY;
	return persist_log_line(&line, out);
}

static void
a_line_has_its_number_and_what_was_stored(void **state)
{
	struct json_doc *doc;
	struct strbuf out;
	struct err err = { 0 };
	const char *job = NULL;
	int64_t id = 0;

	(void)state;
	assert_true(write_line(" {\"job\":\"4711\"}", &out));
	assert_int_equal(json_parse("line", out.text, out.length, &doc, &err), 0);
	assert_int_equal(json_get_int(doc, json_root(doc), "id", 0, 99, &id, &err), 0);
	assert_int_equal(id, 12);
	assert_int_equal(json_get_str(doc, json_root(doc), "job", &job, &err), 0);
	assert_string_equal(job, "4711");
	json_doc_free(doc);
	strbuf_free(&out);
}

/* They would make the API's whole answer invalid, or be read past their end. */
static void
rows_that_are_no_lines_are_left_out(void **state)
{
	static const char *const texts[] = {
		"",  "{",          "{}",           "[{\"job\":1}]",
		"7", "{\"job\":1", "{\"job\":1}]", "\"{a\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct strbuf out;

		if (write_line(texts[i], &out) || out.length)
			fail_msg("'%s' became '%s'", texts[i], out.text);
		strbuf_free(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_has_its_number_and_what_was_stored),
		cmocka_unit_test(rows_that_are_no_lines_are_left_out),
	};

	return cmocka_run_group_tests_name("lines of the log", tests, NULL, NULL);
}
