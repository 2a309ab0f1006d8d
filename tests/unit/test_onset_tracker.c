/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_onset_tracker.c - tracking of iterations: noise, bias, checkpoints, changes, bad
 * reports
 */
#include "lib/base/rng.h"
#include "scheduler/core/control/onset_tracker.h"
#include "scheduler/core/control/steer.h"
#include "tests/unit/test.h"

#define MS 1000000.0

/* A job that reports; isolated by default. */
struct source {
	struct onset_tracker onsets;
	struct rng rng;
	uint64_t number;
	double now_ns, comm_ms;
};

static void
source_init(struct source *s, double profile_ms)
{
	*s = (struct source){ .now_ns = 5000 * MS, .comm_ms = 70 };
	rng_init(&s->rng, 7);
	onset_tracker_init(&s->onsets, profile_ms * MS, profile_ms > 0 ? 70 * MS : 0,
			   0);
}

/*
 * An iteration of 'free_ms', with collectives longer by 'stretch_ms', then a wait of
 * 'delay_ms' by our order.
 */
static enum onset_event
iterate(struct source *s, double free_ms, double stretch_ms, double delay_ms)
{
	struct steer_report r = { .number = s->number++ };

	s->now_ns += (free_ms + stretch_ms) * MS;
	r.enter_ns = (int64_t)s->now_ns;
	s->now_ns += delay_ms * MS;
	r.begin_ns = (int64_t)s->now_ns;
	r.comm_ns = (int64_t)((s->comm_ms + stretch_ms) * MS);
	return onset_tracker_report(&s->onsets, &r,
				    stretch_ms > 0 ? ONSET_CONTENDED : ONSET_ISOLATED);
}

static double
noise_ms(struct source *s)
{
	return 3.6 * rng_normal(&s->rng);
}

static void
the_period_is_without_delays_and_without_contention(void **state)
{
	struct source s;

	(void)state;
	source_init(&s, 250);
	for (int i = 0; i < 200; i++)
		iterate(&s, 250 + noise_ms(&s), i % 3 ? 40 : 0, i % 2 ? 25 : 0);
	assert_near(s.onsets.period_ns, 250 * MS, 2.5 * MS);
	assert_near(s.onsets.comm_ns, 70 * MS, 0.1 * MS);
	assert_near(s.onsets.sd_ns, 3.6 * MS, 1.8 * MS);
	assert_true(onset_tracker_is_known(&s.onsets));
}

/* All first iterations were contended alike and taken for isolated ones. */
static void
a_better_profile_corrects_period_and_collectives(void **state)
{
	struct source s;

	(void)state;
	source_init(&s, 300);
	s.onsets.comm_ns = 120 * MS;
	for (int i = 0; i < 10; i++)
		iterate(&s, 250 + noise_ms(&s), 50, 0);
	assert_near(s.onsets.period_ns, 300 * MS, 5 * MS);
	onset_tracker_refine(&s.onsets, 120 * MS, 0); /* No profile; */
	assert_near(s.onsets.comm_ns, 120 * MS, 1);
	onset_tracker_refine(&s.onsets, 120 * MS, 110 * MS); /* nothing new. */
	assert_near(s.onsets.comm_ns, 120 * MS, 1);
	onset_tracker_refine(&s.onsets, 120 * MS, 70 * MS);
	assert_near(s.onsets.comm_ns, 70 * MS, 1);
	assert_near(s.onsets.period_ns, 250 * MS, 5 * MS);
	for (int i = 0; i < 20; i++)
		assert_int_equal(iterate(&s, 250 + noise_ms(&s), i % 2 ? 50 : 0, 0),
				 ONSET_NORMAL);
	assert_near(s.onsets.period_ns, 250 * MS, 4 * MS);
	/* By now enough isolated iterations were seen. */
	onset_tracker_refine(&s.onsets, 70 * MS, 120 * MS);
	assert_near(s.onsets.comm_ns, 70 * MS, 1 * MS);
}

static void
a_period_is_found_without_a_profile(void **state)
{
	struct source s;

	(void)state;
	source_init(&s, 0);
	assert_false(onset_tracker_is_known(&s.onsets));
	for (int i = 0; i < 20; i++)
		iterate(&s, 180 + noise_ms(&s), 0, 0);
	assert_true(onset_tracker_is_known(&s.onsets));
	assert_near(s.onsets.period_ns, 180 * MS, 3 * MS);
}

static void
a_job_that_computes_longer_is_seen_within_a_few_iterations(void **state)
{
	struct source s;
	int n_until = 0;

	(void)state;
	source_init(&s, 250);
	for (int i = 0; i < 50; i++)
		assert_int_not_equal(iterate(&s, 250 + noise_ms(&s), 0, 0),
				     ONSET_CHANGED);
	while (iterate(&s, 304 + noise_ms(&s), 0, 0) != ONSET_CHANGED)
		n_until++;
	assert_true(n_until < ONSET_N_ODD);
	assert_near(s.onsets.period_ns, 304 * MS, 6 * MS);
	for (n_until = 0; iterate(&s, 250 + noise_ms(&s), 0, 0) != ONSET_CHANGED;)
		n_until++;
	assert_true(n_until < ONSET_N_ODD);
	assert_near(s.onsets.period_ns, 250 * MS, 6 * MS);
}

static void
checkpoints_move_the_phase_and_not_the_period(void **state)
{
	struct source s;

	(void)state;
	source_init(&s, 250);
	for (int i = 0; i < 300; i++) {
		bool is_checkpoint = i % 20 >= 18; /* Two in a row. */
		double more_ms = is_checkpoint ? 4000 : 0;

		assert_int_not_equal(iterate(&s, 250 + more_ms + noise_ms(&s), 0, 0),
				     ONSET_CHANGED);
		assert_near(s.onsets.period_ns, 250 * MS, 6 * MS);
		assert_int_equal(s.onsets.begin_ns, (int64_t)s.now_ns);
	}
}

static void
a_small_bias_is_told_from_noise(void **state)
{
	struct source s;

	(void)state;
	source_init(&s, 250);
	for (int i = 0; i < 60; i++)
		iterate(&s, 250 + noise_ms(&s), 0, 0);
	for (int i = 0; i < 25; i++)
		iterate(&s, 256 + noise_ms(&s), 0, 0);
	assert_near(s.onsets.period_ns, 256 * MS, 3 * MS);
}

static void
lost_reports_are_left_out(void **state)
{
	struct source s;

	(void)state;
	source_init(&s, 250);
	for (int i = 0; i < 200; i++) {
		struct onset_tracker before = s.onsets;

		iterate(&s, 250 + noise_ms(&s), 0, 0);
		if (i % 7 == 6)
			s.onsets = before; /* This report was lost. */
	}
	assert_near(s.onsets.period_ns, 250 * MS, 3 * MS);
}

static void
reports_that_cannot_be_are_refused_until_they_go_on(void **state)
{
	struct source s;
	struct steer_report far = { .number = 1000, .enter_ns = INT64_MAX / 8 };
	struct steer_report odd = { .number = 5, .enter_ns = 100, .begin_ns = 50 };
	struct onset_tracker before;

	(void)state;
	far.begin_ns = far.enter_ns;
	source_init(&s, 250);
	for (int i = 0; i < 20; i++)
		iterate(&s, 250 + noise_ms(&s), 0, 0);
	before = s.onsets;
	assert_int_equal(onset_tracker_report(&s.onsets, &odd, ONSET_ISOLATED),
			 ONSET_REFUSED);
	assert_memory_equal(&before, &s.onsets, sizeof before);
	/* One report from the future is refused, a second one accepted. */
	assert_int_equal(onset_tracker_report(&s.onsets, &far, ONSET_ISOLATED),
			 ONSET_REFUSED);
	assert_int_equal(iterate(&s, 250, 0, 0), ONSET_NORMAL);
	assert_int_equal(onset_tracker_report(&s.onsets, &far, ONSET_ISOLATED),
			 ONSET_REFUSED);
	assert_int_equal(onset_tracker_report(&s.onsets, &far, ONSET_ISOLATED),
			 ONSET_SYNCED);
	/* The same holds for two from the present after that. */
	assert_int_equal(iterate(&s, 250, 0, 0), ONSET_REFUSED);
	assert_int_equal(iterate(&s, 250, 0, 0), ONSET_SYNCED);
	for (int i = 0; i < 5; i++)
		iterate(&s, 250 + noise_ms(&s), 0, 0);
	assert_near(s.onsets.period_ns, 250 * MS, 4 * MS);
	/* A restarted job counts from 0. */
	s.number = 0;
	assert_int_equal(iterate(&s, 250, 0, 0), ONSET_REFUSED);
	assert_int_equal(iterate(&s, 250, 0, 0), ONSET_SYNCED);
	assert_int_equal(iterate(&s, 250, 0, 0), ONSET_NORMAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_period_is_without_delays_and_without_contention),
		cmocka_unit_test(a_better_profile_corrects_period_and_collectives),
		cmocka_unit_test(a_period_is_found_without_a_profile),
		cmocka_unit_test(
			a_job_that_computes_longer_is_seen_within_a_few_iterations),
		cmocka_unit_test(checkpoints_move_the_phase_and_not_the_period),
		cmocka_unit_test(a_small_bias_is_told_from_noise),
		cmocka_unit_test(lost_reports_are_left_out),
		cmocka_unit_test(reports_that_cannot_be_are_refused_until_they_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
