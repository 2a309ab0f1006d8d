/* SPDX-License-Identifier: Apache-2.0 */
/* test_sorter.c - incremental sorting */
#include <stdlib.h>

#include "lib/base/rng.h"
#include "lib/base/sorter.h"
#include "tests/unit/test.h"

#define MAX 300

struct lab {
	uint32_t keys[MAX];
	size_t n_compared;
};

static int
compare(uint32_t a, uint32_t b, void *ctx)
{
	struct lab *lab = ctx;

	lab->n_compared++;
	return (lab->keys[a] > lab->keys[b]) - (lab->keys[a] < lab->keys[b]);
}

/* Sorted, complete and stable. */
static void
check(const struct lab *lab, const uint32_t *items, size_t n)
{
	bool is_there[MAX] = { false };

	for (size_t i = 0; i < n; i++) {
		assert_false(is_there[items[i]]);
		is_there[items[i]] = true;
		if (i == 0)
			continue;
		assert_true(lab->keys[items[i - 1]] <= lab->keys[items[i]]);
		if (lab->keys[items[i - 1]] == lab->keys[items[i]])
			assert_true(items[i - 1] < items[i]);
	}
}

static void
any_number_is_sorted_in_steps_of_any_size(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (size_t n = 0; n < MAX; n += 1 + n / 8) {
		for (size_t step = 1; step < 1000; step = 3 * step + 1) {
			struct lab lab = { .n_compared = 0 };
			struct sorter *sorter = sorter_new(n, compare, &lab);
			const uint32_t *items;
			size_t n_items;

			for (size_t i = 0; i < n; i++)
				lab.keys[i] = (uint32_t)rng_below(&rng, 1 + n / 2);
			for (;;) {
				size_t before = lab.n_compared;
				bool is_over = sorter_step(sorter, step);

				assert_true(lab.n_compared - before <= step);
				if (is_over)
					break;
			}
			items = sorter_items(sorter, &n_items);
			assert_int_equal(n_items, n);
			check(&lab, items, n);
			sorter_free(sorter);
		}
	}
}

static void
it_may_be_of_some_numbers(void **state)
{
	static const uint32_t some[] = { 7, 2, 9 };
	struct lab lab = { .keys = { [2] = 5, [7] = 1, [9] = 3 } };
	struct sorter *sorter = sorter_new(10, compare, &lab);
	const uint32_t *items;
	size_t n;

	(void)state;
	sorter_set(sorter, some, 3);
	while (!sorter_step(sorter, 1))
		continue;
	items = sorter_items(sorter, &n);
	assert_int_equal(n, 3);
	assert_int_equal(items[0], 7);
	assert_int_equal(items[1], 9);
	assert_int_equal(items[2], 2);
	sorter_free(sorter);
	sorter_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_is_sorted_in_steps_of_any_size),
		cmocka_unit_test(it_may_be_of_some_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
