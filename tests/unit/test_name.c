/* SPDX-License-Identifier: Apache-2.0 */
/* test_name.c - valid and invalid names */
#include <string.h>

#include "lib/base/name.h"
#include "tests/unit/test.h"

static void
lines_of_text_are_names(void **state)
{
	static const char *const names[] = { "a", "GPT 3, \"big\"", "\xc3\xa9t\xc3\xa9",
					     "\xff is no UTF-8", "\xc2\xa0" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_null(name_fault(names[i]));
}

static void
what_steers_a_terminal_is_no_name(void **state)
{
	/* U+009B begins a sequence like ESC [. */
	static const char *const texts[] = { "\n", "a\033[2J", "a\x7f", "a\tb",
					     "a\xc2\x9b" };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_string_equal(name_fault(texts[i]),
				    "a name without control characters");
}

static void
a_name_has_1_to_255_bytes(void **state)
{
	char text[258];

	(void)state;
	memset(text, 'x', sizeof text);
	text[257] = '\0';
	assert_string_equal(name_fault(text), "a name of 1 to 255 bytes");
	text[256] = '\0';
	assert_string_equal(name_fault(text), "a name of 1 to 255 bytes");
	text[255] = '\0';
	assert_null(name_fault(text));
	assert_string_equal(name_fault(""), "a name of 1 to 255 bytes");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_text_are_names),
		cmocka_unit_test(what_steers_a_terminal_is_no_name),
		cmocka_unit_test(a_name_has_1_to_255_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
