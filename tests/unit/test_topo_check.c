/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "tests/unit/test.h"
#include "topology/check.h"
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

static struct topo_faults
check(struct topo *topo)
{
	struct routes *routes = routes_new(topo, 0);
	struct topo_faults faults = { VEC_EMPTY };

	topo_check(topo, routes, &faults);
	routes_free(routes);
	return faults;
}

static void
generated_fabrics_have_no_faults(void **state)
{
	static const char *const fabrics[] = {
		"leaf-spine --leaves 1 --hosts-per-leaf 1",
		"leaf-spine --leaves 5 --hosts-per-leaf 4 --spines 3 --parallel 2",
		"fat-tree --k 2",
		"fat-tree --k 6 --oversubscription 3",
		"rail-optimized --hosts-per-group 4",
		"rail-optimized --groups 3 --hosts-per-group 4 --rails 3",
		"three-tier --pods 3 --access-per-pod 2 --hosts-per-access 5 --parallel 3",
		"leaf-spine --leaves 8 --hosts-per-leaf 8 --gbps 5x100,3x400",
		"leaf-spine --leaves 8 --hosts-per-leaf 8 --gbps 7x100,400 --spines 2 "
		"--oversubscription 2",
		"fat-tree --k 4 --gbps 3x100,400 --agg-oversubscription 2",
		"rail-optimized --groups 3 --hosts-per-group 4 --rails 3 --gbps 100,2x400",
		"rail-optimized --host-is gpu --hosts-per-group 16 --scale-up 8 "
		"--scale-up-gbps 900",
		"three-tier --pods 3 --access-per-pod 2 --hosts-per-access 5 --gbps 2x25,50",
	};

	(void)state;
	for (size_t i = 0; i < sizeof fabrics / sizeof *fabrics; i++) {
		struct topo *topo = make(fabrics[i]);
		struct topo_faults faults = check(topo);

		if (faults.list.n)
			fail_msg("%s: %s", fabrics[i], faults.list.items[0].text);
		topo_faults_fini(&faults);
		topo_unref(topo);
	}
}

static void
tiers_have_the_oversubscription_that_was_asked_for(void **state)
{
	struct topo *topo =
		make("three-tier --pods 2 --access-per-pod 4 "
		     "--hosts-per-access 6 --gbps 10 "
		     "--access-oversubscription 3 --agg-oversubscription 2");
	struct topo_tier tiers[TOPO_MAX_TIER + 1];

	(void)state;
	assert_int_equal(topo_tiers(topo, tiers), 4);
	assert_int_equal(tiers[0].n_nodes, 48);
	assert_near(tiers[0].up_bps, 480e9, 1);
	assert_near(tiers[0].most, 0, 0);
	assert_near(tiers[1].least, 3, 1e-9);
	assert_near(tiers[1].most, 3, 1e-9);
	assert_near(tiers[1].up_bps, 160e9, 1);
	assert_near(tiers[2].most, 2, 1e-9);
	assert_near(tiers[3].down_bps, 80e9, 1);
	assert_int_equal(tiers[2].n_cables_up, 8);
	topo_unref(topo);
}

/* A copy of 'topo' without the cables whose lower link id is in 'dropped'. */
static struct topo *
without(const struct topo *topo, const bool *dropped, bool one_way_instead)
{
	struct topo_builder *b = topo_builder_new("cut");
	uint32_t id;

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		const struct topo_node *node = topo_node(topo, i);

		if (node->kind == TOPO_HOST)
			topo_builder_host(b, node->name, node->n_slots, &id);
		else
			topo_builder_switch(b, node->name, node->tier, &id);
	}
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);

		if (link->reverse < i || (dropped[i] && !one_way_instead))
			continue;
		topo_builder_cable(b, link->from, link->from_port, link->to,
				   link->to_port, link->capacity_bps,
				   dropped[i] ? 0 : link->capacity_bps);
	}
	return topo_builder_finish(b);
}

static bool
is_named(const struct topo_faults *faults, enum topo_fault_kind kind, const char *name)
{
	for (size_t i = 0; i < faults->list.n; i++) {
		if (faults->list.items[i].kind == kind &&
		    strstr(faults->list.items[i].text, name))
			return true;
	}
	return false;
}

/*
 * All pairs, against the naive twin: there is an unreachable fault if and only if some
 * pair has no path, and each such pair has a host in the text of a fault.
 */
static void
unreachable_hosts_are_found_wherever_cables_are_cut(void **state)
{
	struct topo *whole =
		make("leaf-spine --leaves 4 --hosts-per-leaf 3 --spines 2");
	struct rng rng;
	size_t n_broken = 0;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 300; round++) {
		bool dropped[64] = { false }, is_broken = false;
		struct topo *topo;
		struct routes *routes;
		struct topo_faults faults;
		size_t n;
		const uint32_t *hosts;

		for (uint64_t i = 0, k = 1 + rng_below(&rng, 6); i < k; i++)
			dropped[2 * rng_below(&rng, topo_n_links(whole) / 2)] = true;
		topo = without(whole, dropped, round % 2);
		routes = routes_new(topo, 0);
		faults = check(topo);
		hosts = topo_hosts(topo, &n);
		for (size_t i = 0; i < n; i++) {
			for (size_t j = 0; j < n; j++)
				is_broken |= i != j &&
					     !routes_n_hops(routes, hosts[i], hosts[j]);
		}
		n_broken += is_broken;
		assert_int_equal(is_named(&faults, TOPO_FAULT_UNREACHABLE, "h"),
				 is_broken);
		assert_int_equal(is_named(&faults, TOPO_FAULT_ONE_WAY, ">"), round % 2);
		topo_faults_fini(&faults);
		routes_free(routes);
		topo_unref(topo);
	}
	/* Both outcomes are frequent. */
	assert_in_range(n_broken, 60, 290);
	topo_unref(whole);
}

static void
a_host_that_only_sends_is_the_one_at_fault(void **state)
{
	struct topo *whole = make("leaf-spine --leaves 2 --hosts-per-leaf 3");
	bool dropped[64] = { false };
	struct topo_faults faults;
	struct topo *topo;

	(void)state;
	dropped[topo_find_link(whole, "h4:p0>leaf1:p1")] = true;
	topo = without(whole, dropped, true);
	faults = check(topo);
	assert_int_equal(faults.list.n, 2);
	assert_string_equal(faults.list.items[0].text,
			    "h4 has no up-down path from h0");
	assert_string_equal(faults.list.items[1].text,
			    "h4:p0>leaf1:p1 has no link back");
	topo_faults_fini(&faults);
	topo_unref(topo);
	topo_unref(whole);
}

static void
uplinks_are_compared_among_switches_with_the_same_ports(void **state)
{
	struct topo *whole = make("leaf-spine --leaves 9 --hosts-per-leaf 4 --gbps "
				  "5x100,4x400 --oversubscription 2");
	bool dropped[256] = { false };
	struct topo_faults faults;
	struct topo *topo;
	size_t n;

	(void)state;
	dropped[topo_find_link(whole, "leaf7:p5>spine1:p7")] = true;
	topo = without(whole, dropped, false);
	faults = check(topo);
	n = faults.list.n;
	assert_true(n > 0);
	assert_string_equal(faults.list.items[n - 1].text,
			    "leaf7 has 400 Gb/s up, but most of tier 1 with ports of "
			    "400 Gb/s have 800 Gb/s");
	for (size_t i = 0; i + 1 < n; i++)
		assert_int_not_equal(faults.list.items[i].kind, TOPO_FAULT_UPLINKS);
	topo_faults_fini(&faults);
	topo_unref(topo);
	topo_unref(whole);
}

static void
a_missing_parallel_cable_is_named_with_its_switches(void **state)
{
	struct topo *whole = make("leaf-spine --leaves 4 --hosts-per-leaf 2 --spines 3 "
				  "--parallel 2");
	bool dropped[128] = { false };
	struct topo_faults faults;
	struct topo *topo;

	(void)state;
	dropped[topo_find_link(whole, "leaf2:p3>spine0:p5")] = true;
	topo = without(whole, dropped, false);
	faults = check(topo);
	assert_int_equal(faults.list.n, 2);
	assert_string_equal(faults.list.items[0].text,
			    "leaf2 has 1 cable to spine0, unlike most pairs of leaf2");
	assert_string_equal(faults.list.items[1].text,
			    "leaf2 has 500 Gb/s up, but most of tier 1 have 600 Gb/s");
	topo_faults_fini(&faults);
	topo_unref(topo);
	topo_unref(whole);
}

static void
leaves_of_another_kind_are_no_parallel_fault(void **state)
{
	struct topo *whole = make("leaf-spine --leaves 5 --hosts-per-leaf 2 --spines 3 "
				  "--parallel 2");
	bool dropped[128] = { false };
	struct topo_faults faults;
	struct topo *topo;

	(void)state;
	/* leaf4 has one cable to each spine, as planned. */
	dropped[topo_find_link(whole, "leaf4:p3>spine0:p9")] = true;
	dropped[topo_find_link(whole, "leaf4:p5>spine1:p9")] = true;
	dropped[topo_find_link(whole, "leaf4:p7>spine2:p9")] = true;
	topo = without(whole, dropped, false);
	faults = check(topo);
	assert_false(is_named(&faults, TOPO_FAULT_PARALLEL, "leaf"));
	assert_true(is_named(&faults, TOPO_FAULT_UPLINKS, "leaf4"));
	assert_int_equal(faults.list.n, 1);
	topo_faults_fini(&faults);
	topo_unref(topo);
	topo_unref(whole);
}

/* A copy of 'topo' in which the links 'a' and 'b' have their 'to' ends swapped. */
static struct topo *
swapped(const struct topo *topo, uint32_t a, uint32_t b)
{
	struct topo_builder *builder = topo_builder_new("swapped");
	uint32_t id;

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		const struct topo_node *node = topo_node(topo, i);

		if (node->kind == TOPO_HOST)
			topo_builder_host(builder, node->name, node->n_slots, &id);
		else
			topo_builder_switch(builder, node->name, node->tier, &id);
	}
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i), *end = link;

		if (topo_node(topo, link->from)->tier > topo_node(topo, link->to)->tier)
			continue;
		if (i == a || i == b)
			end = topo_link(topo, i == a ? b : a);
		assert_int_equal(topo_builder_cable(builder, link->from,
						    link->from_port, end->to,
						    end->to_port, link->capacity_bps,
						    link->capacity_bps),
				 0);
	}
	return topo_builder_finish(builder);
}

static size_t
count_kind(const struct topo_faults *faults, enum topo_fault_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < faults->list.n; i++)
		n += faults->list.items[i].kind == kind;
	return n;
}

/* Each two uplinks of two leaves to two spines, in fabrics of several shapes. */
static void
any_two_uplinks_that_are_swapped_are_named(void **state)
{
	static const char *const fabrics[] = {
		"leaf-spine --leaves 3 --hosts-per-leaf 1 --spines 2",
		"leaf-spine --leaves 4 --hosts-per-leaf 2 --spines 2",
		"leaf-spine --leaves 5 --hosts-per-leaf 2 --spines 3 --parallel 2",
		"three-tier --pods 1 --access-per-pod 4 --hosts-per-access 2 --agg-per-pod 3",
	};

	(void)state;
	for (size_t f = 0; f < sizeof fabrics / sizeof *fabrics; f++) {
		struct topo *whole = make(fabrics[f]);
		size_t n_tried = 0;

		for (uint32_t i = 0; i < topo_n_links(whole); i++) {
			for (uint32_t j = i + 1; j < topo_n_links(whole); j++) {
				const struct topo_link *a = topo_link(whole, i);
				const struct topo_link *b = topo_link(whole, j);
				struct strbuf text = STRBUF_EMPTY;
				struct topo_faults faults;
				struct topo *topo;

				if (topo_node(whole, a->from)->tier != 1 ||
				    topo_node(whole, b->from)->tier != 1 ||
				    topo_node(whole, a->to)->tier != 2 ||
				    topo_node(whole, b->to)->tier != 2 ||
				    a->from == b->from || a->to == b->to)
					continue;
				topo = swapped(whole, i, j);
				faults = check(topo);
				strbuf_printf(
					&text,
					"%s:%s>%s:%s and %s:%s>%s:%s are probably "
					"swapped",
					topo_node(whole, a->from)->name, a->from_port,
					topo_node(whole, b->to)->name, b->to_port,
					topo_node(whole, b->from)->name, b->from_port,
					topo_node(whole, a->to)->name, a->to_port);
				if (!is_named(&faults, TOPO_FAULT_CROSSED, text.text))
					fail_msg("%s: not told: %s", fabrics[f],
						 text.text);
				assert_int_equal(
					count_kind(&faults, TOPO_FAULT_CROSSED), 1);
				n_tried++;
				strbuf_free(&text);
				topo_faults_fini(&faults);
				topo_unref(topo);
			}
		}
		assert_true(n_tried >= 6);
		topo_unref(whole);
	}
}

static void
a_host_s_cable_that_was_swapped_with_an_uplink_is_named(void **state)
{
	struct topo *whole =
		make("leaf-spine --leaves 4 --hosts-per-leaf 2 --spines 2");
	struct topo *topo = swapped(whole, topo_find_link(whole, "h0:p0>leaf0:p0"),
				    topo_find_link(whole, "leaf1:p2>spine0:p1"));
	struct topo_faults faults = check(topo);

	(void)state;
	assert_true(is_named(&faults, TOPO_FAULT_CROSSED,
			     "h0:p0>spine0:p1 and leaf1:p2>leaf0:p0 are probably"));
	assert_int_equal(count_kind(&faults, TOPO_FAULT_CROSSED), 1);
	topo_faults_fini(&faults);
	topo_unref(topo);
	topo_unref(whole);
}

/* Leaves whose hosts are at these rates, in Gb/s; 0 ends. */
static struct topo_faults
check_rates(const double (*gbps)[4], size_t n_leaves)
{
	struct topo_builder *b = topo_builder_new("rates");
	struct topo_faults faults;
	struct topo *topo;
	uint32_t spine, leaf, host;
	char name[16];

	topo_builder_switch(b, "spine", 2, &spine);
	for (size_t i = 0; i < n_leaves; i++) {
		snprintf(name, sizeof name, "leaf%zu", i);
		topo_builder_switch(b, name, 1, &leaf);
		topo_builder_cable(b, leaf, "up", spine, name, 400e9, 400e9);
		for (size_t j = 0; j < 4 && gbps[i][j] > 0; j++) {
			snprintf(name, sizeof name, "h%zu-%zu", i, j);
			topo_builder_host(b, name, 1, &host);
			topo_builder_cable(b, host, "p", leaf, name, gbps[i][j] * 1e9,
					   gbps[i][j] * 1e9);
		}
	}
	topo = topo_builder_finish(b);
	faults = check(topo);
	topo_unref(topo);
	return faults;
}

static void
a_host_unlike_others_at_its_leaf_is_named(void **state)
{
	static const double slow[][4] = { { 100, 25, 100 }, { 100, 100, 100, 200 } };
	static const double pairs[][4] = { { 100, 10 }, { 100, 100 }, { 10 } };
	struct topo_faults faults = check_rates(slow, 2);

	(void)state;
	assert_int_equal(faults.list.n, 2);
	assert_int_equal(faults.list.items[0].kind, TOPO_FAULT_RATE);
	assert_string_equal(faults.list.items[0].text,
			    "h0-1:p>leaf0:h0-1 has 25 Gb/s, but most hosts of leaf0 "
			    "have 100 Gb/s");
	assert_string_equal(faults.list.items[1].text,
			    "h1-3:p>leaf1:h1-3 has 200 Gb/s, but most hosts of leaf1 "
			    "have 100 Gb/s");
	topo_faults_fini(&faults);
	/* Where the leaf has no rate of its own, less than half of the fabric's. */
	faults = check_rates(pairs, 3);
	assert_int_equal(faults.list.n, 2);
	assert_string_equal(
		faults.list.items[0].text,
		"h0-1:p>leaf0:h0-1 has 10 Gb/s, but most hosts in the fabric "
		"have 100 Gb/s");
	assert_string_equal(
		faults.list.items[1].text,
		"h2-0:p>leaf2:h2-0 has 10 Gb/s, but most hosts in the fabric "
		"have 100 Gb/s");
	topo_faults_fini(&faults);
}

static void
leaves_with_hosts_of_another_rate_are_no_fault(void **state)
{
	static const double kinds[][4] = {
		{ 100, 100, 100 }, { 25, 25 }, { 100, 100 }, { 100, 100 }, { 50 },
	};
	static const double all_differ[][4] = { { 10, 100 }, { 25 } };
	struct topo_faults faults = check_rates(kinds, 5);

	(void)state;
	assert_int_equal(faults.list.n, 0);
	topo_faults_fini(&faults);
	faults = check_rates(all_differ, 2);
	assert_int_equal(faults.list.n, 0);
	topo_faults_fini(&faults);
}

static void
hosts_without_any_switch_cannot_reach_each_other(void **state)
{
	struct topo_builder *b = topo_builder_new("heap");
	struct topo_faults faults;
	struct topo *topo;
	uint32_t id;

	(void)state;
	topo_builder_host(b, "a", 1, &id);
	topo_builder_host(b, "b", 1, &id);
	topo = topo_builder_finish(b);
	faults = check(topo);
	assert_true(is_named(&faults, TOPO_FAULT_UNCONNECTED, "a has no cable"));
	assert_true(is_named(&faults, TOPO_FAULT_UNCONNECTED, "b has no cable"));
	assert_true(is_named(&faults, TOPO_FAULT_UNREACHABLE, "b"));
	topo_faults_fini(&faults);
	topo_unref(topo);
	topo = topo_builder_finish(topo_builder_new("empty"));
	faults = check(topo);
	assert_int_equal(faults.list.n, 0);
	topo_faults_fini(&faults);
	topo_unref(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generated_fabrics_have_no_faults),
		cmocka_unit_test(tiers_have_the_oversubscription_that_was_asked_for),
		cmocka_unit_test(unreachable_hosts_are_found_wherever_cables_are_cut),
		cmocka_unit_test(a_host_that_only_sends_is_the_one_at_fault),
		cmocka_unit_test(
			uplinks_are_compared_among_switches_with_the_same_ports),
		cmocka_unit_test(a_missing_parallel_cable_is_named_with_its_switches),
		cmocka_unit_test(leaves_of_another_kind_are_no_parallel_fault),
		cmocka_unit_test(any_two_uplinks_that_are_swapped_are_named),
		cmocka_unit_test(
			a_host_s_cable_that_was_swapped_with_an_uplink_is_named),
		cmocka_unit_test(a_host_unlike_others_at_its_leaf_is_named),
		cmocka_unit_test(leaves_with_hosts_of_another_rate_are_no_fault),
		cmocka_unit_test(hosts_without_any_switch_cannot_reach_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
