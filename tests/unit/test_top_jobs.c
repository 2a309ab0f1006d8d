/* SPDX-License-Identifier: Apache-2.0 */
/* test_top_jobs.c - the jobs with their own metrics, and the busiest milliseconds */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/series/peak_rates.h"
#include "collector/series/top_jobs.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"

static void
add(struct tele_frame *frame, const char *interface, uint32_t job, uint64_t total_bytes,
    uint64_t window_bytes)
{
	struct tele_traffic row = {
		.interface = tele_add_interface(frame, interface),
		.job = job,
		.direction = TELE_TX,
		.measure = TELE_WIRE,
		.total_bytes = total_bytes,
		.window_bytes = window_bytes,
		.peak_bytes = (uint32_t)window_bytes,
	};

	vec_push(&frame->traffic, row);
}

static int64_t
bytes_of(struct top_jobs *top, const char *job)
{
	size_t n, found = 0;
	const struct top_jobs_row *rows = top_jobs_rows(top, &n);
	int64_t bytes = -1;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].job, job) == 0) {
			bytes = (int64_t)rows[i].bytes;
			found++;
		}
	}
	assert_true(found <= 1);
	return bytes;
}

static void
those_that_carry_most_have_places_and_the_rest_is_other(void **state)
{
	struct top_jobs *top = top_jobs_new(2);
	struct tele_frame frame = { 0 };

	(void)state;
	for (uint64_t second = 1; second <= 3; second++) {
		tele_clear(&frame);
		add(&frame, "eth0", tele_add_job(&frame, "little"), 10 * second, 10);
		add(&frame, "eth0", tele_add_job(&frame, "big"), 1000 * second, 1000);
		add(&frame, "eth0", tele_add_job(&frame, "middle"), 100 * second, 100);
		add(&frame, "eth0", TELE_OTHER, 5 * second, 5);
		add(&frame, "eth0", TELE_LINK, 1115 * second, 1115);
		top_jobs_update(top, &frame);
		assert_int_equal(bytes_of(top, "big"), 1000 * second);
		assert_int_equal(bytes_of(top, "middle"), 100 * second);
		assert_int_equal(bytes_of(top, "little"), -1);
		assert_int_equal(bytes_of(top, "other"), 15 * second);
	}
	assert_int_equal(top_jobs_n_seen(top), 3);
	tele_fini(&frame);
	top_jobs_free(top);
}

static void
a_job_that_outgrows_the_least_takes_its_place(void **state)
{
	struct top_jobs *top = top_jobs_new(1);
	struct tele_frame frame = { 0 };
	uint64_t totals[2] = { 0 };
	int64_t other = 0;
	int changes = 0;
	bool had = true;

	(void)state;
	for (int second = 0; second < 60; second++) {
		uint64_t now[2] = { 100, second < 20 ? 50 : 1000 };
		bool has;

		tele_clear(&frame);
		for (int k = 0; k < 2; k++) {
			totals[k] += now[k];
			add(&frame, "eth0", tele_add_job(&frame, k ? "new" : "old"),
			    totals[k], now[k]);
		}
		top_jobs_update(top, &frame);
		has = bytes_of(top, "old") >= 0;
		assert_int_equal(has + (bytes_of(top, "new") >= 0), 1);
		assert_true(bytes_of(top, "other") >= other);
		other = bytes_of(top, "other");
		changes += has != had;
		had = has;
	}
	assert_int_equal(changes, 1);
	assert_false(had);
	assert_int_equal(bytes_of(top, "new"), totals[1]);
	tele_fini(&frame);
	top_jobs_free(top);
}

/* Never more series than places, and "other" never decreases. */
static void
series_are_bounded_and_other_only_grows(void **state)
{
	struct top_jobs *top = top_jobs_new(5);
	struct tele_frame frame = { 0 };
	uint64_t totals[200] = { 0 };
	struct rng rng;
	int64_t other = 0;

	(void)state;
	rng_init(&rng, 1);
	for (int second = 0; second < 300; second++) {
		size_t n;

		tele_clear(&frame);
		for (int k = 0; k < 200; k++) {
			char name[16];
			uint64_t bytes = rng_below(&rng, 1000);

			if (rng_below(&rng, 3) == 0)
				continue;
			totals[k] += bytes;
			/* A job named "other" cannot have a place. */
			snprintf(name, sizeof name, k ? "j%d" : "other", k);
			add(&frame, "eth0", tele_add_job(&frame, name), totals[k],
			    bytes);
		}
		top_jobs_update(top, &frame);
		top_jobs_rows(top, &n);
		assert_true(n <= 6);
		assert_true(bytes_of(top, "other") >= other);
		other = bytes_of(top, "other");
	}
	tele_fini(&frame);
	top_jobs_free(top);
}

static void
no_places_means_all_is_other(void **state)
{
	struct top_jobs *top = top_jobs_new(0);
	struct tele_frame frame = { 0 };

	(void)state;
	add(&frame, "eth0", tele_add_job(&frame, "j"), 7, 7);
	top_jobs_update(top, &frame);
	assert_int_equal(bytes_of(top, "j"), -1);
	assert_int_equal(bytes_of(top, "other"), 7);
	tele_fini(&frame);
	top_jobs_free(top);
	top_jobs_free(NULL);
}

static void
a_peak_is_kept_for_its_window(void **state)
{
	struct peak_rates *peaks = peak_rates_new(3);
	struct tele_frame frame = { 0 };
	static const uint32_t in[] = { 5, 90, 7, 3, 4, 1 };
	static const uint32_t out[] = { 5, 90, 90, 90, 7, 4 };

	(void)state;
	assert_int_equal(peak_rates_bytes(peaks, "eth0", TELE_TX), 0);
	for (size_t i = 0; i < 6; i++) {
		tele_clear(&frame);
		add(&frame, "eth0", TELE_LINK, 0, in[i]);
		frame.traffic.items[0].queue_bytes = in[i] * 2;
		add(&frame, "eth0", TELE_OTHER, 0, 1000);
		peak_rates_update(peaks, &frame);
		assert_int_equal(peak_rates_bytes(peaks, "eth0", TELE_TX), out[i]);
		assert_int_equal(peak_rates_bytes(peaks, "eth0", TELE_RX), 0);
		assert_int_equal(peak_rates_queue_bytes(peaks, "eth0"), out[i] * 2);
	}
	/* An interface that is gone is dropped. */
	tele_clear(&frame);
	for (int i = 0; i < 3; i++)
		peak_rates_update(peaks, &frame);
	assert_int_equal(peak_rates_bytes(peaks, "eth0", TELE_TX), 0);
	tele_fini(&frame);
	peak_rates_free(peaks);
	peak_rates_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			those_that_carry_most_have_places_and_the_rest_is_other),
		cmocka_unit_test(a_job_that_outgrows_the_least_takes_its_place),
		cmocka_unit_test(series_are_bounded_and_other_only_grows),
		cmocka_unit_test(no_places_means_all_is_other),
		cmocka_unit_test(a_peak_is_kept_for_its_window),
	};

	return cmocka_run_group_tests_name("top_jobs", tests, NULL, NULL);
}
