/* SPDX-License-Identifier: Apache-2.0 */
/* test_fluid_classes.c - strict priorities against a naive twin, and closed forms */
#include "tests/unit/fluid_twin.h"

static void
random_events_keep_rates_as_the_naive_twin_has_them(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		uint32_t n_classes = 2 + seed % 4;

		run_classes(700 + seed, 12, 40, false, false, 200, n_classes);
		run_classes(720 + seed, 40, 40, true, false, 200, n_classes);
		run_classes(740 + seed, 15, 40, true, true, 200, n_classes);
		run_classes(760 + seed, 60, 30, seed & 1, false, 300, n_classes);
		run_classes(780 + seed, 4, 7, seed & 1, false, 300, n_classes);
	}
	run_classes(800, 30, 300, true, false, 60, 5);
}

/* The highest class as if alone, the lower one nothing, then all of it. */
static void
a_lower_class_waits_and_then_sends_what_it_had_left(void **state)
{
	const double capacity_bps[] = { 80e9, 80e9 };
	const uint32_t path[] = { 0, 1 };
	struct fluid fl;

	(void)state;
	fluid_init(&fl, capacity_bps, 2, false);
	fluid_add_flow(&fl, 0, 0, path, 1, 1e6, 0, 1);
	fluid_add_flow(&fl, 1, 0, path, 2, 1e6, 0, 1);
	fluid_add_flow(&fl, 2, 0, path + 1, 1, 1e6, 60e9, 1);
	fluid_set_priority(&fl, 0, 2);
	fluid_set_priority(&fl, 1, 1);
	fluid_rebuild(&fl);
	fluid_start(&fl, 1, 0);
	fluid_start(&fl, 2, 0);
	fluid_solve(&fl, 0);
	assert_near(fl.flows[1].rate_bps, 80e9, 1);
	assert_near(fl.flows[2].rate_bps, 0, 0);
	assert_true(fl.finish_ns[2] == INFINITY);
	fluid_start(&fl, 0, 50e3);
	fluid_solve(&fl, 50e3);
	assert_near(fl.flows[0].rate_bps, 80e9, 1);
	assert_near(fl.flows[1].rate_bps, 0, 0);
	assert_near(fl.flows[2].rate_bps, 60e9, 1);
	assert_near(fluid_work_left(&fl, 1, 70e3), 4e15, 1e3);
	fluid_stop(&fl, 0);
	fluid_solve(&fl, 150e3);
	assert_near(fl.flows[1].rate_bps, 80e9, 1);
	assert_near(fl.finish_ns[1], 200e3, 1e-3);
	assert_near(fl.flows[2].rate_bps, 0, 0);
	assert_near(fluid_work_left(&fl, 2, 180e3), 2e15, 1e3);
	fluid_fini(&fl);
}

/* One priority for all: parts are found, and rates remembered, as without. */
static void
equal_priorities_are_no_classes(void **state)
{
	const double capacity_bps[] = { 90e9 };
	const uint32_t path[] = { 0 };
	struct fluid fl;

	(void)state;
	fluid_init(&fl, capacity_bps, 1, false);
	for (uint32_t f = 0; f < 3; f++) {
		fluid_add_flow(&fl, f, 0, path, 1, 1e6, 0, 1);
		fluid_set_priority(&fl, f, 9);
	}
	fluid_rebuild(&fl);
	assert_false(fl.has_classes);
	assert_int_equal(fl.parts.n, 1);
	fluid_set_priority(&fl, 2, 3);
	assert_true(fl.has_classes);
	assert_int_equal(fl.parts.n, 0);
	fluid_retire(&fl, 2);
	fluid_rebuild(&fl);
	assert_false(fl.has_classes);
	assert_int_equal(fl.parts.n, 1);
	fluid_fini(&fl);
}

/* Events before and after a change in one batch, with and without classes. */
static void
classes_come_and_go_while_flows_send(void **state)
{
	const double capacity_bps[] = { 80e9 };
	const uint32_t path[] = { 0 };
	struct fluid fl;

	(void)state;
	fluid_init(&fl, capacity_bps, 1, true);
	for (uint32_t f = 0; f < 3; f++) {
		fluid_add_flow(&fl, f, 0, path, 1, 1e6, 0, 1);
		fluid_set_priority(&fl, f, 9);
	}
	fluid_rebuild(&fl);
	assert_false(fl.has_classes);
	fluid_start(&fl, 0, 0);
	fluid_start(&fl, 1, 0);
	fluid_solve(&fl, 0);
	assert_near(fl.flows[1].rate_bps, 40e9, 1);
	fluid_stop(&fl, 0);
	fluid_retire(&fl, 0);
	fluid_set_priority(&fl, 2, 3);
	assert_true(fl.has_classes);
	fluid_start(&fl, 2, 50e3);
	fluid_solve(&fl, 50e3);
	assert_near(fl.flows[1].rate_bps, 80e9, 1);
	assert_near(fl.flows[2].rate_bps, 0, 0);
	fluid_set_priority(&fl, 1, 3);
	fluid_rebuild(&fl);
	fluid_solve(&fl, 100e3);
	assert_near(fl.flows[1].rate_bps, 40e9, 1);
	assert_near(fl.finish_ns[1], 150e3, 1e-3);
	assert_near(fl.finish_ns[2], 300e3, 1e-3);
	fluid_rebuild(&fl);
	assert_false(fl.has_classes);
	fluid_fini(&fl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events_keep_rates_as_the_naive_twin_has_them),
		cmocka_unit_test(a_lower_class_waits_and_then_sends_what_it_had_left),
		cmocka_unit_test(equal_priorities_are_no_classes),
		cmocka_unit_test(classes_come_and_go_while_flows_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
