/* SPDX-License-Identifier: Apache-2.0 */
/* test_pacer_core.c - iterations, their reports, and bounded waits */
#include <string.h>

#include "lib/base/rng.h"
#include "pacer/core.h"
#include "tests/unit/test.h"

#define MS INT64_C(1000000)

static struct core core; /* Too large for a stack. */

/* A job that computes for 80 ms and reduces for 20, with its own clock. */
struct job {
	int64_t now_ns;
	struct pace_iteration report; /* The last report. */
	int64_t waited_ns;            /* In the last iteration. */
	unsigned n_iterations;
};

/* One collective after computing; hands in 'order' if it begins an iteration. */
static bool
step(struct job *job, int64_t compute_ns, const struct pace_order *order)
{
	int64_t begin_ns, until_ns;
	bool is_new;

	job->now_ns += compute_ns;
	is_new = core_enter(&core, job->now_ns, 1000, 1);
	if (is_new) {
		if (order)
			core_order(&core, order);
		until_ns = core_wait_until_ns(&core);
		job->waited_ns = until_ns ? until_ns - job->now_ns : 0;
		if (until_ns)
			job->now_ns = until_ns;
		core_begun(&core, job->now_ns, &job->report);
		job->n_iterations++;
	}
	begin_ns = job->now_ns;
	job->now_ns += 20 * MS;
	core_exit(&core, begin_ns, job->now_ns);
	return is_new;
}

/* A job that has run for a while; its next iteration is number 20. */
static struct job
settle(const struct core_options *options)
{
	struct job job = { .now_ns = 1000 * MS };

	core_init(&core, options);
	while (job.n_iterations < 20)
		step(&job, 80 * MS, NULL);
	assert_int_equal(core_period_ns(&core), 100 * MS);
	return job;
}

static void
a_report_tells_the_iteration_before(void **state)
{
	const struct core_options options = { 0 };
	struct job job = settle(&options);

	(void)state;
	assert_int_equal(job.report.number, 19);
	assert_int_equal(job.report.enter_ns, job.now_ns - 20 * MS);
	assert_int_equal(job.report.begin_ns, job.report.enter_ns);
	assert_int_equal(job.report.comm_ns, 20 * MS);
	assert_int_equal(job.report.bytes, 1000);
	assert_int_equal(job.report.n_collectives, 1);
	assert_int_equal(job.report.gap_us, 40000);
	assert_int_equal(job.report.order, 0);
}

static void
an_order_is_used_once_and_does_not_change_the_period(void **state)
{
	const struct core_options options = { 0 };
	struct job job = settle(&options);
	const struct pace_order order = { .number = 1,
					  .delay_ns = 30 * MS,
					  .expires_ns = INT64_MAX / 2,
					  .max_ns = 90 * MS };

	(void)state;
	assert_true(step(&job, 80 * MS, &order));
	assert_int_equal(job.waited_ns, 30 * MS);
	assert_int_equal(job.report.begin_ns - job.report.enter_ns, 30 * MS);
	assert_int_equal(job.report.order, 1);
	for (int i = 0; i < 20; i++) {
		/* A repeated order is not new. */
		assert_true(step(&job, 80 * MS, &order));
		assert_int_equal(job.waited_ns, 0);
		assert_int_equal(core_period_ns(&core), 100 * MS);
	}
	assert_int_equal(core.counts.applied, 1);
	assert_int_equal(core.counts.waited_ns, 30 * MS);
}

static void
not_before_is_waited_for_and_a_later_time_than_that_wins(void **state)
{
	const struct core_options options = { 0 };
	struct job job = settle(&options);
	struct pace_order order = { .number = 1,
				    .expires_ns = INT64_MAX / 2,
				    .max_ns = 100 * MS };

	(void)state;
	order.not_before_ns = job.now_ns + 80 * MS + 12 * MS;
	step(&job, 80 * MS, &order);
	assert_int_equal(job.waited_ns, 12 * MS);
	/* The job is later than that on its own. */
	order.number++;
	order.not_before_ns = job.now_ns + 70 * MS;
	step(&job, 80 * MS, &order);
	assert_int_equal(job.waited_ns, 0);
	order.number++;
	order.delay_ns = 15 * MS;
	order.not_before_ns = job.now_ns + 80 * MS + 5 * MS;
	step(&job, 80 * MS, &order);
	assert_int_equal(job.waited_ns, 15 * MS);
}

static void
no_wait_is_longer_than_a_period_or_than_the_order_allows(void **state)
{
	const struct core_options options = { 0 };
	struct job job = settle(&options);
	struct pace_order order = { .number = 1,
				    .delay_ns = PACE_MAX_ORDER_NS,
				    .expires_ns = INT64_MAX / 2,
				    .max_ns = PACE_MAX_ORDER_NS };

	(void)state;
	step(&job, 80 * MS, &order);
	assert_int_equal(job.waited_ns, 100 * MS);
	order.number++;
	order.max_ns = 7 * MS;
	step(&job, 80 * MS, &order);
	assert_int_equal(job.waited_ns, 7 * MS);
	order.number++;
	order.delay_ns = 0;
	order.max_ns = PACE_MAX_ORDER_NS;
	order.not_before_ns = INT64_MAX / 2;
	step(&job, 80 * MS, &order);
	assert_int_equal(job.waited_ns, 100 * MS);
}

static void
an_order_that_is_out_of_date_is_dropped(void **state)
{
	const struct core_options options = { 0 };
	struct job job = settle(&options);
	struct pace_order order = { .number = 1,
				    .delay_ns = 30 * MS,
				    .max_ns = 100 * MS };

	(void)state;
	order.expires_ns = job.now_ns + 80 * MS - 1;
	step(&job, 80 * MS, &order);
	assert_int_equal(job.waited_ns, 0);
	assert_int_equal(core.counts.expired, 1);
	order.number++;
	order.expires_ns = job.now_ns + 80 * MS;
	step(&job, 80 * MS, &order);
	assert_int_equal(job.waited_ns, 30 * MS);
	assert_int_equal(core.counts.expired, 1);
}

static void
nothing_is_waited_for_at_the_start_or_when_only_watching(void **state)
{
	const struct pace_order order = { .number = 1,
					  .delay_ns = 30 * MS,
					  .expires_ns = INT64_MAX / 2,
					  .max_ns = 90 * MS };
	const struct core_options given = { .gap_ns = 50 * MS };
	const struct core_options watching = { .is_observing = true };
	struct job job = { .now_ns = 1000 * MS };
	unsigned n = 0;

	(void)state;
	/* With a given gap, too, no order is followed before iteration 3. */
	core_init(&core, &given);
	while (n < CORE_FIRST) {
		struct pace_order again = order;

		again.number = n + 1;
		n += step(&job, 80 * MS, &again);
		assert_int_equal(job.waited_ns, 0);
	}
	assert_true(step(&job, 80 * MS, &order) && job.waited_ns == 30 * MS);
	/* While the gap is a guess, no order is followed. */
	core_init(&core, &(struct core_options){ 0 });
	job = (struct job){ .now_ns = 1000 * MS };
	for (uint32_t i = 0; !core.gap.is_learned; i++) {
		struct pace_order again = order;

		again.number = i + 1;
		step(&job, 80 * MS, &again);
		assert_true(job.waited_ns == 0 || core.gap.is_learned);
	}
	job = settle(&watching);
	step(&job, 80 * MS, &order);
	assert_int_equal(job.waited_ns, 0);
	assert_int_equal(job.report.order, 1); /* It acknowledges the order. */
}

static void
the_shift_of_the_start_is_waited_once(void **state)
{
	const struct core_options options = { .shift_ns = 25 * MS };
	struct job job = { .now_ns = 1000 * MS };
	int64_t sum_ns = 0;

	(void)state;
	core_init(&core, &options);
	for (int i = 0; i < 60; i++) {
		job.waited_ns = 0;
		step(&job, 80 * MS, NULL);
		sum_ns += job.waited_ns;
	}
	assert_int_equal(sum_ns, 25 * MS);
}

static void
a_program_that_says_its_iterations_is_believed(void **state)
{
	const struct core_options options = { .is_explicit = true };
	const struct pace_order order = { .number = 1,
					  .delay_ns = 30 * MS,
					  .expires_ns = INT64_MAX / 2,
					  .max_ns = 90 * MS };
	struct pace_iteration report;
	int64_t now_ns = 0;

	(void)state;
	core_init(&core, &options);
	for (int i = 0; i < 5; i++) {
		now_ns += 80 * MS;
		core_iteration(&core, now_ns);
		if (i == 4)
			core_order(&core, &order);
		assert_int_equal(core_wait_until_ns(&core),
				 i == 4 ? now_ns + 30 * MS : 0);
		core_begun(&core, now_ns, &report);
		assert_int_equal(report.number, i);
		assert_int_equal(report.gap_us, 0);
		for (int k = 0; k < 2; k++) {
			assert_false(core_enter(&core, now_ns, 10, 1));
			core_exit(&core, now_ns, now_ns + 10 * MS);
			now_ns += 10 * MS;
		}
	}
	assert_int_equal(report.n_collectives, 2);
	assert_int_equal(report.comm_ns, 20 * MS);
	assert_int_equal(report.bytes, 20);
}

/* For any orders and any job, each wait is within the bounds. */
static void
whatever_comes_the_waits_have_an_end(void **state)
{
	struct rng rng;
	struct job job = { .now_ns = 1000 * MS };
	unsigned n_waits = 0;

	(void)state;
	rng_init(&rng, 7);
	core_init(&core, &(struct core_options){ 0 });
	for (int i = 0; i < 20000; i++) {
		struct pace_order order = {
			.number = (uint32_t)rng_below(&rng, 1000),
			.delay_ns =
				(int64_t)(rng_next(&rng) >> 1) >> rng_below(&rng, 63),
			.not_before_ns =
				(int64_t)(rng_next(&rng) >> 2) >> rng_below(&rng, 62),
			.expires_ns =
				(int64_t)(rng_next(&rng) >> 2) >> rng_below(&rng, 62),
			.max_ns = (int64_t)(rng_next(&rng) >> 1) >> rng_below(&rng, 63),
		};
		int64_t compute_ns = (int64_t)(60 + rng_below(&rng, 40)) * MS;

		if (rng_below(&rng, 3) == 0)
			order.expires_ns = INT64_MAX / 2;
		job.waited_ns = 0;
		step(&job, compute_ns, &order);
		assert_in_range(job.waited_ns, 0, 130 * MS);
		assert_true(job.waited_ns <= order.max_ns);
		n_waits += job.waited_ns > 0;
	}
	assert_true(n_waits > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_tells_the_iteration_before),
		cmocka_unit_test(an_order_is_used_once_and_does_not_change_the_period),
		cmocka_unit_test(
			not_before_is_waited_for_and_a_later_time_than_that_wins),
		cmocka_unit_test(
			no_wait_is_longer_than_a_period_or_than_the_order_allows),
		cmocka_unit_test(an_order_that_is_out_of_date_is_dropped),
		cmocka_unit_test(
			nothing_is_waited_for_at_the_start_or_when_only_watching),
		cmocka_unit_test(the_shift_of_the_start_is_waited_once),
		cmocka_unit_test(a_program_that_says_its_iterations_is_believed),
		cmocka_unit_test(whatever_comes_the_waits_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
