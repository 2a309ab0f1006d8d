/* SPDX-License-Identifier: Apache-2.0 */
/* test_pacing.c - keeping a shift: CASSINI's realignment, and work-conserving gates */
#include "tests/unit/sim_lab.h"
#include "tests/unit/test.h"

static void
realign_waits_for_the_grid_only_beyond_the_deadband(void **state)
{
	struct lab lab;
	struct engine_job_stats stats;
	struct lab_job late, steady;

	(void)state;
	lab_open_link(&lab);
	/* 45 ms alone on a grid of 40 ms: 5 ms late, so it waits 35 ms. */
	lab_job_init(&late, 25 * MS, PATH, 1, 125e6);
	late.job.shift_ns = 7 * MS;
	late.job.pacing = ENGINE_PACE_REALIGN;
	late.job.grid_ns = 40 * MS;
	late.job.max_iterations = 4;
	lab_add(&lab, &late);
	engine_run(lab.engine, ENGINE_NEVER);
	for (size_t i = 0; i < lab.iterations.n; i++)
		assert_near(lab.iterations.items[i].start_ns, 7e6 + 80e6 * (double)i,
			    1e-3);
	engine_job_stats(lab.engine, 0, &stats);
	assert_int_equal(stats.n_corrections, 3);
	assert_near(stats.waited_ns, 3 * 35e6, 1e-2);
	lab_close(&lab);

	/* 1 ms late each time; 5 % of 44 ms allows 2.2 ms. */
	lab_open_link(&lab);
	lab_job_init(&steady, 25 * MS, PATH, 1, 125e6);
	steady.job.pacing = ENGINE_PACE_REALIGN;
	steady.job.grid_ns = 44 * MS;
	steady.job.max_iterations = 5;
	lab_add(&lab, &steady);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab.iterations.items[1].start_ns, 45e6, 1e-3);
	assert_near(lab.iterations.items[2].start_ns, 90e6, 1e-3);
	assert_near(lab.iterations.items[3].start_ns, 176e6, 1e-3); /* 135 is 3 late. */
	lab_close(&lab);
}

static void
realign_keeps_jittered_jobs_apart(void **state)
{
	double mean_ms[2];

	(void)state;
	for (int realigned = 0; realigned < 2; realigned++) {
		struct lab lab;
		struct engine_job_stats stats;
		struct lab_job j;

		lab_open_link(&lab);
		lab_job_init(&j, 28 * MS, PATH, 1, 125e6);
		j.job.jitter_frac = 0.02;
		j.job.pacing = realigned ? ENGINE_PACE_REALIGN : ENGINE_PACE_FREE;
		j.job.grid_ns = 48 * MS;
		j.job.max_iterations = 400;
		lab_add(&lab, &j);
		j.job.shift_ns = 24 * MS;
		lab_add(&lab, &j);
		engine_run(lab.engine, ENGINE_NEVER);
		mean_ms[realigned] = lab_mean_ns(&lab, 0, 400) / 1e6;
		engine_job_stats(lab.engine, 0, &stats);
		assert_int_equal(stats.n_corrections > 0, realigned);
		for (size_t i = 0; realigned && i < lab.iterations.n; i++) {
			const struct lab_iteration *it = &lab.iterations.items[i];
			double off_ns = fmod(it->start_ns - it->job * 24e6, 48e6);

			off_ns = fmin(off_ns, 48e6 - off_ns);
			assert_true(off_ns <= 0.05 * 48e6 + 1);
		}
		lab_close(&lab);
	}
	assert_true(mean_ms[1] < mean_ms[0]);
}

/* ------ The gate ------ */

static void
gate_init_job(struct lab_job *j, int64_t compute_ns, const uint32_t *links,
	      uint32_t n_links, double bytes, uint64_t n_iterations)
{
	lab_job_init(j, compute_ns, links, n_links, bytes);
	j->job.pacing = ENGINE_PACE_GATE;
	j->job.max_iterations = n_iterations;
}

static void
gated_jobs_that_start_together_settle_one_after_the_other(void **state)
{
	struct lab lab;
	struct engine_job_stats stats;
	struct lab_job j;

	(void)state;
	lab_open_link(&lab);
	gate_init_job(&j, 25 * MS, PATH, 1, 125e6, 10);
	lab_add(&lab, &j);
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_near(lab_iteration_ns(&lab, 0, 0), 45e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 1, 0), 65e6, 1e-3); /* Waits once, */
	for (uint64_t i = 1; i < 10; i++)                      /* then never again. */
		assert_near(lab_iteration_ns(&lab, 1, i), 45e6, 1e-3);
	engine_job_stats(lab.engine, 1, &stats);
	assert_int_equal(stats.n_corrections, 1);
	assert_near(stats.waited_ns, 20e6, 1e-3);
	lab_close(&lab);
}

static void
the_gate_opens_the_moment_the_link_is_free(void **state)
{
	struct lab lab;
	double last_end_ns = 0;
	struct lab_job j;

	(void)state;
	lab_open_link(&lab);
	/* Four jobs that each need 20 of 45 ms: one is always waiting. */
	gate_init_job(&j, 25 * MS, PATH, 1, 125e6, 50);
	j.job.jitter_frac = 0.05;
	for (int i = 0; i < 4; i++)
		lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	assert_int_equal(lab.flows.n, 200);
	for (size_t i = 0; i < 190; i++) {
		assert_near(lab.flows.items[i].end_ns - lab.flows.items[i].start_ns,
			    20e6, 1e-2);
		if (i > 0)
			assert_near(lab.flows.items[i].start_ns, last_end_ns, 1e-2);
		last_end_ns = lab.flows.items[i].end_ns;
	}
	lab_close(&lab);
}

static void
jobs_that_fit_together_or_do_not_meet_are_not_held(void **state)
{
	static const double capacity_bps[] = { 50e9, 50e9 };
	static const uint32_t other[] = { 1 };
	struct lab lab;
	struct engine_config config = lab_config(&lab, capacity_bps, 2);
	struct engine_job_stats stats;
	struct lab_job a, b, c;

	(void)state;
	lab_open(&lab, &config);
	gate_init_job(&a, 5 * MS, PATH, 1, 50e6, 3);
	a.flow.cap_bps = 20e9;
	gate_init_job(&b, 5 * MS, PATH, 1, 50e6, 3);
	b.flow.cap_bps = 25e9;
	gate_init_job(&c, 5 * MS, other, 1, 50e6, 3);
	lab_add(&lab, &a);
	lab_add(&lab, &b);
	lab_add(&lab, &c);
	/* With a job that is not gated, the link can be exceeded. */
	b.job.pacing = ENGINE_PACE_FREE;
	lab_add(&lab, &b);
	engine_run(lab.engine, ENGINE_NEVER);
	for (uint32_t job = 0; job < 4; job++) {
		engine_job_stats(lab.engine, job, &stats);
		assert_int_equal(stats.n_corrections, 0);
		assert_near(stats.waited_ns, 0, 0);
	}
	lab_close(&lab);
}

/* Job i needs links i and i+1: each neighbor holds what the other wants. */
static void
a_ring_of_gated_jobs_does_not_lock_up(void **state)
{
	enum {
		N = 7
	};

	double capacity_bps[N];
	uint32_t paths[N][2];
	struct lab lab;
	struct engine_config config = lab_config(&lab, capacity_bps, N);

	(void)state;
	for (uint32_t i = 0; i < N; i++) {
		capacity_bps[i] = 50e9;
		paths[i][0] = i;
		paths[i][1] = (i + 1) % N;
	}
	lab_open(&lab, &config);
	for (uint32_t i = 0; i < N; i++) {
		struct lab_job j;

		gate_init_job(&j, 2 * MS, paths[i], 2, 125e6, 100);
		j.job.grid_ns = 45 * MS;
		j.job.jitter_frac = 0.1;
		lab_add(&lab, &j);
	}
	engine_run(lab.engine, ENGINE_NEVER);
	assert_int_equal(lab.iterations.n, N * 100);
	/* Neighbors never send at once. */
	for (size_t a = 0; a < lab.flows.n; a++) {
		for (size_t b = a + 1; b < lab.flows.n && b < a + 4 * N; b++) {
			const struct lab_flows *x = &lab.flows.items[a];
			const struct lab_flows *y = &lab.flows.items[b];

			if ((x->job + 1) % N != y->job && (y->job + 1) % N != x->job)
				continue;
			assert_true(x->end_ns <= y->start_ns + 2 ||
				    y->end_ns <= x->start_ns + 2);
		}
	}
	lab_close(&lab);
}

/*
 * Many small jobs on one of two links each, so that one link is nearly always busy, and
 * one job that needs both.
 */
static void
a_job_that_needs_much_is_not_starved(void **state)
{
	static const double capacity_bps[] = { 50e9, 50e9 };
	static const uint32_t paths[] = { 0, 1 };
	struct lab lab;
	struct engine_config config = lab_config(&lab, capacity_bps, 2);
	struct engine_job_stats stats;
	struct lab_job j;

	(void)state;
	lab_open(&lab, &config);
	for (uint32_t i = 0; i < 12; i++) {
		gate_init_job(&j, 5 * MS, &paths[i % 2], 1, 62.5e6, 0);
		j.job.shift_ns = (int64_t)i * 2 * MS;
		j.job.jitter_frac = 0.3;
		j.job.stop_ns = (int64_t)20000 * MS;
		lab_add(&lab, &j);
	}
	/* It arrives when the links are no longer in step. */
	gate_init_job(&j, 5 * MS, paths, 2, 62.5e6, 0);
	j.job.arrival_ns = 500 * MS;
	j.job.stop_ns = (int64_t)20000 * MS;
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	engine_job_stats(lab.engine, 12, &stats);
	/*
	 * Overtaken four times, each time by a job of 10 ms on either link, it waits
	 * for at most two more: well below 100 ms per iteration.
	 */
	assert_true(stats.n_iterations > 200);
	for (uint64_t i = 0; i < stats.n_iterations; i++)
		assert_true(lab_iteration_ns(&lab, 12, i) < 100e6);
	lab_close(&lab);
}

static void
a_gated_job_can_leave_while_it_waits(void **state)
{
	struct lab lab;
	struct engine_job_stats stats;
	struct lab_job j;

	(void)state;
	lab_open_link(&lab);
	gate_init_job(&j, 5 * MS, PATH, 1, 125e6, 2);
	lab_add(&lab, &j);
	j.job.stop_ns = 15 * MS;
	lab_add(&lab, &j);
	j.job.stop_ns = ENGINE_NEVER;
	lab_add(&lab, &j);
	engine_run(lab.engine, ENGINE_NEVER);
	engine_job_stats(lab.engine, 1, &stats);
	assert_near(stats.end_ns, 15e6, 0);
	assert_near(stats.waited_ns, 10e6, 1e-3);
	assert_near(lab_iteration_ns(&lab, 2, 0), 45e6, 1e-3);
	assert_int_equal(lab.iterations.n, 4);
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(realign_waits_for_the_grid_only_beyond_the_deadband),
		cmocka_unit_test(realign_keeps_jittered_jobs_apart),
		cmocka_unit_test(
			gated_jobs_that_start_together_settle_one_after_the_other),
		cmocka_unit_test(the_gate_opens_the_moment_the_link_is_free),
		cmocka_unit_test(jobs_that_fit_together_or_do_not_meet_are_not_held),
		cmocka_unit_test(a_ring_of_gated_jobs_does_not_lock_up),
		cmocka_unit_test(a_job_that_needs_much_is_not_starved),
		cmocka_unit_test(a_gated_job_can_leave_while_it_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
