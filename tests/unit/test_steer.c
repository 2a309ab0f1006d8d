/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_steer.c - the control loop with simulated jobs: it removes contention despite
 * lost or late reports and orders, and costs nothing where there is no contention
 */
#include "tests/unit/steer_lab.h"

/* As in the live demonstration: 3 x 70 ms in 250. */
static const struct steer_lab_job THREE[] = {
	{ .compute_ms = 180, .comm_ms = 70 },
	{ .compute_ms = 180, .comm_ms = 70 },
	{ .compute_ms = 180, .comm_ms = 70 },
};

static const struct steer_lab_job ONE_TO_TWO[] = {
	{ .compute_ms = 180, .comm_ms = 70 },
	{ .compute_ms = 400, .comm_ms = 100 },
};

static struct steer_lab_opts
three_opts(uint64_t seed)
{
	return (struct steer_lab_opts){
		.jobs = THREE,
		.n_jobs = 3,
		.mode = STEER_GATE,
		.is_steered = true,
		.jitter_frac = 0.02,
		.seconds = 60,
		.seed = seed,
		.steered = { .seed = seed },
	};
}

/* After the loop has settled. */
static double
mean_slowdown(const struct steer_lab_opts *opts)
{
	struct steer_lab l;
	double mean;

	steer_lab_run(&l, opts);
	mean = steer_lab_mean_slowdown(&l, 10, opts->seconds);
	print_message("%.4f\n", mean);
	steer_lab_close(&l);
	return mean;
}

static void
equal_jobs_run_as_if_alone_whatever_orders_take(void **state)
{
	static const double latencies_ms[] = { 5, 20, 50 };
	double free_sum = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct steer_lab_opts opts = three_opts(seed);

		opts.is_steered = false;
		free_sum += mean_slowdown(&opts);
		opts.is_steered = true;
		for (size_t i = 0; i < 3; i++) {
			opts.steered.latency_ns = (int64_t)(latencies_ms[i] * MS);
			opts.steered.steer.latency_ns = opts.steered.latency_ns;
			assert_true(mean_slowdown(&opts) <= 1.01);
		}
	}
	assert_true(free_sum / 4 >= 1.15);
}

static void
periods_of_one_to_two_run_as_if_alone(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct steer_lab_opts opts = three_opts(seed);

		opts.jobs = ONE_TO_TWO;
		opts.n_jobs = 2;
		assert_true(mean_slowdown(&opts) <= 1.02);
	}
}

static void
lost_orders_and_bad_reports_cost_little(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct steer_lab_opts opts = three_opts(seed);

		opts.steered.lost_order_frac = 0.1;
		opts.steered.lost_report_frac = 0.05;
		opts.steered.garbage_frac = 0.02;
		assert_true(mean_slowdown(&opts) <= 1.02);
	}
}

static void
windows_are_kept_as_well_as_turns(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct steer_lab_opts opts = three_opts(seed);
		struct steer_state steered;
		struct steer_lab l;

		opts.mode = STEER_SHIFT;
		steer_lab_run(&l, &opts);
		assert_true(steer_lab_mean_slowdown(&l, 10, 60) <= 1.01);
		for (uint32_t j = 0; j < 3; j++) {
			steer_state(steer_sim_steer(l.steered), j, &steered);
			assert_true(steered.is_tracked);
			assert_near((double)steered.period_us, 250e3, 4e3);
			assert_int_equal(steered.n_orders[STEER_WHY_TURN], 0);
			/* In 60 s: orders are rate-limited. */
			assert_true(steered.n_orders[STEER_WHY_DRIFT] <= 66);
		}
		steer_lab_close(&l);
	}
}

/* Mean slowdown for some seconds from the first order on. */
static double
slowdown_from_first_order(const struct steer_lab_opts *opts, double seconds)
{
	int64_t first_ns = INT64_MAX;
	struct steer_state steered;
	struct steer_lab l;
	double mean;

	steer_lab_run(&l, opts);
	for (uint32_t j = 0; j < opts->n_jobs; j++) {
		steer_state(steer_sim_steer(l.steered), j, &steered);
		if (steered.first_shift_ns && steered.first_shift_ns < first_ns)
			first_ns = steered.first_shift_ns;
	}
	assert_true((double)first_ns < 5 * SECOND);
	mean = steer_lab_mean_slowdown(&l, (double)first_ns / SECOND,
				       (double)first_ns / SECOND + seconds);
	print_message("%.4f\n", mean);
	steer_lab_close(&l);
	return mean;
}

/*
 * Also with slightly wrong profiles, either throughout or until they are refined.
 */
static void
equal_jobs_find_their_turns_within_a_few_iterations(void **state)
{
	static const double known[][3] = {
		{ 1, 1, 0 },    { 1.1, 1, 0 },     { 0.9, 1, 0 },     { 1, 1.02, 0 },
		{ 1, 0.98, 0 }, { 1.1, 1.02, 20 }, { 0.9, 0.98, 20 },
	};

	(void)state;
	for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
		double soon = 0, later = 0;

		for (uint64_t seed = 1; seed <= 6; seed++) {
			struct steer_lab_opts opts = three_opts(seed);

			opts.known_frac = known[k][0];
			opts.known_period_frac = known[k][1];
			opts.refined_s = known[k][2];
			soon += slowdown_from_first_order(&opts, 5) / 6;
			later += slowdown_from_first_order(&opts, 50) / 6;
		}
		/* 20 iterations of each, and 200. */
		assert_true(soon <= 1.02 && later <= 1.01);
	}
}

/* Collectives take longer than their bytes: the loop must use the measured time. */
static void
a_profile_that_is_short_by_a_fifth_is_made_up_for(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct steer_lab_opts opts = three_opts(seed);

		opts.known_frac = 0.8;
		assert_true(mean_slowdown(&opts) <= 1.015);
	}
}

static void
nearly_equal_periods_are_locked_at_little_cost(void **state)
{
	static const double apart_frac[] = { 0.01, 0.02, 0.04 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct steer_lab_job jobs[3] = { THREE[0], THREE[1], THREE[2] };
		struct steer_lab_opts opts = three_opts(5 + i);
		double free;

		jobs[1].compute_ms += 250 * apart_frac[i] / 2;
		jobs[2].compute_ms += 250 * apart_frac[i];
		opts.jobs = jobs;
		opts.is_steered = false;
		free = mean_slowdown(&opts);
		opts.is_steered = true;
		/* All run at the pace of the slowest job. */
		assert_true(mean_slowdown(&opts) <= 1.01 + apart_frac[i] / 2);
		assert_true(mean_slowdown(&opts) < free - 0.03);
		opts.mode = STEER_SHIFT;
		opts.locked_ms = 250 * (1 + apart_frac[i]);
		assert_true(mean_slowdown(&opts) <= 1.015 + apart_frac[i] / 2);
	}
}

/* Unrelated periods: with control and without, from the same seeds. */
static void
incommensurate_jobs_are_never_worse_off_than_free(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct steer_lab_job jobs[3];
		struct steer_lab_opts opts = three_opts(seed);
		double free, steered;
		struct rng rng;

		rng_init_stream(&rng, 99, seed);
		opts.n_jobs = 2 + (uint32_t)(seed % 2);
		for (uint32_t j = 0; j < opts.n_jobs; j++) {
			double period_ms = 120 * pow(3, rng_uniform(&rng));
			double duty = 0.15 + 0.2 * rng_uniform(&rng);

			jobs[j] = (struct steer_lab_job){
				.compute_ms = period_ms * (1 - duty),
				.comm_ms = period_ms * duty,
			};
		}
		opts.jobs = jobs;
		opts.seconds = 120;
		opts.is_steered = false;
		free = mean_slowdown(&opts);
		opts.is_steered = true;
		steered = mean_slowdown(&opts);
		assert_true(steered <= free + 0.008);
	}
}

/* With jitter of 5 %, and none. */
static void
more_jitter_costs_more_but_not_much(void **state)
{
	struct steer_lab_opts opts = three_opts(3);

	(void)state;
	opts.jitter_frac = 0.05;
	assert_true(mean_slowdown(&opts) <= 1.03);
	/* Without jitter, initial transients must not last forever. */
	for (uint64_t seed = 1; seed <= 24; seed++) {
		opts = three_opts(seed);
		opts.jitter_frac = 0;
		opts.steered.latency_ns = 5 * MS;
		opts.steered.steer.latency_ns = opts.steered.latency_ns;
		assert_true(mean_slowdown(&opts) <= 1.001);
	}
}

/*
 * One of three computes 30 % longer from 60 s to 150 s.  30 s after each change the
 * jobs must run as if it had always been so: as well as such periods can, and as if
 * isolated when they fit together again.
 */
static void
a_change_of_compute_time_is_settled_within_half_a_minute(void **state)
{
	double after = 0, always = 0, free = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct steer_lab_job jobs[3] = { THREE[0], THREE[1], THREE[2] };
		struct steer_lab_opts opts = three_opts(seed);
		struct steer_state steered;
		struct steer_lab l;

		jobs[0].more_ms = 54;
		jobs[0].more_from_s = 60;
		jobs[0].more_until_s = 150;
		opts.jobs = jobs;
		opts.seconds = 240;
		steer_lab_run(&l, &opts);
		assert_true(steer_lab_mean_slowdown(&l, 10, 60) <= 1.01);
		after += steer_lab_mean_slowdown(&l, 90, 150) / 6;
		assert_true(steer_lab_mean_slowdown(&l, 180, 240) <= 1.01);
		steer_state(steer_sim_steer(l.steered), 0, &steered);
		assert_false(steered.has_changed); /* Back to the plan. */
		assert_near((double)steered.period_us, 250e3, 4e3);
		steer_lab_close(&l);

		jobs[0].more_from_s = 0;
		jobs[0].more_until_s = 0;
		steer_lab_run(&l, &opts);
		always += steer_lab_mean_slowdown(&l, 90, 240) / 6;
		steer_state(steer_sim_steer(l.steered), 0, &steered);
		assert_true(steered.has_changed);
		steer_lab_close(&l);
		opts.is_steered = false;
		steer_lab_run(&l, &opts);
		free += steer_lab_mean_slowdown(&l, 90, 240) / 6;
		steer_lab_close(&l);
	}
	assert_true(after <= always + 0.02);
	assert_true(after <= free + 0.01);
	assert_true(always <= free + 0.01);
}

/* One of two becomes 30 % slower; they fit together again when the other does, too. */
static void
jobs_that_change_together_are_settled_again(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct steer_lab_job jobs[3] = { THREE[0], THREE[1], THREE[2] };
		struct steer_lab_opts opts = three_opts(seed);
		struct steer_lab l;

		for (size_t j = 0; j < 3; j++) {
			jobs[j].more_ms = 54;
			jobs[j].more_from_s = 40 + (double)j;
		}
		opts.jobs = jobs;
		opts.seconds = 120;
		steer_lab_run(&l, &opts);
		assert_true(steer_lab_mean_slowdown(&l, 73, 120) <= 1.01);
		steer_lab_close(&l);
	}
}

static void
nobody_starves_where_too_much_is_asked_for(void **state)
{
	static const struct steer_lab_job jobs[4] = {
		{ .compute_ms = 60, .comm_ms = 40 },
		{ .compute_ms = 60, .comm_ms = 40 },
		{ .compute_ms = 62, .comm_ms = 43 },
		{ .compute_ms = 90, .comm_ms = 10 },
	};
	struct steer_lab_opts opts = three_opts(1);
	struct steer_lab l;
	double free[4];

	(void)state;
	opts.jobs = jobs;
	opts.n_jobs = 4;
	opts.is_steered = false;
	steer_lab_run(&l, &opts);
	for (uint32_t j = 0; j < 4; j++)
		free[j] = steer_lab_slowdown(&l, j, 10, 60);
	steer_lab_close(&l);
	opts.is_steered = true;
	steer_lab_run(&l, &opts);
	for (uint32_t j = 0; j < 4; j++)
		assert_true(steer_lab_slowdown(&l, j, 10, 60) <= free[j] + 0.1);
	for (size_t i = 0; i < l.lab.iterations.n; i++) {
		const struct lab_iteration *it = &l.lab.iterations.items[i];

		assert_true(it->end_ns - it->start_ns < 0.5 * SECOND);
	}
	steer_lab_close(&l);
}

/* Bursts are apart by more than jitter: there may be orders, but no delay. */
static void
jobs_that_do_not_contend_are_not_delayed(void **state)
{
	struct steer_lab_opts opts = three_opts(1);
	static const struct steer_lab_job apart[2] = {
		{ .compute_ms = 230, .comm_ms = 20 },
		{ .compute_ms = 230, .comm_ms = 20 },
	};
	struct engine_job_stats stats;
	struct steer_lab l;

	(void)state;
	opts.jobs = apart;
	opts.n_jobs = 2;
	opts.jitter_frac = 0;
	steer_lab_run(&l, &opts);
	for (uint32_t j = 0; j < 2; j++) {
		engine_job_stats(l.lab.engine, j, &stats);
		assert_true(stats.waited_ns <= 20 * MS); /* Once, at the start. */
		assert_true(steer_lab_slowdown(&l, j, 10, 60) <= 1.0001);
	}
	steer_lab_close(&l);
}

static void
a_job_alone_is_never_delayed(void **state)
{
	struct steer_lab_opts opts = three_opts(1);
	struct engine_job_stats stats;
	struct steer_lab l;

	(void)state;
	opts.n_jobs = 1;
	opts.jitter_frac = 0.05;
	steer_lab_run(&l, &opts);
	engine_job_stats(l.lab.engine, 0, &stats);
	assert_int_equal(stats.n_corrections, 0);
	assert_true(stats.waited_ns == 0);
	steer_lab_close(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_jobs_run_as_if_alone_whatever_orders_take),
		cmocka_unit_test(periods_of_one_to_two_run_as_if_alone),
		cmocka_unit_test(lost_orders_and_bad_reports_cost_little),
		cmocka_unit_test(windows_are_kept_as_well_as_turns),
		cmocka_unit_test(equal_jobs_find_their_turns_within_a_few_iterations),
		cmocka_unit_test(a_profile_that_is_short_by_a_fifth_is_made_up_for),
		cmocka_unit_test(nearly_equal_periods_are_locked_at_little_cost),
		cmocka_unit_test(incommensurate_jobs_are_never_worse_off_than_free),
		cmocka_unit_test(more_jitter_costs_more_but_not_much),
		cmocka_unit_test(
			a_change_of_compute_time_is_settled_within_half_a_minute),
		cmocka_unit_test(jobs_that_change_together_are_settled_again),
		cmocka_unit_test(nobody_starves_where_too_much_is_asked_for),
		cmocka_unit_test(jobs_that_do_not_contend_are_not_delayed),
		cmocka_unit_test(a_job_alone_is_never_delayed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
