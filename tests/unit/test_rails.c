/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rails.c - GPUs with an interface on a rail: which links their traffic takes, and
 * closed forms.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fabric_round_trip.h"
#include "tests/unit/made_fabric.h"
#include "tests/unit/operation_time.h"
#include "tests/unit/test.h"
#include "topology/collective_phases.h"
#include "topology/gen.h"

/* 16 servers of 4 GPUs in two groups. */
#define N_RAILS   4
#define N_SERVERS 16
#define N_GPUS    (N_RAILS * N_SERVERS)
#define GPUS                                                                      \
	"rail-optimized --host-is gpu --rails 4 --hosts-per-group 32 --groups 2 " \
	"--scale-up 4 --scale-up-gbps 900 "

/* The rail of a switch of tier 1, or -1. */
static int
rail_of(const struct topo *topo, uint32_t node)
{
	const struct topo_node *n = topo_node(topo, node);

	if (n->kind != TOPO_SWITCH || n->tier != 1 || n->is_scale_up)
		return -1;
	return atoi(strchr(n->name, 'r') + 1);
}

static bool
is_spine(const struct topo *topo, uint32_t node)
{
	return topo_node(topo, node)->tier == 2;
}

static void
a_gpu_has_one_interface_on_its_rail(void **state)
{
	struct topo *topo = made_fabric("rail-optimized --host-is gpu --rails 4 "
					"--hosts-per-group 32 --groups 2 --gbps 400");

	(void)state;
	assert_int_equal(topo_n_hosts(topo), N_GPUS);
	assert_string_equal(topo_name(topo), "rail-optimized-2x32-4");
	for (uint32_t h = 0; h < N_GPUS; h++) {
		const struct topo_node *leaf = topo_node(topo, topo_leaf_of(topo, h));
		char want[16];
		size_t n;

		topo_links_out(topo, h, &n);
		assert_int_equal(n, 1);
		assert_int_equal(topo_node(topo, h)->n_slots, 1);
		snprintf(want, sizeof want, "g%ur%u", h / 32, h % N_RAILS);
		assert_string_equal(leaf->name, want);
	}
	/* 8 GPUs down, so 8 spines by default. */
	assert_int_not_equal(topo_find_link(topo, "g1r3:p15>spine7:p7"), TOPO_NONE);
	topo_unref(topo);
}

/* Only traffic between rails, or groups, uses a spine; only that within a server NVLink. */
static void
paths_stay_on_their_rail(void **state)
{
	struct topo *topo = made_fabric(GPUS);
	struct routes *routes = routes_new(topo, 1);

	(void)state;
	for (uint32_t i = 0; i < N_GPUS * N_GPUS; i++) {
		uint32_t a = i / N_GPUS, b = i % N_GPUS, links[ROUTE_MAX_HOPS];
		bool is_same_server = a / N_RAILS == b / N_RAILS;
		bool is_same_switch = a % N_RAILS == b % N_RAILS && a / 32 == b / 32;
		size_t n;

		assert_int_equal(routes_path(routes, a, b, (uint16_t)i, links, &n), 0);
		if (a == b)
			continue;
		assert_int_equal(n, is_same_server || is_same_switch ? 2 : 4);
		for (size_t k = 0; k < n; k++) {
			uint32_t to = topo_link(topo, links[k])->to;
			int rail = rail_of(topo, to);

			if (is_same_server)
				assert_false(rail >= 0 || is_spine(topo, to));
			else if (rail >= 0)
				assert_int_equal((uint32_t)rail,
						 (k == 0 ? a : b) % N_RAILS);
		}
	}
	routes_free(routes);
	topo_unref(topo);
}

/* Jobs on different GPUs of the same servers load no link together. */
static void
rings_on_different_rails_share_no_link(void **state)
{
	struct topo *topo = made_fabric(GPUS);
	struct routes *routes = routes_new(topo, 1);
	bool *is_used = xcalloc(topo_n_links(topo), sizeof *is_used);

	(void)state;
	for (uint32_t rail = 0; rail < N_RAILS; rail++) {
		struct collective_flows flows;
		struct footprint footprint;
		uint32_t hosts[8];

		for (uint32_t s = 0; s < 8; s++)
			hosts[s] = s * N_RAILS + rail;
		assert_int_equal(
			collective_make(topo, COLLECTIVE_RING, hosts, 8, 1, &flows), 0);
		assert_int_equal(footprint_make(routes, &flows, 0, &footprint, NULL),
				 0);
		/* Up to the rail switch and down again, for each of 8. */
		assert_int_equal(footprint.n, 16);
		for (size_t i = 0; i < footprint.n; i++) {
			assert_false(is_used[footprint.entries[i].link]);
			is_used[footprint.entries[i].link] = true;
		}
		footprint_fini(&footprint);
		collective_flows_fini(&flows);
	}
	free(is_used);
	routes_free(routes);
	topo_unref(topo);
}

/* Flows of a ring over servers 0 to n - 1 that go from one rail to another. */
static size_t
n_flows_between_rails(const struct topo *topo, uint32_t n_servers)
{
	struct collective_flows flows;
	uint32_t hosts[N_GPUS];
	size_t n = 0;

	for (uint32_t h = 0; h < n_servers * N_RAILS; h++)
		hosts[h] = h;
	assert_int_equal(collective_make(topo, COLLECTIVE_RING, hosts,
					 n_servers * N_RAILS, 1, &flows),
			 0);
	assert_int_equal(flows.n, n_servers * N_RAILS);
	for (size_t i = 0; i < flows.n; i++) {
		uint32_t a = flows.flows[i].source, b = flows.flows[i].destination;

		n += a / N_RAILS != b / N_RAILS && a % N_RAILS != b % N_RAILS;
	}
	collective_flows_fini(&flows);
	return n;
}

static void
a_ring_leaves_each_server_once_and_stays_on_a_rail(void **state)
{
	struct topo *topo = made_fabric(GPUS);

	(void)state;
	for (uint32_t n = 2; n <= N_SERVERS; n++)
		assert_int_equal(n_flows_between_rails(topo, n), n % 2);
	topo_unref(topo);
}

static void
operations_take_as_long_as_the_closed_forms_say(void **state)
{
	const double bytes = 1e9, nic_bps = 100e9;
	struct topo *topo = made_fabric("rail-optimized --host-is gpu --rails 4 "
					"--hosts-per-group 64 --scale-up 4 "
					"--scale-up-gbps 900");

	(void)state;
	/* A ring leaves each server by one interface. */
	assert_near(operation_ns(topo, COLLECTIVE_RING, bytes) /
			    (2 * 63. / 64 * bytes * 8e9 / nic_bps),
		    1, 1e-9);
	/* One leader a server, all on rail 0. */
	assert_near(operation_ns(topo, COLLECTIVE_HIERARCHICAL, bytes) /
			    (2 * 15. / 16 * bytes * 8e9 / nic_bps),
		    1, 1e-9);
	topo_unref(topo);
	/* All-to-all without oversubscription: 60 of 64 parts leave the server. */
	topo = made_fabric(
		"rail-optimized --host-is gpu --rails 4 --hosts-per-group 64 "
		"--spines 1 --uplink-gbps 1600 --scale-up 4 "
		"--scale-up-gbps 900");
	assert_near(operation_ns(topo, COLLECTIVE_ALL_TO_ALL, bytes) /
			    (60. / 64 * bytes * 8e9 / nic_bps),
		    1, 1e-9);
	topo_unref(topo);
	/* With 2:1 up, the 45 of 64 parts that go to other rails take twice as long. */
	topo = made_fabric(
		"rail-optimized --host-is gpu --rails 4 --hosts-per-group 64 "
		"--spines 1 --oversubscription 2 --scale-up 4 "
		"--scale-up-gbps 900");
	assert_near(operation_ns(topo, COLLECTIVE_ALL_TO_ALL, bytes) /
			    (2 * 45. / 64 * bytes * 8e9 / nic_bps),
		    1, 1e-9);
	topo_unref(topo);
}

/* An all-reduce over groups: the shares of a server's GPUs go over one rail each. */
static void
data_parallel_groups_use_one_rail_each(void **state)
{
	struct topo *topo = made_fabric(GPUS);
	struct collective_phases phases;
	uint32_t hosts[N_GPUS];

	(void)state;
	for (uint32_t g = 0; g < N_RAILS; g++)
		for (uint32_t s = 0; s < N_SERVERS; s++)
			hosts[g * N_SERVERS + s] = s * N_RAILS + g;
	assert_int_equal(collective_phases_make(topo, COLLECTIVE_ALLREDUCE,
						COLLECTIVE_BY_RING, hosts, N_RAILS,
						N_SERVERS, 1, &phases),
			 0);
	assert_int_equal(phases.n, 1);
	assert_int_equal(phases.n_rails, 1);
	assert_int_equal(phases.items[0].n, N_GPUS);
	assert_near(phases.items[0].nic_bytes, 2 * 15. / 16, 1e-12);
	for (size_t i = 0; i < phases.items[0].n; i++)
		assert_int_equal(phases.items[0].flows[i].source % N_RAILS,
				 phases.items[0].flows[i].destination % N_RAILS);
	collective_phases_fini(&phases);
	topo_unref(topo);
}

static void
gpus_on_rails_are_read_as_they_were_written(void **state)
{
	struct topo *topo = made_fabric(GPUS "--gbps 400,800 --oversubscription 2");

	(void)state;
	assert_read_as_written(topo, "\"scale_up\": true");
	topo_unref(topo);
}

static void
what_does_not_fit_is_refused(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "rail-optimized --host-is gpu --hosts-per-group 12",
		  "a group has 12 GPUs on 8 rails, expected a multiple of the number of "
		  "rails" },
		{ "rail-optimized --host-is gpu", "needs --hosts-per-group" },
		{ "rail-optimized --host-is gpus --hosts-per-group 16",
		  "--host-is is 'gpus', expected server or gpu (did you mean 'gpu'?)" },
		{ "rail-optimized --host-is gpu --hosts-per-group 24 --oversubscription "
		  "2",
		  "1.5 spines" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_not_made(cases[i].text, cases[i].want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gpu_has_one_interface_on_its_rail),
		cmocka_unit_test(paths_stay_on_their_rail),
		cmocka_unit_test(rings_on_different_rails_share_no_link),
		cmocka_unit_test(a_ring_leaves_each_server_once_and_stays_on_a_rail),
		cmocka_unit_test(operations_take_as_long_as_the_closed_forms_say),
		cmocka_unit_test(data_parallel_groups_use_one_rail_each),
		cmocka_unit_test(gpus_on_rails_are_read_as_they_were_written),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
