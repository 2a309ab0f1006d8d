/* Lists of words to choose from. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_is_found_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
