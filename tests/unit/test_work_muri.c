/* SPDX-License-Identifier: Apache-2.0 */
/* test_work_muri.c - progress of jobs in Muri's simulator, by hand */
#include <math.h>

#include "sim/cluster/work_muri.h"
#include "tests/unit/test.h"

static const char *const names[] = { "vgg16", "bert", "else" };

static const char *
model(const void *ctx, uint32_t number)
{
	(void)ctx;
	return names[number];
}

/* Two jobs without stages, of 100 iterations of 2 s and 50 of 4 s. */
static const struct cluster_job two_jobs[] = {
	{ .n_gpus = 1, .model = 0, .iterations = 100, .iteration_s = 2 },
	{ .n_gpus = 1, .model = 1, .iterations = 50, .iteration_s = 4 },
};

struct lab {
	struct cluster_job jobs[2];
	struct pol_job views[2];
	struct work_muri muri;
	struct cluster_work work;
};

static void
begin(struct lab *lab)
{
	for (uint32_t i = 0; i < 2; i++)
		lab->jobs[i] = two_jobs[i];
	work_muri_init(&lab->muri, lab->jobs, 2, model, NULL);
	lab->work = work_muri_work(&lab->muri);
	for (uint32_t i = 0; i < 2; i++)
		lab->views[i] =
			(struct pol_job){ .id = i,
					  .n_gpus = 1,
					  .duration_s = lab->jobs[i].duration_s,
					  .remaining_s = lab->jobs[i].duration_s,
					  .iteration_s = 2,
					  .stage_s = { NAN, NAN, NAN } };
}

static double
speed(struct lab *lab, uint32_t id, bool has_mate)
{
	const struct pol_job *mate = &lab->views[!id];

	return lab->work.speed.speed(lab->work.speed.ctx, &lab->views[id], 1, 1, 0,
				     &mate, has_mate);
}

static void
a_restart_costs_by_the_model_and_the_next_power_of_two_of_gpus(void **state)
{
	(void)state;
	assert_near(work_muri_overhead_s("vgg16", 1), 7, 0);
	assert_near(work_muri_overhead_s("vgg16", 3), 8, 0);
	assert_near(work_muri_overhead_s("vgg16", 4), 8, 0);
	assert_near(work_muri_overhead_s("vgg16", 5), 9, 0);
	assert_near(work_muri_overhead_s("vgg16", 32), 10, 0);
	assert_near(work_muri_overhead_s("a2c", 16), 46, 0);
	/* Above the measured range the largest value holds. */
	assert_near(work_muri_overhead_s("dqn", 4096), 8, 0);
	assert_near(work_muri_overhead_s("else", 1), 0, 0);
}

static void
a_job_is_worth_its_iterations_and_one_and_a_half_per_cent(void **state)
{
	struct lab lab;

	(void)state;
	begin(&lab);
	assert_near(lab.jobs[0].duration_s, 203, 1e-9);
	assert_near(lab.jobs[1].duration_s, 203, 1e-9);
	work_muri_fini(&lab.muri);
}

/* The simulator multiplies milliseconds: 109 ms * 1.015 is not 0.109 s * 1.015. */
static void
an_iteration_has_the_last_digit_of_its_product_in_milliseconds(void **state)
{
	struct lab lab;
	int n_differ = 0;

	(void)state;
	begin(&lab);
	for (int ms = 1; ms <= 1000; ms++) {
		struct cluster_job job = { .iterations = 1,
					   .iteration_s = ms / 1000.0 };
		struct work_muri muri;

		work_muri_init(&muri, &job, 1, model, NULL);
		assert_true(muri.iteration_s[0] == ms * 1.015 / 1000);
		n_differ += muri.iteration_s[0] != 1.015 * (ms / 1000.0);
		work_muri_fini(&muri);
	}
	assert_true(n_differ > 100);
	work_muri_fini(&lab.muri);
}

static void
each_event_costs_a_restart(void **state)
{
	struct pol_job *job;
	struct lab lab;

	(void)state;
	begin(&lab);
	job = &lab.views[0];
	assert_near(speed(&lab, 0, false), 1, 0);
	/* 7 of 10 s are lost. */
	lab.work.advance(lab.work.ctx, job, 1, 0, 10);
	assert_near(job->remaining_s, 200, 1e-9);
	assert_near(job->executed_s, 10, 0);
	/* All 5 s are lost, and no more. */
	lab.work.advance(lab.work.ctx, job, 1, 0, 5);
	assert_near(job->remaining_s, 200, 1e-9);
	assert_near(job->executed_s, 15, 0);
	/* In a single step, the loss counts once. */
	lab.work.advance(lab.work.ctx, job, 1, 0, 207);
	assert_near(job->remaining_s, 0, 1e-9);
	work_muri_fini(&lab.muri);
}

static void
all_of_a_group_restart(void **state)
{
	struct pol_job *job;
	struct lab lab;

	(void)state;
	begin(&lab);
	job = &lab.views[0];
	/* Unknown stages: half of the time each. */
	assert_near(speed(&lab, 0, true), 0.5, 0);
	/* vgg16's 7 s and bert's 10 s are lost; of the other 10 s it gets half. */
	lab.work.advance(lab.work.ctx, job, 0.5, 0, 27);
	assert_near(job->remaining_s, 198, 1e-9);
	/* Alone again. */
	assert_near(speed(&lab, 0, false), 1, 0);
	lab.work.advance(lab.work.ctx, job, 1, 0, 8);
	assert_near(job->remaining_s, 197, 1e-9);
	work_muri_fini(&lab.muri);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_restart_costs_by_the_model_and_the_next_power_of_two_of_gpus),
		cmocka_unit_test(
			a_job_is_worth_its_iterations_and_one_and_a_half_per_cent),
		cmocka_unit_test(
			an_iteration_has_the_last_digit_of_its_product_in_milliseconds),
		cmocka_unit_test(each_event_costs_a_restart),
		cmocka_unit_test(all_of_a_group_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
