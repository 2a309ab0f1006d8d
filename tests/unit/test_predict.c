/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "scheduler/core/advise/place.h"
#include "scheduler/core/advise/predict.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

/* Two routed jobs over the one uplink of two leaves. */
struct pair {
	struct fixture f;
	struct place *place;
	struct predict_job jobs[2];
};

static void
pair_init(struct pair *p, int64_t period_a_us, double duty_a, int64_t period_b_us,
	  double duty_b)
{
	fixture_init(&p->f, 2, 2, 1, 50e9);
	ON(fixture_job(&p->f, "a", 2, period_a_us, duty_a, 50e9), 0, 2);
	ON(fixture_job(&p->f, "b", 2, period_b_us, duty_b, 50e9), 1, 3);
	p->place = place_new(p->f.topo, p->f.routes, &p->f.workload, PLACE_HASHED);
	for (uint32_t j = 0; j < 2; j++) {
		assert_int_equal(place_put(p->place, j, p->f.workload.jobs[j].hosts),
				 0);
		p->jobs[j] = (struct predict_job){
			.job = &p->f.workload.jobs[j],
			.routed = place_routed_job(p->place, j),
		};
	}
}

static void
pair_fini(struct pair *p)
{
	place_free(p->place);
	fixture_fini(&p->f);
}

static void
predict_pair(const struct pair *p, uint32_t n_seeds, uint32_t n_iterations,
	     struct prediction *ret_prediction)
{
	struct predict_opts opts = { 1, n_seeds, n_iterations };

	predict(p->jobs, 2, p->f.topo, &opts, ret_prediction);
	assert_int_equal(ret_prediction->n_jobs, 2);
	assert_int_equal(ret_prediction->n_seeds, n_seeds);
}

static void
interleaved_jobs_run_as_if_alone(void **state)
{
	struct pair p;
	struct prediction prediction;

	(void)state;
	pair_init(&p, 100000, 0.4, 100000, 0.4);
	p.jobs[1].shift_us = 50000;
	predict_pair(&p, 3, 40, &prediction);
	for (int i = 0; i < 6; i++)
		assert_near(prediction.slowdown[i], 1, 1e-9);
	prediction_fini(&prediction);
	pair_fini(&p);
}

/*
 * In phase and at equal shares both bursts take twice as long, so an iteration always
 * takes 60 + 2 * 40 ms.
 */
static void
jobs_in_step_are_slowed_by_their_burst(void **state)
{
	struct pair p;
	struct prediction prediction;

	(void)state;
	pair_init(&p, 100000, 0.4, 100000, 0.4);
	predict_pair(&p, 1, 40, &prediction);
	assert_near(prediction_mean(&prediction, 0), 1.4, 1e-9);
	assert_near(prediction_mean(&prediction, 1), 1.4, 1e-9);
	prediction_fini(&prediction);
	pair_fini(&p);
}

static void
one_seed_more_changes_nothing_of_those_before(void **state)
{
	struct pair p;
	struct prediction few, many;

	(void)state;
	pair_init(&p, 100000, 0.4, 103000, 0.4);
	p.f.workload.jobs[0].jitter_frac = 0.02;
	p.jobs[0].has_random_phase = p.jobs[1].has_random_phase = true;
	predict_pair(&p, 2, 30, &few);
	predict_pair(&p, 5, 30, &many);
	for (int j = 0; j < 2; j++)
		for (int s = 0; s < 2; s++)
			assert_near(few.slowdown[j * 2 + s], many.slowdown[j * 5 + s],
				    0);
	/* Other phases, other outcomes. */
	assert_true(many.slowdown[0] != many.slowdown[1]);
	prediction_fini(&few);
	prediction_fini(&many);
	pair_fini(&p);
}

/* Both plans get the same jitter; only the plan differs. */
static void
a_gate_beside_the_shift_holds_under_jitter(void **state)
{
	struct pair p;
	struct prediction bare, gated;

	(void)state;
	pair_init(&p, 100000, 0.45, 100000, 0.45);
	for (int j = 0; j < 2; j++) {
		p.f.workload.jobs[j].jitter_frac = 0.03;
		p.jobs[j].shift_us = j * 50000;
	}
	predict_pair(&p, 4, 200, &bare);
	p.jobs[0].pacing = p.jobs[1].pacing = ENGINE_PACE_GATE;
	predict_pair(&p, 4, 200, &gated);
	assert_true(prediction_mean(&bare, 0) > 1.03);
	assert_true(prediction_mean(&gated, 0) < 1.02);
	prediction_fini(&bare);
	prediction_fini(&gated);
	pair_fini(&p);
}

/* A thousand iterations of one job per iteration of the other. */
static void
periods_far_apart_are_both_measured(void **state)
{
	struct pair p;
	struct prediction prediction;

	(void)state;
	pair_init(&p, 1000, 0.3, 1000000, 0.3);
	predict_pair(&p, 1, 20, &prediction);
	/* The short job is slowed while the long one sends, and vice versa. */
	assert_true(prediction_mean(&prediction, 0) > 1.05);
	assert_true(prediction_mean(&prediction, 0) < 1.3);
	assert_true(prediction_mean(&prediction, 1) > 1.05);
	assert_true(prediction_mean(&prediction, 1) < 1.5);
	assert_true(predict_cost(p.jobs, 2, 20) < 1e6);
	prediction_fini(&prediction);
	pair_fini(&p);
}

/* Arrival, end and number of iterations of the job do not matter. */
static void
only_the_shape_of_a_job_counts(void **state)
{
	struct pair p;
	struct prediction plain, odd;

	(void)state;
	pair_init(&p, 100000, 0.4, 100000, 0.4);
	predict_pair(&p, 1, 30, &plain);
	p.f.workload.jobs[0].arrival_ns = 5000000000;
	p.f.workload.jobs[0].max_iterations = 1;
	p.f.workload.jobs[1].stop_ns = 1000;
	predict_pair(&p, 1, 30, &odd);
	assert_near(odd.slowdown[0], plain.slowdown[0], 0);
	assert_near(odd.slowdown[1], plain.slowdown[1], 0);
	prediction_fini(&plain);
	prediction_fini(&odd);
	pair_fini(&p);
}

static void
a_job_that_takes_no_time_is_not_slowed(void **state)
{
	struct fixture f;
	struct place *place;
	struct predict_opts opts = { 1, 2, 10 };
	struct prediction prediction;
	struct predict_job job = { 0 };
	struct work_job *wj;

	(void)state;
	fixture_init(&f, 1, 2, 1, 50e9);
	wj = fixture_job(&f, "a", 1, 100000, 1, 50e9);
	ON(wj, 0);
	place = place_new(f.topo, f.routes, &f.workload, PLACE_HASHED);
	assert_int_equal(place_put(place, 0, f.workload.jobs[0].hosts), 0);
	/* A host alone sends nothing, and the job does nothing else. */
	job.job = &f.workload.jobs[0];
	job.routed = place_routed_job(place, 0);
	predict(&job, 1, f.topo, &opts, &prediction);
	assert_near(prediction.slowdown[0], 1, 0);
	assert_near(prediction.slowdown[1], 1, 0);
	prediction_fini(&prediction);
	place_free(place);
	fixture_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interleaved_jobs_run_as_if_alone),
		cmocka_unit_test(jobs_in_step_are_slowed_by_their_burst),
		cmocka_unit_test(one_seed_more_changes_nothing_of_those_before),
		cmocka_unit_test(a_gate_beside_the_shift_holds_under_jitter),
		cmocka_unit_test(periods_far_apart_are_both_measured),
		cmocka_unit_test(only_the_shape_of_a_job_counts),
		cmocka_unit_test(a_job_that_takes_no_time_is_not_slowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
