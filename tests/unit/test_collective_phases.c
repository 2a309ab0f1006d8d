/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "tests/unit/test.h"
#include "topology/collective_phases.h"
#include "topology/gen.h"
#include "topology/pair_table.h"
#include "topology/rank_groups.h"
#include "topology/topo.h"

#define MAX_RANKS 24
#define MESSAGE   120e6 /* Bytes. */

/* 6 leaves of 4 hosts. */
static struct topo *
make_fabric(void)
{
	const struct gen_leaf_spine o = {
		.n_leaves = 6, .hosts_per_leaf = 4, .n_spines = 3, .host_bps = 50e9
	};
	struct topo *topo;

	assert_int_equal(gen_leaf_spine(&o, &topo, NULL), 0);
	return topo;
}

/*
 * What rank i knows after each phase is a bit set: flows carry what their source knew
 * when the phase began.
 */
static void
spread(const struct topo *topo, const struct collective_phases *phases, uint32_t *known)
{
	for (size_t p = 0; p < phases->n; p++) {
		uint32_t before[MAX_RANKS];

		memcpy(before, known, sizeof before);
		for (size_t i = 0; i < phases->items[p].n; i++) {
			const struct collective_flow *f = &phases->items[p].flows[i];

			known[topo_host_number(topo, f->destination)] |=
				before[topo_host_number(topo, f->source)];
		}
	}
}

static uint32_t
all_of(size_t n)
{
	return (uint32_t)(((uint64_t)1 << n) - 1);
}

static void
stepwise_collectives_bring_what_each_rank_has_to_all_of_them(void **state)
{
	struct topo *topo = make_fabric();
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);

	(void)state;
	for (size_t w = 2; w <= MAX_RANKS; w++) {
		for (int algorithm = COLLECTIVE_BY_TREE;
		     algorithm <= COLLECTIVE_BY_HALVING_DOUBLING; algorithm++) {
			struct collective_phases phases;
			uint32_t known[MAX_RANKS];

			for (size_t i = 0; i < MAX_RANKS; i++)
				known[i] = 1u << i;
			assert_int_equal(collective_phases_make(
						 topo, COLLECTIVE_ALLREDUCE,
						 (enum collective_algorithm)algorithm,
						 hosts, 1, w, MESSAGE, &phases),
					 0);
			spread(topo, &phases, known);
			for (size_t i = 0; i < w; i++)
				assert_int_equal(known[i], all_of(w));
			collective_phases_fini(&phases);
		}
	}
	topo_unref(topo);
}

static void
a_tree_broadcast_reaches_all_ranks_from_the_first(void **state)
{
	struct topo *topo = make_fabric();
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);

	(void)state;
	for (size_t w = 1; w <= MAX_RANKS; w++) {
		struct collective_phases phases;
		uint32_t known[MAX_RANKS] = { 1 };
		size_t n_flows = 0;

		assert_int_equal(collective_phases_make(topo, COLLECTIVE_BROADCAST,
							COLLECTIVE_BY_TREE, hosts, 1, w,
							MESSAGE, &phases),
				 0);
		spread(topo, &phases, known);
		for (size_t i = 0; i < w; i++)
			assert_int_equal(known[i], 1);
		for (size_t p = 0; p < phases.n; p++) {
			n_flows += phases.items[p].n;
			assert_near(phases.items[p].nic_bytes, MESSAGE, 1e-3);
		}
		assert_int_equal(n_flows, w - 1);
		collective_phases_fini(&phases);
	}
	topo_unref(topo);
}

static double
sum_of(const struct collective_phases *phases)
{
	double sum = 0;

	for (size_t p = 0; p < phases->n; p++)
		for (size_t i = 0; i < phases->items[p].n; i++)
			sum += phases->items[p].flows[i].bytes;
	return sum;
}

static double
nic_sum_of(const struct collective_phases *phases)
{
	double sum = 0;

	for (size_t p = 0; p < phases->n; p++)
		sum += phases->items[p].nic_bytes;
	return sum;
}

static uint32_t
steps_of(const struct collective_phases *phases)
{
	uint32_t n = 0;

	for (size_t p = 0; p < phases->n; p++)
		n += phases->items[p].n_steps;
	return n;
}

static void
phases_bytes_and_steps_are_those_of_the_textbook(void **state)
{
	/* In messages: the bytes of all flows, and of the busiest interface. */
	static const struct {
		enum collective_op op;
		enum collective_algorithm algorithm;
		size_t w, n_phases;
		uint32_t n_steps;
		double sum, nic;
	} cases[] = {
		{ COLLECTIVE_ALLREDUCE, COLLECTIVE_BY_RING, 8, 1, 14, 14, 1.75 },
		{ COLLECTIVE_ALLREDUCE, COLLECTIVE_BY_TREE, 8, 6, 6, 14, 6 },
		{ COLLECTIVE_ALLREDUCE, COLLECTIVE_BY_TREE, 6, 6, 6, 10, 6 },
		{ COLLECTIVE_ALLREDUCE, COLLECTIVE_BY_HALVING_DOUBLING, 8, 6, 6, 14,
		  1.75 },
		{ COLLECTIVE_ALLREDUCE, COLLECTIVE_BY_HALVING_DOUBLING, 6, 6, 6, 10,
		  3.5 },
		/* 2 leaves of 4: rings 1.5, leaders 1, chains 1. */
		{ COLLECTIVE_ALLREDUCE, COLLECTIVE_BY_HIERARCHY, 8, 3, 6 + 2 + 3, 20,
		  3.5 },
		{ COLLECTIVE_ALLREDUCE, COLLECTIVE_BY_HIERARCHY, 4, 3, 6, 6, 1.5 },
		{ COLLECTIVE_REDUCESCATTER, COLLECTIVE_BY_RING, 8, 1, 7, 7, 0.875 },
		{ COLLECTIVE_REDUCESCATTER, COLLECTIVE_BY_HALVING_DOUBLING, 8, 3, 3, 7,
		  0.875 },
		{ COLLECTIVE_ALLGATHER, COLLECTIVE_BY_RING, 5, 1, 4, 4, 0.8 },
		{ COLLECTIVE_ALLGATHER, COLLECTIVE_BY_HALVING_DOUBLING, 4, 2, 2, 3,
		  0.75 },
		{ COLLECTIVE_BROADCAST, COLLECTIVE_BY_RING, 6, 1, 5, 5, 1 },
		{ COLLECTIVE_ALLTOALL, COLLECTIVE_BY_RING, 6, 1, 1, 5, 5 / 6.0 },
		{ COLLECTIVE_SEND, COLLECTIVE_BY_RING, 4, 1, 1, 3, 1 },
	};
	struct topo *topo = make_fabric();
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct collective_phases phases;

		assert_int_equal(collective_phases_make(topo, cases[i].op,
							cases[i].algorithm, hosts, 1,
							cases[i].w, MESSAGE, &phases),
				 0);
		assert_int_equal(phases.n, cases[i].n_phases);
		assert_int_equal(phases.n_rails, 1);
		assert_int_equal(steps_of(&phases), cases[i].n_steps);
		assert_near(sum_of(&phases), cases[i].sum * MESSAGE, 1e-3);
		assert_near(nic_sum_of(&phases), cases[i].nic * MESSAGE, 1e-3);
		collective_phases_fini(&phases);
	}
	topo_unref(topo);
}

/* Halves of vectors go to near ranks, small parts to far ones. */
static void
halving_and_doubling_exchange_large_parts_with_near_ranks(void **state)
{
	static const uint32_t distance[] = { 1, 2, 4, 4, 2, 1 };
	static const double part[] = { 0.5, 0.25, 0.125, 0.125, 0.25, 0.5 };
	struct topo *topo = make_fabric();
	struct collective_phases phases;
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);

	(void)state;
	assert_int_equal(collective_phases_make(topo, COLLECTIVE_ALLREDUCE,
						COLLECTIVE_BY_HALVING_DOUBLING, hosts,
						1, 8, MESSAGE, &phases),
			 0);
	for (size_t p = 0; p < 6; p++) {
		assert_int_equal(phases.items[p].n, 8);
		for (size_t i = 0; i < 8; i++) {
			const struct collective_flow *f = &phases.items[p].flows[i];

			assert_int_equal(topo_host_number(topo, f->source) ^
						 topo_host_number(topo, f->destination),
					 distance[p]);
			assert_near(f->bytes, part[p] * MESSAGE, 1e-3);
		}
	}
	collective_phases_fini(&phases);
	topo_unref(topo);
}

static void
flows_of_groups_between_the_same_hosts_are_one(void **state)
{
	struct topo *topo = make_fabric();
	struct collective_phases phases;
	size_t n_hosts;
	const uint32_t *h = topo_hosts(topo, &n_hosts);
	/* Two equal groups, and one whose neighbors share hosts. */
	const uint32_t ranks[] = { h[0], h[1], h[2], h[3], h[0], h[1],
				   h[2], h[3], h[0], h[0], h[1], h[1] };

	(void)state;
	assert_int_equal(collective_phases_make(topo, COLLECTIVE_ALLGATHER,
						COLLECTIVE_BY_RING, ranks, 3, 4,
						MESSAGE, &phases),
			 0);
	assert_int_equal(phases.items[0].n, 5);
	assert_int_equal(phases.items[0].flows[0].source, h[0]);
	assert_int_equal(phases.items[0].flows[0].destination, h[1]);
	assert_near(phases.items[0].flows[0].bytes, 3 * 0.75 * MESSAGE, 1e-3);
	assert_near(phases.items[0].flows[1].bytes, 2 * 0.75 * MESSAGE, 1e-3);
	assert_int_equal(phases.items[0].flows[4].source, h[1]);
	assert_int_equal(phases.items[0].flows[4].destination, h[0]);
	assert_near(phases.items[0].nic_bytes, 3 * 0.75 * MESSAGE, 1e-3);
	collective_phases_fini(&phases);

	/* All within one host: no flow, no step. */
	assert_int_equal(collective_phases_make(topo, COLLECTIVE_ALLREDUCE,
						COLLECTIVE_BY_RING,
						(const uint32_t[]){ h[5], h[5], h[5] },
						1, 3, MESSAGE, &phases),
			 0);
	assert_int_equal(phases.items[0].n, 0);
	assert_int_equal(phases.items[0].n_steps, 0);
	assert_near(phases.items[0].nic_bytes, 0, 0);
	collective_phases_fini(&phases);
	topo_unref(topo);
}

static void
impossible_operations_are_refused(void **state)
{
	struct topo *topo = make_fabric();
	struct collective_phases phases;
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);
	const uint32_t a_switch = topo_find_node(topo, "spine0");

	(void)state;
	assert_null(
		collective_op_fault(COLLECTIVE_ALLREDUCE, COLLECTIVE_BY_HIERARCHY, 7));
	assert_null(collective_op_fault(COLLECTIVE_ALLREDUCE,
					COLLECTIVE_BY_HALVING_DOUBLING, 7));
	assert_non_null(collective_op_fault(COLLECTIVE_ALLGATHER,
					    COLLECTIVE_BY_HALVING_DOUBLING, 7));
	assert_non_null(
		collective_op_fault(COLLECTIVE_ALLTOALL, COLLECTIVE_BY_TREE, 8));
	assert_non_null(
		collective_op_fault(COLLECTIVE_ALLGATHER, COLLECTIVE_BY_TREE, 8));
	assert_int_equal(collective_phases_make(topo, COLLECTIVE_REDUCESCATTER,
						COLLECTIVE_BY_HALVING_DOUBLING, hosts,
						1, 6, 1, &phases),
			 -EINVAL);
	assert_int_equal(collective_phases_make(topo, COLLECTIVE_OP_NONE,
						COLLECTIVE_BY_RING, hosts, 1, 6, 1,
						&phases),
			 -EINVAL);
	assert_int_equal(collective_phases_make(topo, COLLECTIVE_SEND,
						COLLECTIVE_BY_RING, hosts, 1, 6, 0,
						&phases),
			 -EINVAL);
	assert_int_equal(collective_phases_make(topo, COLLECTIVE_SEND,
						COLLECTIVE_BY_RING, hosts, 0, 6, 1,
						&phases),
			 -EINVAL);
	assert_int_equal(collective_phases_make(topo, COLLECTIVE_SEND,
						COLLECTIVE_BY_RING, &a_switch, 1, 1, 1,
						&phases),
			 -EINVAL);
	assert_int_equal(collective_phases_make(topo, COLLECTIVE_ALLTOALL,
						COLLECTIVE_BY_RING, hosts, 1, 100000, 1,
						&phases),
			 -E2BIG);
	topo_unref(topo);
}

static void
groups_are_those_of_megatron(void **state)
{
	const struct rank_layout layout = {
		.size = { [RANK_GROUP_TP] = 2,
			  [RANK_GROUP_DP] = 4,
			  [RANK_GROUP_EP] = 2,
			  [RANK_GROUP_PP] = 3 },
	};

	static const struct {
		enum rank_group kind;
		uint32_t group, ranks[4];
	} cases[] = {
		{ RANK_GROUP_TP, 0, { 0, 1 } },
		{ RANK_GROUP_TP, 11, { 22, 23 } },
		{ RANK_GROUP_DP, 0, { 0, 2, 4, 6 } },
		{ RANK_GROUP_DP, 1, { 1, 3, 5, 7 } },
		{ RANK_GROUP_DP, 5, { 17, 19, 21, 23 } },
		{ RANK_GROUP_EP, 0, { 0, 2 } },
		{ RANK_GROUP_EP, 2, { 4, 6 } },
		{ RANK_GROUP_EP, 5, { 9, 11 } },
		{ RANK_GROUP_PP, 0, { 0, 8, 16 } },
		{ RANK_GROUP_PP, 7, { 7, 15, 23 } },
	};

	(void)state;
	assert_int_equal(rank_layout_n_ranks(&layout), 24);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (uint32_t k = 0; k < layout.size[cases[i].kind]; k++)
			assert_int_equal(rank_group_member(&layout, cases[i].kind,
							   cases[i].group, k),
					 cases[i].ranks[k]);
	/* Each rank is in exactly one group of a kind. */
	for (int kind = 0; kind < N_RANK_GROUPS; kind++) {
		uint32_t seen = 0;

		for (uint32_t g = 0; g < 24 / layout.size[kind]; g++)
			for (uint32_t k = 0; k < layout.size[kind]; k++)
				seen |= 1u << rank_group_member(
						&layout, (enum rank_group)kind, g, k);
		assert_int_equal(seen, all_of(24));
	}
}

static void
pairs_get_numbers_in_the_order_in_which_they_come(void **state)
{
	struct pair_table table = PAIR_TABLE_EMPTY;

	(void)state;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < 1000; i++) {
			assert_int_equal(pair_table_add(&table, i, i * 7), 2 * i);
			assert_int_equal(pair_table_add(&table, i * 7 + 1, i),
					 2 * i + 1);
		}
	assert_int_equal(table.n, 2000);
	pair_table_free(&table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			stepwise_collectives_bring_what_each_rank_has_to_all_of_them),
		cmocka_unit_test(a_tree_broadcast_reaches_all_ranks_from_the_first),
		cmocka_unit_test(phases_bytes_and_steps_are_those_of_the_textbook),
		cmocka_unit_test(
			halving_and_doubling_exchange_large_parts_with_near_ranks),
		cmocka_unit_test(flows_of_groups_between_the_same_hosts_are_one),
		cmocka_unit_test(impossible_operations_are_refused),
		cmocka_unit_test(groups_are_those_of_megatron),
		cmocka_unit_test(pairs_get_numbers_in_the_order_in_which_they_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
