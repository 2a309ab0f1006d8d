/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "tests/unit/test.h"
#include "topology/topo.h"

/* Two leaves with a host each, under one spine. */
static struct topo *
make_small(void)
{
	struct topo_builder *b = topo_builder_new("small");
	uint32_t h0, h1, leaf0, leaf1, spine;

	assert_int_equal(topo_builder_host(b, "h0", 8, &h0), 0);
	assert_int_equal(topo_builder_switch(b, "leaf1", 1, &leaf1), 0);
	assert_int_equal(topo_builder_host(b, "h1", 4, &h1), 0);
	assert_int_equal(topo_builder_switch(b, "leaf0", 1, &leaf0), 0);
	assert_int_equal(topo_builder_switch(b, "spine0", 2, &spine), 0);
	assert_int_equal(topo_builder_cable(b, h0, "p0", leaf0, "p0", 50e9, 50e9), 0);
	assert_int_equal(topo_builder_cable(b, leaf1, "p0", h1, "p0", 50e9, 25e9), 0);
	assert_int_equal(topo_builder_cable(b, leaf0, "p1", spine, "p0", 1e11, 1e11),
			 0);
	assert_int_equal(topo_builder_cable(b, leaf1, "p3", spine, "p1", 1e11, 0), 0);
	return topo_builder_finish(b);
}

static void
ids_are_dense_and_in_the_order_of_building(void **state)
{
	struct topo *topo = make_small();
	const uint32_t *hosts;
	size_t n;

	(void)state;
	assert_string_equal(topo_name(topo), "small");
	assert_int_equal(topo_n_nodes(topo), 5);
	assert_int_equal(topo_n_links(topo), 7);
	assert_int_equal(topo_n_hosts(topo), 2);
	assert_string_equal(topo_node(topo, 1)->name, "leaf1");
	assert_int_equal(topo_node(topo, 1)->tier, 1);
	assert_int_equal(topo_node(topo, 4)->tier, 2);
	assert_int_equal(topo_node(topo, 2)->n_slots, 4);
	hosts = topo_hosts(topo, &n);
	assert_int_equal(n, 2);
	assert_int_equal(hosts[0], 0);
	assert_int_equal(hosts[1], 2);
	assert_int_equal(topo_host_number(topo, 2), 1);
	assert_int_equal(topo_host_number(topo, 1), TOPO_NONE);
	assert_int_equal(topo_host_number(topo, 99), TOPO_NONE);
	for (uint32_t i = 0; i < topo_n_nodes(topo); i++)
		assert_int_equal(topo_find_node(topo, topo_node(topo, i)->name), i);
	assert_int_equal(topo_find_node(topo, "h2"), TOPO_NONE);
	topo_unref(topo);
}

/* h1's link to its leaf has half the capacity of h0's. */
static void
the_slowest_host_paces_a_ring(void **state)
{
	struct topo *topo = make_small();
	const uint32_t hosts[] = { 0, 2 };

	(void)state;
	assert_near(topo_line_bps(topo, hosts, 2), 25e9, 0);
	assert_near(topo_line_bps(topo, hosts, 1), 50e9, 0);
	assert_near(topo_line_bps(topo, hosts, 0), 0, 0);
	topo_unref(topo);
}

static void
a_cable_is_two_links_that_know_each_other(void **state)
{
	struct topo *topo = make_small();
	const struct topo_link *link = topo_link(topo, 2);

	(void)state;
	assert_int_equal(link->from, 1);
	assert_int_equal(link->to, 2);
	assert_near(link->capacity_bps, 50e9, 0);
	assert_int_equal(link->reverse, 3);
	assert_near(topo_link(topo, 3)->capacity_bps, 25e9, 0);
	assert_int_equal(topo_link(topo, 3)->reverse, 2);
	assert_int_equal(topo_link(topo, 6)->reverse, TOPO_NONE);
	topo_unref(topo);
}

static void
every_link_is_found_by_the_name_on_its_cable(void **state)
{
	static const char *const absent[] = {
		"",
		"leaf1:p3",
		">",
		"leaf1>spine0",
		"leaf1:p3>spine0:p0",
		"spine0:p1>leaf1:p3",
		"leaf1:p9>spine0:p1",
		"leaf1:p3>spine0:p1 ",
		"leaf9:p3>spine0:p1",
		"leaf1:p3>h0:p1",
		":>:",
	};
	struct topo *topo = make_small();
	struct strbuf name = STRBUF_EMPTY;

	(void)state;
	assert_int_equal(topo_find_link(topo, "leaf1:p3>spine0:p1"), 6);
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		strbuf_clear(&name);
		topo_link_name(topo, i, &name);
		assert_int_equal(topo_find_link(topo, name.text), i);
	}
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
		assert_int_equal(topo_find_link(topo, absent[i]), TOPO_NONE);
	strbuf_free(&name);
	topo_unref(topo);
}

static void
links_out_are_all_of_them_and_ascending(void **state)
{
	struct topo *topo = make_small();
	size_t n_all = 0;

	(void)state;
	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		size_t n;
		const uint32_t *out = topo_links_out(topo, i, &n);

		for (size_t j = 0; j < n; j++) {
			assert_int_equal(topo_link(topo, out[j])->from, i);
			if (j > 0)
				assert_true(out[j] > out[j - 1]);
		}
		n_all += n;
	}
	assert_int_equal(n_all, topo_n_links(topo));
	topo_unref(topo);
}

static void
a_host_hangs_on_its_leaf_of_smallest_id(void **state)
{
	struct topo_builder *b = topo_builder_new("");
	uint32_t h, lone, high, l0, l1, spine;
	struct topo *topo;

	(void)state;
	topo_builder_switch(b, "l0", 1, &l0);
	topo_builder_switch(b, "l1", 1, &l1);
	topo_builder_switch(b, "spine", 2, &spine);
	topo_builder_host(b, "h", 1, &h);
	topo_builder_host(b, "lone", 1, &lone);
	topo_builder_host(b, "high", 1, &high);
	topo_builder_cable(b, h, "a", l1, "a", 1, 1);
	topo_builder_cable(b, h, "b", l0, "a", 1, 1);
	topo_builder_cable(b, high, "a", spine, "a", 1, 1);
	topo = topo_builder_finish(b);
	assert_int_equal(topo_leaf_of(topo, h), l0);
	assert_int_equal(topo_leaf_of(topo, lone), TOPO_NONE);
	assert_int_equal(topo_leaf_of(topo, high), TOPO_NONE);
	topo_unref(topo);
}

static void
what_is_out_of_range_is_refused(void **state)
{
	struct topo_builder *b = topo_builder_new("");
	uint32_t a, z, id = 77;
	char long_name[TOPO_MAX_NAME + 2];

	(void)state;
	assert_int_equal(topo_builder_host(b, "a", TOPO_MAX_SLOTS, &a), 0);
	assert_int_equal(topo_builder_switch(b, "z", TOPO_MAX_TIER, &z), 0);
	assert_int_equal(topo_builder_host(b, "z", 1, &id), -EEXIST);
	assert_int_equal(topo_builder_host(b, "", 1, &id), -EINVAL);
	assert_int_equal(topo_builder_host(b, "x:y", 1, &id), -EINVAL);
	assert_int_equal(topo_builder_host(b, "x y", 1, &id), -EINVAL);
	assert_int_equal(topo_builder_host(b, "x", TOPO_MAX_SLOTS + 1, &id), -EINVAL);
	assert_int_equal(topo_builder_switch(b, "x", 0, &id), -EINVAL);
	assert_int_equal(topo_builder_switch(b, "x", TOPO_MAX_TIER + 1, &id), -EINVAL);
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = '\0';
	assert_int_equal(topo_builder_host(b, long_name, 1, &id), -EINVAL);
	assert_int_equal(id, 77);
	long_name[TOPO_MAX_NAME] = '\0';
	assert_int_equal(topo_builder_host(b, long_name, 1, &id), 0);

	assert_int_equal(topo_builder_cable(b, a, "p", a, "q", 1, 1), -EINVAL);
	assert_int_equal(topo_builder_cable(b, a, "p", 99, "q", 1, 1), -EINVAL);
	assert_int_equal(topo_builder_cable(b, a, "", z, "q", 1, 1), -EINVAL);
	assert_int_equal(topo_builder_cable(b, a, "p", z, "q", 0, 0), -EINVAL);
	assert_int_equal(topo_builder_cable(b, a, "p", z, "q", -1, 1), -EINVAL);
	assert_int_equal(topo_builder_cable(b, a, "p", z, "q", (double)NAN, 1),
			 -EINVAL);
	assert_int_equal(topo_builder_cable(b, a, "p", z, "q", 2e15, 1), -EINVAL);
	assert_int_equal(topo_builder_cable(b, a, "p", z, "q", 1, 1), 0);
	assert_int_equal(topo_builder_cable(b, a, "p", z, "r", 1, 1), -EEXIST);
	assert_int_equal(topo_builder_cable(b, a, "o", z, "q", 1, 0), -EEXIST);
	assert_int_equal(topo_builder_find(b, "z"), z);
	assert_int_equal(topo_builder_find(b, "y"), TOPO_NONE);
	topo_builder_free(b);
	topo_builder_free(NULL);
}

static void
two_one_way_cables_between_the_same_ports_are_one_cable(void **state)
{
	struct topo_builder *b = topo_builder_new("");
	uint32_t a, z;
	struct topo *topo;

	(void)state;
	topo_builder_host(b, "a", 1, &a);
	topo_builder_switch(b, "z", 1, &z);
	assert_int_equal(topo_builder_cable(b, a, "p", z, "q", 5, 0), 0);
	assert_int_equal(topo_builder_cable(b, a, "p", z, "q", 5, 0), -EEXIST);
	assert_int_equal(topo_builder_cable(b, a, "p", z, "q", 0, 3), 0);
	topo = topo_builder_finish(b);
	assert_int_equal(topo_link(topo, 0)->reverse, 1);
	assert_int_equal(topo_link(topo, 1)->reverse, 0);
	topo_unref(topo);
}

static void
a_snapshot_lives_until_its_last_reference(void **state)
{
	struct topo *topo = make_small();

	(void)state;
	assert_ptr_equal(topo_ref(topo), topo);
	topo_unref(topo);
	assert_int_equal(topo_n_nodes(topo), 5);
	topo_unref(topo);
	topo_unref(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_dense_and_in_the_order_of_building),
		cmocka_unit_test(the_slowest_host_paces_a_ring),
		cmocka_unit_test(a_cable_is_two_links_that_know_each_other),
		cmocka_unit_test(every_link_is_found_by_the_name_on_its_cable),
		cmocka_unit_test(links_out_are_all_of_them_and_ascending),
		cmocka_unit_test(a_host_hangs_on_its_leaf_of_smallest_id),
		cmocka_unit_test(what_is_out_of_range_is_refused),
		cmocka_unit_test(
			two_one_way_cables_between_the_same_ports_are_one_cable),
		cmocka_unit_test(a_snapshot_lives_until_its_last_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
