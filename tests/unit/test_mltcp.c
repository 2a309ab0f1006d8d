/* SPDX-License-Identifier: Apache-2.0 */
/* test_mltcp.c - MLTCP's weights, and how a sender counts an iteration */
#include <errno.h>

#include "sim/baselines/mltcp.h"
#include "tests/unit/test.h"

static void
weights_are_those_published(void **state)
{
	(void)state;
	assert_near(mltcp_weight(&mltcp_of_code, 0), 0.25, 0);
	assert_near(mltcp_weight(&mltcp_of_code, 0.5), 2.25, 0);
	assert_near(mltcp_weight(&mltcp_of_code, 1), 4.25, 0);
	assert_near(mltcp_weight(&mltcp_of_paper, 0), 0.25, 0);
	assert_near(mltcp_weight(&mltcp_of_paper, 1), 2, 0);
	assert_near(mltcp_weight(&mltcp_of_paper, -1), 0.25, 0);
	assert_near(mltcp_weight(&mltcp_of_paper, 2), 2, 0);
}

static void
steps_keep_the_mean_and_are_near(void **state)
{
	double mean = 0;

	(void)state;
	for (uint32_t k = 0; k < MLTCP_N_STEPS; k++) {
		double weight = mltcp_step_weight(&mltcp_of_code, k, MLTCP_N_STEPS);

		mean += weight / MLTCP_N_STEPS;
		for (int i = 0; i <= 10; i++)
			assert_near(mltcp_weight(&mltcp_of_code,
						 (k + i / 10.0) / MLTCP_N_STEPS),
				    weight, 4.0 / 32 + 1e-12);
	}
	assert_near(mean, mltcp_weight(&mltcp_of_code, 0.5), 1e-12);
	assert_near(mltcp_step_weight(&mltcp_of_paper, 0, 1), 1.125, 0);
}

static void
a_gap_begins_an_iteration(void **state)
{
	struct mltcp_sender sender = { .compute_ns = 1000, .iteration_bytes = 100 };

	(void)state;
	assert_near(mltcp_sent(&sender, 25, 5000), 0.25, 0);
	assert_near(mltcp_sent(&sender, 25, 5000), 0.5, 0);
	/* 0.9 of the compute time is no gap, more is. */
	assert_near(mltcp_sent(&sender, 25, 5900), 0.75, 0);
	assert_near(mltcp_sent(&sender, 40, 5950), 1, 0);
	assert_near(mltcp_sent(&sender, 10, 6851), 0.1, 0);
}

static void
weights_must_be_positive(void **state)
{
	(void)state;
	assert_int_equal(mltcp_check(&mltcp_of_code), 0);
	assert_int_equal(mltcp_check(&mltcp_of_paper), 0);
	assert_int_equal(mltcp_check(&(struct mltcp){ 0, 1 }), 0);
	assert_int_equal(mltcp_check(&(struct mltcp){ 1, 0 }), -EINVAL);
	assert_int_equal(mltcp_check(&(struct mltcp){ -1, 1 }), -EINVAL);
	assert_int_equal(mltcp_check(&(struct mltcp){ NAN, 1 }), -EINVAL);
	assert_int_equal(mltcp_check(&(struct mltcp){ 1, INFINITY }), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_are_those_published),
		cmocka_unit_test(steps_keep_the_mean_and_are_near),
		cmocka_unit_test(a_gap_begins_an_iteration),
		cmocka_unit_test(weights_must_be_positive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
