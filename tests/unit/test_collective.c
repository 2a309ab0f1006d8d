/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"
#include "topology/collective.h"
#include "topology/gen.h"
#include "topology/route.h"
#include "topology/topo.h"

#define MESSAGE 120e6 /* Bytes. */

struct sums {
	double all;
	double out[64], in[64]; /* By host number. */
};

/* 6 leaves of 4 hosts, 3 spines, all links 50 Gb/s. */
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

static struct sums
sum_up(const struct topo *topo, const struct collective_flows *flows)
{
	struct sums s = { 0 };

	for (size_t i = 0; i < flows->n; i++) {
		const struct collective_flow *f = &flows->flows[i];

		assert_int_not_equal(f->source, f->destination);
		assert_true(f->bytes > 0);
		s.all += f->bytes;
		s.out[topo_host_number(topo, f->source)] += f->bytes;
		s.in[topo_host_number(topo, f->destination)] += f->bytes;
	}
	return s;
}

static void
assert_nic_bytes_is_the_largest(const struct sums *s,
				const struct collective_flows *flows)
{
	double largest = 0;

	for (int i = 0; i < 64; i++)
		largest = fmax(largest, fmax(s->out[i], s->in[i]));
	assert_near(flows->nic_bytes, largest / flows->n_rails, 1e-3);
}

/* Draws 'n' hosts of the fabric without replacement, in random order. */
static void
draw_hosts(struct rng *rng, uint32_t n_hosts, uint32_t *hosts, size_t n)
{
	bool taken[64] = { false };

	for (size_t i = 0; i < n;) {
		uint32_t host = (uint32_t)rng_below(rng, n_hosts);

		if (!taken[host])
			hosts[i++] = host;
		taken[host] = true;
	}
}

static size_t
count_leaves(const struct topo *topo, const uint32_t *hosts, size_t n)
{
	bool seen[64] = { false };
	size_t n_leaves = 0;

	for (size_t i = 0; i < n; i++) {
		n_leaves += !seen[topo_leaf_of(topo, hosts[i])];
		seen[topo_leaf_of(topo, hosts[i])] = true;
	}
	return n_leaves;
}

static void
ring_sends_the_textbook_bytes_from_every_host(void **state)
{
	struct topo *topo = make_fabric();
	struct rng rng;
	uint32_t hosts[24];

	(void)state;
	rng_init(&rng, 1);
	for (size_t w = 2; w <= 24; w++) {
		struct collective_flows flows;
		struct sums s;
		double each = 2 * (double)(w - 1) / (double)w * MESSAGE;

		draw_hosts(&rng, 24, hosts, w);
		assert_int_equal(collective_make(topo, COLLECTIVE_RING, hosts, w,
						 MESSAGE, &flows),
				 0);
		assert_int_equal(flows.n, w);
		s = sum_up(topo, &flows);
		assert_near(s.all, 2 * (double)(w - 1) * MESSAGE, 1e-3);
		for (size_t i = 0; i < w; i++) {
			assert_near(s.out[hosts[i]], each, 1e-3);
			assert_near(s.in[hosts[i]], each, 1e-3);
		}
		assert_nic_bytes_is_the_largest(&s, &flows);
		collective_flows_fini(&flows);
	}
	topo_unref(topo);
}

static void
ring_is_one_cycle_and_crosses_each_rack_once_out_and_once_in(void **state)
{
	struct topo *topo = make_fabric();
	struct rng rng;
	uint32_t hosts[24];

	(void)state;
	rng_init(&rng, 2);
	for (size_t round = 0; round < 200; round++) {
		size_t w = 2 + rng_below(&rng, 23);
		size_t n_out[64] = { 0 }, n_in[64] = { 0 }, length = 0;
		uint32_t next[64] = { 0 }, at;
		struct collective_flows flows;

		draw_hosts(&rng, 24, hosts, w);
		assert_int_equal(
			collective_make(topo, COLLECTIVE_RING, hosts, w, 1, &flows), 0);
		for (size_t i = 0; i < flows.n; i++) {
			uint32_t a = flows.flows[i].source,
				 z = flows.flows[i].destination;

			next[a] = z;
			if (topo_leaf_of(topo, a) != topo_leaf_of(topo, z)) {
				n_out[topo_leaf_of(topo, a)]++;
				n_in[topo_leaf_of(topo, z)]++;
			}
		}
		at = hosts[0];
		do {
			at = next[at];
			length++;
		} while (at != hosts[0] && length <= w);
		assert_int_equal(length, w);
		for (size_t i = 0; i < w; i++) {
			uint32_t leaf = topo_leaf_of(topo, hosts[i]);
			size_t want = count_leaves(topo, hosts, w) > 1;

			assert_int_equal(n_out[leaf], want);
			assert_int_equal(n_in[leaf], want);
		}
		collective_flows_fini(&flows);
	}
	topo_unref(topo);
}

static void
tree_has_an_edge_both_ways_to_every_host_but_one(void **state)
{
	struct topo *topo = make_fabric();
	uint32_t hosts[24];

	(void)state;
	for (uint32_t i = 0; i < 24; i++)
		hosts[i] = i;
	for (size_t w = 2; w <= 24; w++) {
		size_t n_neighbours[24] = { 0 };
		struct collective_flows flows;
		struct sums s;

		assert_int_equal(collective_make(topo, COLLECTIVE_TREE, hosts, w,
						 MESSAGE, &flows),
				 0);
		assert_int_equal(flows.n, 2 * (w - 1));
		s = sum_up(topo, &flows);
		assert_near(s.all, 2 * (double)(w - 1) * MESSAGE, 1e-3);
		for (size_t i = 0; i < flows.n; i++) {
			assert_near(flows.flows[i].bytes, MESSAGE, 0);
			n_neighbours[flows.flows[i].source]++;
		}
		for (size_t i = 0; i < w; i++) {
			/* A parent and at most two children; equal bytes in and out. */
			assert_in_range(n_neighbours[i], 1, 3);
			assert_near(s.in[i], s.out[i], 0);
		}
		assert_nic_bytes_is_the_largest(&s, &flows);
		collective_flows_fini(&flows);
	}
	topo_unref(topo);
}

/* Edges from host 'at' to the farthest host; 'seen' marks visited hosts. */
static size_t
depth_below(const struct collective_flows *flows, uint32_t at, bool *seen)
{
	size_t deepest = 0;

	seen[at] = true;
	for (size_t i = 0; i < flows->n; i++) {
		size_t depth;

		if (flows->flows[i].source != at || seen[flows->flows[i].destination])
			continue;
		depth = 1 + depth_below(flows, flows->flows[i].destination, seen);
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

static void
tree_is_as_flat_as_can_be_and_leaves_racks_rarely(void **state)
{
	struct topo *topo = make_fabric();
	uint32_t hosts[24];
	size_t n_crossing = 0;
	struct collective_flows flows;

	(void)state;
	for (uint32_t i = 0; i < 24; i++)
		hosts[i] = i;
	for (size_t w = 2; w <= 24; w++) {
		size_t depth = SIZE_MAX, floor_log2 = 0;

		while ((size_t)2 << floor_log2 <= w)
			floor_log2++;
		assert_int_equal(
			collective_make(topo, COLLECTIVE_TREE, hosts, w, 1, &flows), 0);
		for (uint32_t root = 0; root < w; root++) {
			bool seen[24] = { false };
			size_t below = depth_below(&flows, root, seen);

			for (size_t i = 0; i < w; i++)
				assert_true(seen[i]);
			depth = below < depth ? below : depth;
		}
		assert_true(depth <= floor_log2);
		collective_flows_fini(&flows);
	}
	/*
	 * 6 racks need 5 edges between them.  A tree by host number alone, as in a
	 * heap, would have 20.
	 */
	collective_make(topo, COLLECTIVE_TREE, hosts, 24, 1, &flows);
	for (size_t i = 0; i < flows.n; i++)
		n_crossing += topo_leaf_of(topo, flows.flows[i].source) !=
			      topo_leaf_of(topo, flows.flows[i].destination);
	assert_in_range(n_crossing / 2, 5, 12);
	collective_flows_fini(&flows);
	topo_unref(topo);
}

static void
all_to_all_sends_every_pair_its_share(void **state)
{
	struct topo *topo = make_fabric();
	uint32_t hosts[5] = { 20, 3, 11, 0, 7 };
	bool seen[24][24] = { { false } };
	struct collective_flows flows;
	struct sums s;

	(void)state;
	assert_int_equal(
		collective_make(topo, COLLECTIVE_ALL_TO_ALL, hosts, 5, MESSAGE, &flows),
		0);
	assert_int_equal(flows.n, 20);
	for (size_t i = 0; i < flows.n; i++) {
		assert_near(flows.flows[i].bytes, MESSAGE / 5, 0);
		assert_false(seen[flows.flows[i].source][flows.flows[i].destination]);
		seen[flows.flows[i].source][flows.flows[i].destination] = true;
	}
	s = sum_up(topo, &flows);
	assert_near(s.all, 4 * MESSAGE, 1e-3);
	assert_near(flows.nic_bytes, 0.8 * MESSAGE, 1e-3);
	assert_nic_bytes_is_the_largest(&s, &flows);
	collective_flows_fini(&flows);
	topo_unref(topo);
}

static void
hierarchical_sends_rings_leaders_and_chains(void **state)
{
	struct topo *topo = make_fabric();
	/* Leaf 0: hosts 0 to 3, leaf 1: 4 and 5, leaf 2: 8. */
	const uint32_t hosts[] = { 8, 0, 1, 2, 3, 5, 4 };
	struct collective_flows flows;
	struct sums s;

	(void)state;
	assert_int_equal(collective_make(topo, COLLECTIVE_HIERARCHICAL, hosts, 7,
					 MESSAGE, &flows),
			 0);
	assert_int_equal(flows.n, (4 + 2) + 3 + (3 + 1));
	s = sum_up(topo, &flows);
	/* 3 (W - L) S + 2 (L - 1) S with W = 7, L = 3. */
	assert_near(s.all, (3 * 4 + 2 * 2) * MESSAGE, 1e-3);
	/* Leader of leaf 0: ring 2 * 3/4, leaders' ring 2 * 2/3, chain 1. */
	assert_near(s.out[0], (1.5 + 4. / 3 + 1) * MESSAGE, 1e-3);
	assert_near(s.in[0], (1.5 + 4. / 3) * MESSAGE, 1e-3);
	assert_near(s.out[1], (1.5 + 1) * MESSAGE, 1e-3);
	assert_near(s.out[3], 1.5 * MESSAGE, 1e-3);
	assert_near(s.in[3], (1.5 + 1) * MESSAGE, 1e-3);
	assert_near(s.out[8], 4. / 3 * MESSAGE, 1e-3);
	assert_nic_bytes_is_the_largest(&s, &flows);
	collective_flows_fini(&flows);

	/* Within one leaf it is a plain ring without a broadcast. */
	assert_int_equal(collective_make(topo, COLLECTIVE_HIERARCHICAL, hosts + 1, 4,
					 MESSAGE, &flows),
			 0);
	assert_int_equal(flows.n, 4);
	assert_near(flows.nic_bytes, 1.5 * MESSAGE, 1e-3);
	collective_flows_fini(&flows);
	topo_unref(topo);
}

static void
one_host_sends_nothing_and_nonsense_is_refused(void **state)
{
	struct topo *topo = make_fabric();
	uint32_t hosts[] = { 3, 3, 24, 99 };
	struct collective_flows flows;

	(void)state;
	for (int kind = 0; kind < N_COLLECTIVES; kind++) {
		assert_non_null(collective_names[kind]);
		assert_int_equal(collective_make(topo, (enum collective)kind, hosts, 1,
						 1, &flows),
				 0);
		assert_int_equal(flows.n, 0);
		assert_near(flows.nic_bytes, 0, 0);
		collective_flows_fini(&flows);
		assert_int_equal(collective_make(topo, (enum collective)kind, hosts, 2,
						 1, &flows),
				 -EINVAL);
	}
	assert_null(collective_names[N_COLLECTIVES]);
	assert_int_equal(
		collective_make(topo, COLLECTIVE_RING, hosts + 1, 2, 1, &flows),
		-EINVAL);
	assert_int_equal(
		collective_make(topo, COLLECTIVE_RING, hosts + 3, 1, 1, &flows),
		-EINVAL);
	assert_int_equal(collective_make(topo, COLLECTIVE_RING, hosts, 0, 1, &flows),
			 -EINVAL);
	assert_int_equal(collective_make(topo, COLLECTIVE_RING, hosts, 1, 0, &flows),
			 -EINVAL);
	assert_int_equal(
		collective_make(topo, COLLECTIVE_RING, hosts, 1, (double)NAN, &flows),
		-EINVAL);
	topo_unref(topo);
}

static void
order_of_hosts_changes_nothing(void **state)
{
	struct topo *topo = make_fabric();
	const uint32_t forth[] = { 1, 2, 5, 9, 17, 18 },
		       back[] = { 18, 17, 9, 5, 2, 1 };

	(void)state;
	for (int kind = 0; kind < N_COLLECTIVES; kind++) {
		struct collective_flows a, b;

		collective_make(topo, (enum collective)kind, forth, 6, 7, &a);
		collective_make(topo, (enum collective)kind, back, 6, 7, &b);
		assert_int_equal(a.n, b.n);
		for (size_t i = 0; i < a.n; i++) {
			assert_int_equal(a.flows[i].source, b.flows[i].source);
			assert_int_equal(a.flows[i].destination,
					 b.flows[i].destination);
			assert_near(a.flows[i].bytes, b.flows[i].bytes, 0);
		}
		collective_flows_fini(&a);
		collective_flows_fini(&b);
	}
	topo_unref(topo);
}

static void
footprint_of_a_ring_is_one_on_interfaces_and_once_up_from_each_rack(void **state)
{
	struct topo *topo = make_fabric();
	struct routes *routes = routes_new(topo, 4);
	const uint32_t hosts[] = { 0, 1, 2, 4, 5, 8 };
	struct collective_flows flows;
	struct footprint fp;
	size_t n_host_links = 0, n_up = 0, n_down = 0;

	(void)state;
	assert_int_equal(collective_make(topo, COLLECTIVE_RING, hosts, 6, 9e6, &flows),
			 0);
	assert_int_equal(footprint_make(routes, &flows, 1000, &fp, NULL), 0);
	for (size_t i = 0; i < fp.n; i++) {
		const struct topo_link *link = topo_link(topo, fp.entries[i].link);
		uint32_t from = topo_node(topo, link->from)->tier;
		uint32_t to = topo_node(topo, link->to)->tier;

		if (i > 0)
			assert_true(fp.entries[i].link > fp.entries[i - 1].link);
		/* Each flow of a ring has the size of an interface's traffic. */
		assert_near(fp.entries[i].factor, fp.entries[i].n_flows, 1e-12);
		if (from == 0 || to == 0) {
			assert_int_equal(fp.entries[i].n_flows, 1);
			n_host_links++;
		} else if (to == 2) {
			n_up += fp.entries[i].n_flows;
		} else {
			n_down += fp.entries[i].n_flows;
		}
	}
	assert_int_equal(n_host_links, 12);
	assert_int_equal(n_up, 3);
	assert_int_equal(n_down, 3);
	for (uint32_t link = 0; link <= topo_n_links(topo); link++) {
		const struct footprint_entry *wanted = NULL;

		for (size_t e = 0; e < fp.n; e++)
			if (fp.entries[e].link == link)
				wanted = &fp.entries[e];
		assert_ptr_equal(footprint_find(&fp, link), wanted);
	}
	footprint_fini(&fp);
	collective_flows_fini(&flows);
	routes_free(routes);
	topo_unref(topo);
}

static void
footprints_add_up_to_the_bytes_times_the_hops(void **state)
{
	struct topo *topo = make_fabric();
	struct routes *routes = routes_new(topo, 4);
	const uint32_t hosts[] = { 0, 1, 2, 4, 5, 8, 13, 22, 23 };

	(void)state;
	for (int kind = 0; kind < N_COLLECTIVES; kind++) {
		struct collective_flows flows;
		struct footprint fp;
		double want = 0, got = 0;

		collective_make(topo, (enum collective)kind, hosts, 9, 9e6, &flows);
		assert_int_equal(footprint_make(routes, &flows, 65530, &fp, NULL), 0);
		for (size_t i = 0; i < flows.n; i++)
			want += flows.flows[i].bytes / flows.nic_bytes *
				(double)routes_n_hops(routes, flows.flows[i].source,
						      flows.flows[i].destination);
		for (size_t i = 0; i < fp.n; i++)
			got += fp.entries[i].factor;
		assert_near(got, want, 1e-9 * want);
		footprint_fini(&fp);
		collective_flows_fini(&flows);
	}
	routes_free(routes);
	topo_unref(topo);
}

static void
with_rails_a_ring_loads_every_interface_alike(void **state)
{
	const struct gen_rail o = { .n_groups = 2, .hosts_per_group = 4, .n_rails = 4 };
	const uint32_t hosts[] = { 0, 1, 2, 5, 6 };
	struct collective_flows flows;
	struct routes *routes;
	struct footprint fp;
	struct topo *topo;
	struct sums s;
	size_t n_interfaces = 0;

	(void)state;
	assert_int_equal(gen_rail(&o, &topo, NULL), 0);
	routes = routes_new(topo, 1);
	assert_int_equal(collective_make(topo, COLLECTIVE_RING, hosts, 5, 1000, &flows),
			 0);
	assert_int_equal(flows.n, 5 * 4);
	assert_int_equal(flows.n_rails, 4);
	assert_near(flows.nic_bytes, 2 * 0.8 * 1000 / 4, 1e-9);
	s = sum_up(topo, &flows);
	assert_near(s.all, 2 * 4 * 1000, 1e-9);
	assert_nic_bytes_is_the_largest(&s, &flows);
	assert_int_equal(footprint_make(routes, &flows, 0, &fp, NULL), 0);
	for (size_t i = 0; i < fp.n; i++) {
		const struct topo_link *link = topo_link(topo, fp.entries[i].link);

		if (topo_node(topo, link->from)->kind == TOPO_HOST) {
			assert_near(fp.entries[i].factor, 1, 1e-12);
			n_interfaces++;
		}
	}
	assert_int_equal(n_interfaces, 5 * 4);
	footprint_fini(&fp);
	collective_flows_fini(&flows);
	routes_free(routes);
	topo_unref(topo);
}

/* Two rails: the ports of a pair of hosts are r0 r1 r0 r1 r0 r1. */
static void
split_flows_load_interfaces_as_whole_ones_do(void **state)
{
	const struct gen_rail o = { .n_groups = 2, .hosts_per_group = 4, .n_rails = 2 };
	const uint32_t hosts[] = { 0, 1, 2, 5, 6 };
	struct collective_flows flows;
	struct footprint whole, split;
	struct routes *routes;
	struct topo *topo;
	struct sums s;

	(void)state;
	assert_int_equal(gen_rail(&o, &topo, NULL), 0);
	routes = routes_new(topo, 1);
	assert_int_equal(collective_make(topo, COLLECTIVE_RING, hosts, 5, 1000, &flows),
			 0);
	assert_int_equal(footprint_make(routes, &flows, 0, &whole, NULL), 0);
	assert_int_equal(collective_flows_split(&flows, 0), -EINVAL);
	assert_int_equal(collective_flows_split(&flows, COLLECTIVE_MAX_FLOWS), -E2BIG);
	assert_int_equal(flows.n, 5 * 2);
	assert_int_equal(collective_flows_split(&flows, 1), 0);
	assert_int_equal(flows.n, 5 * 2);
	assert_int_equal(collective_flows_split(&flows, 3), 0);
	assert_int_equal(flows.n, 5 * 2 * 3);
	assert_near(flows.nic_bytes, 2 * 0.8 * 1000 / 2, 1e-9);
	s = sum_up(topo, &flows);
	assert_near(s.all, 2 * 4 * 1000, 1e-9);
	for (size_t i = 0; i < flows.n; i++) {
		assert_int_equal(flows.flows[i].source, flows.flows[i / 6 * 6].source);
		assert_near(flows.flows[i].bytes, flows.nic_bytes / 3, 1e-9);
	}
	assert_int_equal(footprint_make(routes, &flows, 0, &split, NULL), 0);
	for (size_t i = 0; i < whole.n; i++) {
		const struct footprint_entry *e = &whole.entries[i];
		const struct topo_link *link = topo_link(topo, e->link);

		if (topo_node(topo, link->from)->kind != TOPO_HOST)
			continue;
		assert_near(footprint_find(&split, e->link)->factor, e->factor, 1e-12);
		assert_int_equal(footprint_find(&split, e->link)->n_flows,
				 3 * e->n_flows);
	}
	footprint_fini(&whole);
	footprint_fini(&split);
	collective_flows_fini(&flows);
	routes_free(routes);
	topo_unref(topo);
}

static void
over_a_sprayed_fabric_loads_are_shares(void **state)
{
	const struct gen_leaf_spine o = { .n_leaves = 6,
					  .hosts_per_leaf = 4,
					  .n_spines = 3,
					  .balance = { 1, { TOPO_BALANCE_SPRAY } } };
	const uint32_t hosts[] = { 0, 1, 2, 4, 5, 8, 13, 22, 23 };
	struct routes *routes;
	struct topo *topo;

	(void)state;
	assert_int_equal(gen_leaf_spine(&o, &topo, NULL), 0);
	routes = routes_new(topo, 4);
	for (int kind = 0; kind < N_COLLECTIVES; kind++) {
		struct collective_flows flows;
		struct footprint fp, other;
		double want = 0, got = 0;

		collective_make(topo, (enum collective)kind, hosts, 9, 9e6, &flows);
		assert_int_equal(footprint_make(routes, &flows, 0, &fp, NULL), 0);
		for (size_t i = 0; i < flows.n; i++)
			want += flows.flows[i].bytes / flows.nic_bytes *
				(double)routes_n_hops(routes, flows.flows[i].source,
						      flows.flows[i].destination);
		for (size_t i = 0; i < fp.n; i++) {
			const struct topo_link *link =
				topo_link(topo, fp.entries[i].link);
			size_t n;
			const uint32_t *out = topo_links_out(topo, link->from, &n);

			got += fp.entries[i].factor;
			/* All uplinks of a leaf carry the same. */
			for (size_t k = 0;
			     k < n && topo_node(topo, link->to)->tier == 2; k++) {
				const struct footprint_entry *e =
					footprint_find(&fp, out[k]);

				if (topo_node(topo, topo_link(topo, out[k])->to)
					    ->tier != 2)
					continue;
				assert_non_null(e);
				assert_near(e->factor, fp.entries[i].factor, 1e-12);
				assert_int_equal(e->n_flows, fp.entries[i].n_flows);
			}
		}
		assert_near(got, want, 1e-9 * want);
		/* Ports draw nothing. */
		assert_int_equal(footprint_make(routes, &flows, 777, &other, NULL), 0);
		assert_int_equal(other.n, fp.n);
		for (size_t i = 0; i < fp.n; i++)
			assert_near(other.entries[i].factor, fp.entries[i].factor,
				    1e-12);
		footprint_fini(&fp);
		footprint_fini(&other);
		collective_flows_fini(&flows);
	}
	routes_free(routes);
	topo_unref(topo);
}

static void
footprint_names_the_pair_that_cannot_reach_each_other(void **state)
{
	struct topo_builder *b = topo_builder_new("islands");
	uint32_t h0, h1, l0, l1, pair[2] = { 99, 99 };
	struct collective_flows flows;
	struct footprint fp = { 0 };
	struct routes *routes;
	struct topo *topo;

	(void)state;
	topo_builder_host(b, "h0", 1, &h0);
	topo_builder_host(b, "h1", 1, &h1);
	topo_builder_switch(b, "l0", 1, &l0);
	topo_builder_switch(b, "l1", 1, &l1);
	topo_builder_cable(b, h0, "p", l0, "p", 1, 1);
	topo_builder_cable(b, h1, "p", l1, "p", 1, 1);
	topo = topo_builder_finish(b);
	routes = routes_new(topo, 0);
	collective_make(topo, COLLECTIVE_RING, (uint32_t[]){ h0, h1 }, 2, 1, &flows);
	assert_int_equal(footprint_make(routes, &flows, 0, &fp, pair), -EHOSTUNREACH);
	assert_int_equal(pair[0], h0);
	assert_int_equal(pair[1], h1);
	assert_int_equal(footprint_make(routes, &flows, 0, &fp, NULL), -EHOSTUNREACH);
	assert_null(fp.entries);
	collective_flows_fini(&flows);
	routes_free(routes);
	topo_unref(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_sends_the_textbook_bytes_from_every_host),
		cmocka_unit_test(
			ring_is_one_cycle_and_crosses_each_rack_once_out_and_once_in),
		cmocka_unit_test(tree_has_an_edge_both_ways_to_every_host_but_one),
		cmocka_unit_test(tree_is_as_flat_as_can_be_and_leaves_racks_rarely),
		cmocka_unit_test(all_to_all_sends_every_pair_its_share),
		cmocka_unit_test(hierarchical_sends_rings_leaders_and_chains),
		cmocka_unit_test(one_host_sends_nothing_and_nonsense_is_refused),
		cmocka_unit_test(order_of_hosts_changes_nothing),
		cmocka_unit_test(
			footprint_of_a_ring_is_one_on_interfaces_and_once_up_from_each_rack),
		cmocka_unit_test(footprints_add_up_to_the_bytes_times_the_hops),
		cmocka_unit_test(with_rails_a_ring_loads_every_interface_alike),
		cmocka_unit_test(over_a_sprayed_fabric_loads_are_shares),
		cmocka_unit_test(split_flows_load_interfaces_as_whole_ones_do),
		cmocka_unit_test(footprint_names_the_pair_that_cannot_reach_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
