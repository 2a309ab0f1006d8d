/* SPDX-License-Identifier: Apache-2.0 */
/* test_scale_up.c - scale-up domains: generated, read, routed, and their closed forms. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "tests/unit/fabric_round_trip.h"
#include "tests/unit/made_fabric.h"
#include "tests/unit/operation_time.h"
#include "tests/unit/test.h"
#include "topology/check.h"
#include "topology/domains.h"
#include "topology/gen_table.h"
#include "topology/read.h"

#define LEAF_SPINE \
	"leaf-spine --leaves 4 --hosts-per-leaf 8 --spines 4 --uplink-gbps 200 "

static void
hosts_of_a_domain_use_its_switch_and_others_the_fabric(void **state)
{
	static const char *const kinds[] = {
		LEAF_SPINE "--scale-up 4 --scale-up-gbps 900",
		"fat-tree --k 4 --scale-up 4 --scale-up-gbps 900",
		"rail-optimized --groups 2 --hosts-per-group 8 --rails 4 --scale-up 4 "
		"--scale-up-gbps 900",
		"three-tier --pods 2 --access-per-pod 2 --hosts-per-access 4 "
		"--scale-up 4 --scale-up-gbps 900",
		/* Domains over several leaves. */
		"leaf-spine --leaves 8 --hosts-per-leaf 2 --spines 2 --scale-up 4 "
		"--scale-up-gbps 900 --balance spray",
	};

	(void)state;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		struct topo *topo = made_fabric(kinds[k]);
		struct routes *routes = routes_new(topo, k);
		struct topo_faults faults = { VEC_EMPTY };
		struct topo_domains domains;
		uint32_t n = topo_n_hosts(topo);

		for (uint32_t i = 0; i < n * n; i++) {
			uint32_t links[ROUTE_MAX_HOPS], a = i / n, b = i % n;
			size_t n_links;

			assert_int_equal(routes_path(routes, a, b, (uint16_t)(i * 7),
						     links, &n_links),
					 0);
			for (size_t h = 0; h < n_links; h++) {
				const struct topo_link *l = topo_link(topo, links[h]);
				bool is_scale_up =
					topo_node(topo, l->from)->is_scale_up ||
					topo_node(topo, l->to)->is_scale_up;

				assert_int_equal(is_scale_up, a / 4 == b / 4);
			}
			if (a / 4 == b / 4 && a != b) {
				assert_int_equal(n_links, 2);
				assert_near(routes_n_paths(routes, a, b), 1, 0);
			}
		}
		for (uint32_t h = 0; h < n; h++)
			assert_false(
				topo_node(topo, topo_leaf_of(topo, h))->is_scale_up);
		topo_check(topo, routes, &faults);
		assert_int_equal(faults.list.n, 0);
		topo_domains_init(&domains, topo);
		for (size_t d = 0; d < domains.n; d++)
			assert_false(
				topo_node(topo, domains.items[d].node)->is_scale_up);
		topo_domains_fini(&domains);
		routes_free(routes);
		topo_unref(topo);
	}
}

static void
the_line_rate_is_that_of_the_domain_only_within_it(void **state)
{
	static const uint32_t within[] = { 4, 5, 6, 7 }, across[] = { 3, 4 };
	struct topo *topo = made_fabric(LEAF_SPINE "--scale-up 4 --scale-up-gbps 900");

	(void)state;
	assert_near(topo_line_bps(topo, within, 4), 900e9, 0);
	assert_near(topo_line_bps(topo, across, 2), 100e9, 0);
	assert_near(topo_line_bps(topo, within, 1), 100e9, 0);
	topo_unref(topo);
}

static void
operations_take_as_long_as_the_closed_forms_say(void **state)
{
	const double bytes = 1e9, nic_bps = 100e9, scale_up_bps = 900e9;
	struct topo *topo;

	(void)state;
	/* All hosts in one domain: a ring, and an all-to-all, of W = 8. */
	topo = made_fabric(
		"leaf-spine --leaves 1 --hosts-per-leaf 8 --spines 1 --scale-up 8 "
		"--scale-up-gbps 900");
	assert_near(operation_ns(topo, COLLECTIVE_RING, bytes) /
			    (2 * 7. / 8 * bytes * 8e9 / scale_up_bps),
		    1, 1e-9);
	assert_near(operation_ns(topo, COLLECTIVE_ALL_TO_ALL, bytes) /
			    (7. / 8 * bytes * 8e9 / scale_up_bps),
		    1, 1e-9);
	topo_unref(topo);
	topo = made_fabric(LEAF_SPINE "--scale-up 4 --scale-up-gbps 900");
	/* A ring over all 32 leaves each domain by one interface. */
	assert_near(operation_ns(topo, COLLECTIVE_RING, bytes) /
			    (2 * 31. / 32 * bytes * 8e9 / nic_bps),
		    1, 1e-9);
	topo_unref(topo);
	/* Hierarchical: 8 leaders in a ring over the fabric, the rest in the domains. */
	topo = made_fabric(
		"leaf-spine --leaves 1 --hosts-per-leaf 32 --spines 1 --scale-up 4 "
		"--scale-up-gbps 900");
	assert_near(operation_ns(topo, COLLECTIVE_HIERARCHICAL, bytes) /
			    (2 * 7. / 8 * bytes * 8e9 / nic_bps),
		    1, 1e-9);
	/* All-to-all: 28 of 32 parts of a host cross its one interface. */
	assert_near(operation_ns(topo, COLLECTIVE_ALL_TO_ALL, bytes) /
			    (28. / 32 * bytes * 8e9 / nic_bps),
		    1, 1e-9);
	topo_unref(topo);
}

static void
domains_are_read_as_they_were_written(void **state)
{
	struct topo *topo = made_fabric(LEAF_SPINE "--scale-up 16 --scale-up-gbps 900");
	struct topo *plain = made_fabric(LEAF_SPINE);

	(void)state;
	assert_read_as_written(topo, "\"scale_up\": true");
	assert_false(topo_is_same(topo, plain));
	assert_true(topo_digest(topo) != topo_digest(plain));
	topo_unref(plain);
	topo_unref(topo);
}

static void
what_does_not_fit_is_refused(void **state)
{
	static const struct {
		const char *options, *want;
	} cases[] = {
		{ "--scale-up 5 --scale-up-gbps 9", "32 hosts make no whole number" },
		{ "--scale-up 1 --scale-up-gbps 9", "expected a divisor of 2 or more" },
		{ "--scale-up 64 --scale-up-gbps 9", "32 hosts make no whole number" },
		{ "--scale-up 4", "--scale-up needs --scale-up-gbps" },
		{ "--scale-up-gbps 4", "--scale-up-gbps needs --scale-up" },
		{ "--scale-up 4 --scale-up-gbps 9e9", "capacity of a scale-up" },
	};

	static const struct {
		const char *body, *want;
	} files[] = {
		{ "\"switches\": [{\"name\": \"a\", \"tier\": 2, \"scale_up\": true}], "
		  "\"hosts\": [], \"cables\": []",
		  "is of tier 1" },
		{ "\"switches\": [{\"name\": \"a\", \"tier\": 1, \"scale_up\": 1}], "
		  "\"hosts\": [], \"cables\": []",
		  "scale_up" },
		{ "\"switches\": [{\"name\": \"a\", \"tier\": 1, \"scale_up\": true}, "
		  "{\"name\": \"b\", \"tier\": 1}], \"hosts\": [], \"cables\": "
		  "[{\"a\": \"a:1\", \"b\": \"b:1\", \"gbps\": 1}]",
		  "cables to hosts only" },
		{ "\"switches\": [{\"name\": \"a\", \"tier\": 1, \"scale_up\": true}], "
		  "\"routing\": {\"method\": \"torus\", \"dims\": [1]}, "
		  "\"hosts\": [], \"cables\": []",
		  "a torus has no switches with 'scale_up'" },
	};
	struct topo *topo;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err err = { 0 };
		char text[300];

		snprintf(text, sizeof text, LEAF_SPINE "%s", cases[i].options);
		assert_true(gen_text(text, &topo, &err) < 0);
		if (!strstr(err.text, cases[i].want))
			fail_msg("'%s' is not in '%s'", cases[i].want, err.text);
	}
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct err err = { 0 };
		char text[500];

		snprintf(text, sizeof text,
			 "{\"schema\": \"antiphase.topology/1\",\n%s}", files[i].body);
		assert_int_equal(
			topo_read("t.json", text, strlen(text), NULL, &topo, &err),
			-EINVAL);
		assert_int_equal(err.line, 2);
		if (!strstr(err.text, files[i].want))
			fail_msg("'%s' is not in '%s'", files[i].want, err.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			hosts_of_a_domain_use_its_switch_and_others_the_fabric),
		cmocka_unit_test(the_line_rate_is_that_of_the_domain_only_within_it),
		cmocka_unit_test(operations_take_as_long_as_the_closed_forms_say),
		cmocka_unit_test(domains_are_read_as_they_were_written),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
