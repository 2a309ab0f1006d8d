/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/base/strbuf.h"
#include "tests/unit/test.h"
#include "topology/interface_links.h"
#include "topology/observed.h"
#include "topology/topo.h"

/*
 * h0 has one cable, h1 two (named), h2 two to one leaf and one to another (numbered
 * ports, as from Slurm), ib an RDMA device with one port and one with two.
 */
static struct topo *
make_plan(void)
{
	static const char *const cables[][4] = {
		{ "h0", "p0", "leaf0", "swp1" },
		{ "h1", "e0", "leaf0", "swp2" },
		{ "h1", "e1", "leaf1", "swp2" },
		{ "h2", "p0", "leaf0", "swp3" },
		{ "h2", "p1", "leaf0", "swp4" },
		{ "h2", "p2", "leaf1", "p7" },
		{ "ib", "mlx5_0", "leaf0", "swp5" },
		{ "ib", "mlx5_1/1", "leaf0", "swp6" },
		{ "ib", "mlx5_1/2", "leaf1", "p8" },
		{ "leaf0", "swp9", "spine", "p1" },
	};
	struct topo_builder *b = topo_builder_new("plan");
	uint32_t id;

	assert_int_equal(topo_builder_host(b, "h0", 8, &id), 0);
	assert_int_equal(topo_builder_host(b, "h1", 8, &id), 0);
	assert_int_equal(topo_builder_host(b, "h2", 8, &id), 0);
	assert_int_equal(topo_builder_host(b, "ib", 8, &id), 0);
	assert_int_equal(topo_builder_switch(b, "leaf0", 1, &id), 0);
	assert_int_equal(topo_builder_switch(b, "leaf1", 1, &id), 0);
	assert_int_equal(topo_builder_switch(b, "spine", 2, &id), 0);
	for (size_t i = 0; i < sizeof cables / sizeof *cables; i++)
		assert_int_equal(topo_builder_cable(b,
						    topo_builder_find(b, cables[i][0]),
						    cables[i][1],
						    topo_builder_find(b, cables[i][2]),
						    cables[i][3], 1e11, 1e11),
				 0);
	return topo_builder_finish(b);
}

static void
assert_attached(const struct topo *topo, const struct observed *seen, const char *node,
		const char *interface, const char *tx, const char *rx)
{
	struct topo_interface_links at =
		topo_interface_links(topo, seen, node, interface);

	if (!tx) {
		assert_int_equal(at.tx, TOPO_NONE);
		assert_int_equal(at.rx, TOPO_NONE);
		return;
	}
	assert_int_equal(at.tx, topo_find_link(topo, tx));
	assert_int_not_equal(at.tx, TOPO_NONE);
	assert_int_equal(at.rx, topo_find_link(topo, rx));
	assert_int_not_equal(at.rx, TOPO_NONE);
}

/* Reports one neighbor of one port of a node. */
static void
say(struct observed *seen, const char *node, const char *port, const char *peer,
    const char *peer_port, const char *alias)
{
	struct observed_node report;

	observed_node_init(&report, node);
	report.has_neighbours = true;
	assert_int_equal(observed_port_add(observed_node_port(&report, port), peer,
					   peer_port, alias, 0, OBSERVED_ROLE_UNKNOWN),
			 0);
	assert_int_equal(observed_update(seen, &report, NULL, NULL), 0);
	observed_node_fini(&report);
}

static void
a_port_of_that_name_comes_first(void **state)
{
	struct topo *topo = make_plan();
	struct observed *seen = observed_new();

	(void)state;
	assert_attached(topo, NULL, "h1", "e1", "h1:e1>leaf1:swp2", "leaf1:swp2>h1:e1");
	assert_attached(topo, NULL, "leaf0", "swp9", "leaf0:swp9>spine:p1",
			"spine:p1>leaf0:swp9");
	/* Even against LLDP: that is a fault for the differences. */
	say(seen, "h1", "e1", "leaf0", "swp2", NULL);
	assert_attached(topo, seen, "h1", "e1", "h1:e1>leaf1:swp2", "leaf1:swp2>h1:e1");
	observed_free(seen);
	topo_unref(topo);
}

static void
the_only_cable_of_a_host_is_the_one(void **state)
{
	struct topo *topo = make_plan();

	(void)state;
	assert_attached(topo, NULL, "h0", "eth7", "h0:p0>leaf0:swp1",
			"leaf0:swp1>h0:p0");
	assert_attached(topo, NULL, "h0.lab.example", "eth7", "h0:p0>leaf0:swp1",
			"leaf0:swp1>h0:p0");
	assert_attached(topo, NULL, "h0", "lo", NULL, NULL);
	assert_attached(topo, NULL, "h0", "", NULL, NULL);
	/* A switch with one cable is not a host. */
	assert_attached(topo, NULL, "spine", "eth0", NULL, NULL);
	topo_unref(topo);
}

static void
what_lldp_has_elsewhere_is_not_at_the_only_cable(void **state)
{
	struct topo *topo = make_plan();
	struct observed *seen = observed_new();

	(void)state;
	say(seen, "h0", "eno1", "office-switch", "1/7", NULL);
	assert_attached(topo, seen, "h0", "eno1", NULL, NULL);
	assert_attached(topo, seen, "h0", "eth7", "h0:p0>leaf0:swp1",
			"leaf0:swp1>h0:p0");
	say(seen, "h0", "eth0", "leaf0", "swp1", NULL);
	assert_attached(topo, seen, "h0", "eth0", "h0:p0>leaf0:swp1",
			"leaf0:swp1>h0:p0");
	assert_attached(topo, seen, "h0", "eth7", NULL, NULL);
	observed_free(seen);
	topo_unref(topo);
}

static void
nothing_is_guessed_among_several_cables(void **state)
{
	struct topo *topo = make_plan();

	(void)state;
	assert_attached(topo, NULL, "h1", "e2", NULL, NULL);
	assert_attached(topo, NULL, "nobody", "e0", NULL, NULL);
	topo_unref(topo);
}

static void
an_rdma_port_goes_by_its_device_if_that_is_one_port(void **state)
{
	struct topo *topo = make_plan();

	(void)state;
	assert_attached(topo, NULL, "ib", "mlx5_0/1", "ib:mlx5_0>leaf0:swp5",
			"leaf0:swp5>ib:mlx5_0");
	assert_attached(topo, NULL, "ib", "mlx5_1/2", "ib:mlx5_1/2>leaf1:p8",
			"leaf1:p8>ib:mlx5_1/2");
	assert_attached(topo, NULL, "ib", "mlx5_1/3", NULL, NULL);
	topo_unref(topo);
}

static void
the_neighbours_port_tells_which_cable(void **state)
{
	struct topo *topo = make_plan();
	struct observed *seen = observed_new();

	(void)state;
	say(seen, "h2", "eth1", "leaf0.lab", "02:42:ac:11:00:02", "swp4");
	assert_attached(topo, seen, "h2", "eth1", "h2:p1>leaf0:swp4",
			"leaf0:swp4>h2:p1");
	/* One cable to leaf1, whatever the port's name. */
	say(seen, "h2", "eth2", "leaf1", "Ethernet12", NULL);
	assert_attached(topo, seen, "h2", "eth2", "h2:p2>leaf1:p7", "leaf1:p7>h2:p2");
	/* Two cables to leaf0, and the port is neither's. */
	say(seen, "h2", "eth3", "leaf0", "swp44", NULL);
	assert_attached(topo, seen, "h2", "eth3", NULL, NULL);
	observed_free(seen);
	topo_unref(topo);
}

static void
what_only_the_other_end_saw_serves_too(void **state)
{
	struct topo *topo = make_plan();
	struct observed *seen = observed_new();

	(void)state;
	say(seen, "leaf0", "swp3", "h2", "mac", "eth0");
	assert_attached(topo, seen, "h2", "eth0", "h2:p0>leaf0:swp3",
			"leaf0:swp3>h2:p0");
	/* A switch's own name for its port, as reported by a host. */
	say(seen, "h2", "eth2", "leaf1", "Ethernet12", NULL);
	assert_attached(topo, seen, "leaf1", "Ethernet12", "leaf1:p7>h2:p2",
			"h2:p2>leaf1:p7");
	observed_free(seen);
	topo_unref(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_of_that_name_comes_first),
		cmocka_unit_test(the_only_cable_of_a_host_is_the_one),
		cmocka_unit_test(what_lldp_has_elsewhere_is_not_at_the_only_cable),
		cmocka_unit_test(nothing_is_guessed_among_several_cables),
		cmocka_unit_test(an_rdma_port_goes_by_its_device_if_that_is_one_port),
		cmocka_unit_test(the_neighbours_port_tells_which_cable),
		cmocka_unit_test(what_only_the_other_end_saw_serves_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
