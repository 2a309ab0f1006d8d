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

/* Slowdown that the loop adds, in the mean over jobs and seeds. */
static double
harm(enum settle_kind kind, enum settle_noise noise)
{
	double sum[2] = { 0 };

	for (uint64_t seed = 101; seed <= 120; seed++)
		for (int is_steered = 0; is_steered < 2; is_steered++) {
			struct settle s;

			settle_make(&s, kind, QUIET, false, seed);
			settle_disturb(&s, noise);
			settle_run(&s, is_steered);
			sum[is_steered] +=
				steer_lab_mean_slowdown(&s.lab, 0, s.opts.seconds);
			settle_finish(&s);
		}
	print_message("%s, %s: %.4f\n", settle_kinds[kind].name,
		      settle_noises[noise].name, (sum[1] - sum[0]) / 20);
	return (sum[1] - sum[0]) / 20;
}

/* The interval of 95 % of these means is 0.01 wide, either way; see bench_settle. */
static void
on_noisy_hosts_the_loop_does_no_harm(void **state)
{
	(void)state;
	for (int noise = SETTLE_CALM + 1; noise < N_NOISES; noise++) {
		assert_true(harm(EQUAL, (enum settle_noise)noise) < 0.01);
		assert_true(harm(RATIO, (enum settle_noise)noise) < 0.01);
		assert_true(harm(INCOMMENSURATE, (enum settle_noise)noise) < 0.01);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_that_are_all_contended_alike_find_their_turns),
		cmocka_unit_test(marks_that_are_off_hold_up_no_turns),
		cmocka_unit_test(on_noisy_hosts_the_loop_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
