/* SPDX-License-Identifier: Apache-2.0 */
/* test_pair.c - the exact optimum of two jobs against brute force */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/pair.h"
#include "tests/unit/test.h"

#define MAX_PHASES 6

struct random_job {
	struct profile profile;
	struct profile_phase phases[MAX_PHASES];
};

/* A profile with up to 'max_phases' phases of random whole Mb/s. */
static void
make_job(struct rng *rng, int64_t period_us, size_t max_phases, double max_bps,
	 struct random_job *job)
{
	int64_t cut_us[2 * MAX_PHASES];
	size_t n = 1 + rng_below(rng, max_phases), m = 0;

	memset(job, 0, sizeof *job);
	for (size_t i = 0; i < 2 * n; i++)
		cut_us[i] = (int64_t)rng_below(rng, (uint64_t)period_us + 1);
	for (size_t i = 1; i < 2 * n; i++) { /* Sort. */
		for (size_t k = i; k > 0 && cut_us[k - 1] > cut_us[k]; k--) {
			int64_t t = cut_us[k];

			cut_us[k] = cut_us[k - 1];
			cut_us[k - 1] = t;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (cut_us[2 * i] == cut_us[2 * i + 1])
			continue;
		job->phases[m].start_us = cut_us[2 * i];
		job->phases[m].duration_us = cut_us[2 * i + 1] - cut_us[2 * i];
		job->phases[m++].rate_bps = max_bps * rng_uniform(rng);
	}
	job->profile.period_us = period_us;
	job->profile.n_phases = m;
	job->profile.phases = job->phases;
}

/* The rate in each microsecond of a period. */
static double *
sample(const struct profile *profile)
{
	double *rate_bps = xcalloc((size_t)profile->period_us, sizeof *rate_bps);

	for (size_t i = 0; i < profile->n_phases; i++)
		for (int64_t t = 0; t < profile->phases[i].duration_us; t++)
			rate_bps[profile->phases[i].start_us + t] =
				profile->phases[i].rate_bps;
	return rate_bps;
}

static int64_t
gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

/* Mean excess by stepping through the hyperperiod in microseconds. */
static double
walk(const double *a, int64_t ta, const double *b, int64_t tb, int64_t shift, double c)
{
	int64_t p = ta / gcd(ta, tb) * tb;
	int64_t i = 0, k = ((-shift) % tb + tb) % tb;
	double sum = 0;

	for (int64_t t = 0; t < p; t++) {
		double over = a[i] + b[k] - c;

		if (over > 0)
			sum += over;
		if (++i == ta)
			i = 0;
		if (++k == tb)
			k = 0;
	}
	return sum / (double)p;
}

static void
pair_optimum_equals_brute_force_on_12000_random_pairs(void **state)
{
	static const int64_t bases[] = { 1, 2, 3, 4, 6, 8, 10, 12 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int round = 0; round < 12000; round++) {
		int64_t base = bases[rng_below(&rng, 8)];
		int64_t ta = base * (int64_t)(1 + rng_below(&rng, 9));
		int64_t tb = rng_below(&rng, 3) == 0
				     ? ta
				     : base * (int64_t)(1 + rng_below(&rng, 9));
		double c = 50e9, min = INFINITY, mean = 0;
		struct random_job a, b;
		struct pair_job ja = { &a.profile, 0.5 + rng_uniform(&rng) };
		struct pair_job jb = { &b.profile, 1 };
		struct pair_optimum best;
		double *sa, *sb;
		int64_t g = gcd(ta, tb);

		make_job(&rng, ta, 4, 60e9, &a);
		make_job(&rng, tb, 4, 60e9, &b);
		sa = sample(&a.profile);
		sb = sample(&b.profile);
		for (int64_t t = 0; t < ta; t++)
			sa[t] *= ja.factor;
		assert_int_equal(pair_optimize(&ja, &jb, c, &best), 0);
		for (int64_t d = 0; d < g; d++) {
			double e = walk(sa, ta, sb, tb, d, c);

			assert_near(pair_excess_bps(&ja, &jb, d, c), e,
				    1e-9 * e + 1e-3);
			/* Linear between integers, hence the mean of both neighbors. */
			mean += e / (double)g;
			min = fmin(min, e);
		}
		assert_int_equal(best.period_us, g);
		assert_near(best.min_excess_bps, min, 1e-9 * min + 1e-3);
		assert_near(best.mean_excess_bps, mean, 1e-9 * mean + 1e-3);
		assert_near(best.score, 1 - min / c, 1e-9);
		assert_true(best.shift_us >= 0 && best.shift_us < g);
		for (int64_t d = -best.slack_us; d <= best.slack_us; d++)
			assert_near(walk(sa, ta, sb, tb, best.shift_us + d, c), min,
				    1e-9 * min + 0.5);
		free(sa);
		free(sb);
	}
}

/* Full-rate on/off jobs fit if and only if their Up phases fit into the gcd. */
static void
on_off_jobs_are_compatible_iff_they_fit_into_the_gcd(void **state)
{
	struct rng rng;
	int n_tried = 0, n_fit = 0;

	(void)state;
	rng_init(&rng, 2);
	for (int round = 0; round < 22000; round++) {
		int64_t base = 1 + (int64_t)rng_below(&rng, 50000);
		int64_t ta = base * (int64_t)(1 + rng_below(&rng, 5));
		int64_t tb = base * (int64_t)(1 + rng_below(&rng, 5));
		int64_t g = gcd(ta, tb);
		/* Often just about the longest that fits. */
		int64_t ca = 1 + (int64_t)rng_below(&rng, (uint64_t)g);
		int64_t cb = g - ca + (int64_t)rng_below(&rng, 3) - 1;
		struct profile_phase pa = { 0, ca, 100e9 }, pb = { 0, cb, 100e9 };
		struct profile a = { .period_us = ta, .n_phases = 1, .phases = &pa };
		struct profile b = { .period_us = tb, .n_phases = 1, .phases = &pb };
		struct pair_job ja = { &a, 1 }, jb = { &b, 1 };
		struct pair_optimum best;

		if (cb < 1 || cb > tb)
			continue;
		n_tried++;
		pa.start_us = (int64_t)rng_below(&rng, (uint64_t)(ta - ca + 1));
		pb.start_us = (int64_t)rng_below(&rng, (uint64_t)(tb - cb + 1));
		assert_int_equal(pair_optimize(&ja, &jb, 100e9, &best), 0);
		if (ca + cb <= g) {
			assert_true(best.min_excess_bps == 0);
			assert_int_equal(best.slack_us, (g - ca - cb) / 2);
			n_fit++;
		} else {
			assert_true(best.min_excess_bps > 0);
		}
	}
	assert_true(n_tried >= 20000);
	assert_in_range(n_fit, 5000, n_tried - 5000);
}

static void
no_pair_gains_more_than_the_bound(void **state)
{
	struct rng rng;
	double tightest = 0;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 20000; round++) {
		int64_t base = 1 + (int64_t)rng_below(&rng, 20000);
		struct random_job a, b;
		struct pair_job ja = { &a.profile, 1 }, jb = { &b.profile, 1 };
		struct pair_optimum best;
		double bound_bps, gain_bps;

		make_job(&rng, base * (int64_t)(1 + rng_below(&rng, 6)), 3, 120e9, &a);
		make_job(&rng, base * (int64_t)(1 + rng_below(&rng, 6)), 3, 120e9, &b);
		assert_int_equal(pair_optimize(&ja, &jb, 100e9, &best), 0);
		bound_bps = pair_gain_bound_bps(&ja, &jb);
		gain_bps = best.mean_excess_bps - best.min_excess_bps;
		assert_true(gain_bps <= bound_bps * (1 + 1e-12) + 1e-3);
		if (bound_bps > 0)
			tightest = fmax(tightest, gain_bps / bound_bps);
	}
	/* The bound must not be trivially loose, either. */
	assert_true(tightest > 0.3);
}

static void
exchanging_the_jobs_only_turns_the_shift_round(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (int round = 0; round < 5000; round++) {
		int64_t base = 1 + (int64_t)rng_below(&rng, 20000);
		struct random_job a, b;
		struct pair_job ja = { &a.profile, 1 }, jb = { &b.profile, 1.25 };
		struct pair_optimum ab, ba;

		make_job(&rng, base * (int64_t)(1 + rng_below(&rng, 4)), 3, 90e9, &a);
		make_job(&rng, base * (int64_t)(1 + rng_below(&rng, 4)), 3, 90e9, &b);
		assert_int_equal(pair_optimize(&ja, &jb, 100e9, &ab), 0);
		assert_int_equal(pair_optimize(&jb, &ja, 100e9, &ba), 0);
		assert_true(ab.min_excess_bps == ba.min_excess_bps);
		assert_int_equal(ab.slack_us, ba.slack_us);
		assert_near(pair_excess_bps(&ja, &jb, -ba.shift_us, 100e9),
			    ab.min_excess_bps, 1e-12 * 100e9);
	}
}

/* The paper's example: periods of 40 and 60 ms, so that only 20 ms count. */
static void
forty_and_sixty_milliseconds_share_twenty(void **state)
{
	struct profile_phase pa = { 0, 10000, 50e9 }, pb = { 0, 6000, 50e9 };
	struct profile a = { .period_us = 40000, .n_phases = 1, .phases = &pa };
	struct profile b = { .period_us = 60000, .n_phases = 1, .phases = &pb };
	struct pair_job ja = { &a, 1 }, jb = { &b, 1 };
	struct pair_optimum best;

	(void)state;
	assert_int_equal(pair_optimize(&ja, &jb, 50e9, &best), 0);
	assert_int_equal(best.period_us, 20000);
	assert_true(best.score == 1);
	assert_int_equal(best.shift_us, 12000); /* Between 10 and 14 ms. */
	assert_int_equal(best.slack_us, 2000);
}

static void
an_hour_of_microseconds_does_not_overflow(void **state)
{
	struct profile_phase pa = { 0, PROFILE_MAX_PERIOD_US / 2, PROFILE_MAX_BPS };
	struct profile_phase pb = { 1, PROFILE_MAX_PERIOD_US / 2, PROFILE_MAX_BPS };
	struct profile a = { .period_us = PROFILE_MAX_PERIOD_US,
			     .n_phases = 1,
			     .phases = &pa };
	struct profile b = { .period_us = PROFILE_MAX_PERIOD_US - 1,
			     .n_phases = 1,
			     .phases = &pb };
	struct pair_job ja = { &a, 1 }, jb = { &b, 1 };
	struct pair_optimum best;

	(void)state;
	assert_int_equal(pair_optimize(&ja, &jb, PROFILE_MAX_BPS, &best), 0);
	assert_int_equal(best.period_us, 1);
	assert_near(best.score, 0.75, 1e-6);
	b.period_us = PROFILE_MAX_PERIOD_US;
	assert_int_equal(pair_optimize(&ja, &jb, PROFILE_MAX_BPS, &best), 0);
	assert_true(best.min_excess_bps == 0);
}

static void
what_is_not_positive_is_refused(void **state)
{
	struct profile_phase phase = { 0, 1, 1 };
	struct profile a = { .period_us = 10, .n_phases = 1, .phases = &phase };
	struct pair_job good = { &a, 1 }, bad = { &a, 0 };
	struct pair_optimum best;

	(void)state;
	assert_int_equal(pair_optimize(&good, &good, 0, &best), -EINVAL);
	assert_int_equal(pair_optimize(&good, &good, NAN, &best), -EINVAL);
	assert_int_equal(pair_optimize(&good, &bad, 1, &best), -EINVAL);
	assert_int_equal(pair_optimize(&bad, &good, 1, &best), -EINVAL);
}

/* For full-rate on/off jobs the bound is g / (2 max T) of the capacity. */
static void
bound_is_small_for_unrelated_periods_only(void **state)
{
	struct profile_phase on = { 0, 40000, 50e9 };
	struct profile a = { .period_us = 100000, .n_phases = 1, .phases = &on };
	struct profile b = a;
	struct pair_job ja = { &a, 1 }, jb = { &b, 1 };

	(void)state;
	assert_near(pair_gain_bound_bps(&ja, &jb), 25e9, 1);
	b.period_us = 101000;
	assert_near(pair_gain_bound_bps(&ja, &jb), 50e9 / 202, 1);
	b.period_us = 100003;
	assert_true(pair_gain_bound_bps(&ja, &jb) < 1e6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pair_optimum_equals_brute_force_on_12000_random_pairs),
		cmocka_unit_test(on_off_jobs_are_compatible_iff_they_fit_into_the_gcd),
		cmocka_unit_test(no_pair_gains_more_than_the_bound),
		cmocka_unit_test(exchanging_the_jobs_only_turns_the_shift_round),
		cmocka_unit_test(forty_and_sixty_milliseconds_share_twenty),
		cmocka_unit_test(an_hour_of_microseconds_does_not_overflow),
		cmocka_unit_test(what_is_not_positive_is_refused),
		cmocka_unit_test(bound_is_small_for_unrelated_periods_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
