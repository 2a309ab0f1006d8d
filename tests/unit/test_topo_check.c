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
		cmocka_unit_test(a_missing_parallel_cable_is_named_with_its_switches),
		cmocka_unit_test(leaves_of_another_kind_are_no_parallel_fault),
		cmocka_unit_test(hosts_without_any_switch_cannot_reach_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
