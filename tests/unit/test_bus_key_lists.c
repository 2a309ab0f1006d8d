/* SPDX-License-Identifier: Apache-2.0 */
/* test_bus_key_lists.c - directories of keys: names, lists of hosts, replaced keys */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/wire/bus_keys.h"
#include "tests/unit/key_lab.h"

static void
a_key_speaks_for_its_name_or_for_its_list(void **state)
{
	const struct bus_known *known;
	char z85[BUS_Z85_CHARS + 1];
	struct bus_keys *keys;
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "scheduler");
	key_lab_make(&lab, "n1");
	key_lab_make(&lab, "proxy");
	key_lab_make(&lab, "reader");
	key_lab_allow(&lab, "scheduler", "n1", NULL);
	key_lab_allow(&lab, "scheduler", "proxy", "rack1-*,n7 n8");
	key_lab_allow(&lab, "scheduler", "reader", "");
	keys = key_lab_load(&lab, "scheduler");

	key_lab_public(&lab, "n1", z85);
	known = bus_keys_client(keys, z85);
	assert_true(bus_known_speaks_for(known, "n1"));
	assert_false(bus_known_speaks_for(known, "n10"));
	assert_false(bus_known_speaks_for(known, "n"));
	assert_false(bus_known_speaks_for(known, NULL));

	key_lab_public(&lab, "proxy", z85);
	known = bus_keys_client(keys, z85);
	assert_true(bus_known_speaks_for(known, "rack1-04"));
	assert_true(bus_known_speaks_for(known, "n8"));
	assert_false(bus_known_speaks_for(known, "proxy"));
	assert_false(bus_known_speaks_for(known, "rack2-04"));
	assert_false(bus_known_speaks_for(known, NULL));

	key_lab_public(&lab, "reader", z85);
	assert_false(bus_known_speaks_for(bus_keys_client(keys, z85), "reader"));
	key_lab_public(&lab, "scheduler", z85);
	assert_null(bus_keys_client(keys, z85));
	bus_keys_free(keys);
	key_lab_close(&lab);
}

static void
a_key_with_two_names_is_refused(void **state)
{
	char z85[BUS_Z85_CHARS + 1], *from, *to;
	struct bus_keys *keys;
	struct err err = { 0 };
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "scheduler");
	key_lab_make(&lab, "n1");
	key_lab_allow(&lab, "scheduler", "n1", NULL);
	key_lab_public(&lab, "n1", z85);
	assert_int_equal(bus_keys_allow(key_lab_dir(&lab, "scheduler"), "n2", z85, NULL,
					BUS_KEYS_FIRST, &err),
			 -EEXIST);
	assert_non_null(strstr(err.text, "n1.pub holds this key already"));

	from = xasprintf("%s/allow/n1.pub", key_lab_dir(&lab, "scheduler"));
	to = xasprintf("%s/allow/n2.pub", key_lab_dir(&lab, "scheduler"));
	assert_int_equal(link(from, to), 0);
	assert_int_equal(bus_keys_load(key_lab_dir(&lab, "scheduler"), &keys, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "n1.pub and n2.pub hold the same key"));
	assert_non_null(strstr(err.text, "n1.hosts"));
	free(from);
	free(to);
	key_lab_close(&lab);
}

static void
a_list_of_an_earlier_key_is_not_taken_over(void **state)
{
	char z85[BUS_Z85_CHARS + 1], *path;
	struct err err = { 0 };
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "scheduler");
	key_lab_make(&lab, "n1");
	key_lab_allow(&lab, "scheduler", "n1", "*");
	path = xasprintf("%s/allow/n1.pub", key_lab_dir(&lab, "scheduler"));
	assert_int_equal(unlink(path), 0);
	key_lab_public(&lab, "n1", z85);
	assert_int_equal(bus_keys_allow(key_lab_dir(&lab, "scheduler"), "n1", z85, NULL,
					BUS_KEYS_FIRST, &err),
			 -EEXIST);
	assert_non_null(strstr(err.text, "--hosts"));
	assert_int_equal(access(path, F_OK), -1);
	free(path);
	key_lab_close(&lab);
}

static void
keys_of_a_name_are_two_at_most_and_change_only_when_told_to(void **state)
{
	const char *names[] = { "n1", "next", "third" };
	char z85[3][BUS_Z85_CHARS + 1];
	struct bus_keys *keys;
	const char *path;
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	key_lab_make(&lab, "scheduler");
	for (int i = 0; i < 3; i++) {
		key_lab_make(&lab, names[i]);
		key_lab_public(&lab, names[i], z85[i]);
	}
	path = key_lab_dir(&lab, "scheduler");
	assert_int_equal(bus_keys_allow(path, "n1", z85[1], NULL, BUS_KEYS_ALSO, NULL),
			 -ENOENT);
	assert_int_equal(
		bus_keys_allow(path, "n1", z85[0], "n1,n2", BUS_KEYS_FIRST, NULL), 0);
	for (int twice = 0; twice < 2; twice++)
		assert_int_equal(
			bus_keys_allow(path, "n1", z85[1], NULL, BUS_KEYS_ALSO, NULL),
			0);
	assert_int_equal(bus_keys_allow(path, "n1", z85[2], NULL, BUS_KEYS_ALSO, NULL),
			 -EEXIST);
	keys = key_lab_load(&lab, "scheduler");
	assert_int_equal(keys->allowed.n, 2);
	for (int i = 0; i < 2; i++)
		assert_true(bus_known_speaks_for(bus_keys_client(keys, z85[i]), "n2"));
	bus_keys_free(keys);
	assert_int_equal(
		bus_keys_allow(path, "n1", z85[1], NULL, BUS_KEYS_REPLACE, NULL), 0);
	keys = key_lab_load(&lab, "scheduler");
	assert_null(bus_keys_client(keys, z85[0]));
	assert_true(bus_known_speaks_for(bus_keys_client(keys, z85[1]), "n2"));
	bus_keys_free(keys);
	key_lab_close(&lab);
}

static void
the_next_pair_takes_the_place_of_ours(void **state)
{
	char next[BUS_Z85_CHARS + 1], again[BUS_Z85_CHARS + 1];
	char now[BUS_Z85_CHARS + 1];
	struct err err = { 0 };
	struct key_lab lab;

	(void)state;
	key_lab_open(&lab);
	assert_int_equal(bus_keys_rotate(key_lab_dir(&lab, "n1"), next, &err), -ENOENT);
	key_lab_make(&lab, "n1");
	assert_int_equal(bus_keys_rotated(key_lab_dir(&lab, "n1"), &err), -ENOENT);
	assert_int_equal(bus_keys_rotate(key_lab_dir(&lab, "n1"), next, NULL), 0);
	assert_int_equal(bus_keys_rotate(key_lab_dir(&lab, "n1"), again, NULL), 0);
	assert_string_equal(next, again);
	key_lab_public(&lab, "n1", now);
	assert_string_not_equal(now, next);
	assert_int_equal(bus_keys_rotated(key_lab_dir(&lab, "n1"), NULL), 0);
	key_lab_public(&lab, "n1", now);
	assert_string_equal(now, next);
	key_lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_speaks_for_its_name_or_for_its_list),
		cmocka_unit_test(a_key_with_two_names_is_refused),
		cmocka_unit_test(a_list_of_an_earlier_key_is_not_taken_over),
		cmocka_unit_test(
			keys_of_a_name_are_two_at_most_and_change_only_when_told_to),
		cmocka_unit_test(the_next_pair_takes_the_place_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
