/* SPDX-License-Identifier: Apache-2.0 */
/* test_pacer_profile.c - isolated profiles of jobs, from pacers under contention */
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/daemon/pacer_profile.h"
#include "scheduler/live/iteration_volume.h"
#include "tests/unit/test.h"

#define MS   1000000
#define LINE 3e8
#define MB3  3e6 /* 80 ms at line rate. */

static const struct pacer_profile_path PATH = { .line_bps = LINE,
						.isolated_us = 82000 };
static const struct iteration_volume SENT = { .bytes = MB3,
					      .within_frac = 0.98,
					      .busy_frac = 0.9 };

struct lab {
	struct pacer_profile paced;
	uint64_t number;
	int64_t now_ns, comm_ns;
	enum pacer_profile_event last;
};

/* Begins the next iteration after 'compute_ms'; it then sends for 'comm_ms'. */
static void
begin(struct lab *lab, int64_t compute_ms, int64_t comm_ms)
{
	struct steer_report report = {
		.number = lab->number++,
		.enter_ns = lab->now_ns + lab->comm_ns + compute_ms * MS,
		.comm_ns = lab->comm_ns,
	};

	report.begin_ns = report.enter_ns + 5 * MS; /* Delayed by an order. */
	lab->last = pacer_profile_add(&lab->paced, &report);
	lab->now_ns = report.begin_ns;
	lab->comm_ns = comm_ms * MS;
}

/* 'n' iterations; every third one sends undisturbed, in 82 ms. */
static void
run(struct lab *lab, int n, int64_t compute_ms)
{
	for (int i = 0; i < n; i++)
		begin(lab, compute_ms, lab->number % 3 == 0 ? 82 : 160);
}

static void
check(const struct lab *lab, const struct iteration_volume *sent,
      const struct pacer_profile_path *path, int64_t period_us, int64_t burst_us)
{
	struct profile profile;

	assert_true(pacer_profile_make(&lab->paced, PACER_PROFILE_N_MIN, sent, path,
				       &profile));
	assert_int_equal(profile.period_us, period_us);
	assert_int_equal(profile.n_phases, 1);
	assert_int_equal(profile.phases[0].start_us, 0);
	assert_int_equal(profile.phases[0].duration_us, burst_us);
	assert_near(profile.bytes_per_iteration, sent->bytes, 1);
	assert_int_equal(profile_normalize(&profile, NULL), 0);
	profile_fini(&profile);
}

static bool
has_profile(const struct lab *lab)
{
	struct profile profile = { .period_us = 7 };
	bool is_there = pacer_profile_make(&lab->paced, PACER_PROFILE_N_MIN, &SENT,
					   &PATH, &profile);

	if (!is_there)
		assert_int_equal(profile.period_us, 7); /* Unchanged. */
	else
		profile_fini(&profile);
	return is_there;
}

static void
five_iterations_are_enough_and_our_own_delays_are_left_out(void **state)
{
	struct lab lab = { .now_ns = MS };
	struct profile profile;

	(void)state;
	run(&lab, PACER_PROFILE_N_MIN, 270);
	assert_false(has_profile(&lab)); /* The fifth iteration is not complete. */
	run(&lab, 1, 270);
	assert_int_equal(lab.last, PACER_PROFILE_WHOLE);
	check(&lab, &SENT, &PATH, 270000 + 82000, 82000);
	assert_true(pacer_profile_make(&lab.paced, 5, &SENT, &PATH, &profile));
	assert_int_equal(profile.jitter_us, 0);
	assert_int_equal(profile.period_error_us, 1);
	assert_int_equal(profile.n_iterations, 5);
	assert_near(profile.confidence, 1, 0);
	profile_fini(&profile);
	assert_false(pacer_profile_make(&lab.paced, 6, &SENT, &PATH, &profile));
}

/* Another job sends, too, from the first iteration on: 160 ms instead of 82. */
static void
iterations_that_were_all_contended_are_relieved(void **state)
{
	struct pacer_profile_path path = PATH;
	struct lab lab = { .now_ns = MS };

	(void)state;
	for (int i = 0; i < 6; i++)
		begin(&lab, 270, 160 + i % 2);
	/* No other job is seen: it takes as long as its best iteration. */
	check(&lab, &SENT, &path, 270000 + 160000, 160000);
	/* Others are present, but no cost is seen: it takes more than its bytes; */
	path.met_frac = 0.3;
	check(&lab, &SENT, &path, 270000 + 82000, 82000);
	/* unless that is close to the isolated time. */
	path.isolated_us = 150000;
	check(&lab, &SENT, &path, 270000 + 160000, 160000);
	path = PATH;
	/* With a cost seen; from few iterations it is uncertain, */
	path.held_frac = 0.2;
	check(&lab, &SENT, &path, 270000 + 82000, 82000);
	for (int i = 0; i < PACER_PROFILE_N_KEPT; i++)
		begin(&lab, 270, 160 + i % 2);
	/* and from more it is known. */
	path.held_frac = 0.4;
	check(&lab, &SENT, &path, 270000 + 96300, 96300);
	/* Never below the time of its bytes on the path; */
	path.held_frac = 0.8;
	check(&lab, &SENT, &path, 270000 + 82000, 82000);
	path.held_frac = 0;
	/* Different first iterations show the same. */
	lab = (struct lab){ .now_ns = MS };
	for (int i = 0; i < 6; i++)
		begin(&lab, 270, 160 + i % 2);
	begin(&lab, 270, 200);
	begin(&lab, 270, 200);
	check(&lab, &SENT, &path, 270000 + 82000, 82000);
	path.isolated_us = 120000;
	check(&lab, &SENT, &path, 270000 + 120000, 120000);
	/* except that it took less before: the path must be another one. */
	path.isolated_us = 500000;
	check(&lab, &SENT, &path, 270000 + 160000, 160000);
	/* Its own interface is a lower bound in any case. */
	path.line_bps = 1.2e8;
	check(&lab, &SENT, &path, 270000 + 200000, 200000);
}

/* The begin of the burst was seen late. */
static void
one_short_burst_is_not_what_it_takes(void **state)
{
	struct pacer_profile_path path = PATH;
	struct lab lab = { .now_ns = MS };

	(void)state;
	for (int i = 0; i < 8; i++)
		begin(&lab, 270, i == 2 ? 40 : 160);
	check(&lab, &SENT, &path, 270000 + 82000, 82000);
	/* With many more iterations it is no longer a first guess. */
	for (int i = 0; i < PACER_PROFILE_N_KEPT; i++)
		begin(&lab, 270, i % 12 == 2 ? 40 : 160);
	check(&lab, &SENT, &path, 270000 + 82000, 82000);
	path.isolated_us = 150000;
	check(&lab, &SENT, &path, 270000 + 150000, 150000);
	/* A quarter of them were shorter. */
	for (int i = 0; i < PACER_PROFILE_N_KEPT; i++)
		begin(&lab, 270, i % 3 ? 160 : 90);
	check(&lab, &SENT, &path, 270000 + 90000, 90000);
}

static void
one_long_iteration_in_five_changes_nothing(void **state)
{
	struct lab lab = { .now_ns = MS };
	struct profile profile;

	(void)state;
	run(&lab, 3, 270);
	run(&lab, 1, 2500);
	run(&lab, 2, 270);
	check(&lab, &SENT, &PATH, 352000, 82000);
	assert_true(pacer_profile_make(&lab.paced, 5, &SENT, &PATH, &profile));
	assert_near(profile.confidence, 0.8, 1e-9);
	profile_fini(&profile);
}

static void
another_compute_time_is_taken_up_within_five_iterations(void **state)
{
	struct lab lab = { .now_ns = MS };

	(void)state;
	run(&lab, 40, 270);
	check(&lab, &SENT, &PATH, 352000, 82000);
	for (int i = 0; i < PACER_PROFILE_N_MIN - 1; i++) {
		run(&lab, 1, 351);
		assert_int_equal(lab.last, PACER_PROFILE_WHOLE);
	}
	check(&lab, &SENT, &PATH, 352000, 82000);
	run(&lab, 1, 351);
	assert_int_equal(lab.last, PACER_PROFILE_CHANGED);
	check(&lab, &SENT, &PATH, 433000, 82000);
	assert_int_equal(lab.paced.n, PACER_PROFILE_N_MIN);
	/* And back. */
	run(&lab, 2 * PACER_PROFILE_N_MIN - 1, 270);
	check(&lab, &SENT, &PATH, 352000, 82000);
}

/* Noise and alternation are not a change. */
static void
an_unsteady_job_has_not_changed(void **state)
{
	struct lab lab = { .now_ns = MS };
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int i = 0; i < 2000; i++) {
		begin(&lab, 270 + (int64_t)(6 * rng_normal(&rng)) + (i % 4 == 0) * 40,
		      82);
		assert_int_not_equal(lab.last, PACER_PROFILE_CHANGED);
	}
	assert_true(lab.paced.n > 1900);
}

static void
lost_reports_leave_out_iterations_and_nothing_else(void **state)
{
	struct lab lab = { .now_ns = MS };

	(void)state;
	for (int i = 0; i < 5; i++) {
		run(&lab, 2, 270);
		/* Its report is lost, and its duration unknown. */
		lab.number++;
		lab.now_ns += 270 * MS;
	}
	assert_int_equal(lab.paced.n, 5);
	check(&lab, &SENT, &PATH, 352000, 82000);
}

static void
a_job_that_begins_anew_is_another_one(void **state)
{
	struct lab lab = { .now_ns = MS };

	(void)state;
	run(&lab, 20, 270);
	lab.number = 0;
	run(&lab, 5, 500);
	assert_int_equal(lab.paced.n, 4);
	assert_false(has_profile(&lab));
	run(&lab, 1, 500);
	check(&lab, &SENT, &PATH, 582000, 82000);
	/* A clock that is set back. */
	lab.now_ns = 10 * MS;
	run(&lab, 1, 500);
	assert_int_equal(lab.paced.n, 0);
}

static void
what_cannot_be_is_left_out(void **state)
{
	static const struct steer_report bad[] = {
		{ 20, INT64_MIN, 5, 80 * MS, 0 }, /* Absurd times; */
		{ 20, INT64_MAX, INT64_MAX, 80 * MS, 0 },
		{ 20, 5, 4, 80 * MS, 0 }, /* a begin before its enter; */
		{ 20, INT64_C(9000000) * MS, INT64_C(9000000) * MS, -1, 0 },
		{ 20, INT64_C(9000000) * MS, INT64_C(9000000) * MS, INT64_MAX, 0 },
		{ 5, INT64_C(9000000) * MS, INT64_C(9000000) * MS, MS, 0 }, /* twice. */
	};
	struct lab lab = { .now_ns = MS };

	(void)state;
	run(&lab, 6, 270);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(pacer_profile_add(&lab.paced, &bad[i]),
				 PACER_PROFILE_NONE);
		assert_int_equal(lab.paced.n, 5);
	}
	/* More time in collectives than in the iteration, or none: not whole. */
	lab.comm_ns = 0;
	run(&lab, 1, 270);
	assert_int_equal(lab.last, PACER_PROFILE_NONE);
	lab.comm_ns = 900 * MS;
	run(&lab, 1, -500);
	assert_int_equal(lab.last, PACER_PROFILE_NONE);
	assert_int_equal(lab.paced.n, 5);
}

static void
whatever_is_reported_does_no_harm(void **state)
{
	struct pacer_profile paced = { .n = 0 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int i = 0; i < 100000; i++) {
		struct steer_report report = {
			.number = rng_next(&rng) >> rng_below(&rng, 64),
			.enter_ns = (int64_t)(rng_next(&rng) >> rng_below(&rng, 64)),
			.begin_ns = (int64_t)(rng_next(&rng) >> rng_below(&rng, 64)),
			.comm_ns = (int64_t)(rng_next(&rng) >> rng_below(&rng, 64)),
		};
		struct iteration_volume_sample iterations[PACER_PROFILE_N_KEPT];
		struct profile profile;

		/* Half of the reports follow the previous one. */
		if (paced.n_reports && rng_below(&rng, 2)) {
			const struct steer_report *last =
				&paced.reports[paced.n_reports - 1];

			report.number = last->number + 1;
			report.enter_ns = last->begin_ns + (1 << 20);
			report.begin_ns = report.enter_ns;
			report.comm_ns = 1 << rng_below(&rng, 22);
		}
		pacer_profile_add(&paced, &report);
		assert_true(paced.n_reports <= PACER_PROFILE_N_KEPT + 1);
		assert_true(pacer_profile_iterations(&paced, iterations) <=
			    PACER_PROFILE_N_KEPT);
		if (!pacer_profile_make(&paced, 1, &SENT, &PATH, &profile))
			continue;
		assert_int_equal(profile_normalize(&profile, NULL), 0);
		profile_fini(&profile);
	}
}

static void
collectives_that_are_spread_or_mostly_wait_are_left_to_traffic(void **state)
{
	struct lab lab = { .now_ns = MS };
	struct iteration_volume sent = SENT;
	struct pacer_profile_path path = PATH;
	struct profile profile = { .period_us = 7 };

	(void)state;
	run(&lab, 24, 270);
	assert_true(has_profile(&lab));
	sent.within_frac = 0.5;
	assert_false(pacer_profile_make(&lab.paced, 5, &sent, &path, &profile));
	sent = SENT;
	sent.busy_frac = 0.3;
	assert_false(pacer_profile_make(&lab.paced, 5, &sent, &path, &profile));
	sent = SENT;
	sent.bytes = 0;
	assert_false(pacer_profile_make(&lab.paced, 5, &sent, &path, &profile));
	path.line_bps = 0;
	assert_false(pacer_profile_make(&lab.paced, 5, &SENT, &path, &profile));
	assert_int_equal(profile.period_us, 7);
	assert_null(profile.phases);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			five_iterations_are_enough_and_our_own_delays_are_left_out),
		cmocka_unit_test(iterations_that_were_all_contended_are_relieved),
		cmocka_unit_test(one_short_burst_is_not_what_it_takes),
		cmocka_unit_test(one_long_iteration_in_five_changes_nothing),
		cmocka_unit_test(
			another_compute_time_is_taken_up_within_five_iterations),
		cmocka_unit_test(an_unsteady_job_has_not_changed),
		cmocka_unit_test(lost_reports_leave_out_iterations_and_nothing_else),
		cmocka_unit_test(a_job_that_begins_anew_is_another_one),
		cmocka_unit_test(what_cannot_be_is_left_out),
		cmocka_unit_test(whatever_is_reported_does_no_harm),
		cmocka_unit_test(
			collectives_that_are_spread_or_mostly_wait_are_left_to_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
