/* SPDX-License-Identifier: Apache-2.0 */
/* test_web_tables.c - links and jobs as plain HTML */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/web_tables.h"
#include "tests/unit/test.h"

/* The page of one document. */
static char *
page_of(const char *document)
{
	struct strbuf out = STRBUF_EMPTY;
	struct err err;

	assert_int_equal(web_tables_page(&document, 1, &out, &err), 0);
	return strbuf_steal(&out);
}

static void
assert_row(const char *document, const char *row)
{
	char *page = page_of(document);

	if (!strstr(page, row))
		fail_msg("no row %s in %s", row, page);
	free(page);
}

static void
links_have_the_figures_of_the_commands(void **state)
{
	(void)state;
	assert_row(
		"{\"data_age_us\":1540000,\"hosts\":[{},{}],\"links\":[{\"link\":\"a>b\","
		"\"capacity_bps\":50e9,\"now_bps\":30.5e9,\"peak_bps\":0,"
		"\"over_ratio\":0.615,\"jobs\":[{},{}],\"pairs\":[{\"jobs\":[\"A\","
		"\"B\"]}]}]}",
		"<tr><td>a&gt;b</td><td>50G</td><td>30.5G</td><td>0</td><td>62 %</td>"
		"<td>2</td><td>A x B</td></tr>");
	assert_row("{\"data_age_us\":1540000,\"hosts\":[{},{}]}",
		   "<p>Data 1.5 s old, 2 hosts.</p>");
}

static void
jobs_have_the_figures_of_the_commands(void **state)
{
	(void)state;
	assert_row(
		"{\"jobs\":[{\"job\":\"4711\",\"hosts\":[\"h0\"],\"period_us\":65040,"
		"\"jitter_us\":null,\"duty_ratio\":0.5,\"bytes_per_iteration\":125e6,"
		"\"confidence\":0.956}]}",
		"<tr><td>4711</td><td>1</td><td>65.0 ms</td><td>-</td><td>50 %</td>"
		"<td>125.00 MB</td><td>0.96</td></tr>");
}

static void
what_is_missing_or_of_another_kind_is_a_dash(void **state)
{
	static const char dashes[] =
		"<td>-</td><td>-</td><td>-</td><td>-</td><td>-</td>"
		"<td>0</td><td>-</td></tr>";

	(void)state;
	assert_row("{\"links\":[{}]}", dashes);
	assert_row("{\"links\":[7]}", dashes);
	assert_row("{\"links\":[{\"link\":null,\"capacity_bps\":\"x\",\"jobs\":3,"
		   "\"pairs\":{\"a\":1},\"over_ratio\":[]}]}",
		   dashes);
	assert_row("{\"links\":[{\"pairs\":[{\"jobs\":[\"A\"]}]}]}", dashes);
	assert_row("{\"links\":[{\"pairs\":[{\"jobs\":[1,\"B\"]}]}]}", dashes);
	assert_row("{\"links\":[]}", "<p>None.</p>");
	assert_row("[{\"links\":3}]", "<h1>Links and jobs</h1>\n</main>");
	assert_row("{\"links\":{\"a\":1},\"jobs\":\"x\"}",
		   "<h1>Links and jobs</h1>\n</main>");
}

static void
names_are_text(void **state)
{
	char *page;

	(void)state;
	page = page_of("{\"jobs\":[{\"job\":\"</td><script>alert(1)</script>&\\\"\"}],"
		       "\"links\":[{\"pairs\":[{\"jobs\":[\"<b>\",\"<i>\"]}]}]}");
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "<b>"));
	assert_null(strstr(page, "<i>"));
	assert_non_null(strstr(page, "&lt;/td&gt;&lt;script&gt;alert(1)"));
	assert_non_null(strstr(page, "&lt;b&gt; x &lt;i&gt;"));
	free(page);
}

static void
rows_are_bounded_and_the_rest_is_counted(void **state)
{
	struct strbuf document = STRBUF_EMPTY;
	char *page;
	size_t n = 0;

	(void)state;
	strbuf_puts(&document, "{\"left_out\":40,\"jobs\":[{}");
	for (int i = 1; i < WEB_TABLES_MAX_ROWS + 7; i++)
		strbuf_puts(&document, ",{}");
	strbuf_puts(&document, "]}");
	page = page_of(document.text);
	for (const char *at = strstr(page, "<tr><td>"); at;
	     at = strstr(at + 1, "<tr><td>"))
		n++;
	assert_int_equal(n, WEB_TABLES_MAX_ROWS);
	assert_non_null(strstr(page, "<p>47 more rows.</p>"));
	free(page);
	strbuf_free(&document);
}

static void
what_is_no_json_is_refused(void **state)
{
	const char *document = "{\"links\":[";
	struct strbuf out = STRBUF_EMPTY;
	struct err err;

	(void)state;
	assert_int_equal(web_tables_page(&document, 1, &out, &err), -EINVAL);
	strbuf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_have_the_figures_of_the_commands),
		cmocka_unit_test(jobs_have_the_figures_of_the_commands),
		cmocka_unit_test(what_is_missing_or_of_another_kind_is_a_dash),
		cmocka_unit_test(names_are_text),
		cmocka_unit_test(rows_are_bounded_and_the_rest_is_counted),
		cmocka_unit_test(what_is_no_json_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
