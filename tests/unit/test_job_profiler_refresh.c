/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_profiler_refresh.c - profiles of many jobs, refreshed in steps */
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "tests/unit/frames.h"
#include "tests/unit/online_program.h"
#include "tests/unit/test.h"

/* One second of 'n' jobs "j0", "j1", ..., each on a host of its own. */
static void
feed_many(struct live *live, int s, int n, enum tele_kind kind)
{
	struct tele_frame frame = { 0 };
	char host[16], job[16];

	for (int j = 0; j < n; j++) {
		const struct program p = { 200 + 10 * j, 60, T0, FRAMES_GBPS };

		snprintf(host, sizeof host, "h%d", j);
		snprintf(job, sizeof job, "j%d", j);
		frames_begin(&frame, kind, host, T0 + 1000 * s, T0 + 1000 * (s + 1), 0,
			     (uint64_t)s);
		if (kind == TELE_RAW) {
			frames_add(&frame, "e0", 1e9, job, TELE_TX, program, &p);
		} else {
			struct tele_traffic row = { .direction = TELE_TX };

			row.interface = tele_add_interface(&frame, "e0");
			row.job = tele_add_job(&frame, job);
			row.window_bytes = 1000;
			vec_push(&frame.traffic, row);
		}
		live_frame(live, &frame);
	}
	tele_fini(&frame);
}

enum {
	N_MANY = 24,
	A_ROUND = 6
};

/* Number of jobs tried since; updates 'tried_ns'. */
static int
count_tried(const struct job_profiler *online, int64_t tried_ns[N_MANY])
{
	int n_tried = 0;

	for (uint32_t j = 0; j < N_MANY; j++) {
		const struct profiled_job *job = job_profiler_find(online, j);

		/* The jobs are found in the first steps of the first round. */
		if (!job)
			continue;
		n_tried += job->tried_ns > tried_ns[j];
		tried_ns[j] = job->tried_ns;
	}
	return n_tried;
}

/* A round that is late when the next one is due continues with the remaining jobs. */
static void
in_rounds_of_some_every_job_has_its_turn(void **state)
{
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	int64_t tried_ns[N_MANY] = { 0 };
	size_t n;

	(void)state;
	for (int s = 0; s < 12; s++)
		feed_many(live, s, N_MANY, TELE_RAW);
	assert_false(job_profiler_begin(online, live));
	for (int round = 0; round < 5; round++) {
		int n_tried = 0, n_steps = 0;

		for (int s = 0; s < 5; s++)
			feed_many(live, 12 + 5 * round + s, N_MANY, TELE_RAW);
		assert_true(job_profiler_begin(online, live));
		assert_false(job_profiler_begin(online, live));
		while (n_tried < A_ROUND) {
			assert_true(job_profiler_next(online, live));
			n_tried += count_tried(online, tried_ns);
			/* Frames arrive in between. */
			if (n_steps++ == 3)
				feed_many(live, 12 + 5 * round + 5, N_MANY, TELE_RAW);
		}
		/* No job is done in one step. */
		assert_true(n_steps > 5 * A_ROUND);
		job_profiler_next(online, live);
		job_profiler_next(online, live);
	}
	for (uint32_t j = 0; j < N_MANY; j++)
		assert_true(job_profiler_find(online, j)->tried_ns > 0);
	job_profiler_jobs(online, &n);
	assert_int_equal(n, N_MANY);
	job_profiler_free(online);
	live_free(live);
}

static void
in_steps_the_same_is_found_as_at_once(void **state)
{
	struct live *live = live_new(NULL);
	struct job_profiler *stepped = job_profiler_new(), *whole = job_profiler_new();

	(void)state;
	for (int s = 0; s < 12; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_false(job_profiler_begin(stepped, live));
	for (int s = 12; s < 17; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_true(job_profiler_begin(stepped, live));
	for (int i = 0; i < 9; i++)
		assert_true(job_profiler_next(stepped, live));
	/* Data that arrives during a job's refresh counts in the next one. */
	feed_many(live, 17, 3, TELE_RAW);
	while (!job_profiler_find(stepped, 0)->has_estimate)
		assert_true(job_profiler_next(stepped, live));
	job_profiler_now(whole, live);
	assert_true(job_profiler_find(whole, 0)->at_ns >
		    job_profiler_find(stepped, 0)->at_ns);
	while (job_profiler_next(stepped, live))
		continue;
	for (uint32_t j = 1; j < 3; j++) {
		const struct profiled_job *a = job_profiler_find(stepped, j);
		const struct profiled_job *b = job_profiler_find(whole, j);

		assert_int_equal(a->at_ns, b->at_ns);
		assert_int_equal(a->detection.profile.period_us,
				 b->detection.profile.period_us);
		assert_int_equal(a->detection.n_fold, b->detection.n_fold);
		assert_memory_equal(a->detection.fold_bps, b->detection.fold_bps,
				    a->detection.n_fold * sizeof(double));
	}
	job_profiler_free(stepped);
	job_profiler_free(whole);
	live_free(live);
}

static void
a_round_that_is_stopped_is_over_and_the_next_one_begins_anew(void **state)
{
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();

	(void)state;
	for (int s = 0; s < 12; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_false(job_profiler_begin(online, live));
	for (int s = 12; s < 17; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_true(job_profiler_begin(online, live));
	for (int i = 0; i < 9; i++)
		assert_true(job_profiler_next(online, live));
	job_profiler_stop(online);
	assert_false(job_profiler_next(online, live));
	for (int s = 17; s < 22; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_true(job_profiler_begin(online, live));
	while (job_profiler_next(online, live))
		continue;
	for (uint32_t j = 0; j < 3; j++)
		assert_true(job_profiler_find(online, j)->has_estimate);
	job_profiler_free(online);
	live_free(live);
}

/* The list is rebuilt in steps and contains only present jobs. */
static size_t
count_listed(const struct job_profiler *online)
{
	size_t n;
	const struct profiled_job *const *jobs = job_profiler_jobs(online, &n);

	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(job_profiler_find(online, jobs[i]->job), jobs[i]);
	return n;
}

static void
a_round_may_be_stopped_in_any_step(void **state)
{
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	int s = 0;

	(void)state;
	for (; s < 12; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_false(job_profiler_begin(online, live));
	for (int n_steps = 0; n_steps < 8; n_steps++) {
		for (int i = 0; i < 5; i++)
			feed_many(live, s++, 3, TELE_RAW);
		assert_true(job_profiler_begin(online, live));
		for (int i = 0; i < n_steps; i++)
			job_profiler_next(online, live);
		job_profiler_stop(online);
		count_listed(online);
	}
	for (int i = 0; i < 5; i++)
		feed_many(live, s++, 3, TELE_RAW);
	assert_true(job_profiler_begin(online, live));
	while (job_profiler_next(online, live))
		continue;
	assert_int_equal(count_listed(online), 3);
	job_profiler_free(online);
	live_free(live);
}

static void
jobs_that_ended_are_not_listed_in_any_step(void **state)
{
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();

	(void)state;
	for (int s = 0; s < 150; s++) {
		/* One of three stays, and one comes after two have ended. */
		feed_many(live, s, s < 20 ? 3 : s < 140 ? 1 : 2, TELE_RAW);
		if (!job_profiler_begin(online, live))
			continue;
		do
			count_listed(online);
		while (job_profiler_next(online, live));
	}
	assert_int_equal(count_listed(online), 2);
	job_profiler_free(online);
	live_free(live);
}

static void
who_is_not_told_of_raw_any_more_keeps_the_profile_that_was_found(void **state)
{
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	int64_t at_ns;

	(void)state;
	for (int s = 0; s < 30; s++) {
		feed_many(live, s, 2, TELE_RAW);
		feed_many(live, s, 2, TELE_SUMMARY);
		job_profiler_step(online, live);
	}
	assert_true(job_profiler_find(online, 0)->has_estimate);
	at_ns = job_profiler_find(online, 0)->at_ns;
	for (int s = 30; s < 130; s++) {
		feed_many(live, s, 2, TELE_SUMMARY);
		job_profiler_step(online, live);
	}
	assert_true(job_profiler_find(online, 0)->has_estimate);
	assert_null(job_profiler_find(online, 0)->why);
	assert_in_range(job_profiler_find(online, 0)->at_ns - at_ns, 0, 5000000000);
	job_profiler_free(online);
	live_free(live);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_rounds_of_some_every_job_has_its_turn),
		cmocka_unit_test(in_steps_the_same_is_found_as_at_once),
		cmocka_unit_test(
			a_round_that_is_stopped_is_over_and_the_next_one_begins_anew),
		cmocka_unit_test(a_round_may_be_stopped_in_any_step),
		cmocka_unit_test(jobs_that_ended_are_not_listed_in_any_step),
		cmocka_unit_test(
			who_is_not_told_of_raw_any_more_keeps_the_profile_that_was_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
