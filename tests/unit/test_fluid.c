/* SPDX-License-Identifier: Apache-2.0 */
/* test_fluid.c - max-min rates against a naive twin that recomputes everything */
#include <stdlib.h>
#include <string.h>

#include "engine/fluid.h"
#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"

#define MAX_PATH 5

/* A random network and its flows, in the twin's form. */
struct net {
	uint32_t n_links, n_flows;
	double *capacity_bps;
	uint32_t *paths; /* MAX_PATH entries per flow. */
	uint32_t *n_path;
	double *cap_bps, *weight, *bytes;
	bool *is_active;
	double *rate_bps; /* The twin's result. */
};

static double
path_cap(const struct net *net, uint32_t f)
{
	double cap_bps = net->cap_bps[f] > 0 ? net->cap_bps[f] : INFINITY;

	for (uint32_t i = 0; i < net->n_path[f]; i++)
		cap_bps =
			fmin(cap_bps, net->capacity_bps[net->paths[f * MAX_PATH + i]]);
	return cap_bps;
}

static bool
crosses(const struct net *net, uint32_t f, uint32_t l)
{
	for (uint32_t i = 0; i < net->n_path[f]; i++)
		if (net->paths[f * MAX_PATH + i] == l)
			return true;
	return false;
}

/* Progressive filling of everything: raises all levels until a link is full. */
static void
fill_naively(struct net *net)
{
	bool *is_fixed = xcalloc(net->n_flows, sizeof *is_fixed);

	for (uint32_t f = 0; f < net->n_flows; f++) {
		is_fixed[f] = !net->is_active[f];
		net->rate_bps[f] = 0;
	}
	for (;;) {
		double level = INFINITY;
		uint32_t full = UINT32_MAX, n_open = 0;

		for (uint32_t l = 0; l < net->n_links; l++) {
			double left = net->capacity_bps[l], weight = 0;

			for (uint32_t f = 0; f < net->n_flows; f++) {
				if (!net->is_active[f] || !crosses(net, f, l))
					continue;
				if (is_fixed[f])
					left -= net->rate_bps[f];
				else
					weight += net->weight[f];
			}
			if (weight > 0 && left / weight < level) {
				level = left / weight;
				full = l;
			}
		}
		for (uint32_t f = 0; f < net->n_flows; f++) {
			if (is_fixed[f])
				continue;
			n_open++;
			if (path_cap(net, f) / net->weight[f] <= level) {
				level = path_cap(net, f) / net->weight[f];
				full = UINT32_MAX;
			}
		}
		if (!n_open)
			break;
		for (uint32_t f = 0; f < net->n_flows; f++) {
			if (is_fixed[f])
				continue;
			if (full == UINT32_MAX
				    ? path_cap(net, f) / net->weight[f] > level
				    : !crosses(net, f, full))
				continue;
			is_fixed[f] = true;
			net->rate_bps[f] = level * net->weight[f];
		}
	}
	free(is_fixed);
}

static void
make_net(struct net *net, struct rng *rng, uint32_t n_links, uint32_t n_flows,
	 bool weighted)
{
	net->n_links = n_links;
	net->n_flows = n_flows;
	net->capacity_bps = xcalloc(n_links, sizeof(double));
	net->paths = xcalloc(n_flows * MAX_PATH, sizeof(uint32_t));
	net->n_path = xcalloc(n_flows, sizeof(uint32_t));
	net->cap_bps = xcalloc(n_flows, sizeof(double));
	net->weight = xcalloc(n_flows, sizeof(double));
	net->bytes = xcalloc(n_flows, sizeof(double));
	net->is_active = xcalloc(n_flows, sizeof(bool));
	net->rate_bps = xcalloc(n_flows, sizeof(double));
	for (uint32_t l = 0; l < n_links; l++)
		net->capacity_bps[l] = 1e9 * (double)(10 + rng_below(rng, 6) * 18);
	for (uint32_t f = 0; f < n_flows; f++) {
		net->n_path[f] = 1 + (uint32_t)rng_below(rng, MAX_PATH);
		for (uint32_t i = 0; i < net->n_path[f]; i++)
			net->paths[f * MAX_PATH + i] =
				(uint32_t)rng_below(rng, n_links);
		if (rng_below(rng, 4) == 0)
			net->cap_bps[f] = 1e9 * (1 + 20 * rng_uniform(rng));
		net->weight[f] = weighted ? 0.25 + 4 * rng_uniform(rng) : 1;
		net->bytes[f] = 1e6 * (1 + rng_uniform(rng));
	}
}

static void
free_net(struct net *net)
{
	free(net->capacity_bps);
	free(net->paths);
	free(net->n_path);
	free(net->cap_bps);
	free(net->weight);
	free(net->bytes);
	free(net->is_active);
	free(net->rate_bps);
}

static void
init_fluid(struct fluid *fl, const struct net *net, bool keeps_all)
{
	fluid_init(fl, net->capacity_bps, net->n_links, keeps_all);
	for (uint32_t f = 0; f < net->n_flows; f++)
		fluid_add_flow(fl, f / 3, 0, net->paths + f * MAX_PATH, net->n_path[f],
			       net->bytes[f], net->cap_bps[f], net->weight[f]);
	fluid_rebuild(fl);
}

/* No link above its capacity, and each flow at its cap or on a full link. */
static void
check_invariants(const struct fluid *fl, const struct net *net)
{
	double *sum_bps = xcalloc(net->n_links, sizeof *sum_bps);
	double *max_level = xcalloc(net->n_links, sizeof *max_level);

	for (uint32_t f = 0; f < net->n_flows; f++) {
		double level = fl->flows[f].rate_bps / net->weight[f];

		for (uint32_t l = 0; l < net->n_links; l++) {
			if (!net->is_active[f] || !crosses(net, f, l))
				continue;
			sum_bps[l] += fl->flows[f].rate_bps;
			max_level[l] = fmax(max_level[l], level);
		}
	}
	for (uint32_t l = 0; l < net->n_links; l++)
		assert_true(sum_bps[l] <= net->capacity_bps[l] * (1 + 1e-9));
	for (uint32_t f = 0; f < net->n_flows; f++) {
		double rate_bps = fl->flows[f].rate_bps;
		bool has_bottleneck;

		if (!net->is_active[f])
			continue;
		has_bottleneck = rate_bps >= path_cap(net, f) * (1 - 1e-9);
		for (uint32_t l = 0; l < net->n_links; l++)
			has_bottleneck |=
				crosses(net, f, l) &&
				sum_bps[l] >= net->capacity_bps[l] * (1 - 1e-9) &&
				max_level[l] <= rate_bps / net->weight[f] * (1 + 1e-9);
		assert_true(has_bottleneck);
	}
	free(sum_bps);
	free(max_level);
}

/* Flips flows on and off in batches and compares after each. */
static void
run_random(uint64_t seed, uint32_t n_links, uint32_t n_flows, bool weighted,
	   bool keeps_all, uint32_t n_steps)
{
	struct rng rng;
	struct net net;
	struct fluid fl;
	double now_ns = 0;

	rng_init(&rng, seed);
	make_net(&net, &rng, n_links, n_flows, weighted);
	init_fluid(&fl, &net, keeps_all);
	for (uint32_t step = 0; step < n_steps; step++) {
		uint64_t n_flips = 1 + rng_below(&rng, 3);

		for (uint64_t i = 0; i < n_flips; i++) {
			uint32_t f = (uint32_t)rng_below(&rng, n_flows);

			if (net.is_active[f])
				fluid_stop(&fl, f);
			else
				fluid_start(&fl, f, now_ns);
			net.is_active[f] = !net.is_active[f];
		}
		if (rng_below(&rng, 50) == 0)
			fluid_rebuild(&fl);
		fluid_solve(&fl, now_ns);
		fill_naively(&net);
		for (uint32_t f = 0; f < n_flows; f++)
			assert_near(fl.flows[f].rate_bps, net.rate_bps[f],
				    1e-9 * net.rate_bps[f]);
		check_invariants(&fl, &net);
		now_ns += 1;
	}
	fluid_fini(&fl);
	free_net(&net);
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
