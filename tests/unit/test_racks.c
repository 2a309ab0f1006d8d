/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/advise/place.h"
#include "scheduler/core/advise/racks.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

#define MAX_RACKS 8
#define MAX_HOSTS 40

/* A fabric with racks of different sizes. */
struct lab {
	struct topo *topo;
	struct routes *routes;
	struct workload none;
	struct place *place;
	struct racks *racks;
	uint32_t n_racks, n_hosts;
	uint32_t rack_of[MAX_HOSTS], slots_of[MAX_HOSTS]; /* By host, as by node. */
};

static void
lab_init(struct lab *lab, uint32_t n_racks, const uint32_t *rack_of,
	 const uint32_t *slots_of, uint32_t n_hosts, bool is_connected)
{
	struct topo_builder *b = topo_builder_new("lab");
	uint32_t leaves[MAX_RACKS], spine, node;
	char name[16], port[16];

	*lab = (struct lab){ .n_racks = n_racks, .n_hosts = n_hosts };
	for (uint32_t h = 0; h < n_hosts; h++) {
		snprintf(name, sizeof name, "h%u", h);
		assert_int_equal(topo_builder_host(b, name, slots_of[h], &node), 0);
		assert_int_equal(node, h);
		lab->rack_of[h] = rack_of[h];
		lab->slots_of[h] = slots_of[h];
	}
	assert_int_equal(topo_builder_switch(b, "spine0", 2, &spine), 0);
	for (uint32_t r = 0; r < n_racks; r++) {
		snprintf(name, sizeof name, "leaf%u", r);
		assert_int_equal(topo_builder_switch(b, name, 1, &leaves[r]), 0);
		snprintf(port, sizeof port, "p%u", r);
		if (is_connected)
			assert_int_equal(topo_builder_cable(b, leaves[r], "up", spine,
							    port, 50e9, 50e9),
					 0);
	}
	for (uint32_t h = 0; h < n_hosts; h++) {
		snprintf(port, sizeof port, "p%u", h);
		assert_int_equal(topo_builder_cable(b, h, "p0", leaves[rack_of[h]],
						    port, 50e9, 50e9),
				 0);
	}
	lab->topo = topo_builder_finish(b);
	lab->routes = routes_new(lab->topo, 1);
	lab->place = place_new(lab->topo, lab->routes, &lab->none, PLACE_HASHED);
	lab->racks = racks_new(lab->place);
}

static void
lab_fini(struct lab *lab)
{
	racks_free(lab->racks);
	place_free(lab->place);
	routes_free(lab->routes);
	topo_unref(lab->topo);
}

/* The least size of a set of racks with enough hosts, over all sets; 0: none. */
static uint32_t
brute_fewest(const struct lab *lab, uint32_t n_hosts, uint32_t slots_per_host)
{
	uint32_t fewest = 0;

	for (uint32_t set = 1; set < 1u << lab->n_racks; set++) {
		uint32_t n = 0, size = (uint32_t)__builtin_popcount(set);

		for (uint32_t h = 0; h < lab->n_hosts; h++)
			n += (set >> lab->rack_of[h] & 1) &&
			     lab->slots_of[h] >= slots_per_host;
		if (n >= n_hosts && (fewest == 0 || size < fewest))
			fewest = size;
	}
	return fewest;
}

/* All different, with enough slots, and in that many racks. */
static void
check_hosts(const struct lab *lab, const uint32_t *hosts, uint32_t n_hosts,
	    uint32_t slots_per_host, uint32_t n_racks)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < n_hosts; i++) {
		assert_true(hosts[i] < lab->n_hosts);
		assert_true(lab->slots_of[hosts[i]] >= slots_per_host);
		set |= 1u << lab->rack_of[hosts[i]];
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(hosts[i], hosts[k]);
	}
	assert_int_equal(__builtin_popcount(set), n_racks);
}

static void
the_fewest_racks_are_those_of_exhaustive_search(void **state)
{
	struct rng rng;
	uint32_t n_found = 0, n_none = 0;

	(void)state;
	rng_init(&rng, 7);
	for (int round = 0; round < 200; round++) {
		uint32_t rack_of[MAX_HOSTS], slots_of[MAX_HOSTS], hosts[MAX_HOSTS];
		uint32_t n_racks = 1 + (uint32_t)rng_below(&rng, MAX_RACKS);
		uint32_t n_hosts = 1 + (uint32_t)rng_below(&rng, MAX_HOSTS);
		struct lab lab;

		for (uint32_t h = 0; h < n_hosts; h++) {
			rack_of[h] = (uint32_t)rng_below(&rng, n_racks);
			slots_of[h] = 1 + (uint32_t)rng_below(&rng, 4);
		}
		lab_init(&lab, n_racks, rack_of, slots_of, n_hosts, true);
		for (int i = 0; i < 20; i++) {
			uint32_t n = 1 + (uint32_t)rng_below(&rng, n_hosts), n_fewest;
			uint32_t slots = 1 + (uint32_t)rng_below(&rng, 4);
			uint32_t wanted = brute_fewest(&lab, n, slots);
			int r = racks_fewest(lab.racks, n, slots, hosts, &n_fewest);

			assert_int_equal(r, wanted ? 0 : -ENOSPC);
			n_none += r < 0;
			if (r < 0)
				continue;
			n_found++;
			assert_int_equal(n_fewest, wanted);
			check_hosts(&lab, hosts, n, slots, wanted);
		}
		lab_fini(&lab);
	}
	assert_true(n_found > 1000 && n_none > 100);
}

static void
hosts_that_cannot_reach_each_other_are_not_taken_together(void **state)
{
	const uint32_t rack_of[] = { 0, 0, 0, 1, 1 };
	const uint32_t slots_of[] = { 1, 1, 1, 1, 1 };
	uint32_t hosts[5], n_racks;
	struct lab lab;

	(void)state;
	lab_init(&lab, 2, rack_of, slots_of, 5, false);
	assert_int_equal(racks_fewest(lab.racks, 3, 1, hosts, &n_racks), 0);
	assert_int_equal(n_racks, 1);
	assert_int_equal(racks_fewest(lab.racks, 4, 1, hosts, &n_racks), -ENOSPC);
	lab_fini(&lab);
}

static void
racks_are_named_by_their_leaves(void **state)
{
	const uint32_t rack_of[] = { 1, 0, 1 };
	const uint32_t slots_of[] = { 1, 1, 1 };
	struct lab lab;

	(void)state;
	lab_init(&lab, 2, rack_of, slots_of, 3, true);
	assert_int_equal(racks_n(lab.racks), 2);
	assert_int_equal(racks_of(lab.racks, 0), racks_of(lab.racks, 2));
	assert_string_equal(racks_name(lab.racks, racks_of(lab.racks, 0)), "leaf1");
	assert_string_equal(racks_name(lab.racks, racks_of(lab.racks, 1)), "leaf0");
	lab_fini(&lab);
}

/* A pod of a fat tree has two racks of two hosts: four hosts fit into one pod. */
static void
takes_racks_of_one_pod_if_as_few_suffice(void **state)
{
	struct gen_fat_tree options = { .k = 4, .host_bps = 50e9 };
	struct workload none = { 0 };
	uint32_t hosts[4], n_racks;
	struct topo *topo;
	struct routes *routes;
	struct place *place;
	struct racks *racks;

	(void)state;
	assert_int_equal(gen_fat_tree(&options, &topo, NULL), 0);
	routes = routes_new(topo, 1);
	place = place_new(topo, routes, &none, PLACE_HASHED);
	racks = racks_new(place);
	assert_int_equal(racks_n(racks), 8);
	assert_int_equal(racks_fewest(racks, 4, 1, hosts, &n_racks), 0);
	assert_int_equal(n_racks, 2);
	for (int i = 1; i < 4; i++)
		assert_int_equal(hosts[i] / 4, hosts[0] / 4);
	racks_free(racks);
	place_free(place);
	routes_free(routes);
	topo_unref(topo);
}

static void
no_hosts_fit_nowhere(void **state)
{
	const uint32_t rack_of[] = { 0 }, slots_of[] = { 2 };
	uint32_t hosts[1], n_racks;
	struct lab lab;

	(void)state;
	lab_init(&lab, 1, rack_of, slots_of, 1, true);
	assert_int_equal(racks_fewest(lab.racks, 0, 1, hosts, &n_racks), -ENOSPC);
	assert_int_equal(racks_fewest(lab.racks, 2, 1, hosts, &n_racks), -ENOSPC);
	assert_int_equal(racks_fewest(lab.racks, 1, 3, hosts, &n_racks), -ENOSPC);
	assert_int_equal(racks_fewest(lab.racks, 1, 2, hosts, &n_racks), 0);
	racks_free(NULL);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fewest_racks_are_those_of_exhaustive_search),
		cmocka_unit_test(
			hosts_that_cannot_reach_each_other_are_not_taken_together),
		cmocka_unit_test(racks_are_named_by_their_leaves),
		cmocka_unit_test(takes_racks_of_one_pod_if_as_few_suffice),
		cmocka_unit_test(no_hosts_fit_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
