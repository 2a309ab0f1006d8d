/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detect_capture.c - accuracy of the detector on real captures with ground truth
 *
 * In every window of 10 s the period is within 2 % and the bytes of an iteration within
 * 5 %. In windows of 3 and 4 s of one series, hardly any wrong period claims a
 * confidence of 0.5.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/capture_csv.h"
#include "scheduler/core/profile/detect.h"
#include "tests/unit/test.h"

#define WINDOW_S   10.0
#define MAX_STARTS 1000

struct truth {
	size_t n;
	double start_ms[MAX_STARTS]; /* Begins of the iterations. */
	double median_ms;            /* Median iteration time. */
	double bytes;                /* Per iteration, interface and direction. */
};

static void
read_truth(const char *path, struct truth *truth)
{
	FILE *in = fopen(path, "r");
	char line[200];
	double start_s;

	assert_non_null(in);
	truth->n = 0;
	while (fgets(line, sizeof line, in))
		if (sscanf(line, "%*d,%lf,", &start_s) == 1 && truth->n < MAX_STARTS)
			truth->start_ms[truth->n++] = start_s * 1e3;
	fclose(in);
	assert_true(truth->n > 20);
}

/* Median time of the iterations within [from_ms, to_ms). */
static double
median_between(const struct truth *truth, double from_ms, double to_ms)
{
	double d[MAX_STARTS];
	size_t n = 0;

	for (size_t k = 0; k + 1 < truth->n; k++)
		if (truth->start_ms[k] >= from_ms && truth->start_ms[k + 1] < to_ms)
			d[n++] = truth->start_ms[k + 1] - truth->start_ms[k];
	stats_sort(d, n);
	return stats_quantile(d, n, 0.5);
}

/* Bytes between the first and the last start, per iteration. */
static double
true_bytes(const struct truth *truth, const struct series_set *set)
{
	double sum = 0;

	for (size_t s = 0; s < set->n_series; s++)
		for (size_t t = 0; t < set->n_buckets; t++) {
			double at_ms = (double)(set->start_ms + (int64_t)t);

			if (at_ms >= truth->start_ms[0] &&
			    at_ms < truth->start_ms[truth->n - 1])
				sum += series_row(set, s)[t];
		}
	return sum / (double)set->n_series / (double)(truth->n - 1);
}

static struct capture *
read_capture(const char *path)
{
	struct capture *capture = NULL;
	struct err err;
	size_t length;
	char *text = NULL;

	if (file_read(path, CAPTURE_CSV_MAX_BYTES, &text, &length, &err) < 0 ||
	    capture_csv_parse(path, text, length, &capture, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	free(text);
	return capture;
}

struct claims {
	unsigned n, n_off, n_sure, n_sure_and_off;
};

/*
 * One series and a few iterations are often too little for the period.  Counts the
 * windows with a period more than 2 % off the program's median, and those of them that
 * claim a confidence of at least 0.5.
 */
static void
count_claims(const struct capture *capture, const struct truth *truth, double window_s,
	     struct claims *claims)
{
	struct series_set set;

	for (double from_s = 0;; from_s++) {
		assert_int_equal(
			capture_series(capture, 0, from_s, window_s, &set, NULL), 0);
		if ((double)set.n_buckets < window_s * 1e3)
			break;
		for (size_t s = 0; s < set.n_series; s++) {
			const struct series_set one = { .n_buckets = set.n_buckets,
							.n_series = 1,
							.ids = &set.ids[s],
							.bytes = series_row(&set, s) };
			double own_ms =
				median_between(truth, (double)set.start_ms,
					       (double)set.start_ms + window_s * 1e3);
			struct detection found;
			bool is_off, is_sure;

			if (detect_profile(&one, "", "1", &found, NULL) < 0)
				continue;
			is_off = fabs((double)found.profile.period_us / 1e3 / own_ms -
				      1) > 0.02;
			is_sure = found.profile.confidence >= 0.5;
			claims->n++;
			claims->n_off += is_off;
			claims->n_sure += is_sure;
			claims->n_sure_and_off += is_off && is_sure;
			detection_fini(&found);
		}
		series_fini(&set);
	}
	series_fini(&set);
}

/* Checks each position of a sliding window; returns their number. */
static unsigned
check_windows(const char *name, const struct capture *capture,
	      const struct truth *truth, double step_s)
{
	unsigned n = 0;

	for (double from_s = 0;; from_s += step_s) {
		struct series_set set;
		struct detection found;
		struct err err;
		double period_ms, own_ms, end_ms;

		assert_int_equal(
			capture_series(capture, 0, from_s, WINDOW_S, &set, &err), 0);
		end_ms = (double)set.start_ms + (double)set.n_buckets;
		if ((double)set.n_buckets < WINDOW_S * 1e3) {
			series_fini(&set);
			return n;
		}
		if (detect_profile(&set, name, "1", &found, &err) < 0)
			fail_msg("%s from %.2f s: refused: %s", name, from_s, err.text);
		period_ms = (double)found.profile.period_us / 1e3;
		own_ms = median_between(truth, (double)set.start_ms, end_ms);
		if (fabs(period_ms / truth->median_ms - 1) > 0.02 ||
		    fabs(period_ms / own_ms - 1) > 0.02 ||
		    fabs(found.profile.bytes_per_iteration / truth->bytes - 1) > 0.05)
			fail_msg(
				"%s from %.2f s: period %.1f ms (truth %.1f, in the window "
				"%.1f), %.0f bytes (truth %.0f)",
				name, from_s, period_ms, truth->median_ms, own_ms,
				found.profile.bytes_per_iteration, truth->bytes);
		detection_fini(&found);
		series_fini(&set);
		n++;
	}
}

static void
check_capture(const char *name, const char *csv, const char *truth_csv, double step_s,
	      unsigned n_windows, double max_sure_and_off)
{
	struct capture *capture = read_capture(csv);
	struct claims claims = { 0 };
	struct truth truth;
	struct series_set all;

	read_truth(truth_csv, &truth);
	truth.median_ms = median_between(&truth, 0, INFINITY);
	assert_int_equal(capture_n_jobs(capture), 1);
	assert_int_equal(capture_series(capture, 0, -1, -1, &all, NULL), 0);
	truth.bytes = true_bytes(&truth, &all);
	series_fini(&all);
	assert_true(check_windows(name, capture, &truth, step_s) >= n_windows);
	for (double window_s = 3; window_s <= 4; window_s++)
		count_claims(capture, &truth, window_s, &claims);
	print_message(
		"%s: of %u short windows %u are off; %u claim 0.5, of these %u are off\n",
		name, claims.n, claims.n_off, claims.n_sure, claims.n_sure_and_off);
	assert_true(claims.n_sure_and_off <= max_sure_and_off * claims.n_sure);
	capture_free(capture);
}

static void
every_window_of_the_four_rank_capture_is_within_the_bars_or_says_so(void **state)
{
	(void)state;
	check_capture("mpi-4rank-16MB", "examples/mpi-4rank-16MB.csv.xz",
		      "examples/mpi-4rank-16MB.truth.csv", 0.5, 38, 0.2);
}

static void
every_window_of_the_two_rank_capture_is_within_the_bars_or_says_so(void **state)
{
	const char *csv = SHARED_DATA "/captures/mpi-2rank-solo.csv.xz";

	(void)state;
	if (access(csv, R_OK) < 0)
		skip();
	check_capture("mpi-2rank-solo", csv,
		      SHARED_DATA "/captures/mpi-2rank-solo.truth.csv", 0.25, 36, 0.02);
}

static void
the_capture_in_examples_is_the_shared_one(void **state)
{
	const char *path = SHARED_DATA "/captures/mpi-4rank-16MB.csv.xz";
	size_t length, shared_length;
	char *text, *shared;

	(void)state;
	if (access(path, R_OK) < 0)
		skip();
	assert_int_equal(
		file_read(path, CAPTURE_CSV_MAX_BYTES, &shared, &shared_length, NULL),
		0);
	assert_int_equal(file_read("examples/mpi-4rank-16MB.csv.xz",
				   CAPTURE_CSV_MAX_BYTES, &text, &length, NULL),
			 0);
	assert_int_equal(length, shared_length);
	assert_memory_equal(text, shared, length);
	free(text);
	free(shared);
}

static void
phases_of_the_capture_can_be_scheduled(void **state)
{
	struct capture *capture = read_capture("examples/mpi-4rank-16MB.csv.xz");
	struct series_set set;
	struct detection found;
	double idle_us, bytes = 0;

	(void)state;
	assert_int_equal(capture_series(capture, 0, -1, -1, &set, NULL), 0);
	assert_int_equal(detect_profile(&set, "", "1", &found, NULL), 0);
	assert_in_range(found.profile.n_phases, 1, 12);
	assert_int_equal(found.profile.phases[0].start_us, 0);
	idle_us = (double)found.profile.period_us;
	for (size_t i = 0; i < found.profile.n_phases; i++) {
		const struct profile_phase *phase = &found.profile.phases[i];

		/* Links have 1 Gb/s. */
		assert_true(phase->rate_bps < 1.05e9);
		idle_us -= (double)phase->duration_us;
		bytes += phase->rate_bps * (double)phase->duration_us / 8e6;
	}
	/* The program computes for 100 ms, but its ranks start at different times. */
	assert_true(idle_us > 50e3 && idle_us < 110e3);
	assert_near(bytes / found.profile.bytes_per_iteration, 1, 1e-4);
	/* In truth 59; those cut by the ends of the capture may be left out. */
	assert_in_range(found.profile.n_iterations, 56, 59);
	detection_fini(&found);
	series_fini(&set);
	capture_free(capture);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_window_of_the_four_rank_capture_is_within_the_bars_or_says_so),
		cmocka_unit_test(
			every_window_of_the_two_rank_capture_is_within_the_bars_or_says_so),
		cmocka_unit_test(the_capture_in_examples_is_the_shared_one),
		cmocka_unit_test(phases_of_the_capture_can_be_scheduled),
	};

	return cmocka_run_group_tests_name("detect_capture", tests, NULL, NULL);
}
