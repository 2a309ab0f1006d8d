/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gen_speeds.c - fabrics of mixed speeds, and oversubscription of each tier:
 * generated, read back, and their closed forms.
 */
#include <errno.h>
#include <math.h>

#include "tests/unit/fabric_round_trip.h"
#include "tests/unit/made_fabric.h"
#include "tests/unit/operation_time.h"
#include "tests/unit/test.h"
#include "topology/gen.h"

/* The capacities down and up of the switch of that name. */
static void
assert_capacity(const struct topo *topo, const char *name, double down_gbps,
		double up_gbps)
{
	uint32_t node = topo_find_node(topo, name);
	double down_bps = 0, up_bps = 0;
	size_t n;
	const uint32_t *out = topo_links_out(topo, node, &n);

	for (size_t i = 0; i < n; i++) {
		const struct topo_link *link = topo_link(topo, out[i]);

		if (topo_node(topo, link->to)->tier > topo_node(topo, node)->tier)
			up_bps += link->capacity_bps;
		else
			down_bps += link->capacity_bps;
	}
	assert_near(down_bps, down_gbps * 1e9, 0);
	assert_near(up_bps, up_gbps * 1e9, 0);
}

static void
speeds_are_those_of_leaves_groups_and_pods(void **state)
{
	struct topo *topo;

	(void)state;
	/* Uplinks follow from the oversubscription: 2 spines, cables of 200 and 800. */
	topo = made_fabric(
		"leaf-spine --leaves 5 --hosts-per-leaf 8 --gbps 3x100,2x400 "
		"--spines 2 --oversubscription 2");
	assert_capacity(topo, "leaf2", 800, 400);
	assert_capacity(topo, "leaf3", 3200, 1600);
	assert_capacity(topo, "spine1", 3 * 200 + 2 * 800, 0);
	topo_unref(topo);
	/* Or are as a leaf's hosts: 4 spines, cables of 100 and 400. */
	topo = made_fabric(
		"leaf-spine --leaves 3 --hosts-per-leaf 8 --gbps 100,100,400 "
		"--oversubscription 2");
	assert_capacity(topo, "leaf1", 800, 400);
	assert_capacity(topo, "leaf2", 3200, 1600);
	assert_capacity(topo, "spine3", 600, 0);
	topo_unref(topo);
	/* Or are given, which need not have one ratio. */
	topo = made_fabric("leaf-spine --leaves 3 --hosts-per-leaf 4 --uplink-gbps "
			   "2x25,400 --spines 2");
	assert_capacity(topo, "leaf0", 400, 50);
	assert_capacity(topo, "leaf2", 400, 800);
	topo_unref(topo);
	topo = made_fabric("rail-optimized --groups 3 --hosts-per-group 4 --rails 2 "
			   "--gbps 2x100,400 --oversubscription 2");
	assert_capacity(topo, "g1r1", 400, 200);
	assert_capacity(topo, "g2r0", 1600, 800);
	topo_unref(topo);
	topo = made_fabric(
		"three-tier --pods 3 --access-per-pod 2 --hosts-per-access 8 "
		"--gbps 25,2x100 --access-oversubscription 4 "
		"--agg-oversubscription 2");
	assert_capacity(topo, "acc1", 200, 50);
	assert_capacity(topo, "agg1", 50, 25);
	assert_capacity(topo, "acc2", 800, 200);
	assert_capacity(topo, "agg5", 200, 100);
	topo_unref(topo);
	topo = made_fabric("fat-tree --k 4 --gbps 3x100,400 --oversubscription 2 "
			   "--agg-oversubscription 5");
	assert_capacity(topo, "leaf5", 200, 100);
	assert_capacity(topo, "agg5", 100, 20);
	assert_capacity(topo, "leaf6", 800, 400);
	assert_capacity(topo, "agg7", 400, 80);
	topo_unref(topo);
}

static void
one_tier_may_be_faster_or_slower_than_its_default(void **state)
{
	struct topo *topo;

	(void)state;
	topo = made_fabric("fat-tree --k 4 --agg-uplink-gbps 25");
	assert_capacity(topo, "leaf0", 200, 200);
	assert_capacity(topo, "agg0", 200, 50);
	topo_unref(topo);
	/* As without the option: the cores follow the leaves. */
	topo = made_fabric("fat-tree --k 4 --uplink-gbps 50");
	assert_capacity(topo, "agg0", 100, 100);
	topo_unref(topo);
}

/*
 * All-to-all of S bytes over W hosts of B, H on each access switch, A access switches a
 * pod: H (W - H) S/W leave an access switch, over H B/r, and A H (W - A H) S/W a pod, over
 * A H B/(r q).  One switch above each, so that nothing is hashed.
 */
static void
all_to_all_takes_as_long_as_the_oversubscription_of_each_tier_says(void **state)
{
	static const struct {
		const char *text;
		double w, h, in_pod, r, q;
	} cases[] = {
		{ "leaf-spine --leaves 4 --hosts-per-leaf 4 --spines 1 "
		  "--oversubscription 2",
		  16, 4, 4, 2, 1 },
		{ "leaf-spine --leaves 4 --hosts-per-leaf 4 --spines 1 "
		  "--oversubscription 5:2",
		  16, 4, 4, 2.5, 1 },
		{ "three-tier --pods 3 --access-per-pod 2 --hosts-per-access 4 "
		  "--agg-per-pod 1 --cores 1 --access-oversubscription 2 "
		  "--agg-oversubscription 3",
		  24, 4, 8, 2, 3 },
		{ "three-tier --pods 3 --access-per-pod 2 --hosts-per-access 4 "
		  "--agg-per-pod 1 --cores 1 --access-oversubscription 4 "
		  "--agg-uplink-gbps 1000",
		  24, 4, 8, 4, 0.2 },
		{ "fat-tree --k 2 --oversubscription 2 --agg-oversubscription 3", 2, 1,
		  1, 2, 3 },
	};

	const double bytes = 1e9;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double w = cases[i].w, r = cases[i].r, q = cases[i].q;
		double access = r * (w - cases[i].h) / w;
		double pod = r * q * (w - cases[i].in_pod) / w;
		double want_ns =
			fmax((w - 1) / w, fmax(access, pod)) * bytes * 8e9 / 100e9;
		struct topo *topo = made_fabric(cases[i].text);

		assert_near(operation_ns(topo, COLLECTIVE_ALL_TO_ALL, bytes) / want_ns,
			    1, 1e-9);
		topo_unref(topo);
	}
}

/* A ring crosses each leaf's uplinks with one flow, so r:1 costs r/H, if r > H. */
static void
a_ring_takes_as_long_as_its_one_flow_over_each_uplink(void **state)
{
	const double bytes = 1e9, alone_ns = 2 * 15. / 16 * bytes * 8e9 / 100e9;
	struct topo *topo;

	(void)state;
	topo = made_fabric("leaf-spine --leaves 4 --hosts-per-leaf 4 --spines 1 "
			   "--oversubscription 2");
	assert_near(operation_ns(topo, COLLECTIVE_RING, bytes) / alone_ns, 1, 1e-9);
	topo_unref(topo);
	topo = made_fabric("leaf-spine --leaves 4 --hosts-per-leaf 4 --spines 1 "
			   "--oversubscription 8");
	assert_near(operation_ns(topo, COLLECTIVE_RING, bytes) / alone_ns, 2, 1e-9);
	topo_unref(topo);
}

static void
the_slowest_host_bounds_an_operation(void **state)
{
	static const uint32_t fast[] = { 8, 9, 10, 11, 12, 13, 14, 15 };
	static const uint32_t both[] = { 0, 1, 8, 9 };
	const double bytes = 1e9, byte_ns = 8e9 / 100e9;
	struct topo *topo = made_fabric("leaf-spine --leaves 4 --hosts-per-leaf 4 "
					"--gbps 2x100,2x400 --spines 1 "
					"--oversubscription 1");

	(void)state;
	assert_near(operation_ns(topo, COLLECTIVE_RING, bytes) /
			    (2 * 15. / 16 * bytes * byte_ns),
		    1, 1e-9);
	assert_near(operation_ns(topo, COLLECTIVE_ALL_TO_ALL, bytes) /
			    (15. / 16 * bytes * byte_ns),
		    1, 1e-9);
	assert_near(operation_on_ns(topo, COLLECTIVE_RING, fast, 8, bytes) /
			    (2 * 7. / 8 * bytes * byte_ns / 4),
		    1, 1e-9);
	assert_near(operation_on_ns(topo, COLLECTIVE_ALL_TO_ALL, fast, 8, bytes) /
			    (7. / 8 * bytes * byte_ns / 4),
		    1, 1e-9);
	assert_near(topo_line_bps(topo, fast, 8), 400e9, 0);
	assert_near(topo_line_bps(topo, both, 4), 100e9, 0);
	topo_unref(topo);
}

static void
fabrics_of_mixed_speeds_are_read_as_they_were_written(void **state)
{
	struct topo *topo = made_fabric("fat-tree --k 4 --gbps 3x100,400 --balance "
					"hash,spray --agg-oversubscription 3");

	(void)state;
	assert_read_as_written(topo, "\"gbps\": 400");
	topo_unref(topo);
}

static void
numbers_and_texts_make_the_same_fabric(void **state)
{
	const struct gen_leaf_spine o = {
		.n_leaves = 5,
		.hosts_per_leaf = 2,
		.n_spines = 2,
		.host_speeds = { 2, { { 3, 100e9 }, { 2, 400e9 } } },
		.uplink_bps = 50e9,
		.balance = { 2, { TOPO_BALANCE_HASH, TOPO_BALANCE_SPRAY } },
	};
	struct topo *a, *b;

	(void)state;
	assert_int_equal(gen_leaf_spine(&o, &a, NULL), 0);
	b = made_fabric("leaf-spine --leaves 5 --hosts-per-leaf 2 --spines 2 --gbps "
			"3x100,2x400 --uplink-gbps 50 --balance hash,spray");
	assert_true(topo_is_same(a, b));
	topo_unref(a);
	topo_unref(b);
}

static void
what_does_not_fit_is_refused(void **state)
{
#define LEAVES "leaf-spine --leaves 8 --hosts-per-leaf 8 "

	static const struct {
		const char *text, *want;
	} cases[] = {
		{ LEAVES "--gbps 6x100,400",
		  "the speeds of hosts are those of 7 leaves, expected 8, or one speed "
		  "for all" },
		{ LEAVES "--uplink-gbps 1000000x100,4",
		  "the speeds of uplinks are those of 1000001 leaves, expected 8" },
		{ LEAVES "--gbps 6x100,x400", "--gbps is '6x100,x400', expected a" },
		{ LEAVES "--gbps 0x100,8x400", "expected a number of Gb/s above 0" },
		{ LEAVES "--gbps 7x100,400x", "expected a number of Gb/s above 0" },
		{ LEAVES "--gbps 7x100,-400", "expected a number of Gb/s above 0" },
		{ LEAVES "--gbps 7x100,nan", "expected a number of Gb/s above 0" },
		{ LEAVES "--gbps 7x100,1e9", "capacity of a host is 1e+09 Gb/s" },
		{ LEAVES "--gbps ,", "expected a number of Gb/s above 0" },
		{ LEAVES "--gbps 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "or up to 16" },
		{ LEAVES "--gbps 6x100,2x400 --uplink-gbps 400 --oversubscription 2",
		  "leaf6 needs 4 spines and leaf0 1, expected as many; give the number "
		  "of spines, or other uplink speeds" },
		{ LEAVES "--gbps 6x100,2x400 --uplink-gbps 100 --spines 4 "
			 "--oversubscription 2",
		  "the uplink speed or the oversubscription (leaf6)" },
		{ "rail-optimized --hosts-per-group 4 --groups 2 --gbps 1,1,1",
		  "the speeds of hosts are those of 3 groups, expected 2" },
		{ "three-tier --pods 2 --access-per-pod 2 --hosts-per-access 8 "
		  "--access-uplink-gbps 2x10,2x10",
		  "the speeds of uplinks are those of 4 pods, expected 2" },
		{ "fat-tree --k 4 --agg-uplink-gbps 2x10",
		  "the speeds of uplinks of aggregation are those of 2 pods, expected 4" },
		{ "fat-tree --k 4 --agg-uplink-gbps 50 --agg-oversubscription 3",
		  "an aggregation switch has 200 Gb/s down and 2 x 1 x 50 = 100 Gb/s up, "
		  "which is 2:1, not 3:1" },
		{ "ring --switches 4 --gbps 2x100,2x400",
		  "expected a number of Gb/s above 0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_not_made(cases[i].text, cases[i].want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speeds_are_those_of_leaves_groups_and_pods),
		cmocka_unit_test(one_tier_may_be_faster_or_slower_than_its_default),
		cmocka_unit_test(
			all_to_all_takes_as_long_as_the_oversubscription_of_each_tier_says),
		cmocka_unit_test(a_ring_takes_as_long_as_its_one_flow_over_each_uplink),
		cmocka_unit_test(the_slowest_host_bounds_an_operation),
		cmocka_unit_test(fabrics_of_mixed_speeds_are_read_as_they_were_written),
		cmocka_unit_test(numbers_and_texts_make_the_same_fabric),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
