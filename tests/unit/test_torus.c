/* SPDX-License-Identifier: Apache-2.0 */
/* test_torus.c - rings and tori: generated, read, routed, and their closed forms. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "tests/unit/fabric_round_trip.h"
#include "tests/unit/made_fabric.h"
#include "tests/unit/operation_time.h"
#include "tests/unit/test.h"
#include "topology/check.h"
#include "topology/collective.h"
#include "topology/gen.h"
#include "topology/read.h"
#include "topology/route.h"
#include "topology/topo.h"

/* The node of the switch at (x, y, z): hosts come first, one at each. */
static uint32_t
switch_at(const uint32_t dims[3], uint32_t x, uint32_t y, uint32_t z)
{
	return dims[0] * dims[1] * dims[2] + x + dims[0] * (y + dims[1] * z);
}

static void
take_coordinates(const uint32_t dims[3], uint32_t number, uint32_t ret_at[3])
{
	for (int i = 0; i < 3; i++) {
		ret_at[i] = number % dims[i];
		number /= dims[i];
	}
}

/* One step of the rule in route.h, written down once more. */
static uint32_t
naive_next(const uint32_t dims[3], uint32_t number, uint32_t last)
{
	uint32_t at[3], to[3], stride = 1;

	take_coordinates(dims, number, at);
	take_coordinates(dims, last, to);
	for (int i = 0; i < 3; i++) {
		uint32_t up = (to[i] + dims[i] - at[i]) % dims[i];
		bool goes_up =
			2 * up < dims[i] || (2 * up == dims[i] && at[i] % 2 == 0);
		uint32_t next = (at[i] + (goes_up ? 1 : dims[i] - 1)) % dims[i];

		if (up)
			return number + (next - at[i]) * stride;
		stride *= dims[i];
	}
	return number;
}

static void
paths_correct_one_dimension_after_the_other(void **state)
{
	static const uint32_t sizes[][3] = {
		{ 2, 1, 1 }, { 3, 1, 1 }, { 8, 1, 1 }, { 9, 1, 1 }, { 4, 4, 1 },
		{ 2, 5, 1 }, { 1, 6, 1 }, { 4, 3, 5 }, { 2, 2, 2 }, { 8, 8, 4 },
	};

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		const uint32_t *dims = sizes[s];
		struct gen_torus o = { .dims = { dims[0], dims[1], dims[2] } };
		uint32_t n = dims[0] * dims[1] * dims[2];
		struct routes *routes;
		struct topo *topo;

		assert_int_equal(gen_torus(&o, &topo, NULL), 0);
		routes = routes_new(topo, s);
		for (uint32_t i = 0; i < n * n; i++) {
			uint32_t links[ROUTE_MAX_HOPS], v = i / n, last = i % n;
			size_t n_links = 0, k = 1;

			assert_int_equal(
				routes_path(routes, v, last, 7, links, &n_links), 0);
			assert_int_equal(routes_n_hops(routes, v, last), n_links);
			for (; v != last; k++) {
				v = naive_next(dims, v, last);
				assert_true(k < n_links);
				assert_int_equal(topo_link(topo, links[k])->to, n + v);
			}
			assert_int_equal(n_links, i / n == last ? 0 : k + 1);
			if (n_links)
				assert_near(routes_n_paths(routes, i / n, last), 1, 0);
		}
		routes_free(routes);
		topo_unref(topo);
	}
}

/* A copy of the fabric without the cables from 'a' to 'b', and back. */
static struct topo *
without(const struct topo *topo, uint32_t a, uint32_t b)
{
	struct topo_builder *builder = topo_builder_new("less");

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		const struct topo_node *node = topo_node(topo, i);
		uint32_t id;

		if (node->kind == TOPO_HOST)
			topo_builder_host(builder, node->name, node->n_slots, &id);
		else
			topo_builder_switch(builder, node->name, node->tier, &id);
	}
	assert_int_equal(topo_builder_routing(builder, topo_routing(topo)), 0);
	for (uint32_t i = 0; i < topo_n_links(topo); i += 2) {
		const struct topo_link *l = topo_link(topo, i);

		if (!(l->from == a && l->to == b) && !(l->from == b && l->to == a))
			assert_int_equal(topo_builder_cable(builder, l->from,
							    l->from_port, l->to,
							    l->to_port, l->capacity_bps,
							    l->capacity_bps),
					 0);
	}
	return topo_builder_finish(builder);
}

static void
a_path_goes_the_other_way_round_where_a_cable_is_missing(void **state)
{
	const uint32_t dims[3] = { 8, 4, 1 };
	struct topo *topo = made_fabric("torus --dims 8x4"), *less, *least;
	struct topo_faults faults = { VEC_EMPTY };
	struct routes *routes;
	uint32_t links[ROUTE_MAX_HOPS];
	size_t n;

	(void)state;
	less = without(topo, switch_at(dims, 1, 0, 0), switch_at(dims, 2, 0, 0));
	routes = routes_new(less, 0);
	/* 0 to 3: not up over 1 and 2, but down over 7, 6, 5 and 4. */
	assert_int_equal(routes_path(routes, 0, 3, 0, links, &n), 0);
	assert_int_equal(n, 2 + 5);
	assert_int_equal(topo_link(less, links[1])->to, switch_at(dims, 7, 0, 0));
	/* 0 to 1 is not concerned, and other rings are not, either. */
	assert_int_equal(routes_n_hops(routes, 0, 1), 3);
	assert_int_equal(routes_n_hops(routes, 8, 11), 2 + 3);
	topo_check(less, routes, &faults);
	assert_int_equal(faults.list.n, 1);
	assert_string_equal(faults.list.items[0].text,
			    "s1 has 0 cables to its neighbor s2, but most neighbors "
			    "have 1");
	topo_faults_fini(&faults);
	routes_free(routes);

	/* Both ways lack a cable: from 3 to 5 there is one way, from 0 to 3 none. */
	least = without(less, switch_at(dims, 5, 0, 0), switch_at(dims, 6, 0, 0));
	routes = routes_new(least, 0);
	assert_int_equal(routes_path(routes, 0, 3, 0, links, &n), -EHOSTUNREACH);
	assert_int_equal(routes_n_hops(routes, 0, 3), 0);
	assert_int_equal(routes_n_hops(routes, 3, 5), 4);
	routes_free(routes);
	topo_unref(least);
	topo_unref(less);
	topo_unref(topo);
}

static void
add_share(void *ctx, uint32_t link, double share)
{
	(void)link;
	*(double *)ctx += share;
}

static void
parallel_cables_are_hashed_or_sprayed(void **state)
{
	struct topo *topo = made_fabric("ring --switches 6 --parallel 4");
	struct routes *routes = routes_new(topo, 3);
	uint32_t links[ROUTE_MAX_HOPS], n_paths;
	bool is_used[4] = { false };
	double n_spread, share = 0;
	size_t n;

	(void)state;
	assert_near(routes_n_paths(routes, 0, 2), 16, 0);
	for (uint16_t port = 0; port < 100; port++) {
		assert_int_equal(routes_path(routes, 0, 1, port, links, &n), 0);
		assert_int_equal(n, 3);
		is_used[topo_link(topo, links[1])->from_port[1] - '1'] = true;
	}
	for (int i = 0; i < 4; i++)
		assert_true(is_used[i]);
	assert_int_equal(routes_numbered_path(routes, 0, 2, 0, 5, links, &n, &n_paths),
			 0);
	assert_int_equal(n_paths, 16);
	routes_free(routes);
	routes = routes_new_spraying(topo, 3);
	assert_int_equal(routes_spread(routes, 0, 2, 0, add_share, &share, &n_spread),
			 0);
	assert_near(n_spread, 16, 0);
	/* The whole flow crosses each of four hops. */
	assert_near(share, 4, 1e-12);
	routes_free(routes);
	topo_unref(topo);
}

/* The largest number of bytes on a cable between switches; all-to-all of 'bytes'. */
static double
largest_load(struct topo *topo, enum collective kind, double bytes, double *ret_least)
{
	struct routes *routes = routes_new(topo, 0);
	struct collective_flows flows;
	struct footprint footprint;
	size_t n_hosts;
	const uint32_t *hosts = topo_hosts(topo, &n_hosts);
	double most = 0, least = INFINITY;

	assert_int_equal(collective_make(topo, kind, hosts, n_hosts, bytes, &flows), 0);
	assert_int_equal(footprint_make(routes, &flows, 0, &footprint, NULL), 0);
	for (uint32_t l = 0; l < topo_n_links(topo); l++) {
		const struct topo_link *link = topo_link(topo, l);
		const struct footprint_entry *entry = footprint_find(&footprint, l);
		double load = entry ? entry->factor * flows.nic_bytes : 0;

		if (topo_node(topo, link->from)->kind != TOPO_SWITCH ||
		    topo_node(topo, link->to)->kind != TOPO_SWITCH)
			continue;
		most = fmax(most, load);
		least = fmin(least, load);
	}
	if (ret_least)
		*ret_least = least;
	footprint_fini(&footprint);
	collective_flows_fini(&flows);
	routes_free(routes);
	return most;
}

/*
 * Uniform traffic in a ring of k, each node sending S/k to each: the load of each link
 * and direction is S k/8 for k a multiple of 4, and S (k^2 - 1) / (8 k) for odd k (Dally
 * and Towles, Principles and Practices of Interconnection Networks, chapter 3: mean
 * distance k/4 over 2 links a node).  In a torus each dimension loads as its own ring.
 */
static void
all_to_all_loads_links_as_the_closed_form_says(void **state)
{
	static const struct {
		const char *text;
		double k; /* Of its largest dimension. */
	} cases[] = {
		{ "ring --switches 4", 4 },   { "ring --switches 5", 5 },
		{ "ring --switches 8", 8 },   { "ring --switches 9", 9 },
		{ "ring --switches 64", 64 }, { "torus --dims 4x4", 4 },
		{ "torus --dims 8x8", 8 },    { "torus --dims 4x8x4", 8 },
		{ "torus --dims 5x5x5", 5 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct topo *topo = made_fabric(cases[i].text);
		double k = cases[i].k, bytes = 1e9;
		double want =
			fmod(k, 2) > 0 ? bytes * (k * k - 1) / (8 * k) : bytes * k / 8;
		double least,
			most = largest_load(topo, COLLECTIVE_ALL_TO_ALL, bytes, &least);

		assert_near(most / want, 1, 1e-9);
		/* All dimensions of one size: all links alike. */
		if (!strstr(cases[i].text, "4x8"))
			assert_near(least / want, 1, 1e-9);
		topo_unref(topo);
	}
}

static void
operations_take_as_long_as_the_closed_forms_say(void **state)
{
	const double bytes = 1e9, link_bps = 50e9;
	struct topo *topo;

	(void)state;
	/* All-to-all: the load above over the capacity, if hosts are fast enough. */
	topo = made_fabric("ring --switches 16 --gbps 400 --link-gbps 50");
	assert_near(operation_ns(topo, COLLECTIVE_ALL_TO_ALL, bytes) /
			    (bytes * 16 / 8 * 8e9 / link_bps),
		    1, 1e-9);
	topo_unref(topo);
	topo = made_fabric("torus --dims 8x8 --gbps 400 --link-gbps 50");
	assert_near(operation_ns(topo, COLLECTIVE_ALL_TO_ALL, bytes) /
			    (bytes * 8 / 8 * 8e9 / link_bps),
		    1, 1e-9);
	topo_unref(topo);
	/* A ring of W hosts over a ring, and over all of a torus: no two flows meet. */
	topo = made_fabric("ring --switches 16 --gbps 400 --link-gbps 50");
	assert_near(operation_ns(topo, COLLECTIVE_RING, bytes) /
			    (2 * 15. / 16 * bytes * 8e9 / link_bps),
		    1, 1e-9);
	topo_unref(topo);
	topo = made_fabric("torus --dims 8x8x4 --gbps 400 --link-gbps 50");
	assert_near(operation_ns(topo, COLLECTIVE_RING, bytes) /
			    (2 * 255. / 256 * bytes * 8e9 / link_bps),
		    1, 1e-9);
	topo_unref(topo);
}

static int
read_text(const char *text, struct topo **ret_topo, struct err *err)
{
	return topo_read("t.json", text, strlen(text), NULL, ret_topo, err);
}

static void
a_torus_is_read_as_it_was_written(void **state)
{
	struct topo *topo = made_fabric("torus --dims 3x2x4 --hosts-per-switch 2");

	(void)state;
	assert_int_equal(topo_n_hosts(topo), 48);
	assert_read_as_written(
		topo, "\"routing\": {\"method\": \"torus\", \"dims\": [3, 2, 4]}");
	topo_unref(topo);
}

static void
sizes_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		const char *routing, *want;
	} cases[] = {
		{ "{\"method\": \"torus\", \"dims\": [4]}",
		  "a torus 4 has 4 switches, and this fabric has 3" },
		{ "{\"method\": \"torus\", \"dims\": [3, 1, 1, 1]}",
		  "'dims' has 4 sizes, expected 1 to 3" },
		{ "{\"method\": \"torus\", \"dims\": []}", "expected 1 to 3" },
		{ "{\"method\": \"torus\", \"dims\": [1.5, 2]}",
		  "no whole number from 1 to" },
		{ "{\"method\": \"torus\"}", "dims" },
		{ "{\"method\": \"thorus\", \"dims\": [3]}", "did you mean 'torus'" },
		{ "{\"method\": \"up-down\", \"dims\": [3]}", "belongs to" },
		{ "{\"method\": \"torus\", \"dims\": [3], \"x\": 1}", "x" },
		{ "[]", "object" },
		{ "{\"method\": \"torus\", \"dims\": [1, 3]}", NULL },
		{ "{\"method\": \"torus\", \"dims\": [3]}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[600];
		struct topo *topo;
		struct err err = { 0 };
		int r;

		snprintf(
			text, sizeof text,
			"{\"schema\": \"antiphase.topology/1\", \"switches\": [\n"
			"{\"name\": \"a\", \"tier\": 1}, {\"name\": \"b\", \"tier\": 1},"
			"{\"name\": \"c\", \"tier\": 1}], \"hosts\": [],\n"
			"\"routing\": %s, \"cables\": [\n"
			"{\"a\": \"a:1\", \"b\": \"b:1\", \"gbps\": 1}]}\n",
			cases[i].routing);
		r = read_text(text, &topo, &err);
		if (!cases[i].want) {
			assert_int_equal(r, 0);
			topo_unref(topo);
			continue;
		}
		assert_int_equal(r, -EINVAL);
		assert_int_equal(err.line, 3);
		if (!strstr(err.text, cases[i].want))
			fail_msg("'%s' is not in '%s'", cases[i].want, err.text);
	}
}

static void
cables_between_others_than_neighbors_are_refused(void **state)
{
	const char *text =
		"{\"schema\": \"antiphase.topology/1\", \"switches\": [\n"
		"{\"name\": \"a\", \"tier\": 1}, {\"name\": \"b\", \"tier\": 1},"
		"{\"name\": \"c\", \"tier\": 1}, {\"name\": \"d\", \"tier\": 1}],"
		"\"routing\": {\"method\": \"torus\", \"dims\": [2, 2]},"
		"\"hosts\": [], \"cables\": [\n"
		"{\"a\": \"a:1\", \"b\": \"d:1\", \"gbps\": 1}]}\n";
	struct topo *topo;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(read_text(text, &topo, &err), -EINVAL);
	assert_int_equal(err.line, 3);
	assert_non_null(strstr(err.text, "no neighbors in the torus"));
}

static void
impossible_tori_are_not_generated(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "torus", "needs --dims" },
		{ "torus --dims 4x4x4x4", "expected 1 to 3 sizes" },
		{ "torus --dims 4x", "expected 1 to 3 sizes" },
		{ "torus --dims 0x4", "expected 1 to 3 sizes" },
		{ "torus --dims 4X4", "expected 1 to 3 sizes" },
		{ "torus --dims 99999999999999999999", "expected 1 to 3 sizes" },
		{ "torus --dims 900000", "up to 450002 links" },
		{ "torus --dims 2000x1000", "nodes, expected at most 1000000" },
		{ "torus --dims 300", "up to 152 links, expected at most 128" },
		{ "ring --switches 252 --hosts-per-switch 100000", "nodes" },
		{ "ring --switches 8 --parallel 1000000", "cables" },
		{ "ring", "needs --switches" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_not_made(cases[i].text, cases[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_correct_one_dimension_after_the_other),
		cmocka_unit_test(
			a_path_goes_the_other_way_round_where_a_cable_is_missing),
		cmocka_unit_test(parallel_cables_are_hashed_or_sprayed),
		cmocka_unit_test(all_to_all_loads_links_as_the_closed_form_says),
		cmocka_unit_test(operations_take_as_long_as_the_closed_forms_say),
		cmocka_unit_test(a_torus_is_read_as_it_was_written),
		cmocka_unit_test(sizes_that_do_not_fit_are_refused),
		cmocka_unit_test(cables_between_others_than_neighbors_are_refused),
		cmocka_unit_test(impossible_tori_are_not_generated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
