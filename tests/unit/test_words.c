/* SPDX-License-Identifier: Apache-2.0 */
/* test_words.c - lists of allowed words */
#include "lib/base/words.h"
#include "tests/unit/test.h"

static void
a_word_is_found_whole_or_not_at_all(void **state)
{
	static const char *const words[] = { "none", "once", "", "gate", NULL };
	static const char *const nothing[] = { NULL };

	(void)state;
	assert_int_equal(words_index("none", words), 0);
	assert_int_equal(words_index("gate", words), 3);
	assert_int_equal(words_index("", words), 2);
	assert_int_equal(words_index("on", words), -1);
	assert_int_equal(words_index("gates", words), -1);
	assert_int_equal(words_index("Gate", words), -1);
	assert_int_equal(words_index("none", nothing), -1);
}

static void
a_name_has_nothing_that_misleads(void **state)
{
	(void)state;
	assert_true(words_is_name("debug-2.x_y", 11));
	assert_false(words_is_name("debug-2.x_y", 10));
	assert_false(words_is_name("", 10));
	assert_false(words_is_name("a b", 10));
	assert_false(words_is_name("a=b", 10));
	assert_false(words_is_name("\xc3\xa9", 10));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_is_found_whole_or_not_at_all),
		cmocka_unit_test(a_name_has_nothing_that_misleads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
