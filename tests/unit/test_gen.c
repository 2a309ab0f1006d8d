/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/gen_table.h"
#include "topology/route.h"
#include "topology/topo.h"

/* A node's number of links down, up and within its tier, and their capacity. */
struct degree {
	size_t n_down, n_up, n_level;
	double down_bps, up_bps;
};

static struct degree
degree_of(const struct topo *topo, uint32_t node)
{
	struct degree d = { 0 };
	size_t n;
	const uint32_t *out = topo_links_out(topo, node, &n);

	for (size_t i = 0; i < n; i++) {
		const struct topo_link *link = topo_link(topo, out[i]);
		uint32_t tier = topo_node(topo, node)->tier;
		uint32_t other = topo_node(topo, link->to)->tier;

		assert_int_not_equal(link->reverse, TOPO_NONE);
		assert_near(topo_link(topo, link->reverse)->capacity_bps,
			    link->capacity_bps, 0);
		if (other < tier) {
			d.n_down++;
			d.down_bps += link->capacity_bps;
		} else if (other > tier) {
			d.n_up++;
			d.up_bps += link->capacity_bps;
		} else {
			d.n_level++;
		}
	}
	return d;
}

/* Every node of 'tier' has this degree; returns the number of nodes. */
static size_t
assert_tier(const struct topo *topo, uint32_t tier, size_t n_down, size_t n_up,
	    double down_bps, double up_bps)
{
	size_t n = 0;

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		struct degree d;

		if (topo_node(topo, i)->tier != tier)
			continue;
		d = degree_of(topo, i);
		assert_int_equal(d.n_down, n_down);
		assert_int_equal(d.n_up, n_up);
		assert_int_equal(d.n_level, 0);
		assert_near(d.down_bps, down_bps, 1e-3);
		assert_near(d.up_bps, up_bps, 1e-3);
		n++;
	}
	return n;
}

static void
assert_all_reach_all(struct topo *topo, size_t min_hops, size_t max_hops)
{
	struct routes *routes = routes_new(topo, 1);
	size_t n, shortest = SIZE_MAX, longest = 0;
	const uint32_t *hosts = topo_hosts(topo, &n);

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			size_t hops = routes_n_hops(routes, hosts[i], hosts[j]);

			if (i == j)
				continue;
			assert_true(hops > 0);
			shortest = hops < shortest ? hops : shortest;
			longest = hops > longest ? hops : longest;
		}
	}
	assert_int_equal(shortest, min_hops);
	assert_int_equal(longest, max_hops);
	routes_free(routes);
}

static void
leaf_spine_has_its_counts_and_its_oversubscription(void **state)
{
	const struct gen_leaf_spine o = {
		.n_leaves = 6,
		.hosts_per_leaf = 4,
		.n_slots = 2,
		.host_bps = 50e9,
		.oversubscription = 2,
	};
	struct topo *topo;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(gen_leaf_spine(&o, &topo, &err), 0);
	assert_int_equal(topo_n_hosts(topo), 24);
	assert_int_equal(assert_tier(topo, 0, 0, 1, 0, 50e9), 24);
	assert_int_equal(assert_tier(topo, 1, 4, 2, 200e9, 100e9), 6);
	assert_int_equal(assert_tier(topo, 2, 6, 0, 300e9, 0), 2);
	assert_int_equal(topo_node(topo, 23)->n_slots, 2);
	assert_string_equal(topo_node(topo, 23)->name, "h23");
	assert_string_equal(topo_node(topo, topo_leaf_of(topo, 23))->name, "leaf5");
	assert_int_not_equal(topo_find_link(topo, "leaf1:p5>spine1:p1"), TOPO_NONE);
	assert_all_reach_all(topo, 2, 4);
	topo_unref(topo);
}

static void
leaf_spine_with_parallel_cables_derives_the_uplink_speed(void **state)
{
	const struct gen_leaf_spine o = {
		.n_leaves = 3,
		.hosts_per_leaf = 8,
		.n_spines = 4,
		.n_parallel = 2,
		.host_bps = 100e9,
		.oversubscription = 4,
	};
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_leaf_spine(&o, &topo, NULL), 0);
	assert_int_equal(assert_tier(topo, 1, 8, 8, 800e9, 200e9), 3);
	assert_int_equal(assert_tier(topo, 2, 6, 0, 150e9, 0), 4);
	assert_int_not_equal(topo_find_link(topo, "leaf2:p15>spine3:p5"), TOPO_NONE);
	assert_all_reach_all(topo, 2, 4);
	topo_unref(topo);
}

static void
leaf_spine_numbers_that_contradict_each_other_are_refused(void **state)
{
	struct gen_leaf_spine o = {
		.n_leaves = 6,
		.hosts_per_leaf = 4,
		.n_spines = 2,
		.host_bps = 50e9,
		.uplink_bps = 50e9,
		.oversubscription = 3,
	};
	struct topo *topo = NULL;
	struct err err;

	(void)state;
	assert_int_equal(gen_leaf_spine(&o, &topo, &err), -EINVAL);
	assert_string_equal(err.text,
			    "a leaf has 200 Gb/s down and 2 x 1 x 50 = 100 Gb/s up, "
			    "which is 2:1, not 3:1; leave out the number of spines, "
			    "the uplink speed or the oversubscription");
	o.n_spines = 0;
	assert_int_equal(gen_leaf_spine(&o, &topo, &err), -EINVAL);
	assert_string_equal(err.text,
			    "a leaf has 200 Gb/s down and at 3:1 needs 66.6667 Gb/s "
			    "up: 1.33333 spines with 1 x 50 Gb/s each, expected a "
			    "whole number; give the number of spines or another uplink "
			    "speed");
	o.oversubscription = 2;
	assert_int_equal(gen_leaf_spine(&o, &topo, &err), 0);
	topo_unref(topo);
}

static void
sizes_are_refused_before_anything_is_allocated(void **state)
{
	struct gen_leaf_spine o = { .n_leaves = 1000000, .hosts_per_leaf = 1000000 };
	struct gen_fat_tree f = { .k = 1024 };
	struct gen_rail rail = { .n_groups = 1000,
				 .hosts_per_group = 1000,
				 .n_rails = 100 };
	struct gen_three_tier t = { .n_pods = 100000,
				    .access_per_pod = 100000,
				    .hosts_per_access = 100000,
				    .access_uplink_bps = 1e9,
				    .agg_uplink_bps = 1e9 };
	struct topo *topo;
	struct err err;

	(void)state;
	o.n_spines = 1;
	assert_int_equal(gen_leaf_spine(&o, &topo, &err), -E2BIG);
	o.hosts_per_leaf = 0;
	assert_int_equal(gen_leaf_spine(&o, &topo, &err), -EINVAL);
	assert_string_equal(err.text,
			    "number of hosts of a leaf is 0, expected 1 to 1000000");
	assert_int_equal(gen_fat_tree(&f, &topo, &err), -E2BIG);
	f.k = 5;
	assert_int_equal(gen_fat_tree(&f, &topo, &err), -EINVAL);
	assert_int_equal(gen_rail(&rail, &topo, &err), -E2BIG);
	assert_int_equal(gen_three_tier(&t, &topo, &err), -E2BIG);
	o.hosts_per_leaf = 1;
	o.n_leaves = 1;
	o.host_bps = (double)NAN;
	assert_int_equal(gen_leaf_spine(&o, &topo, &err), -EINVAL);
	o.host_bps = -1;
	assert_int_equal(gen_leaf_spine(&o, &topo, &err), -EINVAL);
	o.host_bps = 1e9;
	o.oversubscription = (double)INFINITY;
	assert_int_equal(gen_leaf_spine(&o, &topo, &err), -EINVAL);
}

static void
fat_tree_of_k_has_k3_over_4_hosts_and_full_bisection(void **state)
{
	(void)state;
	for (uint32_t k = 2; k <= 8; k += 2) {
		const struct gen_fat_tree o = { .k = k, .host_bps = 10e9 };
		uint32_t half = k / 2;
		struct topo *topo;

		assert_int_equal(gen_fat_tree(&o, &topo, NULL), 0);
		assert_int_equal(topo_n_hosts(topo), k * k * k / 4);
		assert_int_equal(topo_n_links(topo), 2 * 3 * (k * k * k / 4));
		assert_int_equal(
			assert_tier(topo, 1, half, half, half * 10e9, half * 10e9),
			k * half);
		assert_int_equal(
			assert_tier(topo, 2, half, half, half * 10e9, half * 10e9),
			k * half);
		assert_int_equal(assert_tier(topo, 3, k, 0, k * 10e9, 0), half * half);
		assert_all_reach_all(topo, k == 2 ? 6 : 2, 6);
		topo_unref(topo);
	}
}

static void
fat_tree_cores_have_one_cable_to_each_pod(void **state)
{
	const struct gen_fat_tree o = { .k = 6 };
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_fat_tree(&o, &topo, NULL), 0);
	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		bool seen[6] = { false };
		size_t n;
		const uint32_t *out = topo_links_out(topo, i, &n);

		if (topo_node(topo, i)->tier != 3)
			continue;
		for (size_t j = 0; j < n; j++) {
			const char *agg =
				topo_node(topo, topo_link(topo, out[j])->to)->name;
			uint32_t pod = (uint32_t)atoi(agg + 3) / 3;

			assert_memory_equal(agg, "agg", 3);
			assert_false(seen[pod]);
			seen[pod] = true;
		}
	}
	topo_unref(topo);
}

static void
rail_optimized_puts_interface_r_of_a_group_on_rail_switch_r(void **state)
{
	const struct gen_rail o = {
		.n_groups = 2,
		.hosts_per_group = 4,
		.n_rails = 3,
		.host_bps = 400e9,
		.oversubscription = 2,
	};
	struct topo *topo;
	size_t n;

	(void)state;
	assert_int_equal(gen_rail(&o, &topo, NULL), 0);
	assert_int_equal(topo_n_hosts(topo), 8);
	assert_int_equal(assert_tier(topo, 0, 0, 3, 0, 1200e9), 8);
	assert_int_equal(assert_tier(topo, 1, 4, 2, 1600e9, 800e9), 6);
	assert_int_equal(assert_tier(topo, 2, 6, 0, 2400e9, 0), 2);
	for (uint32_t host = 0; host < 8; host++) {
		const uint32_t *out = topo_links_out(topo, host, &n);

		for (uint32_t rail = 0; rail < 3; rail++) {
			char name[16];

			snprintf(name, sizeof name, "g%ur%u", host / 4, rail);
			assert_string_equal(
				topo_node(topo, topo_link(topo, out[rail])->to)->name,
				name);
		}
	}
	assert_all_reach_all(topo, 2, 4);
	topo_unref(topo);
}

static void
one_rail_group_needs_no_spine(void **state)
{
	const struct gen_rail o = { .hosts_per_group = 4 };
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_rail(&o, &topo, NULL), 0);
	assert_int_equal(topo_n_nodes(topo), 4 + 8);
	assert_int_equal(topo_n_links(topo), 2 * 4 * 8);
	assert_int_equal(topo_node(topo, 0)->n_slots, 8);
	assert_all_reach_all(topo, 2, 2);
	topo_unref(topo);
}

static void
three_tier_has_the_oversubscription_of_each_tier(void **state)
{
	const struct gen_three_tier o = {
		.n_pods = 2,
		.access_per_pod = 3,
		.hosts_per_access = 8,
		.n_parallel = 2,
		.host_bps = 10e9,
		.access_oversubscription = 2,
		.agg_oversubscription = 3,
	};
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_three_tier(&o, &topo, NULL), 0);
	assert_int_equal(topo_n_hosts(topo), 48);
	assert_int_equal(assert_tier(topo, 1, 8, 4, 80e9, 40e9), 6);
	assert_int_equal(assert_tier(topo, 2, 6, 4, 60e9, 20e9), 4);
	assert_int_equal(assert_tier(topo, 3, 8, 0, 40e9, 0), 2);
	assert_all_reach_all(topo, 2, 6);
	topo_unref(topo);
}

static void
words_make_the_same_fabric_as_numbers(void **state)
{
	const struct gen_leaf_spine o = { .n_leaves = 6,
					  .hosts_per_leaf = 4,
					  .n_slots = 8,
					  .host_bps = 50e9,
					  .oversubscription = 2 };
	struct topo *a, *b;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(gen_leaf_spine(&o, &a, NULL), 0);
	assert_int_equal(
		gen_text(" leaf-spine --leaves 6\t--hosts-per-leaf=4 --slots 8 "
			 "--gbps 50 --oversubscription 2 ",
			 &b, &err),
		0);
	assert_string_equal(topo_name(a), topo_name(b));
	assert_int_equal(topo_n_links(a), topo_n_links(b));
	for (uint32_t i = 0; i < topo_n_links(a); i++) {
		assert_int_equal(topo_link(a, i)->from, topo_link(b, i)->from);
		assert_int_equal(topo_link(a, i)->to, topo_link(b, i)->to);
		assert_near(topo_link(a, i)->capacity_bps,
			    topo_link(b, i)->capacity_bps, 0);
	}
	topo_unref(a);
	topo_unref(b);
}

static void
balance_is_that_of_all_switches(void **state)
{
	static const struct {
		const char *text;
		uint32_t n_tiers;
	} cases[] = {
		{ "leaf-spine --leaves 2 --hosts-per-leaf 2", 2 },
		{ "fat-tree --k 4", 3 },
		{ "rail-optimized --hosts-per-group 2 --rails 2", 1 },
		{ "rail-optimized --hosts-per-group 2 --rails 2 --groups 2", 2 },
		{ "three-tier --pods 2 --access-per-pod 2 --hosts-per-access 2", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		for (size_t k = 0; k <= TOPO_N_BALANCES; k++) {
			bool is_given = k < TOPO_N_BALANCES;
			char *text = xasprintf("%s%s%s", cases[i].text,
					       is_given ? " --balance " : "",
					       is_given ? topo_balance_names[k] : "");
			struct topo *topo;

			assert_int_equal(gen_text(text, &topo, NULL), 0);
			for (uint32_t tier = 1; tier <= TOPO_MAX_TIER; tier++)
				assert_int_equal(topo_balance(topo, tier),
						 is_given && tier <= cases[i].n_tiers
							 ? k
							 : TOPO_BALANCE_HASH);
			topo_unref(topo);
			free(text);
		}
	}
}

static void
balance_by_tier_holds_for_the_tiers_above_too(void **state)
{
	static const enum topo_balance want[] = { TOPO_BALANCE_HASH,
						  TOPO_BALANCE_ADAPTIVE,
						  TOPO_BALANCE_ADAPTIVE };
	struct topo *topo = NULL;

	(void)state;
	assert_int_equal(
		gen_text("fat-tree --k 4 --balance hash,adaptive", &topo, NULL), 0);
	for (uint32_t tier = 1; tier <= 3; tier++)
		assert_int_equal(topo_balance(topo, tier), want[tier - 1]);
	topo_unref(topo);
}

static void
words_that_make_no_fabric_are_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "unknown kind '', expected leaf-spine, fat-tree, rail-optimized, "
		      "three-tier, torus, ring or dragonfly" },
		{ "fat-tre --k 4",
		  "unknown kind 'fat-tre', expected leaf-spine, fat-tree, rail-optimized, "
		  "three-tier, torus, ring or dragonfly (did you mean 'fat-tree'?)" },
		{ "fat-tree", "a fat-tree needs --k N: ports of a switch, even: k^3/4 "
			      "hosts" },
		{ "fat-tree --k", "--k has no value" },
		{ "fat-tree --k 4 --k 4", "--k is given twice" },
		{ "fat-tree --k four",
		  "--k is 'four', expected a whole number from 1 to 1000000" },
		{ "fat-tree --k 4.5",
		  "--k is '4.5', expected a whole number from 1 to 1000000" },
		{ "fat-tree --k 4 --gbps 0",
		  "--gbps is '0', expected a number of Gb/s above 0, or up to 16 with "
		  "counts such as 6x100,2x400" },
		{ "fat-tree --k 4 --oversubscription 2:0",
		  "--oversubscription is '2:0', expected a number above 0, or two such as "
		  "2:1" },
		{ "fat-tree --k 4 --scale-up 2 --scale-up-gbps 2:1",
		  "--scale-up-gbps is '2:1', expected a number of Gb/s above 0" },
		{ "fat-tree --k 4 --gpbs 5",
		  "a fat-tree has no option '--gpbs' (did you mean '--gbps'?)" },
		{ "fat-tree 4", "a fat-tree has no option '4'" },
		{ "fat-tree --k 4 --balance sprai",
		  "--balance is 'sprai', expected hash, spray or adaptive (did you mean "
		  "'spray'?)" },
		{ "fat-tree --k 4 --balance hash,spray,hash,hash",
		  "--balance is 'hash,spray,hash,hash', expected 1 to 3 words, one a tier "
		  "of switches" },
		{ "fat-tree --k 4 --balance ,",
		  "--balance is ',', expected 1 to 3 words, one a tier of switches" },
		{ "leaf-spine --leaves 2 --hosts-per-leaf 2 --balance hash,spray,hash",
		  "--balance has 3 words, expected at most 2: one a tier of switches, or "
		  "one for all" },
		{ "fat-tree --k 4 --balance", "--balance has no value" },
		{ "fat-tree --k 4 --balance hash --balance spray",
		  "--balance is given twice" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct topo *topo = NULL;
		struct err err = { 0 };

		assert_int_equal(gen_text(cases[i].text, &topo, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].message);
		assert_int_equal(gen_text(cases[i].text, &topo, NULL), -EINVAL);
		assert_null(topo);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaf_spine_has_its_counts_and_its_oversubscription),
		cmocka_unit_test(
			leaf_spine_with_parallel_cables_derives_the_uplink_speed),
		cmocka_unit_test(
			leaf_spine_numbers_that_contradict_each_other_are_refused),
		cmocka_unit_test(sizes_are_refused_before_anything_is_allocated),
		cmocka_unit_test(fat_tree_of_k_has_k3_over_4_hosts_and_full_bisection),
		cmocka_unit_test(fat_tree_cores_have_one_cable_to_each_pod),
		cmocka_unit_test(
			rail_optimized_puts_interface_r_of_a_group_on_rail_switch_r),
		cmocka_unit_test(one_rail_group_needs_no_spine),
		cmocka_unit_test(three_tier_has_the_oversubscription_of_each_tier),
		cmocka_unit_test(words_make_the_same_fabric_as_numbers),
		cmocka_unit_test(balance_is_that_of_all_switches),
		cmocka_unit_test(balance_by_tier_holds_for_the_tiers_above_too),
		cmocka_unit_test(words_that_make_no_fabric_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
