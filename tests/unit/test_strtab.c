/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/base/strtab.h"
#include "tests/unit/test.h"

#define N_OPERATIONS 20000
#define N_NAMES      700

static void
numbers_are_dense_in_the_order_of_insertion(void **state)
{
	struct strtab *tab = strtab_new();

	(void)state;
	assert_int_equal(strtab_intern(tab, "leaf1"), 0);
	assert_int_equal(strtab_intern(tab, ""), 1);
	assert_int_equal(strtab_intern(tab, "leaf2"), 2);
	assert_int_equal(strtab_intern(tab, "leaf1"), 0);
	assert_int_equal(strtab_n(tab), 3);
	assert_int_equal(strtab_find(tab, ""), 1);
	assert_int_equal(strtab_find(tab, "leaf"), STRTAB_NONE);
	assert_string_equal(strtab_name(tab, 2), "leaf2");
	strtab_free(tab);
}

static void
the_name_is_copied_and_stays_where_it_is(void **state)
{
	struct strtab *tab = strtab_new();
	char name[32] = "host0";
	const char *first;

	(void)state;
	strtab_intern(tab, name);
	first = strtab_name(tab, 0);
	for (int i = 1; i < 5000; i++) {
		snprintf(name, sizeof name, "host%d", i);
		strtab_intern(tab, name);
	}
	assert_ptr_equal(first, strtab_name(tab, 0));
	assert_string_equal(first, "host0");
	strtab_free(tab);
}

/* The naive twin: a list searched from its start. */
struct list {
	char names[N_NAMES][16];
	uint32_t n;
};

static uint32_t
list_find(const struct list *list, const char *name)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (!strcmp(list->names[i], name))
			return i;
	return STRTAB_NONE;
}

static void
random_operations_agree_with_a_linear_list(void **state)
{
	static struct list list;
	struct strtab *tab = strtab_new();
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < N_OPERATIONS; i++) {
		char name[16];
		uint32_t id;

		snprintf(name, sizeof name, "n%d", (int)rng_below(&rng, N_NAMES));
		id = list_find(&list, name);
		assert_int_equal(strtab_find(tab, name), id);
		if (rng_below(&rng, 4) == 0) {
			if (id == STRTAB_NONE) {
				id = list.n++;
				strcpy(list.names[id], name);
			}
			assert_int_equal(strtab_intern(tab, name), id);
		}
		assert_int_equal(strtab_n(tab), list.n);
	}
	for (uint32_t i = 0; i < list.n; i++)
		assert_string_equal(strtab_name(tab, i), list.names[i]);
	assert_true(list.n > N_NAMES / 2);
	strtab_free(tab);
}

static void
a_number_that_is_free_is_given_again(void **state)
{
	struct strtab *tab = strtab_new();

	(void)state;
	for (int i = 0; i < 4; i++) {
		char name[8];

		snprintf(name, sizeof name, "job%d", i);
		strtab_intern(tab, name);
	}
	strtab_remove(tab, 1);
	strtab_remove(tab, 3);
	assert_int_equal(strtab_find(tab, "job1"), STRTAB_NONE);
	assert_int_equal(strtab_find(tab, "job2"), 2);
	assert_int_equal(strtab_n(tab), 4);
	assert_int_equal(strtab_intern(tab, "new"), 3);
	assert_int_equal(strtab_intern(tab, "job1"), 1);
	assert_int_equal(strtab_intern(tab, "another"), 4);
	assert_string_equal(strtab_name(tab, 3), "new");
	strtab_free(tab);
}

/* The table needs only as many numbers as names exist at once. */
static void
names_that_come_and_go_take_no_more_room(void **state)
{
	struct strtab *tab = strtab_new();

	(void)state;
	for (int i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof name, "job%d", i);
		assert_true(strtab_intern(tab, name) < 3);
		if (i < 2)
			continue;
		snprintf(name, sizeof name, "job%d", i - 2);
		strtab_remove(tab, strtab_find(tab, name));
	}
	assert_int_equal(strtab_n(tab), 3);
	strtab_free(tab);
}

static void
freeing_no_table_is_harmless(void **state)
{
	(void)state;
	strtab_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_dense_in_the_order_of_insertion),
		cmocka_unit_test(the_name_is_copied_and_stays_where_it_is),
		cmocka_unit_test(random_operations_agree_with_a_linear_list),
		cmocka_unit_test(a_number_that_is_free_is_given_again),
		cmocka_unit_test(names_that_come_and_go_take_no_more_room),
		cmocka_unit_test(freeing_no_table_is_harmless),
	};

	return cmocka_run_group_tests_name("strtab", tests, NULL, NULL);
}
