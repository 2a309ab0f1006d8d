/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "tests/unit/test.h"

static void
nothing_and_one_sample_have_no_spread(void **state)
{
	double one = 7;

	(void)state;
	assert_near(stats_mean(NULL, 0), 0, 0);
	assert_near(stats_sd(NULL, 0), 0, 0);
	assert_near(stats_ci95(NULL, 0), 0, 0);
	assert_near(stats_quantile(NULL, 0, 0.5), 0, 0);
	assert_near(stats_mean(&one, 1), 7, 0);
	assert_near(stats_sd(&one, 1), 0, 0);
	assert_near(stats_ci95(&one, 1), 0, 0);
	assert_near(stats_quantile(&one, 1, 0.99), 7, 0);
}

static void
mean_and_deviation_are_those_computed_by_hand(void **state)
{
	/* Sum 40, squared deviations 9+1+1+1+0+0+4+16 = 32, over 7. */
	const double x[] = { 2, 4, 4, 4, 5, 5, 7, 9 };

	(void)state;
	assert_near(stats_mean(x, 8), 5, 0);
	assert_near(stats_sd(x, 8), sqrt(32.0 / 7), 1e-15);
}

static void
deviation_survives_a_large_offset(void **state)
{
	const double x[] = { 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16 };

	(void)state;
	assert_near(stats_sd(x, 4), sqrt(30), 1e-9);
}

static void
quantiles_interpolate_as_type_7_does(void **state)
{
	/* R: quantile(c(15,20,35,40,50), c(0,.05,.3,.4,.5,.9,1), type=7) */
	double x[] = { 40, 15, 50, 35, 20 };

	(void)state;
	stats_sort(x, 5);
	assert_near(stats_quantile(x, 5, 0), 15, 0);
	assert_near(stats_quantile(x, 5, 0.05), 16, 1e-12);
	assert_near(stats_quantile(x, 5, 0.3), 23, 1e-12);
	assert_near(stats_quantile(x, 5, 0.4), 29, 1e-12);
	assert_near(stats_quantile(x, 5, 0.5), 35, 1e-12);
	assert_near(stats_quantile(x, 5, 0.9), 46, 1e-12);
	assert_near(stats_quantile(x, 5, 1), 50, 0);
}

static void
quantiles_rise_with_their_share(void **state)
{
	double x[101], before = -INFINITY;
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	for (int i = 0; i < 101; i++)
		x[i] = rng_normal(&rng);
	stats_sort(x, 101);
	for (int i = 0; i < 101; i++) {
		/* 101 samples: every percentile is a sample. */
		assert_near(stats_quantile(x, 101, i / 100.0), x[i], 1e-12);
		assert_true(stats_quantile(x, 101, i / 100.0) >= before);
		before = x[i];
	}
}

/* The t quantile that stats_ci95() used for 'n' samples. */
static double
t_of(size_t n)
{
	static double x[2000];

	for (size_t i = 0; i < n; i++)
		x[i] = i % 2 ? 3 : -1;
	return stats_ci95(x, n) * sqrt((double)n) / stats_sd(x, n);
}

static void
intervals_use_the_quantiles_of_the_t_table(void **state)
{
	(void)state;
	/* Degrees of freedom: n - 1. */
	assert_near(t_of(2), 12.7062, 5e-5);
	assert_near(t_of(3), 4.3027, 5e-5);
	assert_near(t_of(6), 2.5706, 5e-5);
	assert_near(t_of(11), 2.2281, 5e-5);
	assert_near(t_of(21), 2.0860, 5e-5);
	assert_near(t_of(31), 2.0423, 5e-5);
	assert_near(t_of(32), 2.0395, 5e-5);
	assert_near(t_of(41), 2.0211, 5e-5);
	assert_near(t_of(61), 2.0003, 5e-5);
	assert_near(t_of(121), 1.9799, 5e-5);
	assert_near(t_of(1001), 1.9623, 5e-5);
}

static void
intervals_cover_the_true_mean_19_times_in_20(void **state)
{
	const int n_trials = 20000;
	int n_covered = 0;
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int i = 0; i < n_trials; i++) {
		double x[5];

		for (int j = 0; j < 5; j++)
			x[j] = 10 + 2 * rng_normal(&rng);
		n_covered += fabs(stats_mean(x, 5) - 10) <= stats_ci95(x, 5);
	}
	/* Four standard errors of a share of 0.95 in 20,000 trials. */
	assert_near((double)n_covered / n_trials, 0.95, 0.0062);
}

static void
the_median_of_unsorted_samples_is_that_of_sorted_ones(void **state)
{
	static double x[1000], sorted[1000];
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (size_t n = 0; n <= 1000; n = n < 40 ? n + 1 : n + 37) {
		for (int kinds = 1; kinds <= 4; kinds++) {
			for (size_t i = 0; i < n; i++) {
				x[i] = floor(rng_uniform(&rng) * pow(9, kinds - 1));
				if (kinds == 4) /* Ascending and descending. */
					x[i] = (double)(i < n / 2 ? i : n - i);
				sorted[i] = x[i];
			}
			stats_sort(sorted, n);
			assert_true(stats_median(x, n) ==
				    stats_quantile(sorted, n, 0.5));
			/* No element is lost. */
			stats_sort(x, n);
			assert_memory_equal(x, sorted, n * sizeof *x);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_and_one_sample_have_no_spread),
		cmocka_unit_test(mean_and_deviation_are_those_computed_by_hand),
		cmocka_unit_test(deviation_survives_a_large_offset),
		cmocka_unit_test(quantiles_interpolate_as_type_7_does),
		cmocka_unit_test(quantiles_rise_with_their_share),
		cmocka_unit_test(intervals_use_the_quantiles_of_the_t_table),
		cmocka_unit_test(intervals_cover_the_true_mean_19_times_in_20),
		cmocka_unit_test(the_median_of_unsorted_samples_is_that_of_sorted_ones),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
