/* SPDX-License-Identifier: Apache-2.0 */
/* test_mltcp.c - MLTCP's weights, and what they do to two jobs on a link */
#include <errno.h>

#include "scheduler/core/workload/workload.h"
#include "sim/baselines/mltcp.h"
#include "tests/unit/experiment_fixture.h"

static void
weights_are_those_published(void **state)
{
	(void)state;
	assert_near(mltcp_weight(&mltcp_of_code, 0), 0.25, 0);
	assert_near(mltcp_weight(&mltcp_of_code, 0.5), 2.25, 0);
	assert_near(mltcp_weight(&mltcp_of_code, 1), 4.25, 0);
	assert_near(mltcp_weight(&mltcp_of_text, 0), 0.25, 0);
	assert_near(mltcp_weight(&mltcp_of_text, 1), 2, 0);
	assert_near(mltcp_weight(&mltcp_of_text, -1), 0.25, 0);
	assert_near(mltcp_weight(&mltcp_of_text, 2), 2, 0);
}

static void
segments_continue_the_iteration(void **state)
{
	struct work_segment segments[4] = { { .compute_ns = 5 },
					    { .nic_bytes = 3e6 },
					    { .compute_ns = 5, .nic_bytes = 0 },
					    { .compute_ns = 7, .nic_bytes = 1e6 } };

	(void)state;
	mltcp_weigh(&mltcp_of_code, segments, 4);
	assert_int_equal(segments[0].n_steps, 0);
	assert_int_equal(segments[2].n_steps, 0);
	assert_int_equal(segments[1].n_steps, 12);
	assert_near(segments[1].first_weight, 0.25, 0);
	assert_near(segments[1].last_weight, 3.25, 0);
	assert_int_equal(segments[3].n_steps, 4);
	assert_near(segments[3].first_weight, 3.25, 0);
	assert_near(segments[3].last_weight, 4.25, 0);
	mltcp_weigh(&mltcp_of_code, segments, 1);
	mltcp_weigh(&mltcp_of_code, NULL, 0);
}

static void
weights_must_be_positive(void **state)
{
	(void)state;
	assert_int_equal(mltcp_check(&mltcp_of_code), 0);
	assert_int_equal(mltcp_check(&mltcp_of_text), 0);
	assert_int_equal(mltcp_check(&(struct mltcp){ 0, 1 }), 0);
	assert_int_equal(mltcp_check(&(struct mltcp){ 1, 0 }), -EINVAL);
	assert_int_equal(mltcp_check(&(struct mltcp){ -1, 1 }), -EINVAL);
	assert_int_equal(mltcp_check(&(struct mltcp){ NAN, 1 }), -EINVAL);
	assert_int_equal(mltcp_check(&(struct mltcp){ 1, INFINITY }), -EINVAL);
}

/*
 * The published effect: two equal jobs that fit drift apart until their bursts
 * interleave, from any phases; with fair shares they stay as they begin.
 */
static void
equal_jobs_drift_apart(void **state)
{
	struct lab lab =
		lab_make("[sim]\niterations = 200\nwarmup_iterations = 100\n"
			 "phases = random\n" LAB_JOB("A", "a0,b0", "25", "125", "")
				 LAB_JOB("B", "a1,b1", "25", "125", ""));
	const char *const policies[] = { "fair", "mltcp", "mltcp-text" };
	double worst[3] = { 0 };

	(void)state;
	for (int p = 0; p < 3; p++) {
		struct sim_plan plan = lab_plan(&lab, policies[p]);

		for (uint64_t seed = 1; seed <= 10; seed++) {
			struct experiment_opts opts;
			struct experiment x;

			experiment_opts_init(&opts, lab.scenario, SIM_POLICY_ADVISE);
			opts.seed = seed;
			assert_int_equal(experiment_run(lab.scenario, &plan, lab.topo,
							&opts, &x),
					 0);
			for (int j = 0; j < 2; j++)
				worst[p] = fmax(worst[p], x.jobs[j].slowdown);
			experiment_fini(&x);
		}
		sim_plan_fini(&plan);
	}
	assert_true(worst[0] > 1.3);
	assert_true(worst[1] < 1.01);
	assert_true(worst[2] < 1.01);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_are_those_published),
		cmocka_unit_test(segments_continue_the_iteration),
		cmocka_unit_test(weights_must_be_positive),
		cmocka_unit_test(equal_jobs_drift_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
