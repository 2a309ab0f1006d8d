/* SPDX-License-Identifier: Apache-2.0 */
/* test_detect_steps.c - each step of the detector against a naive version of it */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/align.h"
#include "scheduler/core/profile/period.h"
#include "scheduler/core/profile/phases.h"
#include "scheduler/core/profile/series.h"
#include "scheduler/core/profile/spectrum.h"
#include "tests/unit/test.h"
#include "tests/unit/traffic.h"

static bool
make_spectrum(const struct series_set *set, struct spectrum *ret_spectrum)
{
	struct spectrum_maker *maker = spectrum_maker_new();
	bool varies;

	spectrum_begin(maker, set);
	while (spectrum_step(maker))
		continue;
	varies = spectrum_end(maker, ret_spectrum);
	spectrum_maker_free(maker);
	return varies;
}

static void
align(const float *x, size_t n, double period, struct alignment *ret_alignment)
{
	struct aligner *aligner = aligner_new(x, n, period);

	while (aligner_step(aligner))
		continue;
	aligner_end(aligner, ret_alignment);
}

/* ---- Series -------------------------------------------------------------------- */

static void
smoothing_is_a_mean_of_neighbours(void **state)
{
	struct rng rng;
	float x[40], smooth[40];

	(void)state;
	rng_init(&rng, 1);
	for (size_t t = 0; t < 40; t++)
		x[t] = (float)rng_uniform(&rng);
	for (size_t width = 1; width <= 9; width += 2) {
		series_smooth(x, 40, width, smooth);
		for (int t = 0; t < 40; t++) {
			double sum = 0;
			int n = 0;

			for (int i = t - (int)width / 2; i <= t + (int)width / 2; i++)
				if (i >= 0 && i < 40) {
					sum += x[i];
					n++;
				}
			assert_near((double)smooth[t], sum / n, 1e-6);
		}
	}
}

/* ---- Autocorrelation ----------------------------------------------------------- */

/* The definition at the top of spectrum.c: one lag of one series. */
static double
naive_acf(const float *x, size_t n, size_t lag)
{
	double mean = 0, product = 0, square = 0;

	for (size_t t = 0; t < n; t++)
		mean += x[t] / (double)n;
	for (size_t t = 0; t < n; t++)
		square += (x[t] - mean) * (x[t] - mean);
	for (size_t t = 0; t + lag < n; t++)
		product += (x[t] - mean) * (x[t + lag] - mean);
	return product / (double)(n - lag) / (square / (double)n);
}

static void
autocorrelation_is_the_mean_of_its_definition_over_the_series(void **state)
{
	struct spectrum spectrum;
	struct series_set set;
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	/* The third series is constant and must not count. */
	series_init(&set, 3, 301);
	for (size_t t = 0; t < 301; t++) {
		series_row(&set, 0)[t] = (float)rng_uniform(&rng);
		series_row(&set, 1)[t] =
			(float)(1e6 * rng_uniform(&rng) * (1 + sin(0.3 * (double)t)));
		series_row(&set, 2)[t] = 77;
	}
	assert_true(make_spectrum(&set, &spectrum));
	assert_int_equal(spectrum.n, 301);
	for (size_t lag = 0; lag < 301; lag++)
		assert_near((double)spectrum.acf[lag],
			    (naive_acf(series_row(&set, 0), 301, lag) +
			     naive_acf(series_row(&set, 1), 301, lag)) /
				    2,
			    1e-4);
	spectrum_fini(&spectrum);
	series_fini(&set);
}

static void
the_amplitude_of_a_sine_peaks_at_its_frequency(void **state)
{
	struct spectrum spectrum;
	struct series_set set;
	size_t best = 0;

	(void)state;
	series_init(&set, 1, 1000);
	for (size_t t = 0; t < 1000; t++)
		series_row(&set, 0)[t] = (float)(5 + sin(2 * M_PI * (double)t / 62.5));
	assert_true(make_spectrum(&set, &spectrum));
	for (size_t k = 0; k <= spectrum.m / 2; k++)
		if (spectrum.amplitude[k] > spectrum.amplitude[best])
			best = k;
	assert_near((double)spectrum.m / (double)best, 62.5, 0.5);
	spectrum_fini(&spectrum);
	series_fini(&set);
}

static void
series_without_variance_have_no_spectrum(void **state)
{
	struct spectrum spectrum;
	struct series_set set;

	(void)state;
	series_init(&set, 2, 500);
	for (size_t i = 0; i < 1000; i++)
		set.bytes[i] = 12345.678f;
	assert_false(make_spectrum(&set, &spectrum));
	series_fini(&set);
	series_init(&set, 1, 1);
	assert_false(make_spectrum(&set, &spectrum));
	series_fini(&set);
}

static void
the_first_candidate_is_the_period_of_a_plain_job(void **state)
{
	struct period periods[PERIOD_MAX_CANDIDATES];
	struct traffic_job job = { 333, 0.02, 0.3, 1, 2, 0.02, 10, 1 };
	struct traffic *traffic = xcalloc(1, sizeof *traffic);
	struct spectrum spectrum;
	size_t n;

	(void)state;
	traffic_init(traffic, &job);
	assert_true(make_spectrum(&traffic->set, &spectrum));
	n = period_candidates(&spectrum, periods);
	assert_true(n >= 1 && n <= PERIOD_MAX_CANDIDATES);
	assert_near(periods[0].buckets, 333, 12);
	assert_true(periods[0].autocorrelation > 0.5 && periods[0].dip > 0.5);
	for (size_t i = 1; i < n; i++)
		assert_true(periods[i].score <= periods[i - 1].score);
	spectrum_fini(&spectrum);
	traffic_fini(traffic);
	free(traffic);
}

/* ---- Alignment ----------------------------------------------------------------- */

static void
onsets_follow_each_iteration_in_spite_of_jitter(void **state)
{
	struct traffic_job job = { 200, 0.08, 0.3, 1, 1, 0.02, 20, 4 };
	struct traffic *traffic = xcalloc(1, sizeof *traffic);
	struct alignment alignment;
	double first_lead_ms = 0;
	size_t k = 0, i = 0;

	(void)state;
	traffic_init(traffic, &job);
	align(series_row(&traffic->set, 1), traffic->set.n_buckets, 205, &alignment);
	assert_true(alignment.n_onsets + 4 >= traffic->n_iterations);
	assert_true(alignment.explained > 0.8);
	/*
	 * A burst takes the last 60 ms of an iteration.  All onsets precede their
	 * bursts by the same time and none is missing; the first may belong to the
	 * iteration that the part cuts.
	 */
	while (traffic->start_ms[k] - 60 < alignment.onsets[0])
		k++;
	for (; i < alignment.n_onsets && k < traffic->n_iterations; i++, k++) {
		double lead_ms = traffic->start_ms[k] - 60 - alignment.onsets[i];

		if (i == 0)
			first_lead_ms = lead_ms;
		assert_true(lead_ms > 0 && lead_ms < 140);
		assert_near(lead_ms, first_lead_ms, 6);
	}
	assert_true(i + 1 >= alignment.n_onsets);
	alignment_fini(&alignment);
	traffic_fini(traffic);
	free(traffic);
}

static void
what_is_too_short_has_no_onsets(void **state)
{
	struct alignment alignment;
	float x[100] = { 1, 2, 3 };

	(void)state;
	for (size_t n = 0; n < 100; n++) {
		align(x, n, 40, &alignment);
		assert_true(alignment.n_onsets == 0 || alignment.n_onsets >= 3);
		alignment_fini(&alignment);
	}
	align(x, 100, 2, &alignment);
	assert_int_equal(alignment.n_onsets, 0);
	assert_near(align_explained(x, 100, 2), 0, 0);
}

static void
the_middle_shrugs_off_outliers(void **state)
{
	double x[] = { 10, 11, 9, 10, 10, 12, 8, 1000 }, one = 3;
	double many[1500];

	(void)state;
	assert_near(stats_hodges_lehmann(x, 8), 10.25, 0.5);
	assert_near(stats_hodges_lehmann(&one, 1), 3, 0);
	for (size_t i = 0; i < 1500; i++)
		many[i] = (double)(i % 7);
	assert_near(stats_hodges_lehmann(many, 1500), 3, 0.01);
}

/* ---- Phases -------------------------------------------------------------------- */

static double
error_between(const double *x, size_t start, size_t end)
{
	double mean = 0, error = 0;

	for (size_t t = start; t < end; t++)
		mean += x[t] / (double)(end - start);
	for (size_t t = start; t < end; t++)
		error += (x[t] - mean) * (x[t] - mean);
	return error;
}

/* The least cost over all splits of x[n]: bit t of a mask cuts before x[t + 1]. */
static double
least_cost(const double *x, size_t n, size_t max_pieces, double penalty)
{
	double least = INFINITY;

	for (unsigned mask = 0; mask < 1u << (n - 1); mask++) {
		size_t start = 0, pieces = 0;
		double cost = 0;

		for (size_t t = 0; t < n; t++)
			if (t + 1 == n || (mask >> t & 1)) {
				cost += error_between(x, start, t + 1);
				start = t + 1;
				pieces++;
			}
		cost += penalty * (double)(pieces - 1);
		if (pieces <= max_pieces && cost < least)
			least = cost;
	}
	return least;
}

static void
splits_cost_as_little_as_the_best_of_all_splits(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int trial = 0; trial < 300; trial++) {
		size_t n = 1 + rng_below(&rng, 10), max_pieces = 1 + rng_below(&rng, 5);
		size_t ends[5], n_pieces, start = 0;
		double x[10], penalty = rng_uniform(&rng), cost;

		for (size_t t = 0; t < n; t++)
			x[t] = (double)rng_below(&rng, 4);
		n_pieces = phases_split(x, n, max_pieces, penalty, ends);
		assert_in_range(n_pieces, 1, max_pieces);
		assert_int_equal(ends[n_pieces - 1], n);
		cost = penalty * (double)(n_pieces - 1);
		for (size_t k = 0; k < n_pieces; k++) {
			assert_true(ends[k] > start);
			cost += error_between(x, start, ends[k]);
			start = ends[k];
		}
		assert_near(cost, least_cost(x, n, max_pieces, penalty), 1e-9);
	}
}

static void
phases_carry_the_bytes_and_begin_after_the_longest_idle_time(void **state)
{
	double fold_bps[100];
	struct profile p = { .period_us = 100000, .bytes_per_iteration = 5e6 };

	(void)state;
	/* Busy in [10, 30) and, at half the rate, [40, 60); else nearly idle. */
	for (int t = 0; t < 100; t++)
		fold_bps[t] = t >= 10 && t < 30 ? 1e9 : t >= 40 && t < 60 ? 5e8 : 2e7;
	assert_int_equal(phases_fill(fold_bps, 100, 1000, 2e9, &p), 10);
	assert_int_equal(p.n_phases, 2);
	assert_int_equal(p.phases[0].start_us, 0);
	assert_int_equal(p.phases[0].duration_us, 20000);
	assert_int_equal(p.phases[1].start_us, 30000);
	assert_near(p.phases[0].rate_bps / p.phases[1].rate_bps, 2, 1e-3);
	assert_near(profile_mean_bps(&p) * 0.1 / 8, 5e6, 100);
	profile_fini(&p);
}

static void
rates_above_the_line_are_stretched_into_the_idle_time(void **state)
{
	double fold_bps[100];
	struct profile p = { .period_us = 100000, .bytes_per_iteration = 5e6 };

	(void)state;
	for (int t = 0; t < 100; t++)
		fold_bps[t] = t >= 80 ? 2e9 : 0;
	assert_int_equal(phases_fill(fold_bps, 100, 1000, 1e9, &p), 80);
	assert_int_equal(p.n_phases, 1);
	assert_int_equal(p.phases[0].start_us, 0);
	assert_int_equal(p.phases[0].duration_us, 40000);
	assert_near(p.phases[0].rate_bps, 1e9, 1e4);
	profile_fini(&p);
}

static void
a_fold_that_is_never_idle_gives_phases_all_round(void **state)
{
	double fold_bps[64];
	struct profile p = { .period_us = 63700, .bytes_per_iteration = 1e6 };
	const char *why = NULL;

	(void)state;
	for (int t = 0; t < 64; t++)
		fold_bps[t] = t < 20 ? 1e9 : 3e8;
	phases_fill(fold_bps, 64, 1000, 1e10, &p);
	assert_int_equal(p.n_phases, 2);
	assert_int_equal(p.phases[0].duration_us + p.phases[1].duration_us, 63700);
	if (profile_normalize(&p, &why) < 0)
		fail_msg("%s", why);
	profile_fini(&p);

	memset(fold_bps, 0, sizeof fold_bps);
	p = (struct profile){ .period_us = 64000 };
	phases_fill(fold_bps, 64, 1000, 1e10, &p);
	assert_int_equal(p.n_phases, 0);
	profile_fini(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(smoothing_is_a_mean_of_neighbours),
		cmocka_unit_test(
			autocorrelation_is_the_mean_of_its_definition_over_the_series),
		cmocka_unit_test(the_amplitude_of_a_sine_peaks_at_its_frequency),
		cmocka_unit_test(series_without_variance_have_no_spectrum),
		cmocka_unit_test(the_first_candidate_is_the_period_of_a_plain_job),
		cmocka_unit_test(onsets_follow_each_iteration_in_spite_of_jitter),
		cmocka_unit_test(what_is_too_short_has_no_onsets),
		cmocka_unit_test(the_middle_shrugs_off_outliers),
		cmocka_unit_test(splits_cost_as_little_as_the_best_of_all_splits),
		cmocka_unit_test(
			phases_carry_the_bytes_and_begin_after_the_longest_idle_time),
		cmocka_unit_test(rates_above_the_line_are_stretched_into_the_idle_time),
		cmocka_unit_test(a_fold_that_is_never_idle_gives_phases_all_round),
	};

	return cmocka_run_group_tests_name("detect_steps", tests, NULL, NULL);
}
