/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_page.c - a page from documents, and the files of the page */
#include <errno.h>
#include <string.h>

#include "cli/report_page.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/web_files.h"
#include "tests/unit/test.h"

static size_t
count(const char *text, const char *word)
{
	size_t n = 0;

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		n++;
	return n;
}

static void
the_files_of_the_page_are_there(void **state)
{
	static const char *const names[] = {
		"index.html", "app.js",       "app.css",
		"icon.svg",   "LICENSES.txt", "report.html"
	};
	struct strbuf text = STRBUF_EMPTY;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct web_file *file = web_file_find(names[i]);

		assert_non_null(file);
		assert_string_equal(file->name, names[i]);
		strbuf_clear(&text);
		web_file_unpack(file, &text);
		assert_true(text.length > 200 && text.length == strlen(text.text));
	}
	assert_null(web_file_find("app.map"));
	assert_null(web_file_find(""));
	strbuf_free(&text);
}

static void
a_report_holds_its_documents_style_and_script_once(void **state)
{
	struct report report = REPORT_EMPTY;
	struct strbuf page = STRBUF_EMPTY;
	static const char one[] = "{\"schema\":\"antiphase.links/1\",\"links\":[]}";
	static const char two[] = "{\"schema\":\"antiphase.topology/1\"}";
	struct err err;

	(void)state;
	assert_int_equal(report_add("a", one, strlen(one), &report, &err), 0);
	assert_int_equal(report_add("b", two, strlen(two), &report, &err), 0);
	report_page(&report, &page);
	assert_int_equal(count(page.text, one), 1);
	assert_int_equal(count(page.text, two), 1);
	assert_non_null(strstr(page.text, "]},\n{"));
	assert_int_equal(count(page.text, "</script>"), 2);
	assert_int_equal(count(page.text, "</style>"), 1);
	assert_null(strstr(page.text, "@STYLE@"));
	assert_null(strstr(page.text, "@DATA@"));
	assert_null(strstr(page.text, "@SCRIPT@"));
	assert_non_null(strstr(page.text, "default-src 'none'; script-src 'sha256-"));
	report_free(&report);
	strbuf_free(&page);
}

static void
names_cannot_end_the_script_that_holds_them(void **state)
{
	struct report report = REPORT_EMPTY;
	struct strbuf page = STRBUF_EMPTY;
	static const char evil[] =
		"{\"schema\":\"antiphase.jobs/1\",\"jobs\":[{\"job\":"
		"\"</script><script>alert(1)</script><!--\"}]}";
	struct err err;

	(void)state;
	assert_int_equal(report_add("a", evil, strlen(evil), &report, &err), 0);
	assert_null(strchr(report.documents.text, '<'));
	assert_non_null(strstr(report.documents.text, "\\u003c/script>\\u003cscript>"));
	report_page(&report, &page);
	assert_int_equal(count(page.text, "</script>"), 2);
	assert_null(strstr(page.text, "alert(1)</script>"));
	report_free(&report);
	strbuf_free(&page);
}

static void
space_between_tokens_is_left_out_and_strings_stay(void **state)
{
	static const char text[] =
		"\n{ \"schema\" : \"antiphase.jobs/1\",\r\n\t\"a b\": "
		"\" \\\" \\\\\" , \"c\":[ 1, 2 ] }\n";
	struct report report = REPORT_EMPTY;
	struct err err;

	(void)state;
	assert_int_equal(report_add("a", text, strlen(text), &report, &err), 0);
	assert_string_equal(report.documents.text,
			    "{\"schema\":\"antiphase.jobs/1\",\"a b\":"
			    "\" \\\" \\\\\",\"c\":[1,2]}");
	report_free(&report);
}

static void
documents_of_former_versions_are_taken(void **state)
{
	static const char *const former[] = {
		"{\"schema\":\"antiphase.advice/1\"}",
		"{\"schema\":\"antiphase.sim-run/1\"}",
		"{\"schema\":\"antiphase.sim_run/2\"}",
	};
	struct report report = REPORT_EMPTY;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof former / sizeof *former; i++)
		assert_int_equal(
			report_add("a", former[i], strlen(former[i]), &report, &err),
			0);
	report_free(&report);
}

static void
what_a_report_cannot_show_is_refused(void **state)
{
	static const char *const bad[] = { "",
					   "[]",
					   "{",
					   "{}",
					   "{\"schema\":7}",
					   "{\"schema\":\"antiphase.link/1\"}",
					   "{\"schema\":\"antiphase.links/2\"}" };
	struct report report = REPORT_EMPTY;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(
			report_add("bad.json", bad[i], strlen(bad[i]), &report, &err),
			-EINVAL);
	assert_int_equal(report.documents.length, 0);
	report_free(&report);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_files_of_the_page_are_there),
		cmocka_unit_test(a_report_holds_its_documents_style_and_script_once),
		cmocka_unit_test(names_cannot_end_the_script_that_holds_them),
		cmocka_unit_test(space_between_tokens_is_left_out_and_strings_stay),
		cmocka_unit_test(documents_of_former_versions_are_taken),
		cmocka_unit_test(what_a_report_cannot_show_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
