/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_profiler.c - profiles of running jobs, and when they change */
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/capture_csv.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "tests/unit/frames.h"
#include "tests/unit/online_program.h"
#include "tests/unit/test.h"

/* One second of a job on hosts "h0" and "h1". */
static void
feed_second(struct live *live, int s, const char *job, frames_bytes *bytes,
	    const void *ctx)
{
	struct tele_frame frame = { 0 };

	for (int h = 0; h < 2; h++) {
		frames_begin(&frame, TELE_RAW, h ? "h1" : "h0", T0 + 1000 * s,
			     T0 + 1000 * (s + 1), h * INT64_C(5000000000), (uint64_t)s);
		frames_add(&frame, "e0", 1e9, job, TELE_TX, bytes, ctx);
		frames_add(&frame, "e0", 1e9, job, TELE_RX, bytes, ctx);
		live_frame(live, &frame);
	}
	tele_fini(&frame);
}

static void
a_job_is_published_after_eight_iterations(void **state)
{
	static const struct program slow = { 1500, 600, T0, FRAMES_GBPS };
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	int first = 0;

	(void)state;
	for (int s = 0; s < 30; s++) {
		feed_second(live, s, "a", program, &slow);
		job_profiler_step(online, live);
		if (!first && job_profiler_find(online, 0) &&
		    job_profiler_find(online, 0)->has_estimate)
			first = s + 1;
	}
	/* 8 iterations are 12 s; estimates are made each 5 s. */
	assert_in_range(first, 12, 17);
	assert_near((double)job_profiler_find(online, 0)->detection.profile.period_us,
		    1.5e6, 1.5e6 * 0.02);
	assert_false(job_profiler_find(online, 0)->has_alarm);
	job_profiler_free(online);
	live_free(live);
}

static void
estimates_come_each_five_seconds_of_frame_time(void **state)
{
	static const struct program p = { 250, 100, T0, FRAMES_GBPS };
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	int n = 0;

	(void)state;
	for (int s = 0; s < 26; s++) {
		feed_second(live, s, "a", program, &p);
		n += job_profiler_step(online, live);
	}
	assert_int_equal(n, 5);
	assert_int_equal(job_profiler_find(online, 0)->n_trend, 5);
	job_profiler_free(online);
	live_free(live);
}

static void
a_job_that_ended_is_shown_for_a_minute_and_then_forgotten(void **state)
{
	static const struct program p = { 250, 100, T0, FRAMES_GBPS };
	static const struct program other = { 400, 100, T0, FRAMES_GBPS };
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	const struct profiled_job *job;
	size_t n;

	(void)state;
	for (int s = 0; s < 20; s++) {
		feed_second(live, s, "a", program, &p);
		job_profiler_step(online, live);
	}
	for (int s = 20; s < 70; s++) {
		feed_second(live, s, "b", program, &p);
		job_profiler_step(online, live);
	}
	job = job_profiler_find(online, live_find_job(live, "a"));
	job_profiler_jobs(online, &n);
	assert_int_equal(n, 2);
	assert_non_null(job->why);
	assert_in_range(live_now_ns(live) - job->at_ns, 45 * INT64_C(1000000000),
			55 * INT64_C(1000000000));
	for (int s = 70; s < 90; s++) {
		feed_second(live, s, "b", program, &p);
		job_profiler_step(online, live);
	}
	job_profiler_jobs(online, &n);
	assert_int_equal(n, 1);
	assert_null(job_profiler_find(online, live_find_job(live, "a")));

	/* The next run of this name is another job, not a change of the first. */
	for (int s = 90; s < 120; s++) {
		feed_second(live, s, "a", program, &other);
		job_profiler_step(online, live);
	}
	job = job_profiler_find(online, live_find_job(live, "a"));
	assert_true(job->has_estimate);
	assert_false(job->has_alarm);
	job_profiler_free(online);
	live_free(live);
}

static void
a_changed_period_raises_the_alarm(void **state)
{
	static const struct program before = { 300, 120, T0, FRAMES_GBPS };
	static const struct program after = { 400, 120, T0, FRAMES_GBPS };
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	const struct profiled_job *job;
	int alarm = 0;

	(void)state;
	for (int s = 0; s < 90; s++) {
		feed_second(live, s, "a", program, s < 40 ? &before : &after);
		job_profiler_step(online, live);
		job = job_profiler_find(online, 0);
		if (s == 39)
			assert_false(job->has_alarm);
		if (s >= 40 && !alarm && job->has_alarm)
			alarm = s;
	}
	assert_in_range(alarm, 41, 70);
	assert_near((double)job->period_before_us, 3e5, 3e5 * 0.02);
	assert_near((double)job->detection.profile.period_us, 4e5, 4e5 * 0.02);
	job_profiler_free(online);
	live_free(live);
}

static void
changed_bytes_raise_the_alarm(void **state)
{
	static const struct program before = { 300, 120, T0, FRAMES_GBPS };
	static const struct program after = { 300, 150, T0, FRAMES_GBPS };
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();

	(void)state;
	for (int s = 0; s < 90; s++) {
		feed_second(live, s, "a", program, s < 40 ? &before : &after);
		job_profiler_step(online, live);
		if (s == 39)
			assert_false(job_profiler_find(online, 0)->has_alarm);
	}
	assert_true(job_profiler_find(online, 0)->has_alarm);
	assert_near(job_profiler_find(online, 0)->detection.profile.bytes_per_iteration,
		    150.0 * FRAMES_GBPS, 0.05 * 150 * FRAMES_GBPS);
	job_profiler_free(online);
	live_free(live);
}

static const struct program holed_job = { 300, 120, T0, FRAMES_GBPS };

static uint32_t
few_gaps(const void *ctx, int64_t ms)
{
	return ms % 1700 < 200 ? TELE_GAP : program(ctx, ms);
}

static uint32_t
many_gaps(const void *ctx, int64_t ms)
{
	return ms % 1700 < 600 ? TELE_GAP : program(ctx, ms);
}

static void
few_gaps_change_little_and_many_are_refused(void **state)
{
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	const struct profiled_job *job;

	(void)state;
	for (int s = 0; s < 30; s++) {
		feed_second(live, s, "few", few_gaps, &holed_job);
		feed_second(live, s, "many", many_gaps, &holed_job);
	}
	job_profiler_now(online, live);
	job = job_profiler_find(online, live_find_job(live, "few"));
	assert_true(job->has_estimate);
	assert_near((double)job->detection.profile.period_us, 3e5, 3e5 * 0.02);
	assert_near(job->gap_frac, 200.0 / 1700, 0.01);
	assert_near(job->detection.profile.bytes_per_iteration, 120.0 * FRAMES_GBPS,
		    0.05 * 120 * FRAMES_GBPS);
	job = job_profiler_find(online, live_find_job(live, "many"));
	assert_false(job->has_estimate);
	assert_non_null(strstr(job->why, "gaps"));
	job_profiler_free(online);
	live_free(live);
}

static uint32_t
noise(const void *ctx, int64_t ms)
{
	(void)ctx;
	return (uint32_t)(rng_mix((uint64_t)ms) % FRAMES_GBPS);
}

static void
what_does_not_repeat_gets_no_profile_but_a_reason(void **state)
{
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();

	(void)state;
	for (int s = 0; s < 20; s++)
		feed_second(live, s, "noise", noise, NULL);
	job_profiler_now(online, live);
	assert_false(job_profiler_find(online, 0)->has_estimate);
	assert_non_null(job_profiler_find(online, 0)->why);
	job_profiler_free(online);
	live_free(live);
}

/* ---- Events ---------------------------------------------------------------------- */

/* An event at each of at_ms[n]; sizes cycle through 'bytes'. */
static void
feed_events(struct live *live, int n, const int64_t *at_ms, const uint64_t *bytes,
	    int n_bytes)
{
	struct tele_frame frame = { 0 };

	frames_begin(&frame, TELE_EVENTS, "h0", T0, at_ms[n - 1] + 1, 0, 0);
	for (int i = 0; i < n; i++) {
		int64_t at_ns = at_ms[i] * 1000000;

		vec_push(&frame.events,
			 ((struct tele_event){ .job = tele_add_job(&frame, "a"),
					       .source = TELE_EVENT_MPI,
					       .pid = 7,
					       .begin_ns = at_ns,
					       .end_ns = at_ns + 1000000,
					       .bytes = bytes[i % n_bytes] }));
	}
	live_frame(live, &frame);
	tele_fini(&frame);
}

/* The same, each 'every_ms' from T0 on. */
static void
feed_regular_events(struct live *live, int n, int64_t every_ms, const uint64_t *bytes,
		    int n_bytes)
{
	int64_t *at_ms = xcalloc((size_t)n, sizeof *at_ms);

	for (int i = 0; i < n; i++)
		at_ms[i] = T0 + i * every_ms;
	feed_events(live, n, at_ms, bytes, n_bytes);
	free(at_ms);
}

static void
events_tell_an_iteration_from_its_parts(void **state)
{
	static const struct program part = { 125, 60, T0, FRAMES_GBPS };
	static const uint64_t sizes[] = { 4000000, 4000000, 4000000, 1000000 };
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	const struct profiled_job *job;

	(void)state;
	for (int s = 0; s < 30; s++)
		feed_second(live, s, "a", program, &part);
	feed_regular_events(live, 240, 125, sizes, 4);
	assert_int_equal(job_profiler_event_period_us(live, 0, 0, NULL), 500000);
	job_profiler_now(online, live);
	job = job_profiler_find(online, 0);
	assert_true(job->has_estimate);
	assert_near((double)job->detection.profile.period_us, 5e5, 5e5 * 0.02);
	assert_near((double)job->harmonic_of_us, 1.25e5, 1.25e5 * 0.02);
	assert_near(job->detection.profile.bytes_per_iteration, 4.0 * 60 * FRAMES_GBPS,
		    0.05 * 4 * 60 * FRAMES_GBPS);
	job_profiler_free(online);
	live_free(live);
}

/* Bursts of 40 ms; each begins 118 ms after the one before, one in four 146 ms. */
#define UNEVEN_BURSTS 240

struct uneven {
	int64_t begin_ms[UNEVEN_BURSTS];
};

static void
uneven_init(struct uneven *u)
{
	int64_t at_ms = T0;

	for (int i = 0; i < UNEVEN_BURSTS; i++) {
		u->begin_ms[i] = at_ms;
		at_ms += rng_mix((uint64_t)i) % 4 ? 118 : 146;
	}
}

static uint32_t
uneven(const void *ctx, int64_t ms)
{
	const struct uneven *u = ctx;

	for (int i = 0; i < UNEVEN_BURSTS; i++)
		if (ms >= u->begin_ms[i] && ms < u->begin_ms[i] + 40)
			return FRAMES_GBPS;
	return 0;
}

/* The iteration is longer than as many median bursts as it has. */
static void
period_of_uneven_bursts_is_that_of_events(void **state)
{
	static const uint64_t sizes[] = { 4000000, 4000000, 4000000, 1000000 };
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	const struct profiled_job *job;
	const struct profile *p;
	int64_t at_us = 0;
	struct uneven u;

	(void)state;
	uneven_init(&u);
	for (int s = 0; s < 30; s++)
		feed_second(live, s, "a", uneven, &u);
	feed_events(live, UNEVEN_BURSTS, u.begin_ms, sizes, 4);
	job_profiler_now(online, live);
	job = job_profiler_find(online, 0);
	assert_true(job->has_estimate);
	p = &job->detection.profile;
	assert_int_equal(p->period_us, job_profiler_event_period_us(live, 0, 0, NULL));
	assert_near((double)p->period_us, 5e5, 5e5 * 0.02);
	assert_near((double)job->harmonic_of_us, 1.18e5, 1.18e5 * 0.02);
	for (size_t i = 0; i < p->n_phases; i++) {
		assert_true(p->phases[i].start_us >= at_us);
		at_us = p->phases[i].start_us + p->phases[i].duration_us;
	}
	assert_true(at_us <= p->period_us);
	assert_int_equal(job->detection.n_fold, (p->period_us + 500) / 1000);
	job_profiler_free(online);
	live_free(live);
}

static void
events_that_agree_change_nothing(void **state)
{
	static const struct program p = { 250, 100, T0, FRAMES_GBPS };
	static const uint64_t size = 1000000;
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();

	(void)state;
	for (int s = 0; s < 30; s++)
		feed_second(live, s, "a", program, &p);
	feed_regular_events(live, 120, 250, &size, 1);
	job_profiler_now(online, live);
	assert_true(job_profiler_find(online, 0)->has_events);
	assert_int_equal(job_profiler_find(online, 0)->harmonic_of_us, 0);
	assert_near((double)job_profiler_find(online, 0)->detection.profile.period_us,
		    2.5e5, 2.5e5 * 0.02);
	job_profiler_free(online);
	live_free(live);
}

/* ---- A real capture -------------------------------------------------------------- */

struct captured {
	const struct series_set *set;
	size_t row;
};

static uint32_t
captured(const void *ctx, int64_t ms)
{
	const struct captured *c = ctx;
	int64_t at = ms - c->set->start_ms;

	return at < 0 || at >= (int64_t)c->set->n_buckets
		       ? 0
		       : (uint32_t)series_row(c->set, c->row)[at];
}

/* The median iteration time that the program itself recorded, in us. */
static double
truth_us(const char *path)
{
	double starts[1000];
	size_t n = 0, length;
	char *text, *rest;
	struct err err;

	assert_int_equal(file_read(path, 1 << 20, &text, &length, &err), 0);
	for (char *line = strtok_r(text, "\n", &rest); line && n < 1000;
	     line = strtok_r(NULL, "\n", &rest))
		if (sscanf(line, "%*d,%lf", &starts[n]) == 1)
			n++;
	free(text);
	assert_in_range(n, 10, 999);
	for (size_t i = 0; i + 1 < n; i++)
		starts[i] = starts[i + 1] - starts[i];
	stats_sort(starts, n - 1);
	return stats_quantile(starts, n - 1, 0.5) * 1e6;
}

/* Feeds a capture as frames of 1 s; rank r is host "r<r>" with its own clock. */
static void
feed_capture(struct live *live, struct job_profiler *online,
	     const struct series_set *set)
{
	struct tele_frame frame = { 0 };
	int64_t end_ms = set->start_ms + (int64_t)set->n_buckets;
	uint64_t sequence = 0;

	for (int64_t ms = set->start_ms; ms + 1000 <= end_ms; ms += 1000, sequence++) {
		for (size_t s = 0; s < set->n_series; s += 2) {
			struct captured tx = { set, s }, rx = { set, s + 1 };
			char host[32];

			snprintf(host, sizeof host, "r%u", set->ids[s].rank);
			frames_begin(&frame, TELE_RAW, host, ms, ms + 1000,
				     (int64_t)s * 1000000000, sequence);
			frames_add(&frame, "e0", 1e9, "mpi", TELE_TX, captured, &tx);
			frames_add(&frame, "e0", 1e9, "mpi", TELE_RX, captured, &rx);
			live_frame(live, &frame);
		}
		job_profiler_step(online, live);
	}
	tele_fini(&frame);
}

static void
check_capture(const char *csv, const char *truth)
{
	struct live *live = live_new(NULL);
	struct job_profiler *online = job_profiler_new();
	struct capture *capture;
	struct series_set set;
	struct err err;
	char *text;
	size_t length;
	const struct profiled_job *job;
	double median_us;

	if (file_read(csv, CAPTURE_CSV_MAX_BYTES, &text, &length, &err) < 0)
		skip();
	assert_int_equal(capture_csv_parse(csv, text, length, &capture, &err), 0);
	free(text);
	assert_int_equal(capture_series(capture, 0, -1, -1, &set, &err), 0);
	feed_capture(live, online, &set);
	job_profiler_now(online, live);
	job = job_profiler_find(online, 0);
	assert_true(job->has_estimate);
	median_us = truth_us(truth);
	print_message("%s: online %.1f ms, the program's median %.1f ms\n", csv,
		      (double)job->detection.profile.period_us / 1e3, median_us / 1e3);
	assert_near((double)job->detection.profile.period_us, median_us,
		    0.02 * median_us);
	series_fini(&set);
	capture_free(capture);
	job_profiler_free(online);
	live_free(live);
}

static void
a_real_program_is_found_to_two_percent(void **state)
{
	(void)state;
	check_capture("examples/mpi-4rank-16MB.csv.xz",
		      "examples/mpi-4rank-16MB.truth.csv");
}

static void
a_second_real_program_is_found_to_two_percent(void **state)
{
	(void)state;
	check_capture(SHARED_DATA "/captures/mpi-2rank-solo.csv.xz",
		      SHARED_DATA "/captures/mpi-2rank-solo.truth.csv");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_published_after_eight_iterations),
		cmocka_unit_test(estimates_come_each_five_seconds_of_frame_time),
		cmocka_unit_test(
			a_job_that_ended_is_shown_for_a_minute_and_then_forgotten),
		cmocka_unit_test(a_changed_period_raises_the_alarm),
		cmocka_unit_test(changed_bytes_raise_the_alarm),
		cmocka_unit_test(few_gaps_change_little_and_many_are_refused),
		cmocka_unit_test(what_does_not_repeat_gets_no_profile_but_a_reason),
		cmocka_unit_test(events_tell_an_iteration_from_its_parts),
		cmocka_unit_test(period_of_uneven_bursts_is_that_of_events),
		cmocka_unit_test(events_that_agree_change_nothing),
		cmocka_unit_test(a_real_program_is_found_to_two_percent),
		cmocka_unit_test(a_second_real_program_is_found_to_two_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
