/* SPDX-License-Identifier: Apache-2.0 */
/* test_path_colors.c - colored paths of permutations do not meet, and spread evenly */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/paths/path_colors.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/route.h"
#include "topology/topo.h"

/* Flows on a fabric, and those on each link once they are colored. */
struct lab {
	struct topo *topo;
	struct routes *routes;
	struct path_colors_flow *flows;
	uint32_t (*links)[ROUTE_MAX_HOPS]; /* By flow: its present path. */
	size_t n;
	uint32_t *n_on; /* By link. */
};

/* Takes 'topo'. */
static void
lab_init(struct lab *lab, struct topo *topo)
{
	*lab = (struct lab){ .topo = topo, .routes = routes_new(topo, 1) };
	lab->n_on = xcalloc(topo_n_links(topo), sizeof *lab->n_on);
}

static void
lab_fini(struct lab *lab)
{
	free(lab->flows);
	free(lab->links);
	free(lab->n_on);
	routes_free(lab->routes);
	topo_unref(lab->topo);
}

/* 'n_each' flows from each host, and as many to each, at random; all on hashed paths. */
static void
lab_permute(struct lab *lab, struct rng *rng, uint32_t n_each)
{
	uint32_t n_hosts = topo_n_hosts(lab->topo), n_paths;
	uint32_t *to = xcalloc(n_hosts, sizeof *to), scratch[ROUTE_MAX_HOPS];
	size_t n;

	lab->n = (size_t)n_hosts * n_each;
	lab->flows = xreallocarray(lab->flows, lab->n, sizeof *lab->flows);
	lab->links = xreallocarray(lab->links, lab->n, sizeof *lab->links);
	for (uint32_t h = 0; h < n_hosts; h++)
		to[h] = h;
	for (size_t i = 0; i < lab->n; i++) {
		struct path_colors_flow *flow = &lab->flows[i];
		uint32_t h = (uint32_t)(i % n_hosts);

		if (h == 0)
			rng_shuffle(rng, to, n_hosts);
		*flow = (struct path_colors_flow){
			.source = h,
			.destination = to[h],
			.port = (uint16_t)rng_below(rng, 60000),
			.links = lab->links[i],
			.n_paths = 1,
		};
		assert_int_equal(routes_path(lab->routes, h, to[h], flow->port,
					     lab->links[i], &flow->n_links),
				 0);
		if (h == to[h])
			continue;
		assert_int_equal(routes_numbered_path(lab->routes, h, to[h], flow->port,
						      0, scratch, &n, &n_paths),
				 0);
		flow->n_paths = n_paths;
	}
	free(to);
}

/* Colors the flows, and counts those on each link. */
static void
lab_color(struct lab *lab)
{
	memset(lab->n_on, 0, topo_n_links(lab->topo) * sizeof *lab->n_on);
	path_colors_find(lab->topo, lab->routes, lab->flows, lab->n);
	for (size_t i = 0; i < lab->n; i++) {
		const struct path_colors_flow *flow = &lab->flows[i];
		uint32_t links[ROUTE_MAX_HOPS], n_paths;
		size_t n;

		if (flow->number == PATH_COLORS_PRESENT) {
			for (size_t k = 0; k < flow->n_links; k++)
				lab->n_on[flow->links[k]]++;
			continue;
		}
		assert_true(flow->number < flow->n_paths);
		assert_int_equal(routes_numbered_path(
					 lab->routes, flow->source, flow->destination,
					 flow->port, flow->number, links, &n, &n_paths),
				 0);
		for (size_t k = 0; k < n; k++)
			lab->n_on[links[k]]++;
	}
}

static uint32_t
most_on_a_link(const struct lab *lab)
{
	uint32_t most = 0;

	for (uint32_t l = 0; l < topo_n_links(lab->topo); l++)
		if (lab->n_on[l] > most)
			most = lab->n_on[l];
	return most;
}

/* Permutations of 'topo', which it takes, do not meet. */
static void
check_permutations(struct topo *topo)
{
	struct rng rng;
	struct lab lab;

	rng_init(&rng, 1916);
	lab_init(&lab, topo);
	for (int round = 0; round < 10; round++) {
		lab_permute(&lab, &rng, 1);
		lab_color(&lab);
		assert_true(most_on_a_link(&lab) <= 1);
	}
	lab_fini(&lab);
}

static void
permutations_of_a_leaf_spine_do_not_meet(void **state)
{
	const struct gen_leaf_spine even = { .n_leaves = 16,
					     .hosts_per_leaf = 8,
					     .n_spines = 8 };
	const struct gen_leaf_spine parallel = {
		.n_leaves = 9, .hosts_per_leaf = 12, .n_spines = 4, .n_parallel = 3
	};
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_leaf_spine(&even, &topo, NULL), 0);
	check_permutations(topo);
	assert_int_equal(gen_leaf_spine(&parallel, &topo, NULL), 0);
	check_permutations(topo);
}

static void
permutations_of_a_fat_tree_do_not_meet(void **state)
{
	struct topo *topo;

	(void)state;
	for (uint32_t k = 2; k <= 8; k += 2) {
		assert_int_equal(
			gen_fat_tree(&(struct gen_fat_tree){ .k = k }, &topo, NULL), 0);
		check_permutations(topo);
	}
}

/* Eight hosts with three flows each share four uplinks: six flows on each. */
static void
more_flows_than_uplinks_spread_evenly(void **state)
{
	const struct gen_leaf_spine options = { .n_leaves = 8,
						.hosts_per_leaf = 8,
						.n_spines = 4 };
	struct topo *topo;
	struct rng rng;
	struct lab lab;

	(void)state;
	rng_init(&rng, 1971);
	assert_int_equal(gen_leaf_spine(&options, &topo, NULL), 0);
	lab_init(&lab, topo);
	for (int round = 0; round < 10; round++) {
		lab_permute(&lab, &rng, 3);
		lab_color(&lab);
		assert_true(most_on_a_link(&lab) <= 6);
	}
	lab_fini(&lab);
}

/* Once colored, the flows are where the next coloring wants them. */
static void
flows_that_suit_keep_their_paths(void **state)
{
	const struct gen_leaf_spine options = { .n_leaves = 8,
						.hosts_per_leaf = 8,
						.n_spines = 8 };
	uint32_t number[64], n_paths;
	struct topo *topo;
	struct rng rng;
	struct lab lab;

	(void)state;
	rng_init(&rng, 7);
	assert_int_equal(gen_leaf_spine(&options, &topo, NULL), 0);
	lab_init(&lab, topo);
	lab_permute(&lab, &rng, 1);
	assert_int_equal(lab.n, 64);
	lab_color(&lab);
	for (size_t i = 0; i < lab.n; i++) {
		struct path_colors_flow *flow = &lab.flows[i];

		number[i] = flow->number;
		if (number[i] != PATH_COLORS_PRESENT)
			assert_int_equal(routes_numbered_path(lab.routes, flow->source,
							      flow->destination,
							      flow->port, flow->number,
							      lab.links[i],
							      &flow->n_links, &n_paths),
					 0);
	}
	lab_color(&lab);
	for (size_t i = 0; i < lab.n; i++)
		assert_int_equal(lab.flows[i].number, number[i]);
	lab_fini(&lab);
}

/* Leaf 0 lacks a cable, leaves 1 and 2 have one to each other: all get a path. */
static void
uneven_fabrics_get_paths_that_exist(void **state)
{
	struct topo_builder *b = topo_builder_new("uneven");
	uint32_t hosts[12], leaves[3], spines[4];
	struct rng rng;
	struct lab lab;

	(void)state;
	for (int i = 0; i < 12; i++)
		assert_int_equal(topo_builder_host(b,
						   (char[]){ 'h', (char)('a' + i), 0 },
						   1, &hosts[i]),
				 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			topo_builder_switch(b, (char[]){ 'l', (char)('0' + i), 0 }, 1,
					    &leaves[i]),
			0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			topo_builder_switch(b, (char[]){ 's', (char)('0' + i), 0 }, 2,
					    &spines[i]),
			0);
	for (int i = 0; i < 12; i++)
		assert_int_equal(topo_builder_cable(b, hosts[i], "p", leaves[i / 4],
						    (char[]){ (char)('a' + i), 0 }, 1e9,
						    1e9),
				 0);
	for (int i = 0; i < 12; i++)
		if (i != 2)
			assert_int_equal(
				topo_builder_cable(
					b, leaves[i / 4],
					(char[]){ 's', (char)('0' + i % 4), 0 },
					spines[i % 4],
					(char[]){ (char)('0' + i / 4), 0 }, 1e9, 1e9),
				0);
	assert_int_equal(
		topo_builder_cable(b, leaves[1], "x", leaves[2], "x", 1e9, 1e9), 0);
	lab_init(&lab, topo_builder_finish(b));
	rng_init(&rng, 3);
	for (int round = 0; round < 20; round++) {
		lab_permute(&lab, &rng, 2);
		lab_color(&lab);
	}
	lab_fini(&lab);
}

/* Also flows within a leaf, which have one path. */
static void
flows_with_too_many_paths_keep_theirs(void **state)
{
	const struct gen_leaf_spine options = { .n_leaves = 2,
						.hosts_per_leaf = 4,
						.n_spines = PATH_COLORS_MAX_PATHS + 1 };
	struct topo *topo;
	struct rng rng;
	struct lab lab;

	(void)state;
	rng_init(&rng, 5);
	assert_int_equal(gen_leaf_spine(&options, &topo, NULL), 0);
	lab_init(&lab, topo);
	lab_permute(&lab, &rng, 1);
	lab_color(&lab);
	for (size_t i = 0; i < lab.n; i++)
		assert_int_equal(lab.flows[i].number, PATH_COLORS_PRESENT);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permutations_of_a_leaf_spine_do_not_meet),
		cmocka_unit_test(permutations_of_a_fat_tree_do_not_meet),
		cmocka_unit_test(more_flows_than_uplinks_spread_evenly),
		cmocka_unit_test(flows_that_suit_keep_their_paths),
		cmocka_unit_test(uneven_fabrics_get_paths_that_exist),
		cmocka_unit_test(flows_with_too_many_paths_keep_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
