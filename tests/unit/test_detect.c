/* SPDX-License-Identifier: Apache-2.0 */
/* test_detect.c - the detector on synthetic traffic with iterations */
#include <errno.h>

#include "scheduler/core/profile/detect.h"
#include "tests/unit/test.h"
#include "tests/unit/traffic.h"

struct tally {
	unsigned n, within_2, within_4, refused, bytes_within_5;
};

/* 30 iterations or 10 s of one job, whichever is longer. */
static void
try_job(struct traffic_job job, struct tally *tally)
{
	struct traffic *traffic = xcalloc(1, sizeof *traffic);
	struct detection found;

	job.seconds = fmax(10, 30 * job.period_ms / 1e3);
	traffic_init(traffic, &job);
	tally->n++;
	if (detect_profile(&traffic->set, NULL, "job", &found, NULL) < 0) {
		tally->refused++;
	} else {
		double off = fabs((double)found.profile.period_us / 1e3 /
					  traffic_median_ms(traffic) -
				  1);
		double noise =
			job.noise_frac * TRAFFIC_LINE_BYTES_PER_MS * job.period_ms;

		tally->within_2 += off <= 0.02;
		tally->within_4 += off <= 0.04;
		tally->bytes_within_5 += fabs(found.profile.bytes_per_iteration /
						      (traffic->bytes + noise) -
					      1) <= 0.05;
		detection_fini(&found);
	}
	traffic_fini(traffic);
	free(traffic);
}

static struct tally
try_grid(double jitter_frac, double noise_frac)
{
	static const double periods_ms[] = { 60, 97.3, 391.7, 1200 };
	static const double duties[] = { 0.1, 0.3, 0.5, 0.7, 0.9 };
	struct tally tally = { 0 };
	uint64_t seed = 1;

	for (size_t p = 0; p < 4; p++)
		for (size_t d = 0; d < 5; d++)
			for (unsigned bursts = 1; bursts <= 3; bursts++, seed++)
				try_job(
					(struct traffic_job){
						.period_ms = periods_ms[p],
						.jitter_frac = jitter_frac,
						.duty = duties[d],
						.n_bursts = bursts,
						.n_ranks = 1 + (uint32_t)seed % 2,
						.noise_frac = noise_frac,
						.seed = seed,
					},
					&tally);
	return tally;
}

static void
steady_jobs_are_all_found(void **state)
{
	struct tally tally = try_grid(0, 0);

	(void)state;
	assert_int_equal(tally.within_2, tally.n);
	assert_int_equal(tally.bytes_within_5, tally.n);
}

static void
jobs_with_three_per_cent_of_jitter_and_noise_are_all_found(void **state)
{
	struct tally tally = try_grid(0.03, 0.05);

	(void)state;
	assert_int_equal(tally.within_2, tally.n);
	assert_int_equal(tally.bytes_within_5, tally.n);
}

/*
 * Two medians of 30 iterations differ by 1 to 2 % if iterations vary by 9 %, hence the
 * wider bound for most.
 */
static void
jobs_with_nine_per_cent_of_jitter_are_nearly_all_found(void **state)
{
	struct tally tally = try_grid(0.09, 0);

	(void)state;
	print_message("of %u jobs: %u within 2 %%, %u within 4 %%, %u refused\n",
		      tally.n, tally.within_2, tally.within_4, tally.refused);
	assert_true(tally.within_2 >= tally.n * 8 / 10);
	assert_true(tally.within_4 + tally.refused >= tally.n * 95 / 100);
	assert_true(tally.refused <= tally.n / 20);
}

/*
 * Jobs of one period, in different seconds.  The standard errors are those of a median:
 * two estimates differ by more than three of the difference in less than one of 100.
 */
static void
the_error_of_a_period_covers_how_estimates_differ(void **state)
{
	static const double jitters[] = { 0, 0.001, 0.01, 0.03 };

	(void)state;
	for (size_t i = 0; i < sizeof jitters / sizeof *jitters; i++) {
		unsigned n_far = 0;
		double squares = 0;

		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct traffic_job job = { 61.3, jitters[i], 0.4, 1,
						   1,    0,          8,   seed };
			struct traffic *traffic = xcalloc(1, sizeof *traffic);
			struct detection found;
			double error_us, off_us;

			traffic_init(traffic, &job);
			assert_int_equal(detect_profile(&traffic->set, NULL, "job",
							&found, NULL),
					 0);
			error_us = (double)found.profile.period_error_us;
			off_us = (double)found.profile.period_us - 61300;
			assert_true(error_us >= 1);
			/* Not so large that it says nothing. */
			assert_true(error_us <= 61300 * (0.003 + jitters[i] / 4));
			n_far += fabs(off_us) > 3 * error_us;
			squares += off_us * off_us / (error_us * error_us);
			detection_fini(&found);
			traffic_fini(traffic);
			free(traffic);
		}
		assert_int_equal(n_far, 0);
		assert_true(squares / 20 < 1.5);
	}
}

static void
an_idle_head_and_tail_change_nothing(void **state)
{
	struct traffic_job job = { 300, 0.02, 0.4, 2, 2, 0, 30, 5 };
	struct traffic *traffic = xcalloc(1, sizeof *traffic);
	struct detection found;

	(void)state;
	traffic_init(traffic, &job);
	for (size_t s = 0; s < traffic->set.n_series; s++)
		for (size_t t = 0; t < traffic->set.n_buckets; t++)
			if (t < 6000 || t >= 24000)
				series_row(&traffic->set, s)[t] = 0;
	assert_int_equal(detect_profile(&traffic->set, NULL, "job", &found, NULL), 0);
	assert_near((double)found.profile.period_us / 1e3, 300, 6);
	assert_near(found.profile.bytes_per_iteration / traffic->bytes, 1, 0.05);
	detection_fini(&found);
	traffic_fini(traffic);
	free(traffic);
}

static void
phases_are_those_of_the_job(void **state)
{
	struct traffic_job job = { 400, 0.01, 0.3, 2, 4, 0, 20, 11 };
	struct traffic *traffic = xcalloc(1, sizeof *traffic);
	struct detection found;
	double long_us = 0;

	(void)state;
	traffic_init(traffic, &job);
	assert_int_equal(detect_profile(&traffic->set, NULL, "job", &found, NULL), 0);
	/* Bursts of 40 and 80 ms at 0.9 Gb/s, 40 ms apart; edges take 1 to 2 ms. */
	for (size_t i = 0; i < found.profile.n_phases; i++) {
		const struct profile_phase *phase = &found.profile.phases[i];

		assert_true(phase->rate_bps <= 0.96e9);
		if (phase->rate_bps > 0.8e9)
			long_us += (double)phase->duration_us;
	}
	assert_near(long_us, 120e3, 8e3);
	assert_near(profile_mean_bps(&found.profile), 0.27e9, 0.01e9);
	detection_fini(&found);
	traffic_fini(traffic);
	free(traffic);
}

static void
names_of_ranks_and_their_order_change_nothing(void **state)
{
	struct traffic_job job = { 250, 0.05, 0.4, 1, 3, 0.02, 12, 3 };
	struct traffic *traffic = xcalloc(1, sizeof *traffic);
	struct detection a, b;
	size_t n;

	(void)state;
	traffic_init(traffic, &job);
	n = traffic->set.n_buckets;
	assert_int_equal(detect_profile(&traffic->set, NULL, "job", &a, NULL), 0);
	for (size_t t = 0; t < n; t++) {
		float *row = series_row(&traffic->set, 0), swap = row[t];

		row[t] = row[4 * n + t];
		row[4 * n + t] = swap;
	}
	assert_int_equal(detect_profile(&traffic->set, NULL, "job", &b, NULL), 0);
	assert_near((double)a.profile.period_us, (double)b.profile.period_us, 100);
	detection_fini(&a);
	detection_fini(&b);
	traffic_fini(traffic);
	free(traffic);
}

static void
a_detector_finds_the_same_whatever_it_did_before(void **state)
{
	static const double seconds[] = { 30, 10, 0.05, 20, 10 };
	struct detector *detector = detector_new();

	(void)state;
	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
		const struct traffic_job job = { 150, 0.02, 0.3,        2,
						 2,   0.02, seconds[i], 5 };
		struct traffic *traffic = xcalloc(1, sizeof *traffic);
		struct detection a = { 0 }, b = { 0 };
		int n_steps = 0, rc;

		traffic_init(traffic, &job);
		/* An abandoned search. */
		detector_begin(detector, &traffic->set, NULL, "other");
		for (size_t k = 0; k < 5 * i && detector_step(detector); k++)
			continue;
		detector_begin(detector, &traffic->set, NULL, "job");
		while (detector_step(detector))
			n_steps++;
		rc = detector_end(detector, &a, NULL);
		assert_int_equal(rc,
				 detect_profile(&traffic->set, NULL, "job", &b, NULL));
		assert_int_equal(rc, seconds[i] < 1 ? -ENODATA : 0);
		if (rc == 0) {
			assert_true(n_steps > 10);
			assert_string_equal(a.profile.job, "job");
			assert_int_equal(a.profile.period_us, b.profile.period_us);
			assert_int_equal(a.n_fold, b.n_fold);
			assert_memory_equal(a.fold_bps, b.fold_bps,
					    a.n_fold * sizeof *a.fold_bps);
		}
		detection_fini(&a);
		detection_fini(&b);
		traffic_fini(traffic);
		free(traffic);
	}
	detector_free(detector);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steady_jobs_are_all_found),
		cmocka_unit_test(the_error_of_a_period_covers_how_estimates_differ),
		cmocka_unit_test(
			jobs_with_three_per_cent_of_jitter_and_noise_are_all_found),
		cmocka_unit_test(
			jobs_with_nine_per_cent_of_jitter_are_nearly_all_found),
		cmocka_unit_test(an_idle_head_and_tail_change_nothing),
		cmocka_unit_test(phases_are_those_of_the_job),
		cmocka_unit_test(names_of_ranks_and_their_order_change_nothing),
		cmocka_unit_test(a_detector_finds_the_same_whatever_it_did_before),
	};

	return cmocka_run_group_tests_name("detect", tests, NULL, NULL);
}
