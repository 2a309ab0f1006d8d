/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/wire/port_range.h"
#include "tests/unit/test.h"

static void
a_range_is_two_ports(void **state)
{
	struct port_range range = { 1, 2 };

	(void)state;
	assert_int_equal(port_range_parse("61000-61999", &range, NULL), 0);
	assert_int_equal(range.first, 61000);
	assert_int_equal(range.last, 61999);
	assert_true(port_range_has(&range, htons(61000)));
	assert_true(port_range_has(&range, htons(61999)));
	assert_false(port_range_has(&range, htons(60999)));
	assert_false(port_range_has(&range, htons(62000)));
	assert_int_equal(port_range_parse("65535", &range, NULL), 0);
	assert_int_equal(range.first, 65535);
	assert_int_equal(range.last, 65535);
}

static void
other_texts_are_refused(void **state)
{
	static const char *const texts[] = { "",
					     "-",
					     "61000-",
					     "a",
					     "61000-61999x",
					     "61999-61000",
					     "65536",
					     "61000-65536",
					     "1023-2000",
					     "0",
					     " 61000",
					     "61000,61001",
					     "4294967297",
					     "-61000",
					     "61000--61001" };
	struct port_range range = { 7, 8 };

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct err err = { 0 };

		assert_int_equal(port_range_parse(texts[i], &range, &err), -EINVAL);
		assert_true(*err.text);
	}
	assert_int_equal(range.first, 7);
}

static void
reserved_ports_cover_the_range(void **state)
{
	const struct port_range range = { 61000, 61009 };
	struct err err;

	(void)state;
	assert_int_equal(port_range_check(&range, "61000-61009\n", &err), 0);
	assert_int_equal(port_range_check(&range, "8080,60000-65535\n", &err), 0);
	assert_int_equal(port_range_check(&range, "61005-61009,61000-61004", &err), 0);
	assert_int_equal(port_range_check(&range, "61000,61001-61009", &err), 0);
	assert_int_equal(port_range_check(&range, "\n", &err), -EADDRNOTAVAIL);
	assert_non_null(strstr(err.text, "port 61000 "));
	assert_int_equal(port_range_check(&range, "61000-61004,61006-61009\n", &err),
			 -EADDRNOTAVAIL);
	assert_non_null(strstr(err.text, "port 61005 "));
	assert_int_equal(port_range_check(&range, "all", &err), -EINVAL);
	assert_int_equal(port_range_check(&range, "61000-61009x", &err), -EINVAL);
	assert_int_equal(port_range_check(&range, "5-4", &err), -EINVAL);
}

/* Random lists against an array of all ports. */
static void
random_lists_are_read_right(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 14);
	for (int i = 0; i < 2000; i++) {
		bool is_reserved[40] = { false }, is_covered = true;
		struct port_range range;
		char text[512];
		int n = 0;

		for (uint64_t part = rng_below(&rng, 8); part > 0; part--) {
			unsigned a = (unsigned)rng_below(&rng, 40);
			unsigned b = a + (unsigned)rng_below(&rng, 40 - a);

			n += snprintf(text + n, sizeof text - (size_t)n, "%s%u-%u",
				      n ? "," : "", 61000 + a, 61000 + b);
			for (; a <= b; a++)
				is_reserved[a] = true;
		}
		snprintf(text + n, sizeof text - (size_t)n, "\n");
		range.first = (uint16_t)(61000 + rng_below(&rng, 40));
		range.last =
			(uint16_t)(range.first + rng_below(&rng, 61040u - range.first));
		for (int port = range.first; port <= range.last; port++)
			is_covered = is_covered && is_reserved[port - 61000];
		assert_int_equal(port_range_check(&range, text, NULL),
				 is_covered ? 0 : -EADDRNOTAVAIL);
	}
}

static void
a_quarter_is_for_new_connections(void **state)
{
	static const struct {
		struct port_range range, wire, connect;
	} cases[] = {
		{ { 61000, 61999 }, { 61000, 61749 }, { 61750, 61999 } },
		{ { 61000, 61003 }, { 61000, 61002 }, { 61003, 61003 } },
		{ { 61000, 61002 }, { 61000, 61002 }, { 1, 0 } },
		{ { 65535, 65535 }, { 65535, 65535 }, { 1, 0 } },
		{ { 1024, 65535 }, { 1024, 49407 }, { 49408, 65535 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct port_range wire = port_range_wire(&cases[i].range);
		struct port_range connect = port_range_connect(&cases[i].range);

		assert_memory_equal(&wire, &cases[i].wire, sizeof wire);
		assert_memory_equal(&connect, &cases[i].connect, sizeof connect);
		for (unsigned port = 0; port <= UINT16_MAX; port++) {
			uint16_t at = htons((uint16_t)port);

			assert_int_equal(port_range_has(&cases[i].range, at),
					 port_range_has(&wire, at) +
						 port_range_has(&connect, at));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_is_two_ports),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(reserved_ports_cover_the_range),
		cmocka_unit_test(random_lists_are_read_right),
		cmocka_unit_test(a_quarter_is_for_new_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
