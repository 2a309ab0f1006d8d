/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_settle.c - new jobs whose whole history may be contended find their turns soon;
 * bench_settle has more of them, and their gain
 */
#include "tests/unit/settle_lab.h"

/* Seconds from the begin of the last job to the first order; INFINITY: none. */
static double
first_order_s(enum settle_kind kind, enum settle_marks marks, uint64_t seed)
{
	double first_ns = INFINITY, first_s;
	struct settle s;

	settle_make(&s, kind, marks, false, seed);
	settle_run(&s, true);
	for (uint32_t j = 0; j < SETTLE_N_JOBS; j++) {
		struct steer_state state;

		steer_state(steer_sim_steer(s.lab.steered), j, &state);
		if (state.first_shift_ns)
			first_ns = fmin(first_ns, (double)state.first_shift_ns);
	}
	first_s = first_ns / SECOND - s.all_s;
	print_message("%s, %s: %.1f s\n", settle_kinds[kind].name,
		      settle_manners[marks].name, first_s);
	settle_finish(&s);
	return first_s;
}

/*
 * In some of these runs two jobs always begin at nearly the same time: their
 * collectives all take about as long, and twice their isolated time.
 */
static void
jobs_that_are_all_contended_alike_find_their_turns(void **state)
{
	(void)state;
	for (uint64_t seed = 31; seed <= 40; seed++) {
		assert_true(first_order_s(RATIO, ROUGH, seed) < 8);
		assert_true(first_order_s(RATIO, BLIND, seed) < 8);
	}
}

/* Late marks make some collectives look short. */
static void
marks_that_are_off_hold_up_no_turns(void **state)
{
	(void)state;
	for (uint64_t seed = 28; seed <= 37; seed++) {
		assert_true(first_order_s(RATIO, BUSY, seed) < 8);
		assert_true(first_order_s(EQUAL, BUSY, seed) < 8);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_that_are_all_contended_alike_find_their_turns),
		cmocka_unit_test(marks_that_are_off_hold_up_no_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
