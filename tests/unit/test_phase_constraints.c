/* SPDX-License-Identifier: Apache-2.0 */
/* test_phase_constraints.c - from profiles and shifts to the control loop's windows */
#include "lib/base/rng.h"
#include "scheduler/core/control/phase_constraints.h"
#include "scheduler/core/profile/profile.h"
#include "scheduler/core/solve/joint.h"
#include "scheduler/core/solve/pair.h"
#include "tests/unit/test.h"

#define MAX_JOBS 4

/* Jobs that all send over one link of 50 Gb/s. */
struct bench {
	struct profile profiles[MAX_JOBS];
	struct profile_phase phases[MAX_JOBS][4];
	const struct profile *pointers[MAX_JOBS];
	struct joint_load loads[MAX_JOBS];
	struct joint_link link;
	struct joint_problem problem;
};

static void
bench_init(struct bench *b)
{
	*b = (struct bench){ .link = { .capacity_bps = 50e9, .weight = 1 } };
	b->problem = (struct joint_problem){ .profiles = b->pointers,
					     .n_links = 1,
					     .links = &b->link,
					     .loads = b->loads };
}

static struct profile *
bench_add(struct bench *b, int64_t period_us)
{
	size_t j = b->problem.n_jobs++;

	b->profiles[j] =
		(struct profile){ .period_us = period_us, .phases = b->phases[j] };
	b->pointers[j] = &b->profiles[j];
	b->loads[j] = (struct joint_load){ .job = (uint32_t)j, .factor = 1 };
	b->link.n_loads++;
	return &b->profiles[j];
}

static void
add_phase(struct profile *p, int64_t start_us, int64_t duration_us, double rate_bps)
{
	p->phases[p->n_phases++] =
		(struct profile_phase){ start_us, duration_us, rate_bps };
}

static void
an_iteration_begins_after_the_longest_gap(void **state)
{
	struct bench b;
	struct profile *p;

	(void)state;
	bench_init(&b);
	p = bench_add(&b, 100000);
	assert_int_equal(phase_constraints_onset_us(p), 0);
	assert_int_equal(phase_constraints_burst_us(p), 0);
	add_phase(p, 10000, 10000, 1e9);
	add_phase(p, 60000, 10000, 1e9);
	add_phase(p, 72000, 18000, 1e9);
	/* Gaps of 20 across the end, 40, and 2. */
	assert_int_equal(phase_constraints_onset_us(p), 60000);
	assert_int_equal(phase_constraints_burst_us(p), 0);
	/* Without the first phase the rest is one burst, with a hole of 2 in 30. */
	p->phases++;
	p->n_phases--;
	assert_int_equal(phase_constraints_onset_us(p), 60000);
	assert_int_equal(phase_constraints_burst_us(p), 30000);
}

static void
bursts_are_back_to_back_at_the_nearest(void **state)
{
	struct bench b;
	struct phase_constraints edges;

	(void)state;
	bench_init(&b);
	add_phase(bench_add(&b, 250000), 180000, 70000, 50e9);
	add_phase(bench_add(&b, 500000), 400000, 100000, 50e9);
	phase_constraints_make(&b.problem, NULL, NULL, &edges);
	assert_int_equal(edges.n, 1);
	assert_int_equal(edges.items[0].modulus_us, 250000);
	assert_int_equal(edges.items[0].lo_us, 70000);
	assert_int_equal(edges.items[0].hi_us, 150000);
	assert_near(edges.items[0].cost, 1, 1e-9);
	assert_int_equal(edges.modes[0], STEER_GATE);
	assert_int_equal(edges.modes[1], STEER_GATE);
	phase_constraints_fini(&edges);
}

static void
bursts_can_take_turns_whatever_their_periods(void **state)
{
	const int64_t locked_us[2] = { 103017, 103017 };
	struct bench b;
	struct phase_constraints edges;

	(void)state;
	bench_init(&b);
	add_phase(bench_add(&b, 101003), 0, 30000, 50e9);
	add_phase(bench_add(&b, 103017), 0, 40000, 40e9);
	phase_constraints_make(&b.problem, NULL, NULL, &edges);
	assert_int_equal(edges.n, 1);
	assert_int_equal(edges.items[0].lo_us, 30000);
	assert_int_equal(edges.items[0].modulus_us - edges.items[0].hi_us, 40000);
	assert_near(edges.items[0].cost, 0.8, 1e-9);
	assert_int_equal(edges.modes[0], STEER_GATE);
	phase_constraints_fini(&edges);
	/* With locked periods they have a window, too. */
	phase_constraints_make(&b.problem, NULL, locked_us, &edges);
	assert_int_equal(edges.items[0].modulus_us, 103017);
	phase_constraints_fini(&edges);
}

static void
measured_periods_that_are_one_have_a_window(void **state)
{
	struct bench b;
	struct phase_constraints edges;

	(void)state;
	bench_init(&b);
	add_phase(bench_add(&b, 45013), 0, 20000, 50e9);
	add_phase(bench_add(&b, 45026), 0, 20000, 50e9);
	b.profiles[0].period_error_us = b.profiles[1].period_error_us = 5;
	phase_constraints_make(&b.problem, NULL, NULL, &edges);
	assert_int_equal(edges.n, 1);
	assert_int_equal(edges.items[0].modulus_us, 45026);
	phase_constraints_fini(&edges);
	/* Several bursts need windows; they have none if the periods really differ. */
	add_phase(&b.profiles[0], 25000, 1000, 50e9);
	phase_constraints_make(&b.problem, (const int64_t[]){ 0, 20500 }, NULL, &edges);
	assert_int_equal(edges.n, 1);
	assert_int_equal(edges.modes[0], STEER_SHIFT);
	phase_constraints_fini(&edges);
	b.profiles[0].period_error_us = b.profiles[1].period_error_us = 1;
	phase_constraints_make(&b.problem, (const int64_t[]){ 0, 20500 }, NULL, &edges);
	assert_int_equal(edges.n, 0);
	phase_constraints_fini(&edges);
}

static void
what_fits_together_has_no_edge(void **state)
{
	struct bench b;
	struct phase_constraints edges;

	(void)state;
	bench_init(&b);
	add_phase(bench_add(&b, 100000), 0, 50000, 25e9);
	add_phase(bench_add(&b, 100000), 0, 50000, 25e9);
	phase_constraints_make(&b.problem, NULL, NULL, &edges);
	assert_int_equal(edges.n, 0);
	assert_int_equal(edges.modes[0], STEER_FREE);
	phase_constraints_fini(&edges);
}

/*
 * Jobs with several bursts: within the window the excess is that of the chosen shift,
 * and just outside it is higher.
 */
static void
windows_are_as_wide_as_the_excess_allows(void **state)
{
	struct rng rng;
	int n_windows = 0;

	(void)state;
	rng_init(&rng, 3);
	for (int draw = 0; draw < 60; draw++) {
		int64_t shift_us[2] = { 0, 0 };
		struct bench b;
		struct pair_job jobs[2];
		struct pair_optimum best;
		struct phase_constraints edges;

		bench_init(&b);
		for (int j = 0; j < 2; j++) {
			int64_t period_us = 120000 * (1 + (int64_t)rng_below(&rng, 2));
			struct profile *p = bench_add(&b, period_us);

			for (int k = 0; k < 2; k++)
				add_phase(p, k * period_us / 3 + 1000,
					  8000 + (int64_t)rng_below(&rng, 20000),
					  (20 + (double)rng_below(&rng, 4) * 10) * 1e9);
			jobs[j] = (struct pair_job){ p, 1 };
		}
		pair_optimize(&jobs[0], &jobs[1], 50e9, &best);
		shift_us[1] = best.shift_us;
		phase_constraints_make(&b.problem, shift_us, NULL, &edges);
		for (size_t i = 0; i < edges.n; i++) {
			const struct steer_constraint *e = &edges.items[i];
			int64_t onset_us = phase_constraints_onset_us(jobs[1].profile) -
					   phase_constraints_onset_us(jobs[0].profile);
			double limit = best.min_excess_bps / 50e9 +
				       PHASE_CONSTRAINTS_TOLERANCE;
			int64_t begin_us = best.shift_us + onset_us;

			n_windows++;
			assert_int_equal(edges.modes[0], STEER_SHIFT);
			assert_int_equal(e->modulus_us, best.period_us);
			begin_us = (begin_us - e->lo_us) % e->modulus_us;
			begin_us += begin_us < 0 ? e->modulus_us : 0;
			assert_true(begin_us <= e->hi_us - e->lo_us);
			for (int step = 0; step <= 20; step++) {
				int64_t at_us =
					e->lo_us + (e->hi_us - e->lo_us) * step / 20;

				assert_true(pair_excess_bps(&jobs[0], &jobs[1],
							    at_us - onset_us, 50e9) /
						    50e9 <=
					    limit + 1e-9);
			}
			assert_true(pair_excess_bps(&jobs[0], &jobs[1],
						    e->lo_us - 2 - onset_us, 50e9) /
					    50e9 >
				    limit);
			assert_true(pair_excess_bps(&jobs[0], &jobs[1],
						    e->hi_us + 2 - onset_us, 50e9) /
					    50e9 >
				    limit);
		}
		phase_constraints_fini(&edges);
	}
	assert_true(n_windows > 20);
}

static void
those_who_meet_a_job_kept_in_phase_are_kept_too(void **state)
{
	struct bench b;
	struct phase_constraints edges;
	struct profile *many;
	const int64_t shift_us[3] = { 0, 40000, 70000 };

	(void)state;
	bench_init(&b);
	many = bench_add(&b, 120000);
	add_phase(many, 0, 10000, 50e9);
	add_phase(many, 30000, 8000, 50e9);
	add_phase(bench_add(&b, 120000), 0, 20000, 50e9);
	add_phase(bench_add(&b, 120000), 0, 20000, 50e9);
	phase_constraints_make(&b.problem, shift_us, NULL, &edges);
	assert_int_equal(edges.n, 3);
	for (int j = 0; j < 3; j++)
		assert_int_equal(edges.modes[j], STEER_SHIFT);
	phase_constraints_fini(&edges);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_iteration_begins_after_the_longest_gap),
		cmocka_unit_test(bursts_are_back_to_back_at_the_nearest),
		cmocka_unit_test(bursts_can_take_turns_whatever_their_periods),
		cmocka_unit_test(measured_periods_that_are_one_have_a_window),
		cmocka_unit_test(what_fits_together_has_no_edge),
		cmocka_unit_test(windows_are_as_wide_as_the_excess_allows),
		cmocka_unit_test(those_who_meet_a_job_kept_in_phase_are_kept_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
