/* SPDX-License-Identifier: Apache-2.0 */
/* test_iteration_volume.c - the bytes that a job sends per iteration */
#include <errno.h>

#include "scheduler/live/iteration_volume.h"
#include "scheduler/live/job_series.h"
#include "scheduler/live/live.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"

#define T0        INT64_C(8000000)
#define MS        INT64_C(1000000)
#define PERIOD_MS 200

struct lab {
	struct live *live;
	struct job_series by_job;
	const uint32_t *series;
	size_t n_series;
};

/* Traffic of a job's hosts in frames of 100 ms, up to a time for each host. */
static void
feed(struct live *live, const struct frames_square *square, int h, int64_t to_ms,
     int64_t offset_ms)
{
	struct tele_frame frame = { 0 };
	char name[16];

	snprintf(name, sizeof name, "h%d", h);
	for (int64_t at = T0; at + 100 <= to_ms; at += 100) {
		frames_begin(&frame, TELE_RAW, name, at, at + 100, offset_ms * MS,
			     (uint64_t)((at - T0) / 100));
		for (int d = TELE_TX; d <= TELE_RX; d++)
			frames_add(&frame, "p0", 50e9, "a", (enum tele_direction)d,
				   frames_square, square);
		/* A little traffic besides the collectives. */
		if (h == 0) {
			struct frames_square aside = { 100, 50, 1, 900 };

			frames_add(&frame, "m0", 1e9, "a", TELE_TX, frames_square,
				   &aside);
		}
		live_frame(live, &frame);
	}
	tele_fini(&frame);
}

static void
lab_open(struct lab *lab, const struct frames_square *square, int64_t to_ms,
	 int64_t late_ms)
{
	*lab = (struct lab){ .live = live_new(NULL) };
	feed(lab->live, square, 0, to_ms, 0);
	feed(lab->live, square, 1, to_ms - late_ms, 7000);
	job_series_init(&lab->by_job, lab->live, false);
	lab->series = job_series_of(&lab->by_job, live_find_job(lab->live, "a"),
				    &lab->n_series);
}

static void
lab_close(struct lab *lab)
{
	job_series_fini(&lab->by_job);
	live_free(lab->live);
}

static void
iterations(struct iteration_volume_sample *its, size_t n, int64_t begin_ms,
	   int64_t comm_ms)
{
	for (size_t i = 0; i < n; i++)
		its[i] = (struct iteration_volume_sample){
			(T0 + begin_ms + (int64_t)i * PERIOD_MS) * MS,
			(T0 + begin_ms + (int64_t)(i + 1) * PERIOD_MS) * MS,
			comm_ms * MS
		};
}

static void
bytes_of_an_iteration_are_the_same_however_long_it_takes(void **state)
{
	/* 80 ms at full rate, or 160 at half of it. */
	for (uint32_t share = 1; share <= 2; share++) {
		const struct frames_square square = { PERIOD_MS, 20, 80 * share,
						      40000 / share };
		struct iteration_volume_sample its[5];
		struct lab lab;
		struct iteration_volume sent;

		lab_open(&lab, &square, T0 + 1300, 0);
		iterations(its, 5, 220, 80 * share);
		assert_int_equal(
			iteration_volume_measure(lab.live, lab.series, lab.n_series,
						 live_interface(lab.live, 0)->host, its,
						 5, &sent),
			0);
		assert_int_equal(sent.n_iterations, 5);
		assert_int_equal(sent.n_series, 4); /* Without the other traffic. */
		assert_near(sent.bytes, 3.2e6, 1e4);
		assert_true(sent.within_frac > 0.99);
		assert_true(sent.busy_frac > 0.95);
		lab_close(&lab);
	}
	(void)state;
}

static void
only_iterations_that_all_hosts_told_of_count(void **state)
{
	const struct frames_square square = { PERIOD_MS, 20, 80, 40000 };
	struct iteration_volume_sample its[12];
	struct lab lab;
	struct iteration_volume sent;

	(void)state;
	lab_open(&lab, &square, T0 + 1300, 400);
	iterations(its, 12, 220, 80);
	/* Up to 900 ms: three iterations are complete. */
	assert_int_equal(iteration_volume_measure(lab.live, lab.series, lab.n_series, 0,
						  its, 5, &sent),
			 0);
	assert_int_equal(sent.n_iterations, 3);
	assert_near(sent.bytes, 3.2e6, 1e4);
	assert_int_equal(iteration_volume_measure(lab.live, lab.series, lab.n_series, 0,
						  its + 1, 5, &sent),
			 -EAGAIN);
	assert_int_equal(iteration_volume_measure(lab.live, lab.series, lab.n_series, 0,
						  its, 2, &sent),
			 -EAGAIN);
	assert_int_equal(iteration_volume_measure(lab.live, lab.series, lab.n_series, 0,
						  its, 0, &sent),
			 -EAGAIN);
	assert_int_equal(iteration_volume_measure(lab.live, NULL, 0, 0, its, 5, &sent),
			 -ENODATA);
	lab_close(&lab);
	/* Of many iterations the last ones count, and only within the kept time. */
	lab_open(&lab, &square, T0 + 60000, 0);
	iterations(its, 12, 20, 80);
	assert_int_equal(iteration_volume_measure(lab.live, lab.series, lab.n_series, 0,
						  its, 12, &sent),
			 -EAGAIN);
	iterations(its, 12, 40020, 80);
	assert_int_equal(iteration_volume_measure(lab.live, lab.series, lab.n_series, 0,
						  its, 12, &sent),
			 0);
	assert_int_equal(sent.n_iterations, ITERATION_VOLUME_MAX_ITERATIONS);
	assert_near(sent.bytes, 3.2e6, 1e4);
	lab_close(&lab);
}

/* 12 s each: of three complete ones, one is within the kept time. */
static void
of_long_iterations_fewer_are_enough(void **state)
{
	const struct frames_square square = { 12000, 20, 800, 40000 };
	struct iteration_volume_sample its[4];
	struct lab lab;
	struct iteration_volume sent;

	(void)state;
	lab_open(&lab, &square, T0 + 50000, 0);
	for (int64_t i = 0; i < 4; i++) {
		int64_t begin_ms = T0 + 12020 - T0 % 12000 + 12000 * i;

		its[i] = (struct iteration_volume_sample){ begin_ms * MS,
							   (begin_ms + 12000) * MS,
							   800 * MS };
	}
	assert_int_equal(iteration_volume_measure(lab.live, lab.series, lab.n_series, 0,
						  its, 4, &sent),
			 0);
	assert_int_equal(sent.n_iterations, 1);
	assert_near(sent.bytes, 32e6, 1e5);
	lab_close(&lab);
}

static void
collectives_that_are_spread_or_wait_are_told_from_those_that_send(void **state)
{
	const struct frames_square square = { PERIOD_MS, 20, 80, 40000 };
	struct iteration_volume_sample its[5];
	struct lab lab;
	struct iteration_volume sent;

	(void)state;
	lab_open(&lab, &square, T0 + 1300, 0);
	/* 40 ms in collectives while 80 are sent. */
	iterations(its, 5, 220, 40);
	assert_int_equal(iteration_volume_measure(lab.live, lab.series, lab.n_series, 0,
						  its, 5, &sent),
			 0);
	assert_near(sent.within_frac, 0.52, 0.02);
	/* 180 ms, 80 of them sending. */
	iterations(its, 5, 220, 180);
	assert_int_equal(iteration_volume_measure(lab.live, lab.series, lab.n_series, 0,
						  its, 5, &sent),
			 0);
	assert_true(sent.within_frac > 0.99);
	assert_near(sent.busy_frac, 0.47, 0.04);
	/* Sent before the begin of the iteration. */
	iterations(its, 5, 310, 80);
	assert_int_equal(iteration_volume_measure(lab.live, lab.series, lab.n_series, 0,
						  its, 4, &sent),
			 0);
	assert_true(sent.within_frac < 0.01);
	lab_close(&lab);
}

static void
nothing_is_measured_where_nothing_is_known(void **state)
{
	struct live *live = live_new(NULL);
	struct iteration_volume_sample its[5];
	struct iteration_volume sent;

	(void)state;
	iterations(its, 5, 0, 80);
	assert_int_equal(iteration_volume_measure(live, NULL, 0, 0, its, 5, &sent),
			 -ENODATA);
	live_free(live);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			bytes_of_an_iteration_are_the_same_however_long_it_takes),
		cmocka_unit_test(only_iterations_that_all_hosts_told_of_count),
		cmocka_unit_test(of_long_iterations_fewer_are_enough),
		cmocka_unit_test(
			collectives_that_are_spread_or_wait_are_told_from_those_that_send),
		cmocka_unit_test(nothing_is_measured_where_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
