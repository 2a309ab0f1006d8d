/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "tests/unit/test.h"

static void
assert_prints(const struct err *err, const char *want)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	err_print(err, out);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
}

static void
an_error_is_one_line_with_what_is_known_of_its_place(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(err_set(&err, "jobs.ini", 14, 3, "unknown key '%s'", "x"),
			 -EINVAL);
	assert_prints(&err, "antiphase: jobs.ini:14:3: unknown key 'x'\n");
	err_set(&err, "jobs.ini", 14, 0, "bad");
	assert_prints(&err, "antiphase: jobs.ini:14: bad\n");
	err_set(&err, "jobs.ini", 0, 0, "is empty");
	assert_prints(&err, "antiphase: jobs.ini: is empty\n");
	err_set(&err, NULL, 0, 0, "no capacity");
	assert_prints(&err, "antiphase: no capacity\n");
	assert_int_equal(err_set_errno(&err, "f", -ENOENT, "cannot open"), -ENOENT);
	assert_prints(&err, "antiphase: f: cannot open: No such file or directory\n");
	assert_int_equal(err_set_errno(&err, "", ENOENT, "cannot open"), -ENOENT);
	assert_string_equal(err.file, "''");
	assert_int_equal(err_set_errno(&err, "f", ENOENT, "cannot open"), -ENOENT);
}

static void
hostile_bytes_are_not_printed(void **state)
{
	struct err err;

	(void)state;
	err_set(&err, "a\033b", 1, 0, "unknown key '%s'", "\r\n\033[31m\x7f");
	err_append(&err, "%s", "\a");
	assert_prints(&err, "antiphase: a?b:1: unknown key '???[31m?'?\n");
}

static void
long_messages_and_names_are_cut_not_overrun(void **state)
{
	static char text[3000];
	struct err err;

	(void)state;
	memset(text, 'x', sizeof text - 1);
	err_set(&err, text, 1, 1, "%s", text);
	err_append(&err, "%s", text);
	assert_int_equal(strlen(err.file), sizeof err.file - 1);
	assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void
nobody_has_to_want_the_error(void **state)
{
	static const char *const words[] = { "shift", NULL };

	(void)state;
	assert_int_equal(err_set(NULL, "f", 1, 1, "x"), -EINVAL);
	assert_int_equal(err_set_errno(NULL, "f", EIO, "x"), -EIO);
	err_append(NULL, "x");
	err_suggest(NULL, "shfit", words);
}

static const char *
meant(const char *word)
{
	static const char *const words[] = { "interval_ms", "shift_ms", "hosts",
					     "seed",        "go",       NULL };
	const char *found = err_did_you_mean(word, words);

	return found ? found : "";
}

static void
slips_of_the_finger_are_understood(void **state)
{
	(void)state;
	assert_string_equal(meant("intervall_ms"), "interval_ms");
	assert_string_equal(meant("shfit_ms"), "shift_ms");
	assert_string_equal(meant("shift"), ""); /* Three of five letters differ. */
	assert_string_equal(meant("host"), "hosts");
	assert_string_equal(meant("hots"), "hosts");
	assert_string_equal(meant("hotss"), "hosts"); /* Swapped: one edit. */
	assert_string_equal(meant("sede"), "seed");
	assert_string_equal(meant("esed"), "seed");
	assert_string_equal(meant("og"), "go");
	assert_string_equal(meant("seeed"), "seed");
	assert_string_equal(meant("hosts"), "hosts");
	assert_string_equal(meant("gp"), "go");
	assert_string_equal(meant("x"), "");
	assert_string_equal(meant(""), "");
	assert_string_equal(meant("period"), "");
}

static void
words_of_any_length_are_safe(void **state)
{
	static char text[1000];

	(void)state;
	memset(text, 'x', sizeof text - 1);
	for (size_t n = 1; n < sizeof text; n++) {
		const char *const words[] = { text + sizeof text - 1 - n, NULL };

		assert_string_equal(meant(text + sizeof text - 1 - n), "");
		/* Corrections are suggested up to 48 characters. */
		assert_int_equal(err_did_you_mean(words[0], words) != NULL, n <= 48);
	}
}

static void
a_suggestion_is_appended(void **state)
{
	static const char *const words[] = { "hosts", "seed", NULL };
	struct err err;

	(void)state;
	err_set(&err, NULL, 0, 0, "unknown key 'sed'");
	err_suggest(&err, "sed", words);
	assert_string_equal(err.text, "unknown key 'sed' (did you mean 'seed'?)");
	err_set(&err, NULL, 0, 0, "unknown key 'zzz'");
	err_suggest(&err, "zzz", words);
	assert_string_equal(err.text, "unknown key 'zzz'");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_is_one_line_with_what_is_known_of_its_place),
		cmocka_unit_test(hostile_bytes_are_not_printed),
		cmocka_unit_test(long_messages_and_names_are_cut_not_overrun),
		cmocka_unit_test(nobody_has_to_want_the_error),
		cmocka_unit_test(slips_of_the_finger_are_understood),
		cmocka_unit_test(words_of_any_length_are_safe),
		cmocka_unit_test(a_suggestion_is_appended),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
