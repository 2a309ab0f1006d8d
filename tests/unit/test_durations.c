/* SPDX-License-Identifier: Apache-2.0 */
/* test_durations.c - chances to end soon, against counts over all jobs */
#include <stdbool.h>

#include "lib/base/rng.h"
#include "policies/math/durations.h"
#include "tests/unit/test.h"

#define N_JOBS 300

struct ended {
	uint32_t n_gpus;
	double duration_s;
};

/* By its definition, over all jobs. */
static double
count_all(const struct ended *ended, size_t n, uint32_t n_gpus, double executed_s,
	  double more_s, size_t least)
{
	double n_longer[2] = { 0 }, n_end[2] = { 0 };

	for (size_t i = 0; i < n; i++) {
		bool is_longer = ended[i].duration_s > executed_s;
		bool ends = ended[i].duration_s <= executed_s + more_s;
		int same = ended[i].n_gpus == n_gpus;

		n_longer[0] += is_longer;
		n_end[0] += is_longer && ends;
		n_longer[1] += is_longer && same;
		n_end[1] += is_longer && ends && same;
	}
	if (n_longer[1] >= (double)least)
		return n_end[1] / n_longer[1];
	return n_longer[0] > 0 ? n_end[0] / n_longer[0] : 0;
}

static void
the_chance_is_its_definition(void **state)
{
	struct durations durations = { 0 };
	struct ended ended[N_JOBS];
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	assert_true(durations_end_chance(&durations, 1, 0, 900, 5) == 0);
	for (size_t n = 0; n < N_JOBS; n++) {
		/* Few values, so that some are equal. */
		ended[n].n_gpus = 1u << rng_below(&rng, 5);
		ended[n].duration_s = 60.0 * (double)rng_below(&rng, 100);
		durations_add(&durations, ended[n].n_gpus, ended[n].duration_s);
		for (int i = 0; i < 20; i++) {
			uint32_t n_gpus = 1u << rng_below(&rng, 6);
			double executed_s = 30.0 * (double)rng_below(&rng, 210);
			double more_s = 60.0 * (double)rng_below(&rng, 30);

			assert_true(
				durations_end_chance(&durations, n_gpus, executed_s,
						     more_s, 5) ==
				count_all(ended, n + 1, n_gpus, executed_s, more_s, 5));
		}
	}
	durations_free(&durations);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_chance_is_its_definition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
