/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "lib/base/rng.h"
#include "lib/base/units.h"
#include "tests/unit/test.h"

static void
assert_ns(const char *text, int64_t want_ns)
{
	int64_t ns = -1;

	if (units_parse_ns(text, &ns) < 0)
		fail_msg("'%s' was refused", text);
	if (ns != want_ns)
		fail_msg("'%s' is %lld ns", text, (long long)ns);
}

static void
times_have_every_unit_and_optional_blanks(void **state)
{
	(void)state;
	assert_ns("35 ms", 35000000);
	assert_ns("35ms", 35000000);
	assert_ns(" 35 ms\t", 35000000);
	assert_ns("0 s", 0);
	assert_ns("7 ns", 7);
	assert_ns("1.5 us", 1500);
	assert_ns(".5 s", 500000000);
	assert_ns("2. s", 2000000000);
	assert_ns("1e3 us", 1000000);
	assert_ns("2 min", INT64_C(120000000000));
	assert_ns("1 h", INT64_C(3600000000000));
	assert_ns("0.1 us", 100);
}

static void
what_is_no_time_is_refused_and_leaves_the_output_alone(void **state)
{
	static const char *const bad[] = {
		"",       "35",       "ms",      "-1 ms",  "+1 ms", "35 sec", "35 MS",
		"0x10 s", "inf s",    "nan s",   "1e s",   ". s",   "1..2 s", "1 2 s",
		"35 m s", "35 ms ms", "1e999 s", "1e30 h", "1,5 s", "5 \n s",
	};
	int64_t ns = 77;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (units_parse_ns(bad[i], &ns) != -EINVAL)
			fail_msg("'%s' was taken for a time", bad[i]);
		assert_int_equal(ns, 77);
	}
}

static void
the_longest_time_is_below_2_to_the_63_ns(void **state)
{
	int64_t ns = 0;

	(void)state;
	assert_int_equal(units_parse_ns("9223372036 s", &ns), 0);
	assert_int_equal(ns, INT64_C(9223372036000000000));
	assert_int_equal(units_parse_ns("9223372037 s", &ns), -EINVAL);
	assert_int_equal(units_parse_ns("9223372036854775808 ns", &ns), -EINVAL);
}

static void
a_number_of_absurd_length_is_refused(void **state)
{
	char text[200];
	int64_t ns;

	(void)state;
	snprintf(text, sizeof text, "0.%0100d1 s", 0);
	assert_int_equal(units_parse_ns(text, &ns), -EINVAL);
}

static void
sizes_distinguish_powers_of_1000_and_1024(void **state)
{
	double bytes;

	(void)state;
	assert_int_equal(units_parse_bytes("125MB", &bytes), 0);
	assert_near(bytes, 125e6, 0);
	assert_int_equal(units_parse_bytes("125 MiB", &bytes), 0);
	assert_near(bytes, 131072000, 0);
	assert_int_equal(units_parse_bytes("1 KiB", &bytes), 0);
	assert_near(bytes, 1024, 0);
	assert_int_equal(units_parse_bytes("1 kB", &bytes), 0);
	assert_near(bytes, 1000, 0);
	assert_int_equal(units_parse_bytes("3 B", &bytes), 0);
	assert_near(bytes, 3, 0);
	assert_int_equal(units_parse_bytes("2 TB", &bytes), 0);
	assert_near(bytes, 2e12, 0);
	assert_int_equal(units_parse_bytes("2 Mb", &bytes), -EINVAL);
	assert_int_equal(units_parse_bytes("2", &bytes), -EINVAL);
}

static void
rates_are_in_bits_in_both_spellings(void **state)
{
	double bps;

	(void)state;
	assert_int_equal(units_parse_bps("50 Gb/s", &bps), 0);
	assert_near(bps, 50e9, 0);
	assert_int_equal(units_parse_bps("50Gbps", &bps), 0);
	assert_near(bps, 50e9, 0);
	assert_int_equal(units_parse_bps("2.5 Mb/s", &bps), 0);
	assert_near(bps, 2.5e6, 0);
	/* A capital B never means bytes per second here. */
	assert_int_equal(units_parse_bps("50 GB/s", &bps), -EINVAL);
	assert_int_equal(units_parse_bps("50 G", &bps), -EINVAL);
}

static void
shares_are_percent_or_plain(void **state)
{
	double share;

	(void)state;
	assert_int_equal(units_parse_frac("2 %", &share), 0);
	assert_near(share, 0.02, 0);
	assert_int_equal(units_parse_frac("7%", &share), 0);
	assert_near(share, 0.07, 0);
	assert_int_equal(units_parse_frac("0.02", &share), 0);
	assert_near(share, 0.02, 0);
	assert_int_equal(units_parse_frac("2 percent", &share), -EINVAL);
	assert_int_equal(units_parse_frac("-2 %", &share), -EINVAL);
}

static void
ratios_are_numbers_or_two_with_a_colon(void **state)
{
	static const char *const bad[] = { "",     ":",    "2:",          ":1",
					   "2:0",  "-2:1", "2:1:1",       "2 : 1",
					   "2:1x", "inf",  "1e300:1e-300" };
	double ratio = 7;

	(void)state;
	assert_int_equal(units_parse_ratio("2:1", &ratio), 0);
	assert_near(ratio, 2, 0);
	assert_int_equal(units_parse_ratio("3:2", &ratio), 0);
	assert_near(ratio, 1.5, 0);
	assert_int_equal(units_parse_ratio("1.25", &ratio), 0);
	assert_near(ratio, 1.25, 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(units_parse_ratio(bad[i], &ratio), -EINVAL);
	assert_near(ratio, 1.25, 0);
}

static void
printed_numbers_read_back_exactly(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (int i = 0; i < 10000; i++) {
		double want = exp(60 * rng_uniform(&rng) - 30), got;
		char text[64];

		snprintf(text, sizeof text, "%.17g b/s", want);
		assert_int_equal(units_parse_bps(text, &got), 0);
		assert_near(got, want, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_have_every_unit_and_optional_blanks),
		cmocka_unit_test(
			what_is_no_time_is_refused_and_leaves_the_output_alone),
		cmocka_unit_test(the_longest_time_is_below_2_to_the_63_ns),
		cmocka_unit_test(a_number_of_absurd_length_is_refused),
		cmocka_unit_test(sizes_distinguish_powers_of_1000_and_1024),
		cmocka_unit_test(rates_are_in_bits_in_both_spellings),
		cmocka_unit_test(shares_are_percent_or_plain),
		cmocka_unit_test(ratios_are_numbers_or_two_with_a_colon),
		cmocka_unit_test(printed_numbers_read_back_exactly),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
