/* Tests of scheduler/live/online.h: profiles of running jobs, and when they change. */
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/capture_csv.h"
#include "scheduler/live/live.h"
#include "scheduler/live/online.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"

#define T0 INT64_C(60000000)

/* A job of two hosts whose iterations last period_ms, from since_ms on. */
struct program {
	int64_t period_ms, busy_ms, since_ms;
	uint32_t bytes;
};

static uint32_t
program(const void *ctx, int64_t ms)
{
	const struct program *p = ctx;
	/* Jitter of the start that depends on the iteration alone, up to 4 %. */
	int64_t k = (ms - p->since_ms) / p->period_ms;
	int64_t late = (int64_t)(rng_mix((uint64_t)k) % 5) * p->period_ms / 125;
	int64_t at = (ms - p->since_ms) - k * p->period_ms - late;

	return at >= 0 && at < p->busy_ms ? p->bytes : 0;
}

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
	struct online *online = online_new();
	int first = 0;

	(void)state;
	for (int s = 0; s < 30; s++) {
		feed_second(live, s, "a", program, &slow);
		online_step(online, live);
		if (!first && online_find(online, 0) &&
		    online_find(online, 0)->has_estimate)
			first = s + 1;
	}
	/* 8 iterations are 12 s; estimates are made each 5 s. */
	assert_in_range(first, 12, 17);
	assert_near((double)online_find(online, 0)->detection.profile.period_us, 1.5e6,
		    1.5e6 * 0.02);
	assert_false(online_find(online, 0)->has_alarm);
	online_free(online);
	live_free(live);
}

static void
estimates_come_each_five_seconds_of_frame_time(void **state)
{
	static const struct program p = { 250, 100, T0, FRAMES_GBPS };
	struct live *live = live_new(NULL);
	struct online *online = online_new();
	int n = 0;

	(void)state;
	for (int s = 0; s < 26; s++) {
		feed_second(live, s, "a", program, &p);
		n += online_step(online, live);
	}
	assert_int_equal(n, 5);
	assert_int_equal(online_find(online, 0)->n_trend, 5);
	online_free(online);
	live_free(live);
}

static void
a_job_that_ended_is_shown_for_a_minute_and_then_forgotten(void **state)
{
	static const struct program p = { 250, 100, T0, FRAMES_GBPS };
	static const struct program other = { 400, 100, T0, FRAMES_GBPS };
	struct live *live = live_new(NULL);
	struct online *online = online_new();
	const struct online_job *job;
	size_t n;

	(void)state;
	for (int s = 0; s < 20; s++) {
		feed_second(live, s, "a", program, &p);
		online_step(online, live);
	}
	for (int s = 20; s < 70; s++) {
		feed_second(live, s, "b", program, &p);
		online_step(online, live);
	}
	job = online_find(online, live_find_job(live, "a"));
	online_jobs(online, &n);
	assert_int_equal(n, 2);
	assert_non_null(job->why);
	assert_in_range(live_now_ns(live) - job->at_ns, 45 * INT64_C(1000000000),
			55 * INT64_C(1000000000));
	for (int s = 70; s < 90; s++) {
		feed_second(live, s, "b", program, &p);
		online_step(online, live);
	}
	online_jobs(online, &n);
	assert_int_equal(n, 1);
	assert_null(online_find(online, live_find_job(live, "a")));

	/* Its name's next run is another one: that is no change of the first. */
	for (int s = 90; s < 120; s++) {
		feed_second(live, s, "a", program, &other);
		online_step(online, live);
	}
	job = online_find(online, live_find_job(live, "a"));
	assert_true(job->has_estimate);
	assert_false(job->has_alarm);
	online_free(online);
	live_free(live);
}

static void
a_changed_period_raises_the_alarm(void **state)
{
	static const struct program before = { 300, 120, T0, FRAMES_GBPS };
	static const struct program after = { 400, 120, T0, FRAMES_GBPS };
	struct live *live = live_new(NULL);
	struct online *online = online_new();
	const struct online_job *job;
	int alarm = 0;

	(void)state;
	for (int s = 0; s < 90; s++) {
		feed_second(live, s, "a", program, s < 40 ? &before : &after);
		online_step(online, live);
		job = online_find(online, 0);
		if (s == 39)
			assert_false(job->has_alarm);
		if (s >= 40 && !alarm && job->has_alarm)
			alarm = s;
	}
	assert_in_range(alarm, 41, 70);
	assert_near((double)job->period_before_us, 3e5, 3e5 * 0.02);
	assert_near((double)job->detection.profile.period_us, 4e5, 4e5 * 0.02);
	online_free(online);
	live_free(live);
}

static void
changed_bytes_raise_the_alarm(void **state)
{
	static const struct program before = { 300, 120, T0, FRAMES_GBPS };
	static const struct program after = { 300, 150, T0, FRAMES_GBPS };
	struct live *live = live_new(NULL);
	struct online *online = online_new();

	(void)state;
	for (int s = 0; s < 90; s++) {
		feed_second(live, s, "a", program, s < 40 ? &before : &after);
		online_step(online, live);
		if (s == 39)
			assert_false(online_find(online, 0)->has_alarm);
	}
	assert_true(online_find(online, 0)->has_alarm);
	assert_near(online_find(online, 0)->detection.profile.bytes_per_iteration,
		    150.0 * FRAMES_GBPS, 0.05 * 150 * FRAMES_GBPS);
	online_free(online);
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
	struct online *online = online_new();
	const struct online_job *job;

	(void)state;
	for (int s = 0; s < 30; s++) {
		feed_second(live, s, "few", few_gaps, &holed_job);
		feed_second(live, s, "many", many_gaps, &holed_job);
	}
	online_now(online, live);
	job = online_find(online, live_find_job(live, "few"));
	assert_true(job->has_estimate);
	assert_near((double)job->detection.profile.period_us, 3e5, 3e5 * 0.02);
	assert_near(job->gap_frac, 200.0 / 1700, 0.01);
	assert_near(job->detection.profile.bytes_per_iteration, 120.0 * FRAMES_GBPS,
		    0.05 * 120 * FRAMES_GBPS);
	job = online_find(online, live_find_job(live, "many"));
	assert_false(job->has_estimate);
	assert_non_null(strstr(job->why, "gaps"));
	online_free(online);
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
	struct online *online = online_new();

	(void)state;
	for (int s = 0; s < 20; s++)
		feed_second(live, s, "noise", noise, NULL);
	online_now(online, live);
	assert_false(online_find(online, 0)->has_estimate);
	assert_non_null(online_find(online, 0)->why);
	online_free(online);
	live_free(live);
}

/* ---- Marks ------------------------------------------------------------------------- */

/* One mark each 'every_ms' from T0 on, its sizes in turn from 'bytes'. */
static void
feed_marks(struct live *live, int n, int64_t every_ms, const uint64_t *bytes,
	   int n_bytes)
{
	struct tele_frame frame = { 0 };

	frames_begin(&frame, TELE_MARKS, "h0", T0, T0 + n * every_ms, 0, 0);
	for (int i = 0; i < n; i++) {
		int64_t at_ns = (T0 + i * every_ms) * 1000000;

		vec_push(&frame.marks,
			 ((struct tele_mark){ .job = tele_add_job(&frame, "a"),
					      .source = TELE_MARK_MPI,
					      .pid = 7,
					      .begin_ns = at_ns,
					      .end_ns = at_ns + 1000000,
					      .bytes = bytes[i % n_bytes] }));
	}
	live_frame(live, &frame);
	tele_fini(&frame);
}

static void
marks_tell_an_iteration_from_its_parts(void **state)
{
	static const struct program part = { 125, 60, T0, FRAMES_GBPS };
	static const uint64_t sizes[] = { 4000000, 4000000, 4000000, 1000000 };
	struct live *live = live_new(NULL);
	struct online *online = online_new();
	const struct online_job *job;

	(void)state;
	for (int s = 0; s < 30; s++)
		feed_second(live, s, "a", program, &part);
	feed_marks(live, 240, 125, sizes, 4);
	assert_int_equal(online_marked_period_us(live, 0, 0, NULL), 500000);
	online_now(online, live);
	job = online_find(online, 0);
	assert_true(job->has_estimate);
	assert_near((double)job->detection.profile.period_us, 5e5, 5e5 * 0.02);
	assert_near((double)job->harmonic_of_us, 1.25e5, 1.25e5 * 0.02);
	assert_near(job->detection.profile.bytes_per_iteration, 4.0 * 60 * FRAMES_GBPS,
		    0.05 * 4 * 60 * FRAMES_GBPS);
	online_free(online);
	live_free(live);
}

static void
marks_that_agree_change_nothing(void **state)
{
	static const struct program p = { 250, 100, T0, FRAMES_GBPS };
	static const uint64_t size = 1000000;
	struct live *live = live_new(NULL);
	struct online *online = online_new();

	(void)state;
	for (int s = 0; s < 30; s++)
		feed_second(live, s, "a", program, &p);
	feed_marks(live, 120, 250, &size, 1);
	online_now(online, live);
	assert_true(online_find(online, 0)->has_marks);
	assert_int_equal(online_find(online, 0)->harmonic_of_us, 0);
	assert_near((double)online_find(online, 0)->detection.profile.period_us, 2.5e5,
		    2.5e5 * 0.02);
	online_free(online);
	live_free(live);
}

/* ---- A real capture ------------------------------------------------------------------ */

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

/* The median time from iteration to iteration that the program wrote down, us. */
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

/* Feeds a capture as frames of a second; rank r is host "r<r>" with its own clock. */
static void
feed_capture(struct live *live, struct online *online, const struct series_set *set)
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
		online_step(online, live);
	}
	tele_fini(&frame);
}

static void
check_capture(const char *csv, const char *truth)
{
	struct live *live = live_new(NULL);
	struct online *online = online_new();
	struct capture *capture;
	struct series_set set;
	struct err err;
	char *text;
	size_t length;
	const struct online_job *job;
	double median_us;

	if (file_read(csv, CAPTURE_CSV_MAX_BYTES, &text, &length, &err) < 0)
		skip();
	assert_int_equal(capture_csv_parse(csv, text, length, &capture, &err), 0);
	free(text);
	assert_int_equal(capture_series(capture, 0, -1, -1, &set, &err), 0);
	feed_capture(live, online, &set);
	online_now(online, live);
	job = online_find(online, 0);
	assert_true(job->has_estimate);
	median_us = truth_us(truth);
	print_message("%s: online %.1f ms, the program's median %.1f ms\n", csv,
		      (double)job->detection.profile.period_us / 1e3, median_us / 1e3);
	assert_near((double)job->detection.profile.period_us, median_us,
		    0.02 * median_us);
	series_fini(&set);
	capture_free(capture);
	online_free(online);
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

/* How many have been tried since; updates 'tried_ns'. */
static int
count_tried(const struct online *online, int64_t tried_ns[N_MANY])
{
	int n_tried = 0;

	for (uint32_t j = 0; j < N_MANY; j++) {
		const struct online_job *job = online_find(online, j);

		/* They are found in the first steps of the first round. */
		if (!job)
			continue;
		n_tried += job->tried_ns > tried_ns[j];
		tried_ns[j] = job->tried_ns;
	}
	return n_tried;
}

/* A round that is not over when the next one begins goes on with those that it left. */
static void
in_rounds_of_some_every_job_has_its_turn(void **state)
{
	struct live *live = live_new(NULL);
	struct online *online = online_new();
	int64_t tried_ns[N_MANY] = { 0 };
	size_t n;

	(void)state;
	for (int s = 0; s < 12; s++)
		feed_many(live, s, N_MANY, TELE_RAW);
	assert_false(online_begin(online, live));
	for (int round = 0; round < 5; round++) {
		int n_tried = 0, n_steps = 0;

		for (int s = 0; s < 5; s++)
			feed_many(live, 12 + 5 * round + s, N_MANY, TELE_RAW);
		assert_true(online_begin(online, live));
		assert_false(online_begin(online, live));
		while (n_tried < A_ROUND) {
			assert_true(online_next(online, live));
			n_tried += count_tried(online, tried_ns);
			/* Frames come in between. */
			if (n_steps++ == 3)
				feed_many(live, 12 + 5 * round + 5, N_MANY, TELE_RAW);
		}
		/* None is done in one step. */
		assert_true(n_steps > 5 * A_ROUND);
		online_next(online, live);
		online_next(online, live);
	}
	for (uint32_t j = 0; j < N_MANY; j++)
		assert_true(online_find(online, j)->tried_ns > 0);
	online_jobs(online, &n);
	assert_int_equal(n, N_MANY);
	online_free(online);
	live_free(live);
}

static void
in_steps_the_same_is_found_as_at_once(void **state)
{
	struct live *live = live_new(NULL);
	struct online *stepped = online_new(), *whole = online_new();

	(void)state;
	for (int s = 0; s < 12; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_false(online_begin(stepped, live));
	for (int s = 12; s < 17; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_true(online_begin(stepped, live));
	for (int i = 0; i < 9; i++)
		assert_true(online_next(stepped, live));
	/* What comes while a job is in hand is for the next time. */
	feed_many(live, 17, 3, TELE_RAW);
	while (!online_find(stepped, 0)->has_estimate)
		assert_true(online_next(stepped, live));
	online_now(whole, live);
	assert_true(online_find(whole, 0)->at_ns > online_find(stepped, 0)->at_ns);
	while (online_next(stepped, live))
		continue;
	for (uint32_t j = 1; j < 3; j++) {
		const struct online_job *a = online_find(stepped, j);
		const struct online_job *b = online_find(whole, j);

		assert_int_equal(a->at_ns, b->at_ns);
		assert_int_equal(a->detection.profile.period_us,
				 b->detection.profile.period_us);
		assert_int_equal(a->detection.n_fold, b->detection.n_fold);
		assert_memory_equal(a->detection.fold_bps, b->detection.fold_bps,
				    a->detection.n_fold * sizeof(double));
	}
	online_free(stepped);
	online_free(whole);
	live_free(live);
}

static void
a_round_that_is_stopped_is_over_and_the_next_one_begins_anew(void **state)
{
	struct live *live = live_new(NULL);
	struct online *online = online_new();

	(void)state;
	for (int s = 0; s < 12; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_false(online_begin(online, live));
	for (int s = 12; s < 17; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_true(online_begin(online, live));
	for (int i = 0; i < 9; i++)
		assert_true(online_next(online, live));
	online_stop(online);
	assert_false(online_next(online, live));
	for (int s = 17; s < 22; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_true(online_begin(online, live));
	while (online_next(online, live))
		continue;
	for (uint32_t j = 0; j < 3; j++)
		assert_true(online_find(online, j)->has_estimate);
	online_free(online);
	live_free(live);
}

/* Of the list, which is made anew in steps: it has but jobs that are there. */
static size_t
count_listed(const struct online *online)
{
	size_t n;
	const struct online_job *const *jobs = online_jobs(online, &n);

	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(online_find(online, jobs[i]->job), jobs[i]);
	return n;
}

static void
a_round_may_be_stopped_in_any_step(void **state)
{
	struct live *live = live_new(NULL);
	struct online *online = online_new();
	int s = 0;

	(void)state;
	for (; s < 12; s++)
		feed_many(live, s, 3, TELE_RAW);
	assert_false(online_begin(online, live));
	for (int n_steps = 0; n_steps < 8; n_steps++) {
		for (int i = 0; i < 5; i++)
			feed_many(live, s++, 3, TELE_RAW);
		assert_true(online_begin(online, live));
		for (int i = 0; i < n_steps; i++)
			online_next(online, live);
		online_stop(online);
		count_listed(online);
	}
	for (int i = 0; i < 5; i++)
		feed_many(live, s++, 3, TELE_RAW);
	assert_true(online_begin(online, live));
	while (online_next(online, live))
		continue;
	assert_int_equal(count_listed(online), 3);
	online_free(online);
	live_free(live);
}

static void
jobs_that_ended_are_not_listed_in_any_step(void **state)
{
	struct live *live = live_new(NULL);
	struct online *online = online_new();

	(void)state;
	for (int s = 0; s < 150; s++) {
		/* One of three stays, and one comes when two have ended. */
		feed_many(live, s, s < 20 ? 3 : s < 140 ? 1 : 2, TELE_RAW);
		if (!online_begin(online, live))
			continue;
		do
			count_listed(online);
		while (online_next(online, live));
	}
	assert_int_equal(count_listed(online), 2);
	online_free(online);
	live_free(live);
}

static void
who_is_not_told_of_raw_any_more_keeps_the_profile_that_was_found(void **state)
{
	struct live *live = live_new(NULL);
	struct online *online = online_new();
	int64_t at_ns;

	(void)state;
	for (int s = 0; s < 30; s++) {
		feed_many(live, s, 2, TELE_RAW);
		feed_many(live, s, 2, TELE_SUMMARY);
		online_step(online, live);
	}
	assert_true(online_find(online, 0)->has_estimate);
	at_ns = online_find(online, 0)->at_ns;
	for (int s = 30; s < 130; s++) {
		feed_many(live, s, 2, TELE_SUMMARY);
		online_step(online, live);
	}
	assert_true(online_find(online, 0)->has_estimate);
	assert_null(online_find(online, 0)->why);
	assert_in_range(online_find(online, 0)->at_ns - at_ns, 0, 5000000000);
	online_free(online);
	live_free(live);
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
		cmocka_unit_test(marks_tell_an_iteration_from_its_parts),
		cmocka_unit_test(marks_that_agree_change_nothing),
		cmocka_unit_test(a_real_program_is_found_to_two_percent),
		cmocka_unit_test(a_second_real_program_is_found_to_two_percent),
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
