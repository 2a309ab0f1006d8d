/* SPDX-License-Identifier: Apache-2.0 */
/* test_fluid.c - max-min rates against a naive twin that recomputes everything */
#include "tests/unit/fluid_twin.h"

static void
run_random(uint64_t seed, uint32_t n_links, uint32_t n_flows, bool weighted,
	   bool keeps_all, uint32_t n_steps)
{
	run_classes(seed, n_links, n_flows, weighted, keeps_all, n_steps, 1);
}

static void
random_events_keep_rates_as_the_naive_twin_has_them(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		run_random(seed, 12, 40, false, false, 200);
		run_random(100 + seed, 40, 40, false, false, 200);
	}
}

static void
so_they_do_with_weights(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++)
		run_random(200 + seed, 15, 40, true, false, 200);
}

static void
so_they_do_when_all_links_are_kept(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++)
		run_random(300 + seed, 15, 40, true, true, 200);
}

static void
so_they_do_in_small_parts_that_are_remembered(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		run_random(400 + seed, 60, 30, seed & 1, false, 300);
		run_random(500 + seed, 4, 7, seed & 1, false, 300);
	}
}

static void
so_they_do_when_many_flows_meet(void **state)
{
	(void)state;
	run_random(600, 30, 300, true, false, 60);
	run_random(601, 100, 300, false, false, 60);
}

static void
changed_weights_take_effect_at_the_next_start(void **state)
{
	const double capacity_bps[] = { 90e9 };
	const uint32_t path[] = { 0 };
	struct fluid fl;

	(void)state;
	fluid_init(&fl, capacity_bps, 1, false);
	fluid_add_flow(&fl, 0, 0, path, 1, 1e6, 0, 1);
	fluid_add_flow(&fl, 1, 0, path, 1, 1e6, 0, 1);
	fluid_rebuild(&fl);
	fluid_start(&fl, 0, 0);
	fluid_start(&fl, 1, 0);
	fluid_solve(&fl, 0);
	assert_near(fl.flows[0].rate_bps, 45e9, 1);
	fluid_stop(&fl, 1);
	fluid_set_weight(&fl, 1, 2);
	fluid_start(&fl, 1, 1);
	fluid_solve(&fl, 1);
	assert_near(fl.flows[0].rate_bps, 30e9, 1);
	assert_near(fl.flows[1].rate_bps, 60e9, 1);
	fluid_fini(&fl);
}

/* The textbook case: a flow over both links, and one on each. */
static void
a_long_flow_and_two_short_ones_share_as_in_the_textbook(void **state)
{
	const double capacity_bps[] = { 10e9, 20e9 };
	const uint32_t path[] = { 0, 1 };
	struct fluid fl;

	(void)state;
	fluid_init(&fl, capacity_bps, 2, false);
	fluid_add_flow(&fl, 0, 0, path, 2, 1e6, 0, 1);
	fluid_add_flow(&fl, 1, 0, path, 1, 1e6, 0, 1);
	fluid_add_flow(&fl, 2, 0, path + 1, 1, 1e6, 0, 1);
	fluid_rebuild(&fl);
	for (uint32_t f = 0; f < 3; f++)
		fluid_start(&fl, f, 0);
	fluid_solve(&fl, 0);
	assert_near(fl.flows[0].rate_bps, 5e9, 1);
	assert_near(fl.flows[1].rate_bps, 5e9, 1);
	assert_near(fl.flows[2].rate_bps, 15e9, 1);
	assert_near(fl.finish_ns[2], 8e15 / 15e9, 1e-6);
	fluid_fini(&fl);
}

static void
links_that_cannot_be_exceeded_are_not_live(void **state)
{
	const double capacity_bps[] = { 100e9, 50e9, 50e9 };
	const uint32_t paths[][2] = { { 0, 1 }, { 0, 2 } };
	struct fluid fl;

	(void)state;
	fluid_init(&fl, capacity_bps, 3, false);
	fluid_add_flow(&fl, 0, 0, paths[0], 2, 1e6, 0, 1);
	fluid_add_flow(&fl, 1, 0, paths[1], 2, 1e6, 0, 1);
	fluid_rebuild(&fl);
	assert_true(fluid_is_private(&fl, 0));
	assert_true(fluid_is_private(&fl, 1));
	/* With a third flow the first link can be exceeded. */
	fluid_add_flow(&fl, 2, 0, paths[0], 1, 1e6, 0, 1);
	fluid_rebuild(&fl);
	assert_false(fluid_is_private(&fl, 0));
	assert_true(fl.links[0].can_exceed);
	assert_false(fl.links[1].is_live);
	/* Without it, everything is as before. */
	fluid_retire(&fl, 2);
	fluid_rebuild(&fl);
	assert_true(fluid_is_private(&fl, 0));
	fluid_fini(&fl);
}

static void
phases_of_one_job_do_not_add_up(void **state)
{
	const double capacity_bps[] = { 100e9 };
	const uint32_t path[] = { 0 };
	struct fluid fl;

	(void)state;
	fluid_init(&fl, capacity_bps, 1, false);
	for (uint32_t group = 0; group < 3; group++)
		fluid_add_flow(&fl, 0, group, path, 1, 1e6, 60e9, 1);
	fluid_add_flow(&fl, 1, 0, path, 1, 1e6, 40e9, 1);
	fluid_rebuild(&fl);
	assert_false(fl.links[0].can_exceed); /* 60 + 40, not 220. */
	fluid_add_flow(&fl, 2, 0, path, 1, 1e6, 1e9, 1);
	fluid_rebuild(&fl);
	assert_true(fl.links[0].can_exceed);
	fluid_fini(&fl);
}

static void
the_order_of_flows_changes_nothing(void **state)
{
	struct rng rng;
	struct net net;
	struct fluid fl, twin;
	uint32_t order[40];

	(void)state;
	rng_init(&rng, 77);
	make_net(&net, &rng, 12, 40, true);
	for (uint32_t i = 0; i < 40; i++)
		order[i] = i;
	for (uint32_t i = 39; i > 0; i--) {
		uint32_t j = (uint32_t)rng_below(&rng, i + 1), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	init_fluid(&fl, &net, false);
	fluid_init(&twin, net.capacity_bps, net.n_links, false);
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t f = order[i];

		fluid_add_flow(&twin, i, 0, net.paths + f * MAX_PATH, net.n_path[f],
			       net.bytes[f], net.cap_bps[f], net.weight[f]);
	}
	fluid_rebuild(&twin);
	for (uint32_t f = 0; f < 40; f++) {
		fluid_start(&fl, f, 0);
		fluid_start(&twin, f, 0);
	}
	fluid_solve(&fl, 0);
	fluid_solve(&twin, 0);
	for (uint32_t i = 0; i < 40; i++)
		assert_near(twin.flows[i].rate_bps, fl.flows[order[i]].rate_bps,
			    1e-11 * fl.flows[order[i]].rate_bps);
	fluid_fini(&fl);
	fluid_fini(&twin);
	free_net(&net);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events_keep_rates_as_the_naive_twin_has_them),
		cmocka_unit_test(so_they_do_with_weights),
		cmocka_unit_test(so_they_do_when_all_links_are_kept),
		cmocka_unit_test(so_they_do_in_small_parts_that_are_remembered),
		cmocka_unit_test(so_they_do_when_many_flows_meet),
		cmocka_unit_test(changed_weights_take_effect_at_the_next_start),
		cmocka_unit_test(
			a_long_flow_and_two_short_ones_share_as_in_the_textbook),
		cmocka_unit_test(links_that_cannot_be_exceeded_are_not_live),
		cmocka_unit_test(phases_of_one_job_do_not_add_up),
		cmocka_unit_test(the_order_of_flows_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
