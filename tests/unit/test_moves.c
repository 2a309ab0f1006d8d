/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "lib/base/rng.h"
#include "scheduler/core/advise/moves.h"
#include "scheduler/core/workload/workload.h"
#include "tests/unit/test.h"

static struct moves_job
job_of(double weight, double left_s)
{
	return (struct moves_job){
		.weight = weight, .left_s = left_s, .cost_s = NAN, .is_movable = true
	};
}

/* Two jobs of 8 GPUs that slow each other down by half; one moves away. */
static void
bill_of_a_move_that_frees_two_jobs(void **state)
{
	const struct moves_job jobs[] = { job_of(8, 3600), job_of(8, 600) };
	const double before[] = { 1.5, 1.5 }, after[] = { 1, 1 };
	const uint32_t n_workers[] = { 2, 0 };
	struct moves_bill bill;

	(void)state;
	moves_bill(jobs, 2, before, after, n_workers, &bill);
	assert_near(bill.cost, 8 * 50, 1e-9);
	assert_near(bill.rate, 16.0 / 3, 1e-9);
	/* The second job ends after 600 s, and with it the gain of both. */
	assert_near(bill.gain, 600 * 16.0 / 3, 1e-9);
	assert_near(bill.payback_s, 75, 1e-9);
	assert_true(bill.pays);
}

static void
a_job_that_ends_soon_does_not_pay(void **state)
{
	const struct moves_job jobs[] = { job_of(8, 3600), job_of(8, 100) };
	const double before[] = { 1.5, 1.5 }, after[] = { 1, 1 };
	const uint32_t n_workers[] = { 2, 0 };
	struct moves_bill bill;

	(void)state;
	moves_bill(jobs, 2, before, after, n_workers, &bill);
	assert_true(bill.gain > bill.cost);
	assert_false(bill.pays);
}

static void
a_job_alone_gains_as_long_as_it_runs(void **state)
{
	struct moves_job job = job_of(4, 1000);
	double before = 2, after = 1;
	uint32_t n_workers = 1;
	struct moves_bill bill;

	(void)state;
	job.cost_s = 100;
	moves_bill(&job, 1, &before, &after, &n_workers, &bill);
	assert_near(bill.gain, 4 * 0.5 * 1000, 1e-9);
	assert_near(bill.cost, 400, 1e-9);
	assert_near(bill.payback_s, 200, 1e-9);
	assert_true(bill.pays);
}

static void
jobs_that_wait_move_for_nothing(void **state)
{
	struct moves_job jobs[] = { job_of(4, 10), job_of(4, 10) };
	const double before[] = { 1.2, 1.2 }, after[] = { 1.1, 1.2 };
	const uint32_t n_workers[] = { 4, 4 };
	struct moves_bill bill;

	(void)state;
	jobs[0].is_waiting = jobs[1].is_waiting = true;
	moves_bill(jobs, 2, before, after, n_workers, &bill);
	assert_near(bill.cost, 0, 0);
	assert_near(bill.payback_s, 0, 0);
	assert_true(bill.pays);
}

static void
noise_and_losses_do_not_pay(void **state)
{
	const struct moves_job jobs[] = { job_of(4, INFINITY), job_of(4, 1e9) };
	const double before[] = { 1.2, 1.2 }, noise[] = { 1.199, 1.2 };
	const double worse[] = { 1.1, 1.4 };
	const uint32_t n_workers[] = { 1, 0 };
	struct moves_bill bill;

	(void)state;
	moves_bill(jobs, 2, before, noise, n_workers, &bill);
	assert_true(bill.gain > bill.cost);
	assert_false(bill.pays);
	moves_bill(jobs, 2, before, worse, n_workers, &bill);
	assert_true(bill.gain < 0 && isinf(bill.payback_s));
	assert_false(bill.pays);
	moves_bill(jobs, 2, before, before, (const uint32_t[]){ 0, 0 }, &bill);
	assert_false(bill.pays);
}

/* The bill against its formula, job by job. */
static void
random_bills_are_the_formula(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 2000; round++) {
		struct moves_job jobs[5];
		double before[5], after[5], gain = 0, cost = 0;
		uint32_t n_workers[5];
		struct moves_bill bill;

		for (int j = 0; j < 5; j++) {
			jobs[j] = job_of(1 + (double)rng_below(&rng, 8),
					 1 + (double)rng_below(&rng, 1000));
			before[j] = 1 + rng_uniform(&rng);
			after[j] =
				rng_below(&rng, 2) ? before[j] : 1 + rng_uniform(&rng);
			n_workers[j] = (uint32_t)rng_below(&rng, 2);
		}
		moves_bill(jobs, 5, before, after, n_workers, &bill);
		for (int j = 0; j < 5; j++) {
			double other_s = -1;

			if (n_workers[j] == 0 && before[j] == after[j])
				continue;
			for (int k = 0; k < 5; k++)
				if (k != j && (n_workers[k] || before[k] != after[k]))
					other_s = fmax(other_s, jobs[k].left_s);
			gain += jobs[j].weight * (1 / after[j] - 1 / before[j]) *
				(other_s < 0 ? jobs[j].left_s
					     : fmin(jobs[j].left_s, other_s));
			cost += n_workers[j] * jobs[j].weight * 40;
		}
		assert_near(bill.gain, gain, 1e-6);
		assert_near(bill.cost, cost, 1e-6);
	}
}

static void
remaining_time_is_known_or_as_long_as_it_has_run(void **state)
{
	struct work_job job = { .stop_ns = ENGINE_NEVER,
				.hosts = &(uint32_t){ 0 },
				.profile.period_us = 100000 };

	(void)state;
	assert_near(moves_job_of(&job).left_s, 100, 1e-9);
	job.max_iterations = 50;
	assert_near(moves_job_of(&job).left_s, 5, 1e-9);
	job.ran_ns = 7000000000;
	assert_near(moves_job_of(&job).left_s, 7, 1e-9);
	job.left_ns = 9000000000;
	assert_near(moves_job_of(&job).left_s, 9, 1e-9);
	assert_false(moves_job_of(&job).is_movable);
	assert_near(moves_lost_s(&(struct moves_job){ .cost_s = NAN }, 3), 60, 1e-9);
	job.has_move_cost = job.is_movable = true;
	assert_near(moves_job_of(&job).cost_s, 0, 0);
	job.hosts = NULL;
	assert_true(moves_job_of(&job).is_waiting);
}

static void
a_job_rests_until_its_move_has_paid_back(void **state)
{
	const struct moves_past past[] = { { 3, 100, 50 }, { 4, 100, 500 } };

	(void)state;
	assert_true(moves_is_resting(past, 2, 149, 3));
	assert_false(moves_is_resting(past, 2, 150, 3));
	assert_true(moves_is_resting(past, 2, 150, 4));
	assert_false(moves_is_resting(past, 2, 150, 5));
}

/* Moves as many as allowed at random times, and counts each window of an hour. */
static void
no_hour_has_more_than_the_share(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 9);
	for (int round = 0; round < 50; round++) {
		uint32_t n_running = 1 + (uint32_t)rng_below(&rng, 60);
		double share = 0.01 + 0.3 * rng_uniform(&rng), now_s = 0;
		double window_s = fmax(1, 1 / (share * n_running)) * 3600;
		struct moves_past past[2000];
		size_t n = 0;

		while (n < 200) {
			uint32_t allowed;

			now_s += 2000 * rng_uniform(&rng);
			allowed = moves_allowed(past, n, now_s, n_running, share);
			for (uint32_t i = 0; i < allowed; i++)
				past[n++] = (struct moves_past){ i, now_s, 0 };
		}
		for (size_t i = 0; i < n; i++) {
			double in_window = 0;

			for (size_t k = i; k < n; k++)
				in_window += past[k].at_s < past[i].at_s + window_s;
			assert_true(in_window <=
				    share * n_running * window_s / 3600 + 1e-6);
		}
	}
	assert_int_equal(moves_allowed(NULL, 0, 0, 100, 0), 0);
	assert_int_equal(moves_allowed(NULL, 0, 0, 0, 0.5), 0);
	assert_int_equal(moves_allowed(NULL, 0, 0, 100, 0.1), 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bill_of_a_move_that_frees_two_jobs),
		cmocka_unit_test(a_job_that_ends_soon_does_not_pay),
		cmocka_unit_test(a_job_alone_gains_as_long_as_it_runs),
		cmocka_unit_test(jobs_that_wait_move_for_nothing),
		cmocka_unit_test(noise_and_losses_do_not_pay),
		cmocka_unit_test(random_bills_are_the_formula),
		cmocka_unit_test(remaining_time_is_known_or_as_long_as_it_has_run),
		cmocka_unit_test(a_job_rests_until_its_move_has_paid_back),
		cmocka_unit_test(no_hour_has_more_than_the_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
