/* SPDX-License-Identifier: Apache-2.0 */
/* test_topo_lingjun.c - topo.csv of the Lingjun dataset as a tree */
#include <errno.h>
#include <string.h>

#include "lib/base/err.h"
#include "tests/unit/test.h"
#include "topology/read.h"
#include "topology/topo.h"

#define HEADER "ip,DSW,PSW,ASW\n"
#define HASH_A "0c9d9de1b19e7f39b08f49ddfa26744ae26d3adf8bd59af1b16e203b6fa5fe4b"
#define HASH_B "0c9d9de1b19e7f39ffffffffffffffffffffffffffffffffffffffffffffffff"

static struct topo *
read_text(const char *text)
{
	struct topo *topo = NULL;
	struct err err = { .text = "" };

	if (topo_read("t", text, strlen(text), NULL, &topo, &err) < 0)
		fail_msg("line %u: %s", err.line, err.text);
	return topo;
}

static void
assert_refused(const char *text, unsigned line, const char *part)
{
	const struct topo_read_opts opts = { .format = TOPO_FORMAT_LINGJUN };
	struct topo *topo;
	struct err err = { .text = "" };

	assert_true(topo_read("t", text, strlen(text), &opts, &topo, &err) < 0);
	if (!strstr(err.text, part) || err.line != line)
		fail_msg("line %u: '%s' instead of line %u: '%s'", err.line, err.text,
			 line, part);
}

static uint32_t
leaf_of(const struct topo *topo, const char *host)
{
	return topo_leaf_of(topo, topo_find_node(topo, host));
}

static void
racks_of_several_pods_are_told_apart(void **state)
{
	struct topo *topo = read_text(HEADER "a,G6,P10,S1\r\n"
					     "b,G6,P12,S1\n"
					     "\n"
					     "c,G6,P10,S1\n"
					     "d,G6,P10,S2");

	(void)state;
	assert_int_equal(leaf_of(topo, "a"), topo_find_node(topo, "G6-P10-S1"));
	assert_int_equal(leaf_of(topo, "c"), leaf_of(topo, "a"));
	assert_int_equal(leaf_of(topo, "b"), topo_find_node(topo, "G6-P12-S1"));
	assert_int_equal(leaf_of(topo, "d"), topo_find_node(topo, "G6-P10-S2"));
	assert_int_equal(topo_node(topo, topo_find_node(topo, "G6-P12"))->tier, 2);
	assert_int_equal(topo_node(topo, topo_find_node(topo, "G6"))->tier, 3);
	topo_unref(topo);
}

static void
a_host_has_the_first_letters_of_its_hash(void **state)
{
	struct topo *topo = read_text(HEADER HASH_A ",G6,P10,S1\n");

	(void)state;
	assert_int_not_equal(topo_find_node(topo, "0c9d9de1b19e7f39"), TOPO_NONE);
	topo_unref(topo);
	assert_refused(HEADER HASH_A ",G6,P10,S1\n" HASH_B ",G6,P10,S1\n", 3,
		       "host '0c9d9de1b19e7f39' is listed twice");
}

static void
bad_lines_are_refused_with_what_was_expected(void **state)
{
	(void)state;
	assert_refused("", 1, "expected ip,DSW,PSW,ASW");
	assert_refused("ip,DSW,ASW,PSW\na,G6,S1,P10\n", 1, "expected ip,DSW,PSW,ASW");
	assert_refused(HEADER, 0, "has no hosts");
	assert_refused(HEADER "a,G6,P10\n", 2, "expected ip,DSW,PSW,ASW");
	assert_refused(HEADER "a,G6,P10,S1,x\n", 2, "expected ip,DSW,PSW,ASW");
	assert_refused(HEADER "a,G6,P10,S1\nb,,P10,S1\n", 3, "expected a name");
	assert_refused(HEADER "a[1-9],G6,P10,S1\n", 2, "'a[1-9]': expected a name");
	assert_refused(HEADER "a,G6,P10,S1\na,G6,P10,S2\n", 3, "listed twice");
	assert_refused(HEADER "a," HASH_A ",P10,S1\n", 2, "more than 63 letters");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(racks_of_several_pods_are_told_apart),
		cmocka_unit_test(a_host_has_the_first_letters_of_its_hash),
		cmocka_unit_test(bad_lines_are_refused_with_what_was_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
