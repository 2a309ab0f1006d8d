/* SPDX-License-Identifier: Apache-2.0 */
/* test_unionfind.c - disjoint sets, against labels rewritten at each join */
#include "lib/base/rng.h"
#include "lib/base/unionfind.h"
#include "tests/unit/test.h"

#define N 50

static void
sets_are_those_of_the_joins_and_their_root_is_the_least(void **state)
{
	uint32_t parents[N], labels[N];
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (uint32_t i = 0; i < N; i++)
		parents[i] = labels[i] = i;
	for (int join = 0; join < 60; join++) {
		uint32_t a = (uint32_t)rng_below(&rng, N);
		uint32_t b = (uint32_t)rng_below(&rng, N);
		uint32_t kept = labels[a] < labels[b] ? labels[a] : labels[b];
		uint32_t gone = labels[a] < labels[b] ? labels[b] : labels[a];

		unionfind_join(parents, a, b);
		for (uint32_t i = 0; i < N; i++)
			labels[i] = labels[i] == gone ? kept : labels[i];
		for (uint32_t i = 0; i < N; i++)
			assert_int_equal(unionfind_root(parents, i), labels[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			sets_are_those_of_the_joins_and_their_root_is_the_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
