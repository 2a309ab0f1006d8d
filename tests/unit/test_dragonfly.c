/* SPDX-License-Identifier: Apache-2.0 */
/* test_dragonfly.c - dragonflies: generated, read, routed, and their closed forms. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "tests/unit/fabric_round_trip.h"
#include "tests/unit/made_fabric.h"
#include "tests/unit/test.h"
#include "topology/check.h"
#include "topology/collective.h"
#include "topology/gen.h"
#include "topology/read.h"
#include "topology/route.h"
#include "topology/topo.h"

#define BALANCED \
	"dragonfly --routers-per-group 4 --hosts-per-router 2 --global-per-router 2 "

/* The group of a router with that many in a group; the first router is node n_hosts. */
static uint32_t
group_of(const struct topo *topo, uint32_t node, uint32_t a)
{
	return (node - topo_n_hosts(topo)) / a;
}

/* The number of cables between groups on a path, and in '*ret_n_local' of others. */
static uint32_t
count_global(const struct topo *topo, const uint32_t *links, size_t n, uint32_t a,
	     uint32_t *ret_n_local)
{
	uint32_t n_global = 0;

	*ret_n_local = 0;
	for (size_t i = 1; i + 1 < n; i++) {
		const struct topo_link *l = topo_link(topo, links[i]);
		bool is_global = group_of(topo, l->from, a) != group_of(topo, l->to, a);

		assert_int_equal(l->from, topo_link(topo, links[i - 1])->to);
		n_global += is_global;
		*ret_n_local += !is_global;
	}
	return n_global;
}

static void
any_two_groups_have_as_many_cables(void **state)
{
	static const struct {
		const char *text;
		uint32_t g, a, n;
	} cases[] = {
		{ BALANCED, 9, 4, 1 },
		{ BALANCED "--groups 5", 5, 4, 2 },
		{ BALANCED "--groups 4", 4, 4, 2 }, /* Two of 8 are left out. */
		{ BALANCED "--groups 2", 2, 4, 8 },
		{ "dragonfly --routers-per-group 1 --hosts-per-router 1 "
		  "--global-per-router 3",
		  4, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct topo *topo = made_fabric(cases[i].text);
		struct routes *routes = routes_new(topo, 0);
		struct topo_faults faults = { VEC_EMPTY };
		uint32_t g = cases[i].g, a = cases[i].a;
		uint32_t *n_cables = xcalloc((size_t)g * g, sizeof *n_cables);

		assert_int_equal(topo_n_nodes(topo) - topo_n_hosts(topo), g * a);
		for (uint32_t l = 0; l < topo_n_links(topo); l++) {
			const struct topo_link *link = topo_link(topo, l);

			if (topo_node(topo, link->from)->kind == TOPO_SWITCH &&
			    topo_node(topo, link->to)->kind == TOPO_SWITCH)
				n_cables[group_of(topo, link->from, a) * g +
					 group_of(topo, link->to, a)]++;
		}
		for (uint32_t x = 0; x < g * g; x++)
			assert_int_equal(n_cables[x],
					 x / g == x % g ? a * (a - 1) : cases[i].n);
		topo_check(topo, routes, &faults);
		assert_int_equal(faults.list.n, 0);
		free(n_cables);
		routes_free(routes);
		topo_unref(topo);
	}
}

static void
minimal_paths_have_one_cable_between_groups(void **state)
{
	static const char *const kinds[] = { BALANCED, BALANCED "--groups 5",
					     BALANCED "--groups 5 --balance spray" };

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct topo *topo = made_fabric(kinds[k]);
		struct routes *routes = routes_new(topo, k);
		uint32_t n = topo_n_hosts(topo);

		for (uint32_t i = 0; i < n * n; i++) {
			uint32_t links[ROUTE_MAX_HOPS], a = i / n, b = i % n, n_local;
			size_t n_links;

			assert_int_equal(
				routes_path(routes, a, b, (uint16_t)i, links, &n_links),
				0);
			assert_int_equal(routes_n_hops(routes, a, b), n_links);
			if (a == b)
				continue;
			assert_int_equal(
				count_global(topo, links, n_links, 4, &n_local),
				a / 8 != b / 8);
			assert_true(n_local <= (a / 8 != b / 8 ? 2u : 1u));
			assert_true(routes_n_paths(routes, a, b) >= 1);
		}
		routes_free(routes);
		topo_unref(topo);
	}
}

static void
valiant_paths_cross_a_third_group(void **state)
{
	struct topo *topo = made_fabric(BALANCED "--routing valiant");
	struct routes *routes = routes_new(topo, 3);
	uint32_t n = topo_n_hosts(topo), n_of_group[9] = { 0 };

	(void)state;
	for (uint32_t i = 0; i < n * n; i++) {
		uint32_t links[ROUTE_MAX_HOPS], a = i / n, b = i % n, n_local;
		size_t n_links;

		assert_int_equal(
			routes_path(routes, a, b, (uint16_t)(i * 3), links, &n_links),
			0);
		if (a == b)
			continue;
		assert_int_equal(count_global(topo, links, n_links, 4, &n_local),
				 a / 8 != b / 8 ? 2 : 0);
		assert_true(n_local <= 3);
	}
	/* From group 0 to 1, by number and by port: all other groups, each. */
	for (uint32_t number = 0; number < 7; number++) {
		uint32_t links[ROUTE_MAX_HOPS], n_paths, at = 0;
		size_t n_links;

		assert_int_equal(routes_numbered_path(routes, 0, 8, 0, number, links,
						      &n_links, &n_paths),
				 0);
		assert_int_equal(n_paths, 7);
		assert_near(routes_n_paths(routes, 0, 8), 7, 0);
		for (size_t h = 1; h + 1 < n_links; h++) {
			at = group_of(topo, topo_link(topo, links[h])->to, 4);
			if (at > 1)
				break;
		}
		n_of_group[at]++;
	}
	for (uint32_t g = 2; g < 9; g++)
		assert_int_equal(n_of_group[g], 1);
	routes_free(routes);
	topo_unref(topo);
}

/* The largest and least number of bytes on cables within, or between, groups. */
static void
loads(struct topo *topo, const struct collective_flows *flows, uint32_t a,
      bool between_groups, double *ret_most, double *ret_least)
{
	struct routes *routes = routes_new(topo, 1);
	struct footprint footprint;

	assert_int_equal(footprint_make(routes, flows, 0, &footprint, NULL), 0);
	*ret_most = 0;
	*ret_least = INFINITY;
	for (uint32_t l = 0; l < topo_n_links(topo); l++) {
		const struct topo_link *link = topo_link(topo, l);
		const struct footprint_entry *e = footprint_find(&footprint, l);
		double load = e ? e->factor * flows->nic_bytes : 0;

		if (topo_node(topo, link->from)->kind != TOPO_SWITCH ||
		    topo_node(topo, link->to)->kind != TOPO_SWITCH ||
		    (group_of(topo, link->from, a) != group_of(topo, link->to, a)) !=
			    between_groups)
			continue;
		*ret_most = fmax(*ret_most, load);
		*ret_least = fmin(*ret_least, load);
	}
	footprint_fini(&footprint);
	routes_free(routes);
}

/*
 * Uniform traffic, minimal paths, one cable between any two groups: (a p)^2 pairs of
 * hosts cross it; within a group p^2 pairs stay there, and each router passes on what the
 * h cables of another one carry, in both directions: 2 h a p^2.
 */
static void
all_to_all_loads_cables_as_the_closed_form_says(void **state)
{
	static const struct {
		const char *text;
		double a, p, h;
	} cases[] = {
		{ BALANCED, 4, 2, 2 },
		{ "dragonfly --routers-per-group 6 --hosts-per-router 3 "
		  "--global-per-router 3",
		  6, 3, 3 },
		{ "dragonfly --routers-per-group 3 --hosts-per-router 1 "
		  "--global-per-router 2",
		  3, 1, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct topo *topo = made_fabric(cases[i].text);
		double a = cases[i].a, p = cases[i].p, h = cases[i].h, bytes = 1e9;
		double part = bytes / ((a * h + 1) * a * p), most, least;
		struct collective_flows flows;
		size_t n;
		const uint32_t *hosts = topo_hosts(topo, &n);

		assert_int_equal(collective_make(topo, COLLECTIVE_ALL_TO_ALL, hosts, n,
						 bytes, &flows),
				 0);
		loads(topo, &flows, (uint32_t)a, true, &most, &least);
		assert_near(most / (a * p * a * p * part), 1, 1e-9);
		assert_near(least / (a * p * a * p * part), 1, 1e-9);
		loads(topo, &flows, (uint32_t)a, false, &most, &least);
		assert_near(most / (p * p * (1 + 2 * a * h) * part), 1, 1e-9);
		assert_near(least / (p * p * (1 + 2 * a * h) * part), 1, 1e-9);
		collective_flows_fini(&flows);
		topo_unref(topo);
	}
}

/* All hosts of each group send to the next group: minimal paths have one cable for it. */
static void
valiant_spreads_traffic_that_is_against_minimal_paths(void **state)
{
	struct topo *minimal = made_fabric(BALANCED);
	struct topo *valiant = made_fabric(BALANCED "--routing valiant");
	uint32_t n = topo_n_hosts(minimal);
	struct collective_flows flows = { .n = n, .n_rails = 1, .nic_bytes = 1 };
	double most, most_valiant, least;

	(void)state;
	flows.flows = xcalloc(n, sizeof *flows.flows);
	for (uint32_t i = 0; i < n; i++)
		flows.flows[i] = (struct collective_flow){ i, (i + 8) % n, 1 };
	loads(minimal, &flows, 4, true, &most, &least);
	assert_near(most, 8, 1e-9);
	assert_near(least, 0, 0);
	loads(valiant, &flows, 4, true, &most_valiant, &least);
	assert_true(most_valiant <= 6);
	free(flows.flows);
	topo_unref(minimal);
	topo_unref(valiant);
}

static void
without_its_cable_a_pair_of_groups_has_no_path(void **state)
{
	static const char *const kinds[] = { BALANCED, BALANCED "--routing valiant" };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct topo *topo = made_fabric(kinds[k]), *less;
		bool *is_left_out = xcalloc(topo_n_links(topo), sizeof *is_left_out);
		struct routes *routes;
		uint32_t *ids, links[ROUTE_MAX_HOPS];
		size_t n;

		for (uint32_t l = 0; l < topo_n_links(topo); l++) {
			const struct topo_link *link = topo_link(topo, l);

			is_left_out[l] =
				topo_node(topo, link->from)->kind == TOPO_SWITCH &&
				topo_node(topo, link->to)->kind == TOPO_SWITCH &&
				group_of(topo, link->from, 4) == 0 &&
				group_of(topo, link->to, 4) == 1;
		}
		less = topo_without(topo, is_left_out, &ids);
		routes = routes_new(less, 0);
		assert_int_equal(routes_path(routes, 0, 8, 0, links, &n),
				 -EHOSTUNREACH);
		assert_int_equal(routes_path(routes, 8, 0, 0, links, &n), 0);
		assert_int_equal(routes_path(routes, 0, 16, 0, links, &n), 0);
		routes_free(routes);
		topo_unref(less);
		topo_unref(topo);
		free(is_left_out);
		free(ids);
	}
}

static void
a_dragonfly_is_read_as_it_was_written(void **state)
{
	struct topo *topo = made_fabric(BALANCED "--groups 5 --routing valiant");

	(void)state;
	assert_read_as_written(topo, "\"routing\": {\"method\": \"dragonfly\", "
				     "\"groups\": 5, \"valiant\": true}");
	topo_unref(topo);
}

static void
what_does_not_fit_is_refused(void **state)
{
	static const struct {
		const char *routing, *want;
	} files[] = {
		{ "{\"method\": \"dragonfly\", \"groups\": 2}",
		  "this fabric has 3 switches and 2 groups" },
		{ "{\"method\": \"dragonfly\"}", "groups" },
		{ "{\"method\": \"dragonfly\", \"groups\": 1}", "groups" },
		{ "{\"method\": \"dragonfly\", \"groups\": 3, \"dims\": [3]}",
		  "'dims' belongs to the method torus" },
		{ "{\"method\": \"torus\", \"dims\": [3], \"valiant\": true}",
		  "belong to the method dragonfly" },
		{ "{\"method\": \"dragonfly\", \"groups\": 3, \"valiant\": true}",
		  "with 'valiant' switches must hash" },
	};

	static const struct {
		const char *text, *want;
	} cases[] = {
		{ BALANCED "--groups 10", "too few for 10 groups, expected at most 9" },
		{ BALANCED "--groups 1", "number of groups is 1" },
		{ BALANCED "--routing valiant --balance spray", "switches hash" },
		{ "dragonfly --routers-per-group 4", "needs --hosts-per-router" },
		{ "dragonfly --routers-per-group 100000 --hosts-per-router 1 "
		  "--global-per-router 1000",
		  "groups" },
		{ BALANCED "--routing valint", "did you mean 'valiant'" },
	};
	struct topo *topo;

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct err err = { 0 };
		char text[600];

		snprintf(
			text, sizeof text,
			"{\"schema\": \"antiphase.topology/1\", \"switches\": [\n"
			"{\"name\": \"a\", \"tier\": 1}, {\"name\": \"b\", \"tier\": 1},"
			"{\"name\": \"c\", \"tier\": 1}], \"hosts\": [], \"tiers\": "
			"[{\"tier\": 1, \"balance\": \"spray\"}],\n"
			"\"routing\": %s, \"cables\": []}\n",
			files[i].routing);
		assert_int_equal(
			topo_read("t.json", text, strlen(text), NULL, &topo, &err),
			-EINVAL);
		assert_int_equal(err.line, 3);
		if (!strstr(err.text, files[i].want))
			fail_msg("'%s' is not in '%s'", files[i].want, err.text);
	}
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_not_made(cases[i].text, cases[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_two_groups_have_as_many_cables),
		cmocka_unit_test(minimal_paths_have_one_cable_between_groups),
		cmocka_unit_test(valiant_paths_cross_a_third_group),
		cmocka_unit_test(all_to_all_loads_cables_as_the_closed_form_says),
		cmocka_unit_test(valiant_spreads_traffic_that_is_against_minimal_paths),
		cmocka_unit_test(without_its_cable_a_pair_of_groups_has_no_path),
		cmocka_unit_test(a_dragonfly_is_read_as_it_was_written),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
