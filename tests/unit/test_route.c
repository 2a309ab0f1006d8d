/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "tests/unit/route_twin.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/route.h"
#include "topology/topo.h"

/* twin_step_is_allowed() lets the path pass from source to destination. */
static void
assert_is_path(const struct topo *topo, uint32_t source, uint32_t destination,
	       const uint32_t *links, size_t n)
{
	uint32_t at = source;
	bool turned = false;

	for (size_t i = 0; i < n; i++) {
		const struct topo_link *link = topo_link(topo, links[i]);

		assert_int_equal(link->from, at);
		assert_true(twin_step_is_allowed(topo, link, &turned, source));
		at = link->to;
	}
	assert_int_equal(at, destination);
}

static void
assert_agrees_with_naive(struct topo *topo, uint64_t seed)
{
	struct routes *routes = routes_new(topo, seed);
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);

	for (size_t i = 0; i < n_hosts; i++) {
		struct twin x = twin_search(topo, hosts[i]);

		for (size_t j = 0; j < n_hosts; j++) {
			uint32_t links[ROUTE_MAX_HOPS];
			size_t want = x.hops[2 * hosts[j] + 1], n = 99;
			uint16_t port = (uint16_t)(seed * 31 + i * 7 + j);
			int r = routes_path(routes, hosts[i], hosts[j], port, links,
					    &n);

			if (i == j) {
				assert_int_equal(r, 0);
				assert_int_equal(n, 0);
			} else if (want == SIZE_MAX) {
				assert_int_equal(r, -EHOSTUNREACH);
				assert_int_equal(
					routes_n_hops(routes, hosts[i], hosts[j]), 0);
				assert_near(routes_n_paths(routes, hosts[i], hosts[j]),
					    0, 0);
			} else {
				assert_int_equal(r, 0);
				assert_int_equal(n, want);
				assert_int_equal(
					routes_n_hops(routes, hosts[i], hosts[j]),
					want);
				assert_is_path(topo, hosts[i], hosts[j], links, n);
				assert_near(routes_n_paths(routes, hosts[i], hosts[j]),
					    x.paths[2 * hosts[j] + 1], 0);
			}
		}
		free(x.hops);
		free(x.paths);
	}
	routes_free(routes);
}

static void
paths_are_the_shortest_up_down_ones_on_random_fabrics(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct topo *topo = twin_random_fabric(seed, false);

		assert_agrees_with_naive(topo, seed);
		topo_unref(topo);
	}
}

static void
paths_are_the_shortest_up_down_ones_on_generated_fabrics(void **state)
{
	const struct gen_leaf_spine ls = {
		.n_leaves = 3, .hosts_per_leaf = 4, .n_parallel = 2, .n_spines = 2
	};
	const struct gen_fat_tree ft = { .k = 4 };
	const struct gen_rail rail = { .n_groups = 2,
				       .hosts_per_group = 4,
				       .n_rails = 3 };
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_leaf_spine(&ls, &topo, NULL), 0);
	assert_agrees_with_naive(topo, 5);
	topo_unref(topo);
	assert_int_equal(gen_fat_tree(&ft, &topo, NULL), 0);
	assert_agrees_with_naive(topo, 6);
	topo_unref(topo);
	assert_int_equal(gen_rail(&rail, &topo, NULL), 0);
	assert_agrees_with_naive(topo, 7);
	topo_unref(topo);
}

static void
number_of_paths_multiplies_up_with_the_tiers(void **state)
{
	const struct gen_fat_tree o = { .k = 8, .n_parallel = 2 };
	struct routes *routes;
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_fat_tree(&o, &topo, NULL), 0);
	routes = routes_new(topo, 1);
	assert_near(routes_n_paths(routes, 0, 1), 1, 0);
	/* Another leaf of the pod: 4 aggregation switches, 2 cables up and 2 down. */
	assert_near(routes_n_paths(routes, 0, 4), 4 * 2 * 2, 0);
	/* Another pod: 16 cores, 2 cables on each of four hops. */
	assert_near(routes_n_paths(routes, 0, 127), 16 * 16, 0);
	routes_free(routes);
	topo_unref(topo);
}

static void
a_switch_chooses_by_the_stated_hash(void **state)
{
	const struct gen_leaf_spine o = { .n_leaves = 3,
					  .hosts_per_leaf = 4,
					  .n_spines = 7 };
	const uint64_t seed = 42;
	struct routes *routes;
	struct topo *topo;
	uint32_t links[ROUTE_MAX_HOPS];
	size_t n;

	(void)state;
	assert_int_equal(gen_leaf_spine(&o, &topo, NULL), 0);
	routes = routes_new(topo, seed);
	for (uint32_t port = 0; port < 500; port++) {
		uint32_t source = port % 4, destination = 4 + port % 8;
		uint32_t leaf = topo_find_node(topo, "leaf0");
		uint64_t hash =
			rng_mix(rng_mix(seed ^ ((uint64_t)source << 32 | destination)) +
				((uint64_t)port << 32) + leaf);
		char spine[16];

		assert_int_equal(routes_path(routes, source, destination,
					     (uint16_t)port, links, &n),
				 0);
		assert_int_equal(n, 4);
		snprintf(spine, sizeof spine, "spine%u", (unsigned)(hash % 7));
		assert_string_equal(
			topo_node(topo, topo_link(topo, links[1])->to)->name, spine);
	}
	routes_free(routes);
	topo_unref(topo);
}

/* Whether 'link' is on a shortest way down to host 'destination' of a fat tree. */
static bool
leads_down(const struct topo *topo, uint32_t link, uint32_t destination)
{
	uint32_t to = topo_link(topo, link)->to, leaf = topo_leaf_of(topo, destination);
	const uint32_t *out;
	size_t n;

	if (topo_node(topo, to)->tier >=
	    topo_node(topo, topo_link(topo, link)->from)->tier)
		return false;
	if (to == destination || to == leaf)
		return true;
	out = topo_links_out(topo, to, &n);
	for (size_t i = 0; i < n; i++)
		if (topo_link(topo, out[i])->to == leaf &&
		    topo_node(topo, to)->tier > topo_node(topo, leaf)->tier)
			return true;
	return false;
}

/* Up to the cores and down again, each switch hashes with its own id. */
static void
every_switch_of_a_fat_tree_chooses_by_the_stated_hash(void **state)
{
	const struct gen_fat_tree o = { .k = 6, .n_parallel = 2 };
	const uint64_t seed = 7;
	struct routes *routes;
	const uint32_t *hosts;
	struct topo *topo;
	size_t n_choices = 0, n_hosts;

	(void)state;
	assert_int_equal(gen_fat_tree(&o, &topo, NULL), 0);
	routes = routes_new(topo, seed);
	hosts = topo_hosts(topo, &n_hosts);
	assert_int_equal(n_hosts, 54);
	for (uint32_t port = 0; port < 300; port++) {
		uint32_t source = hosts[port % 9];
		uint32_t destination = hosts[53 - port % 20];
		uint64_t flow =
			rng_mix(seed ^ ((uint64_t)(port % 9) << 32 | (53 - port % 20)));
		uint32_t links[ROUTE_MAX_HOPS];
		size_t n;

		assert_int_equal(routes_path(routes, source, destination,
					     (uint16_t)port, links, &n),
				 0);
		assert_int_equal(n, 6);
		for (size_t hop = 1; hop < n; hop++) {
			uint32_t node = topo_link(topo, links[hop])->from;
			uint32_t equal[64];
			const uint32_t *out;
			size_t n_out, n_equal = 0;

			out = topo_links_out(topo, node, &n_out);
			for (size_t i = 0; i < n_out; i++) {
				uint32_t to = topo_link(topo, out[i])->to;

				if (hop < 3 ? topo_node(topo, to)->tier >
						      topo_node(topo, node)->tier
					    : leads_down(topo, out[i], destination))
					equal[n_equal++] = out[i];
			}
			assert_true(n_equal > 0);
			assert_int_equal(
				links[hop],
				equal[rng_mix(flow + ((uint64_t)port << 32) + node) %
				      n_equal]);
			n_choices += n_equal > 1;
		}
	}
	/* All but the last choice, which is the host's one cable. */
	assert_int_equal(n_choices, 300 * 4);
	routes_free(routes);
	topo_unref(topo);
}

static void
ports_spread_evenly_and_repeat_exactly(void **state)
{
	const struct gen_fat_tree o = { .k = 8 };

	enum {
		N_PORTS = 16000
	};
	struct routes *routes, *again, *other;
	size_t hits[16] = { 0 }, n_moved = 0;
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_fat_tree(&o, &topo, NULL), 0);
	routes = routes_new(topo, 9);
	again = routes_new(topo, 9);
	other = routes_new(topo, 10);
	for (uint32_t port = 0; port < N_PORTS; port++) {
		uint32_t a[ROUTE_MAX_HOPS], b[ROUTE_MAX_HOPS];
		size_t n, m;

		routes_path(routes, 0, 100, (uint16_t)port, a, &n);
		routes_path(again, 0, 100, (uint16_t)port, b, &m);
		assert_int_equal(n, 6);
		assert_memory_equal(a, b, 6 * sizeof *a);
		routes_path(other, 0, 100, (uint16_t)port, b, &m);
		n_moved += memcmp(a, b, 6 * sizeof *a) != 0;
		hits[atoi(topo_node(topo, topo_link(topo, a[2])->to)->name + 4)]++;
	}
	/* 16 cores, 1000 expected on each: six standard deviations are 184. */
	for (int i = 0; i < 16; i++)
		assert_in_range(hits[i], 816, 1184);
	assert_true(n_moved > N_PORTS / 2);
	routes_free(routes);
	routes_free(again);
	routes_free(other);
	topo_unref(topo);
}

static void
consecutive_ports_use_one_rail_after_the_other(void **state)
{
	const struct gen_rail o = { .n_groups = 2, .hosts_per_group = 4, .n_rails = 4 };
	struct routes *routes;
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_rail(&o, &topo, NULL), 0);
	routes = routes_new(topo, 3);
	for (uint32_t destination = 1; destination < 8; destination++) {
		for (uint16_t port = 0; port < 8; port++) {
			uint32_t links[ROUTE_MAX_HOPS];
			size_t n;
			char rail[16];

			snprintf(rail, sizeof rail, "p%u", port % 4u);
			assert_int_equal(
				routes_path(routes, 0, destination, port, links, &n),
				0);
			assert_int_equal(n, destination < 4 ? 2 : 4);
			assert_string_equal(topo_link(topo, links[0])->from_port, rail);
			assert_string_equal(topo_link(topo, links[n - 1])->to_port,
					    rail);
		}
	}
	routes_free(routes);
	topo_unref(topo);
}

static void
paths_are_between_hosts_only(void **state)
{
	const struct gen_leaf_spine o = { .n_leaves = 2, .hosts_per_leaf = 2 };
	struct topo *topo;
	struct routes *routes;
	uint32_t links[ROUTE_MAX_HOPS];
	size_t n;

	(void)state;
	assert_int_equal(gen_leaf_spine(&o, &topo, NULL), 0);
	routes = routes_new(topo, 0);
	assert_int_equal(routes_path(routes, 0, 1, 0, links, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(routes_path(routes, 0, 4, 0, links, &n), -EINVAL);
	assert_int_equal(routes_path(routes, 99, 0, 0, links, &n), -EINVAL);
	routes_free(routes);
	routes_free(NULL);
	topo_unref(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_the_shortest_up_down_ones_on_random_fabrics),
		cmocka_unit_test(
			paths_are_the_shortest_up_down_ones_on_generated_fabrics),
		cmocka_unit_test(number_of_paths_multiplies_up_with_the_tiers),
		cmocka_unit_test(a_switch_chooses_by_the_stated_hash),
		cmocka_unit_test(every_switch_of_a_fat_tree_chooses_by_the_stated_hash),
		cmocka_unit_test(ports_spread_evenly_and_repeat_exactly),
		cmocka_unit_test(consecutive_ports_use_one_rail_after_the_other),
		cmocka_unit_test(paths_are_between_hosts_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
