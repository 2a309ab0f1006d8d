/* SPDX-License-Identifier: Apache-2.0 */
/* test_tick_schedule.c - the parts of a daemon's work of each second */
#include "scheduler/daemon/tick_schedule.h"
#include "tests/unit/test.h"

static void
each_part_has_its_turn_once_in_a_period(void **state)
{
	struct tick_schedule turns = {
		.n = 3, .step_ns = 10, .period_ns = 100, .begin_ns = 50
	};
	size_t part;

	(void)state;
	for (int64_t now = 0; now < 450; now++) {
		int64_t at = now < 50 ? -1 : (now - 50) % 100;
		bool is_due = at == 0 || at == 10 || at == 20;

		assert_int_equal(tick_schedule_next(&turns, now, &part), is_due);
		if (is_due)
			assert_int_equal(part, at / 10);
	}
}

static void
those_that_are_late_come_one_at_a_time_and_in_their_order(void **state)
{
	struct tick_schedule turns = { .n = 3, .step_ns = 10, .period_ns = 100 };
	size_t part;

	(void)state;
	assert_true(tick_schedule_next(&turns, 70, &part));
	assert_int_equal(part, 0);
	assert_true(tick_schedule_next(&turns, 71, &part));
	assert_int_equal(part, 1);
	assert_true(tick_schedule_next(&turns, 72, &part));
	assert_int_equal(part, 2);
	assert_false(tick_schedule_next(&turns, 99, &part));
	assert_true(tick_schedule_next(&turns, 100, &part));
	assert_int_equal(part, 0);
}

static void
periods_that_went_by_whole_are_left_out(void **state)
{
	struct tick_schedule turns = { .n = 2, .step_ns = 10, .period_ns = 100 };
	size_t part;

	(void)state;
	assert_true(tick_schedule_next(&turns, 0, &part));
	/* A long pause within a round ends it; the next round is now's. */
	assert_true(tick_schedule_next(&turns, 745, &part));
	assert_int_equal(part, 1);
	assert_true(tick_schedule_next(&turns, 745, &part));
	assert_int_equal(part, 0);
	assert_true(tick_schedule_next(&turns, 745, &part));
	assert_int_equal(part, 1);
	assert_false(tick_schedule_next(&turns, 799, &part));
	assert_true(tick_schedule_next(&turns, 800, &part));
	assert_int_equal(part, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_part_has_its_turn_once_in_a_period),
		cmocka_unit_test(
			those_that_are_late_come_one_at_a_time_and_in_their_order),
		cmocka_unit_test(periods_that_went_by_whole_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
