/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "scheduler/core/advise/reason.h"
#include "tests/unit/test.h"

static void
every_reason_has_a_name_of_its_own_and_a_sentence(void **state)
{
	(void)state;
	for (int i = 0; i < N_REASONS; i++) {
		const char *name = reason_name((enum reason)i);
		const char *text = reason_text((enum reason)i);
		const char *remedy = reason_remedy((enum reason)i);

		for (const char *c = name; *c; c++)
			assert_true(islower((unsigned char)*c) || *c == '-');
		assert_true(strlen(name) > 2);
		assert_true(isupper((unsigned char)text[0]));
		assert_int_equal(text[strlen(text) - 1], '.');
		if (*remedy)
			assert_int_equal(remedy[strlen(remedy) - 1], '.');
		for (int k = 0; k < i; k++)
			assert_string_not_equal(name, reason_name((enum reason)k));
	}
}

static void
what_needs_help_says_what_would_help(void **state)
{
	static const enum reason troubles[] = {
		REASON_REDUCED,       REASON_PERIODS_UNRELATED, REASON_NO_ROOM,
		REASON_LOOP_GIVEN_UP, REASON_NO_HOSTS,          REASON_CAP,
		REASON_FAIR_SHARING,  REASON_NOT_PACED,         REASON_PERIODS_UNSURE
	};

	(void)state;
	for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
		assert_true(strlen(reason_remedy(troubles[i])) > 10);
	assert_string_equal(reason_remedy(REASON_ISOLATED), "");
	assert_string_equal(reason_remedy(REASON_INTERLEAVED), "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_a_name_of_its_own_and_a_sentence),
		cmocka_unit_test(what_needs_help_says_what_would_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
