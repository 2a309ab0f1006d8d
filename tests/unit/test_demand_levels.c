/* SPDX-License-Identifier: Apache-2.0 */
/* test_demand_levels.c - levels of sums of independent demands, against all sums */
#include "lib/base/rng.h"
#include "scheduler/core/solve/demand_levels.h"
#include "scheduler/core/solve/step_function.h"
#include "tests/unit/test.h"

#define MOST 9 /* Pieces of a step function. */

struct made {
	struct step_function step;
	int64_t from_us[MOST], level[MOST];
};

static void
make(struct made *made, size_t n, struct rng *rng)
{
	made->step = (struct step_function){ .period_us = (int64_t)(10 * n),
					     .n = n,
					     .from_us = made->from_us,
					     .level = made->level };
	for (size_t i = 0; i < n; i++) {
		made->from_us[i] = (int64_t)(10 * i + rng_below(rng, 9));
		made->level[i] = (int64_t)rng_below(rng, 40); /* Some equal. */
	}
}

static double
share(const struct made *made, size_t i)
{
	int64_t end_us = i + 1 < made->step.n ? made->from_us[i + 1]
					      : made->from_us[0] + made->step.period_us;

	return (double)(end_us - made->from_us[i]) / (double)made->step.period_us;
}

static double
naive_excess(const struct made *made, int64_t room)
{
	double sum = 0;

	for (size_t a = 0; a < made[0].step.n; a++)
		for (size_t b = 0; b < made[1].step.n; b++)
			for (size_t c = 0; c < made[2].step.n; c++) {
				int64_t level = made[0].level[a] + made[1].level[b] +
						made[2].level[c];

				if (level > room)
					sum += share(&made[0], a) * share(&made[1], b) *
					       share(&made[2], c) *
					       (double)(level - room);
			}
	return sum;
}

static void
a_sum_is_as_all_sums_say(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 11);
	for (int t = 0; t < 300; t++) {
		struct made made[3];
		struct demand_levels sum, one;
		double all = 0;

		for (size_t j = 0; j < 3; j++)
			make(&made[j], 1 + rng_below(&rng, MOST), &rng);
		demand_levels_of_step(&made[0].step, &sum);
		for (size_t j = 1; j < 3; j++) {
			demand_levels_of_step(&made[j].step, &one);
			demand_levels_add(&sum, &one);
			demand_levels_fini(&one);
		}
		for (size_t i = 0; i < sum.n; i++) {
			all += sum.share[i];
			assert_true(!i || sum.level[i - 1] < sum.level[i]);
		}
		assert_near(all, 1, 1e-12);
		for (int64_t room = 0; room < 120; room += 7)
			assert_near((double)demand_levels_excess(&sum, room),
				    naive_excess(made, room), 0.5 + 1e-9);
		demand_levels_fini(&sum);
	}
}

static void
many_levels_are_merged_and_keep_their_mean(void **state)
{
	struct demand_levels sum, one;
	struct rng rng;
	double mean = 0;

	(void)state;
	rng_init(&rng, 12);
	for (int j = 0; j < 6; j++) {
		struct made made;

		make(&made, MOST, &rng);
		for (size_t i = 0; i < MOST; i++) {
			made.level[i] = made.level[i] * 1000003 + (int64_t)i;
			mean += share(&made, i) * (double)made.level[i];
		}
		demand_levels_of_step(&made.step, j ? &one : &sum);
		if (!j)
			continue;
		demand_levels_add(&sum, &one);
		demand_levels_fini(&one);
		assert_true(sum.n <= DEMAND_LEVELS_MAX);
	}
	assert_near(sum.tail_mean[0] / mean, 1, 1e-6);
	demand_levels_fini(&sum);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_is_as_all_sums_say),
		cmocka_unit_test(many_levels_are_merged_and_keep_their_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
