/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_route_paths.c - paths by number, ports that take them, and flows that are spread
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/vec.h"
#include "tests/unit/route_twin.h"
#include "tests/unit/test.h"
#include "topology/gen_table.h"
#include "topology/route.h"
#include "topology/topo.h"

static struct topo *
make(const char *text)
{
	struct topo *topo;

	assert_int_equal(gen_text(text, &topo, NULL), 0);
	return topo;
}

/* ---- Paths by number ------------------------------------------------------------- */

/* Index of the path in the twin's list; its number of paths if it is not there. */
static size_t
find_in_twin(const struct twin_paths *twin, const uint32_t *links, size_t n)
{
	size_t i = 0;

	assert_int_equal(n, twin->n_hops);
	while (i < twin->paths.n &&
	       memcmp(twin->paths.items[i].links, links, n * sizeof *links) != 0)
		i++;
	return i;
}

static void
assert_numbers_are_all_paths(struct topo *topo, struct routes *routes, uint32_t source,
			     uint32_t destination, uint16_t port)
{
	uint32_t links[ROUTE_MAX_HOPS], n_paths, first_n_paths;
	struct twin_paths twin;
	bool *is_found;
	size_t n;

	assert_int_equal(routes_path(routes, source, destination, port, links, &n), 0);
	twin = twin_enumerate(topo, links, n);
	is_found = xcalloc(twin.paths.n + 1, sizeof *is_found);
	assert_true(find_in_twin(&twin, links, n) < twin.paths.n);
	assert_int_equal(routes_numbered_path(routes, source, destination, port, 0,
					      links, &n, &first_n_paths),
			 0);
	assert_int_equal(first_n_paths, twin.paths.n);
	for (uint32_t i = 0; i < first_n_paths; i++) {
		uint32_t again[ROUTE_MAX_HOPS];
		size_t place;

		assert_int_equal(routes_numbered_path(routes, source, destination, port,
						      i, links, &n, &n_paths),
				 0);
		assert_int_equal(n_paths, first_n_paths);
		place = find_in_twin(&twin, links, n);
		assert_true(place < twin.paths.n);
		assert_false(is_found[place]);
		is_found[place] = true;
		/* Numbers go round. */
		routes_numbered_path(routes, source, destination, port, i + n_paths,
				     again, &n, &n_paths);
		assert_memory_equal(links, again, n * sizeof *links);
	}
	free(is_found);
	vec_free(&twin.paths);
}

static void
numbers_are_all_paths_each_once(void **state)
{
	static const char *const fabrics[] = {
		"leaf-spine --leaves 3 --hosts-per-leaf 3 --spines 3 --parallel 2",
		"fat-tree --k 4",
		"fat-tree --k 4 --parallel 2",
		"rail-optimized --groups 2 --hosts-per-group 2 --rails 3 --spines 2 "
		"--parallel 2",
		"three-tier --pods 2 --access-per-pod 2 --hosts-per-access 2 "
		"--agg-per-pod 3 --cores 2",
	};

	(void)state;
	for (size_t f = 0; f < sizeof fabrics / sizeof *fabrics; f++) {
		struct topo *topo = make(fabrics[f]);
		struct routes *routes = routes_new(topo, f);
		size_t n_hosts;
		const uint32_t *hosts = topo_hosts(topo, &n_hosts);

		for (size_t i = 0; i < n_hosts; i++)
			for (size_t j = 0; j < n_hosts; j++)
				if (i != j)
					assert_numbers_are_all_paths(
						topo, routes, hosts[i], hosts[j],
						(uint16_t)(i * 7 + j));
		routes_free(routes);
		topo_unref(topo);
	}
}

static void
numbered_paths_are_shortest_on_random_fabrics(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct topo *topo = twin_random_fabric(seed, true);
		struct routes *routes = routes_new(topo, seed);
		size_t n_hosts;
		const uint32_t *hosts = topo_hosts(topo, &n_hosts);

		for (size_t i = 0; i + 1 < n_hosts; i++) {
			uint32_t a[ROUTE_MAX_HOPS], b[ROUTE_MAX_HOPS], n_paths;
			struct twin_paths twin;
			size_t n;
			int r = routes_path(routes, hosts[i], hosts[i + 1], 3, a, &n);

			if (r < 0) {
				assert_int_equal(routes_numbered_path(
							 routes, hosts[i], hosts[i + 1],
							 3, 0, b, &n, &n_paths),
						 r);
				continue;
			}
			twin = twin_enumerate(topo, a, n);
			for (uint32_t number = 0; number < 9; number++) {
				assert_int_equal(routes_numbered_path(
							 routes, hosts[i], hosts[i + 1],
							 3, number, b, &n, &n_paths),
						 0);
				assert_true(find_in_twin(&twin, b, n) < twin.paths.n);
				assert_true(n_paths >= 1);
			}
			vec_free(&twin.paths);
		}
		routes_free(routes);
		topo_unref(topo);
	}
}

static void
a_port_that_is_found_hashes_to_its_path(void **state)
{
	static const struct {
		const char *fabric;
		uint16_t step; /* The number of rails keeps the interface. */
	} cases[] = {
		{ "leaf-spine --leaves 3 --hosts-per-leaf 3 --spines 4 --parallel 2",
		  1 },
		{ "fat-tree --k 4", 1 },
		{ "rail-optimized --groups 2 --hosts-per-group 2 --rails 3 --spines 4",
		  3 },
	};

	(void)state;
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct topo *topo = make(cases[c].fabric);
		struct routes *routes = routes_new(topo, 77);
		uint32_t last = topo_n_hosts(topo) - 1, n_paths = 1;

		for (uint32_t number = 0; number < n_paths; number++) {
			uint32_t wanted[ROUTE_MAX_HOPS], links[ROUTE_MAX_HOPS];
			uint16_t first = 49152, port;
			size_t n_wanted, n;

			assert_int_equal(routes_numbered_path(routes, 0, last, first,
							      number, wanted, &n_wanted,
							      &n_paths),
					 0);
			assert_int_equal(routes_port_of_path(routes, 0, last, first,
							     number, 1000,
							     cases[c].step, &port),
					 0);
			assert_true(port >= first);
			assert_int_equal((port - first) % cases[c].step, 0);
			assert_int_equal(routes_path(routes, 0, last, port, links, &n),
					 0);
			assert_int_equal(n, n_wanted);
			assert_memory_equal(links, wanted, n * sizeof *links);
			/* It is the first. */
			for (uint16_t p = first; p < port;
			     p = (uint16_t)(p + cases[c].step)) {
				routes_path(routes, 0, last, p, links, &n);
				assert_true(n != n_wanted ||
					    memcmp(links, wanted, n * sizeof *links));
			}
		}
		assert_true(n_paths > 3);
		routes_free(routes);
		topo_unref(topo);
	}
}

static void
ports_go_round_and_few_may_not_do(void **state)
{
	struct topo *topo = make("leaf-spine --leaves 2 --hosts-per-leaf 2 --spines 8");
	struct routes *routes = routes_new(topo, 5);
	bool was_refused = false;

	(void)state;
	for (uint32_t number = 0; number < 8; number++) {
		uint16_t port = 12345;

		assert_int_equal(
			routes_port_of_path(routes, 0, 3, 0, number, 0, 1, &port),
			-ENOENT);
		/* 65,535 + 1 is port 0. */
		assert_int_equal(routes_port_of_path(routes, 0, 3, 65530, number, 2000,
						     1, &port),
				 0);
		was_refused |= routes_port_of_path(routes, 0, 3, 0, number, 1, 1,
						   &port) == -ENOENT;
	}
	assert_true(was_refused);
	routes_free(routes);
	topo_unref(topo);
}

/* ---- Flows that are spread ------------------------------------------------------- */

struct shares {
	double *by_link; /* Owned. */
	size_t n_visits;
	uint32_t links[256]; /* In the order of the visits. */
};

static void
add_share(void *ctx, uint32_t link, double share)
{
	struct shares *shares = ctx;

	shares->by_link[link] += share;
	if (shares->n_visits < 256)
		shares->links[shares->n_visits] = link;
	shares->n_visits++;
}

struct path_list {
	VEC(struct twin_path) paths;
	size_t n_hops;
};

static void
add_path(void *ctx, const uint32_t *links, size_t n)
{
	struct path_list *list = ctx;
	struct twin_path path = { .links = { 0 } };

	memcpy(path.links, links, n * sizeof *links);
	list->n_hops = n;
	vec_push(&list->paths, path);
}

/* Compares the shares, and the list of paths, with those of the twin. */
static void
assert_spread_is_that_of_twin(struct topo *topo, struct routes *routes, uint64_t seed,
			      uint32_t source, uint32_t destination, uint16_t port)
{
	struct shares shares = { xcalloc(topo_n_links(topo) + 1u, sizeof(double)),
				 0,
				 { 0 } };
	double *want = xcalloc(topo_n_links(topo) + 1u, sizeof *want), n_paths = 0;
	struct path_list list = { VEC_EMPTY, 0 };
	uint32_t links[ROUTE_MAX_HOPS];
	struct twin_paths twin;
	size_t n, n_listed = 0;
	int r = routes_path(routes, source, destination, port, links, &n);

	assert_int_equal(routes_spread(routes, source, destination, port, add_share,
				       &shares, &n_paths),
			 r);
	if (r < 0) {
		assert_int_equal(routes_spread_paths(routes, source, destination, port,
						     8, add_path, &list, &n_listed),
				 r);
		assert_int_equal(shares.n_visits, 0);
		assert_int_equal(list.paths.n, 0);
		goto out;
	}
	twin = twin_enumerate(topo, links, n);
	twin_hash(&twin, seed, port);
	assert_true(twin.paths.n > 0);
	assert_near(n_paths, (double)twin.paths.n, 0);
	for (size_t i = 0; i < twin.paths.n; i++)
		for (size_t k = 0; k < n; k++)
			want[twin.paths.items[i].links[k]] += 1 / n_paths;
	for (uint32_t i = 0; i < topo_n_links(topo); i++)
		assert_near(shares.by_link[i], want[i], 1e-12);
	assert_int_equal(routes_spread_paths(routes, source, destination, port,
					     twin.paths.n, add_path, &list, &n_listed),
			 0);
	assert_int_equal(n_listed, twin.paths.n);
	assert_int_equal(list.paths.n, twin.paths.n);
	for (size_t i = 0; i < list.paths.n; i++) {
		assert_true(find_in_twin(&twin, list.paths.items[i].links, n) <
			    twin.paths.n);
		if (i > 0)
			assert_true(memcmp(list.paths.items[i].links,
					   list.paths.items[i - 1].links,
					   n * sizeof *links) != 0);
	}
	/* routes_path() is one of them. */
	assert_true(find_in_twin(&twin, links, n) < twin.paths.n);
	vec_free(&twin.paths);
out:
	vec_free(&list.paths);
	free(shares.by_link);
	free(want);
}

static void
shares_are_those_of_counted_paths_on_random_fabrics(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 600; seed++) {
		struct topo *topo = twin_random_fabric(seed, true);
		struct routes *routes = routes_new(topo, seed);
		size_t n_hosts;
		const uint32_t *hosts = topo_hosts(topo, &n_hosts);

		for (size_t i = 0; i < n_hosts; i++)
			for (size_t j = 0; j < n_hosts; j++)
				if (i != j)
					assert_spread_is_that_of_twin(
						topo, routes, seed, hosts[i], hosts[j],
						(uint16_t)(seed + 5 * i + j));
		routes_free(routes);
		topo_unref(topo);
	}
}

/* Leaves of this fabric spray; spines with parallel cables hash, or the reverse. */
static void
tiers_balance_each_in_its_way(void **state)
{
	(void)state;
	for (uint64_t mix = 0; mix < 8; mix++) {
		struct topo_builder *b = topo_builder_new("mixed");
		uint32_t hosts[4], leaves[2], aggs[3], core;
		struct routes *routes;
		struct topo *topo;
		char port[16];

		for (uint32_t i = 0; i < 4; i++) {
			snprintf(port, sizeof port, "h%u", i);
			topo_builder_host(b, port, 1, &hosts[i]);
		}
		topo_builder_switch(b, "l0", 1, &leaves[0]);
		topo_builder_switch(b, "l1", 1, &leaves[1]);
		for (uint32_t i = 0; i < 3; i++) {
			snprintf(port, sizeof port, "a%u", i);
			topo_builder_switch(b, port, 2, &aggs[i]);
		}
		topo_builder_switch(b, "core", 3, &core);
		for (uint32_t i = 0; i < 4; i++) {
			snprintf(port, sizeof port, "d%u", i);
			topo_builder_cable(b, hosts[i], "p0", leaves[i / 2], port, 1,
					   1);
		}
		/* Only a0 has both leaves; others go over the core, which is longer. */
		for (uint32_t i = 0; i < 6; i++) {
			snprintf(port, sizeof port, "u%u", i);
			topo_builder_cable(b, leaves[i % 2], port,
					   aggs[i % 2 ? 2 : i / 3], port, 1, 1);
			snprintf(port, sizeof port, "c%u", i);
			topo_builder_cable(b, aggs[i % 3], port, core, port, 1, 1);
		}
		for (uint32_t tier = 1; tier <= 3; tier++)
			if (mix >> (tier - 1) & 1)
				topo_builder_balance(b, tier, TOPO_BALANCE_SPRAY);
		topo = topo_builder_finish(b);
		routes = routes_new(topo, mix);
		for (uint16_t p = 0; p < 50; p++)
			assert_spread_is_that_of_twin(topo, routes, mix, hosts[p % 2],
						      hosts[2 + p / 2 % 2], p);
		routes_free(routes);
		topo_unref(topo);
	}
}

static void
without_spraying_a_flow_is_spread_over_its_one_path(void **state)
{
	struct topo *topo = make("fat-tree --k 4 --parallel 2");
	struct routes *routes = routes_new(topo, 3);

	(void)state;
	for (uint16_t port = 0; port < 100; port++) {
		uint32_t links[ROUTE_MAX_HOPS], last = topo_n_hosts(topo) - 1;
		struct shares shares = {
			xcalloc(topo_n_links(topo) + 1u, sizeof(double)), 0, { 0 }
		};
		double n_paths;
		size_t n;

		routes_path(routes, 0, last, port, links, &n);
		assert_int_equal(routes_spread(routes, 0, last, port, add_share,
					       &shares, &n_paths),
				 0);
		assert_near(n_paths, 1, 0);
		assert_int_equal(shares.n_visits, n);
		assert_memory_equal(shares.links, links, n * sizeof *links);
		for (size_t i = 0; i < n; i++)
			assert_near(shares.by_link[links[i]], 1, 0);
		free(shares.by_link);
	}
	routes_free(routes);
	topo_unref(topo);
}

static void
a_sprayed_flow_loads_all_uplinks_alike(void **state)
{
	struct topo *topo = make("leaf-spine --leaves 3 --hosts-per-leaf 4 --spines 3 "
				 "--parallel 2 --balance adaptive");
	struct routes *routes = routes_new(topo, 3);
	struct shares shares = { xcalloc(topo_n_links(topo) + 1u, sizeof(double)),
				 0,
				 { 0 } };
	uint32_t n_paths;
	uint32_t links[ROUTE_MAX_HOPS];
	double n_spread;
	size_t n;

	(void)state;
	assert_int_equal(routes_spread(routes, 0, 11, 9, add_share, &shares, &n_spread),
			 0);
	/* 6 uplinks, and 2 cables down from each spine. */
	assert_near(n_spread, 12, 0);
	assert_int_equal(shares.n_visits, 1 + 6 + 6 + 1);
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);

		if (topo_node(topo, link->from)->kind == TOPO_SWITCH &&
		    topo_node(topo, link->to)->kind == TOPO_SWITCH)
			assert_true(shares.by_link[i] == 0 ||
				    fabs(shares.by_link[i] - 1. / 6) < 1e-12);
	}
	/* There is nothing for a flow to choose. */
	assert_int_equal(routes_numbered_path(routes, 0, 11, 9, 0, links, &n, &n_paths),
			 0);
	assert_int_equal(n_paths, 1);
	free(shares.by_link);
	routes_free(routes);
	topo_unref(topo);
}

/* Some of the paths use the first links equally; the next ports take the others. */
static void
some_of_the_paths_are_chosen_evenly(void **state)
{
	struct topo *topo = make("fat-tree --k 8 --balance spray");
	struct routes *routes = routes_new(topo, 3);
	double *uses = xcalloc(topo_n_links(topo) + 1u, sizeof *uses);

	(void)state;
	for (uint16_t port = 0; port < 2; port++) {
		struct path_list list = { VEC_EMPTY, 0 };
		double *mine = xcalloc(topo_n_links(topo) + 1u, sizeof *mine);
		size_t n = 0;

		assert_int_equal(routes_spread_paths(routes, 0, 127, port, 8, add_path,
						     &list, &n),
				 0);
		assert_int_equal(n, 8);
		assert_int_equal(list.paths.n, 8);
		assert_int_equal(list.n_hops, 6);
		for (size_t i = 0; i < n; i++) {
			mine[list.paths.items[i].links[1]]++;
			uses[list.paths.items[i].links[2]]++;
		}
		for (uint32_t i = 0; i < topo_n_links(topo); i++)
			assert_true(mine[i] == 0 || mine[i] == 2);
		free(mine);
		vec_free(&list.paths);
	}
	/* 16 links to cores, each by one of both. */
	for (uint32_t i = 0; i < topo_n_links(topo); i++)
		assert_true(uses[i] <= 1);
	free(uses);
	routes_free(routes);
	topo_unref(topo);
}

/* ---- Bad input ------------------------------------------------------------------- */

static void
what_is_no_pair_of_hosts_is_refused(void **state)
{
	static const char *const balances[] = { "hash", "spray" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *text = xasprintf("leaf-spine --leaves 2 --hosts-per-leaf 2 "
				       "--spines 2 --balance %s",
				       balances[i]);
		struct topo *topo = make(text);
		struct routes *routes = routes_new(topo, 0);
		const uint32_t bad[][2] = {
			{ 0, 4 }, { 4, 0 }, { 99, 0 }, { 0, UINT32_MAX }
		};
		struct shares shares = { NULL, 0, { 0 } };
		struct path_list list = { VEC_EMPTY, 0 };
		uint32_t links[ROUTE_MAX_HOPS], n_paths = 7;
		uint16_t port;
		double n_spread = 7;
		size_t n;

		for (size_t k = 0; k < 4; k++) {
			assert_int_equal(routes_numbered_path(routes, bad[k][0],
							      bad[k][1], 0, 0, links,
							      &n, &n_paths),
					 -EINVAL);
			assert_int_equal(routes_port_of_path(routes, bad[k][0],
							     bad[k][1], 0, 0, 9, 1,
							     &port),
					 -EINVAL);
			assert_int_equal(routes_spread(routes, bad[k][0], bad[k][1], 0,
						       add_share, &shares, &n_spread),
					 -EINVAL);
			assert_int_equal(routes_spread_paths(routes, bad[k][0],
							     bad[k][1], 0, 9, add_path,
							     &list, &n),
					 -EINVAL);
		}
		assert_int_equal(n_paths, 7);
		assert_near(n_spread, 7, 0);
		assert_int_equal(
			routes_spread_paths(routes, 0, 3, 0, 0, add_path, &list, &n),
			-EINVAL);
		assert_int_equal(list.paths.n, 0);
		/* Within a host there is one path, without links. */
		assert_int_equal(
			routes_numbered_path(routes, 1, 1, 0, 5, links, &n, &n_paths),
			0);
		assert_int_equal(n, 0);
		assert_int_equal(n_paths, 1);
		assert_int_equal(
			routes_spread(routes, 1, 1, 0, add_share, &shares, NULL), 0);
		assert_int_equal(shares.n_visits, 0);
		routes_free(routes);
		topo_unref(topo);
		free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_all_paths_each_once),
		cmocka_unit_test(numbered_paths_are_shortest_on_random_fabrics),
		cmocka_unit_test(a_port_that_is_found_hashes_to_its_path),
		cmocka_unit_test(ports_go_round_and_few_may_not_do),
		cmocka_unit_test(shares_are_those_of_counted_paths_on_random_fabrics),
		cmocka_unit_test(tiers_balance_each_in_its_way),
		cmocka_unit_test(without_spraying_a_flow_is_spread_over_its_one_path),
		cmocka_unit_test(a_sprayed_flow_loads_all_uplinks_alike),
		cmocka_unit_test(some_of_the_paths_are_chosen_evenly),
		cmocka_unit_test(what_is_no_pair_of_hosts_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
