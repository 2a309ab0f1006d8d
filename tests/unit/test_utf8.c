/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/utf8.h"
#include "tests/unit/test.h"

/* UTF-8 of a code point, by the table of RFC 3629, section 3. */
static size_t
encode(uint32_t c, char *s)
{
	if (c < 0x80) {
		s[0] = (char)c;
		s[1] = '\0';
		return 1;
	}
	if (c < 0x800) {
		s[0] = (char)(0xc0 | c >> 6);
		s[1] = (char)(0x80 | (c & 0x3f));
		s[2] = '\0';
		return 2;
	}
	if (c < 0x10000) {
		s[0] = (char)(0xe0 | c >> 12);
		s[1] = (char)(0x80 | (c >> 6 & 0x3f));
		s[2] = (char)(0x80 | (c & 0x3f));
		s[3] = '\0';
		return 3;
	}
	s[0] = (char)(0xf0 | c >> 18);
	s[1] = (char)(0x80 | (c >> 12 & 0x3f));
	s[2] = (char)(0x80 | (c >> 6 & 0x3f));
	s[3] = (char)(0x80 | (c & 0x3f));
	s[4] = '\0';
	return 4;
}

static void
every_code_point_but_surrogates_is_a_character(void **state)
{
	(void)state;
	for (uint32_t c = 0; c < 0x140000; c++) {
		char s[5];
		size_t n = encode(c, s);
		int is_character = c < 0xd800 || (c > 0xdfff && c < 0x110000);

		if (utf8_length(s) != (is_character ? n : 0))
			fail_msg("U+%04X", c);
	}
}

static void
a_character_cut_short_is_none(void **state)
{
	(void)state;
	for (uint32_t c = 0x80; c < 0x110000; c += 7) {
		char s[5];
		size_t n = encode(c, s);

		s[n - 1] = '\0';
		assert_int_equal(utf8_length(s), 0);
		s[n - 1] = 'x';
		assert_int_equal(utf8_length(s), 0);
		assert_int_equal(utf8_length(s + n - 1), 1);
	}
}

static void
stray_bytes_and_overlong_forms_are_no_characters(void **state)
{
	static const char *const bad[] = { "\x80",
					   "\xbf",
					   "\xfe",
					   "\xff",
					   "\xc0\xaf",
					   "\xc1\xbf",
					   "\xe0\x80\xaf",
					   "\xe0\x9f\xbf",
					   "\xf0\x80\x80\xaf",
					   "\xf0\x8f\xbf\xbf",
					   "\xf5\x80\x80\x80",
					   "\xf8\x88\x80\x80\x80" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(utf8_length(bad[i]), 0);
}

static void
control_characters_are_known_and_disarmed(void **state)
{
	char text[] = "a\nb\033[m\177\xc2\x9b"
		      "c\xc2\xa0\xc3\x9f\xc2";

	(void)state;
	for (uint32_t c = 0; c < 0x110000; c++) {
		char s[5];
		size_t n = encode(c, s);
		int is_control = c < 0x20 || (c > 0x7e && c < 0xa0);

		if (utf8_control(s) != (is_control ? n : 0))
			fail_msg("U+%04X", c);
	}
	utf8_disarm(text, '\n');
	assert_string_equal(text, "a\nb?[m???c\xc2\xa0\xc3\x9f\xc2");
	utf8_disarm(text, 0);
	assert_string_equal(text, "a?b?[m???c\xc2\xa0\xc3\x9f\xc2");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_point_but_surrogates_is_a_character),
		cmocka_unit_test(a_character_cut_short_is_none),
		cmocka_unit_test(stray_bytes_and_overlong_forms_are_no_characters),
		cmocka_unit_test(control_characters_are_known_and_disarmed),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
