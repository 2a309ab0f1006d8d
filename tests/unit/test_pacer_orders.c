/* SPDX-License-Identifier: Apache-2.0 */
/* test_pacer_orders.c - orders as the scheduler announces them */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/jobs/pacer_orders.h"
#include "lib/base/err.h"
#include "tests/unit/test.h"

#define OFFSET_NS INT64_C(1763650000000000000)

static int
parse(struct orders *orders, const char *text, struct err *err)
{
	*err = (struct err){ 0 };
	return orders_parse(orders, text, strlen(text), OFFSET_NS, err);
}

static void
times_are_laid_on_the_clock_of_this_host(void **state)
{
	struct orders orders = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(
		parse(&orders,
		      "{\"schema\":\"antiphase.orders/1\",\"orders\":["
		      "{\"job\":\"4711_2\",\"pid\":123,\"number\":7,\"delay_us\":40000,"
		      "\"not_before_us\":1763650005000000,"
		      "\"expires_us\":1763650006000000,\"max_us\":250000},"
		      "{\"job\":\"x\",\"pid\":1,\"number\":1,\"delay_us\":0,"
		      "\"not_before_us\":0,\"expires_us\":5,\"max_us\":0}]}",
		      &err),
		0);
	assert_int_equal(orders.rows.n, 2);
	assert_string_equal(orders.rows.items[0].job, "4711_2");
	assert_int_equal(orders.rows.items[0].pid, 123);
	assert_int_equal(orders.rows.items[0].order.number, 7);
	assert_int_equal(orders.rows.items[0].order.delay_ns, 40000000);
	assert_true(orders.rows.items[0].order.not_before_ns == 5000000000);
	assert_true(orders.rows.items[0].order.expires_ns == 6000000000);
	assert_int_equal(orders.rows.items[0].order.max_ns, 250000000);
	/* Zero means none, and times before the boot are over. */
	assert_int_equal(orders.rows.items[1].order.not_before_ns, 0);
	assert_int_equal(orders.rows.items[1].order.expires_ns, 0);
	orders_fini(&orders);
}

static void
no_orders_are_none(void **state)
{
	struct orders orders = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(parse(&orders,
			       "{\"schema\":\"antiphase.orders/1\",\"orders\":[]}",
			       &err),
			 0);
	assert_int_equal(orders.rows.n, 0);
	orders_fini(&orders);
}

/* From a later version, which may add keys. */
static void
unknown_keys_are_skipped(void **state)
{
	struct orders orders = { 0 };
	struct err err;

	(void)state;
	assert_int_equal(
		parse(&orders,
		      "{\"schema\":\"antiphase.orders/1\",\"later\":[{}],"
		      "\"orders\":[{\"job\":\"a\",\"later\":{\"x\":1},\"pid\":1,"
		      "\"number\":2,\"delay_us\":0,\"not_before_us\":0,"
		      "\"expires_us\":5,\"max_us\":0}]}",
		      &err),
		0);
	assert_int_equal(orders.rows.n, 1);
	assert_int_equal(orders.rows.items[0].order.number, 2);
	orders_fini(&orders);
}

static void
a_message_with_one_fault_is_refused_in_whole(void **state)
{
	static const char good[] =
		"{\"job\":\"a\",\"pid\":1,\"number\":1,\"delay_us\":0,"
		"\"not_before_us\":0,\"expires_us\":5,\"max_us\":0}";
	static const char *const bad[] = {
		"7",
		"{}",
		"{\"job\":\"a\\n\",\"pid\":1,\"number\":1,\"delay_us\":0,"
		"\"not_before_us\":0,\"expires_us\":5,\"max_us\":0}",
		"{\"job\":\"a\",\"pid\":0,\"number\":1,\"delay_us\":0,"
		"\"not_before_us\":0,\"expires_us\":5,\"max_us\":0}",
		"{\"job\":\"a\",\"pid\":1,\"number\":0,\"delay_us\":0,"
		"\"not_before_us\":0,\"expires_us\":5,\"max_us\":0}",
		"{\"job\":\"a\",\"pid\":1,\"number\":1,\"delay_us\":-1,"
		"\"not_before_us\":0,\"expires_us\":5,\"max_us\":0}",
		"{\"job\":\"a\",\"pid\":1,\"number\":1,\"delay_us\":3600000001,"
		"\"not_before_us\":0,\"expires_us\":5,\"max_us\":0}",
		"{\"job\":\"a\",\"pid\":1,\"number\":1,\"delay_us\":0,"
		"\"not_before_us\":0,\"expires_us\":1e300,\"max_us\":0}",
	};
	struct orders orders = { 0 };
	struct err err;
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text,
			 "{\"schema\":\"antiphase.orders/1\",\"orders\":[%s,%s]}", good,
			 bad[i]);
		assert_int_equal(parse(&orders, text, &err), -EINVAL);
		assert_true(err.text[0]);
		assert_int_equal(orders.rows.n, 0);
	}
	assert_int_equal(parse(&orders, "{\"schema\":\"antiphase.advice/1\"}", &err),
			 -EINVAL);
	assert_int_equal(parse(&orders, "no JSON at all", &err), -EINVAL);
	orders_fini(&orders);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_laid_on_the_clock_of_this_host),
		cmocka_unit_test(no_orders_are_none),
		cmocka_unit_test(a_message_with_one_fault_is_refused_in_whole),
		cmocka_unit_test(unknown_keys_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
