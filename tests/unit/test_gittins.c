/* SPDX-License-Identifier: Apache-2.0 */
/* test_gittins.c - Gittins indices against their definition, and learning */
#include <math.h>
#include <stdlib.h>

#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "policies/gittins.h"
#include "tests/unit/test.h"

#define N_SAMPLES 200

/* The probability of ending within delta over the expected service, from samples. */
static double
naive_rank(const double *sorted, size_t n, double attained, double delta)
{
	double last = sorted[n - 1], value = NAN, n_above = 0, n_within = 0, spent = 0;

	for (size_t i = n; i-- > 0;)
		if (sorted[i] > attained)
			value = sorted[i];
	if (isnan(value))
		return 0;
	for (size_t i = 0; i < n; i++) {
		bool is_last = i == n - 1;

		if (sorted[i] < value)
			continue;
		n_above++;
		/* The last sample never ends in time. */
		if (!is_last &&
		    (sorted[i] <= value - 1 + delta || value - 1 + delta > last - 1)) {
			n_within++;
			spent += sorted[i];
		} else {
			spent += delta;
		}
	}
	return n_within / spent;
}

static void
ranks_are_those_of_the_definition(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 20; round++) {
		struct gittins g = { 0 };
		double samples[N_SAMPLES], delta = (double)(1 + rng_below(&rng, 400));
		size_t n = 1 + rng_below(&rng, N_SAMPLES);

		for (size_t i = 0; i < n; i++)
			samples[i] = (double)(1 + rng_below(&rng, 1000));
		stats_sort(samples, n);
		gittins_give(&g, samples, n);
		for (int i = 0; i < 200; i++) {
			double attained = (double)rng_below(&rng, 1100);
			double want = naive_rank(samples, n, attained, delta);

			assert_true(fabs(gittins_rank(&g, attained, delta, false) -
					 want) <= 1e-12);
		}
		gittins_fini(&g);
	}
}

static void
what_is_learnt_are_the_last_jobs(void **state)
{
	struct gittins learnt = { 0 }, given = { 0 };
	double last[GITTINS_MAX_LEARNED];
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	assert_true(gittins_rank(&learnt, 5, 10, false) == 0);
	for (size_t i = 0; i < 3 * GITTINS_MAX_LEARNED + 7; i++) {
		double took = (double)rng_below(&rng, 500);

		last[i % GITTINS_MAX_LEARNED] = took;
		gittins_learn(&learnt, took);
	}
	gittins_learn(&learnt, NAN);
	stats_sort(last, GITTINS_MAX_LEARNED);
	gittins_give(&given, last, GITTINS_MAX_LEARNED);
	gittins_learn(&given, 7); /* It already has all samples. */
	assert_int_equal(learnt.sorted.n, GITTINS_MAX_LEARNED);
	for (size_t i = 0; i < GITTINS_MAX_LEARNED; i++) {
		assert_true(learnt.sorted.items[i] == given.sorted.items[i]);
		assert_true(learnt.sums.items[i] == given.sums.items[i]);
	}
	gittins_fini(&learnt);
	gittins_fini(&given);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_are_those_of_the_definition),
		cmocka_unit_test(what_is_learnt_are_the_last_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
