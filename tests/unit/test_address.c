/* SPDX-License-Identifier: Apache-2.0 */
/* test_address.c - IP addresses of both families as 16 bytes */
#include <errno.h>
#include <string.h>

#include "lib/base/address.h"
#include "tests/unit/test.h"

static void
an_address_has_one_text(void **state)
{
	static const char *const texts[] = { "0.0.0.0", "10.0.0.1", "255.255.255.255",
					     "::",      "fd00::1",  "fe80::1:2:3:4" };
	char text[ADDRESS_TEXT_BYTES];
	uint8_t address[16];

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		assert_int_equal(address_parse(texts[i], address), 0);
		assert_string_equal(address_write(address, text), texts[i]);
		assert_int_equal(address_is_ipv4(address), i < 3);
	}
	assert_int_equal(address_parse("FD00:0::1", address), 0);
	assert_string_equal(address_write(address, text), "fd00::1");
}

static void
ipv4_addresses_are_mapped(void **state)
{
	uint8_t address[16];

	(void)state;
	assert_int_equal(address_parse("10.0.0.1", address), 0);
	assert_memory_equal(address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
}

static void
other_texts_are_refused(void **state)
{
	static const char *const bad[] = {
		"",          "10.0.0",  "10.0.0.256",   "h0",         "::ffff:10.0.0.1",
		"10.0.0.1 ", "fd00::g", "fe80::1%eth0", "10.0.0.1:80"
	};
	uint8_t address[16] = { 7 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(address_parse(bad[i], address), -EINVAL);
	assert_int_equal(address[0], 7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_has_one_text),
		cmocka_unit_test(ipv4_addresses_are_mapped),
		cmocka_unit_test(other_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
