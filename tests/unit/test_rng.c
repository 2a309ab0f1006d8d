/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/rng.h"
#include "tests/unit/test.h"

/*
 * Streams must never change silently, since results are published with their seeds. The
 * values come from an independent implementation of splitmix64 and xoshiro256**.
 */
static void
the_generators_are_the_published_ones(void **state)
{
	/* Started from the state {1, 2, 3, 4}. */
	static const uint64_t want[] = {
		UINT64_C(11520),
		UINT64_C(0),
		UINT64_C(1509978240),
		UINT64_C(1215971899390074240),
		UINT64_C(1216172134540287360),
		UINT64_C(607988272756665600),
		UINT64_C(16172922978634559625),
		UINT64_C(8476171486693032832),
	};
	struct rng rng = { { 1, 2, 3, 4 } };

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_true(rng_next(&rng) == want[i]);

	/* The first two outputs of splitmix64 with the seed 0. */
	assert_true(rng_mix(0) == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(rng_mix(UINT64_C(0x9e3779b97f4a7c15)) ==
		    UINT64_C(0x6e789e6aa1b965f4));
}

static void
the_same_seed_gives_the_same_numbers_for_ever(void **state)
{
	static const uint64_t want[] = { UINT64_C(0x15780b2e0c2ec716),
					 UINT64_C(0x6104d9866d113a7e),
					 UINT64_C(0xae17533239e499a1),
					 UINT64_C(0xecb8ad4703b360a1) };
	static const uint64_t want_stream[] = { UINT64_C(0x77821aff7da2f029),
						UINT64_C(0xfd1c369092af3a69),
						UINT64_C(0xe961f50213975e76),
						UINT64_C(0x5293b22905c6795b) };
	struct rng rng;

	(void)state;
	rng_init(&rng, 42);
	for (int i = 0; i < 4; i++)
		assert_true(rng_next(&rng) == want[i]);
	rng_init_stream(&rng, 42, 7);
	for (int i = 0; i < 4; i++)
		assert_true(rng_next(&rng) == want_stream[i]);

	rng_init(&rng, 42);
	assert_int_equal(rng_below(&rng, 1000), 742);
	assert_int_equal(rng_below(&rng, 1000), 102);
	assert_near(rng_uniform(&rng), 0.6800434110281394, 0);
	assert_near(rng_normal(&rng), 2.271267919543203, 1e-14);
}

static void
seeds_and_streams_do_not_repeat_each_other(void **state)
{
	uint64_t first[64];

	(void)state;
	for (int i = 0; i < 64; i++) {
		struct rng rng;

		if (i < 32)
			rng_init(&rng, (uint64_t)i);
		else
			rng_init_stream(&rng, 1, (uint64_t)i - 32);
		first[i] = rng_next(&rng);
		for (int j = 0; j < i; j++)
			assert_true(first[i] != first[j]);
	}
}

static void
draws_below_a_bound_are_even(void **state)
{
	const int n_draws = 70000;
	int counts[7] = { 0 };
	double chi2 = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 8);
	for (int i = 0; i < n_draws; i++) {
		uint64_t x = rng_below(&rng, 7);

		assert_true(x < 7);
		counts[x]++;
	}
	for (int i = 0; i < 7; i++)
		chi2 += pow(counts[i] - n_draws / 7.0, 2) / (n_draws / 7.0);
	/* The 0.999 quantile of chi-squared with 6 degrees of freedom. */
	assert_true(chi2 < 22.46);
	assert_int_equal(rng_below(&rng, 1), 0);
}

static void
a_bound_beyond_half_the_range_has_no_bias(void **state)
{
	/* A plain remainder would hit the lower half twice as often. */
	const uint64_t bound = UINT64_C(3) << 62;
	const int n_draws = 30000;
	int n_low = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 9);
	for (int i = 0; i < n_draws; i++)
		n_low += rng_below(&rng, bound) < bound / 3;
	/* Four standard errors of a third. */
	assert_near((double)n_low / n_draws, 1.0 / 3, 0.011);
}

static void
uniform_numbers_fill_the_unit_interval(void **state)
{
	const int n_draws = 100000;
	double sum = 0, sum2 = 0, least = 1, most = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 10);
	for (int i = 0; i < n_draws; i++) {
		double x = rng_uniform(&rng);

		assert_true(x >= 0 && x < 1);
		sum += x;
		sum2 += x * x;
		least = fmin(least, x);
		most = fmax(most, x);
	}
	assert_near(sum / n_draws, 0.5, 0.004);
	assert_near(sum2 / n_draws, 1.0 / 3, 0.004);
	assert_true(least < 1e-3 && most > 1 - 1e-3);
}

static void
normal_numbers_have_the_moments_of_the_normal_law(void **state)
{
	const int n_draws = 200000;
	double m[5] = { 0 };
	int n_within = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 11);
	for (int i = 0; i < n_draws; i++) {
		double x = rng_normal(&rng);

		for (int k = 1; k <= 4; k++)
			m[k] += pow(x, k) / n_draws;
		n_within += fabs(x) < 1.959963984540054;
	}
	assert_near(m[1], 0, 0.01);
	assert_near(m[2], 1, 0.015);
	assert_near(m[3], 0, 0.04);
	assert_near(m[4], 3, 0.1);
	assert_near((double)n_within / n_draws, 0.95, 0.002);
}

static void
neighbouring_draws_and_streams_are_uncorrelated(void **state)
{
	const int n_draws = 100000;
	double lag = 0, across = 0, before = 0;
	struct rng a, b;

	(void)state;
	rng_init_stream(&a, 12, 0);
	rng_init_stream(&b, 12, 1);
	for (int i = 0; i < n_draws; i++) {
		double x = rng_uniform(&a) - 0.5, y = rng_uniform(&b) - 0.5;

		lag += x * before * 12 / n_draws;
		across += x * y * 12 / n_draws;
		before = x;
	}
	/* Four standard errors, 1 / sqrt(n). */
	assert_near(lag, 0, 0.0127);
	assert_near(across, 0, 0.0127);
}

static void
all_orders_are_as_likely(void **state)
{
	uint32_t n_seen[6] = { 0 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 42);
	for (int i = 0; i < 6000; i++) {
		uint32_t items[] = { 0, 1, 2 };

		rng_shuffle(&rng, items, 3);
		assert_int_equal(1 << items[0] | 1 << items[1] | 1 << items[2], 7);
		n_seen[2 * items[0] + (items[1] > items[2])]++;
	}
	/* Each is expected 1000 times, within four standard deviations. */
	for (int i = 0; i < 6; i++)
		assert_in_range(n_seen[i], 885, 1115);
	rng_shuffle(&rng, NULL, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_generators_are_the_published_ones),
		cmocka_unit_test(the_same_seed_gives_the_same_numbers_for_ever),
		cmocka_unit_test(seeds_and_streams_do_not_repeat_each_other),
		cmocka_unit_test(draws_below_a_bound_are_even),
		cmocka_unit_test(a_bound_beyond_half_the_range_has_no_bias),
		cmocka_unit_test(uniform_numbers_fill_the_unit_interval),
		cmocka_unit_test(normal_numbers_have_the_moments_of_the_normal_law),
		cmocka_unit_test(neighbouring_draws_and_streams_are_uncorrelated),
		cmocka_unit_test(all_orders_are_as_likely),
	};

	return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
