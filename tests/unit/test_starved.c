/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_starved.c - a job to which higher priorities leave nothing does not keep a
 * simulation from ending
 */
#include "sim/cluster/steady.h"
#include "sim/cluster/window.h"
#include "tests/unit/experiment_fixture.h"

/* A and B send half of the time each, so that they fill the link together. */
static struct lab
make(void)
{
	return lab_make("[sim]\niterations = 20\n" LAB_JOB(
		"A", "a0,b0", "20", "125", "") LAB_JOB("B", "a1,b1", "20", "125", "")
				LAB_JOB("C", "a2,b2", "20", "125", ""));
}

static void
an_experiment_ends_and_says_who_starves(void **state)
{
	struct lab lab = make();
	struct sim_plan plan = lab_plan(&lab, "none");
	struct experiment_opts opts;
	struct experiment x;

	(void)state;
	for (uint8_t j = 0; j < 3; j++)
		plan.jobs[j].priority = (uint8_t)(2 - j);
	experiment_opts_init(&opts, lab.scenario, SIM_POLICY_NONE);
	assert_int_equal(experiment_run(lab.scenario, &plan, lab.topo, &opts, &x), 0);
	assert_near(x.jobs[0].slowdown, 1, 1e-6);
	assert_true(x.jobs[1].slowdown < 1.1);
	assert_false(x.jobs[0].is_starved || x.jobs[1].is_starved);
	assert_true(x.jobs[2].is_starved);
	assert_int_equal(x.jobs[2].n, 1);
	assert_true(x.jobs[2].slowdown > 1000);
	experiment_fini(&x);
	sim_plan_fini(&plan);
	lab_fini(&lab);
}

static void
steady_runs_and_windows_end(void **state)
{
	struct lab lab = make();
	struct sim_plan plan = lab_plan(&lab, "none");
	struct work_job work[3];
	struct link_subset_job jobs[3];
	struct window_past pasts[3] = { 0 },
			   *past_of[3] = { &pasts[0], &pasts[1], &pasts[2] };
	const double phases[3] = { 0.1, 0.6, 0.3 };
	double times_ns[3], rms_ns[3];
	struct steady steady;
	struct window window;

	(void)state;
	for (uint8_t j = 0; j < 3; j++) {
		work[j] = lab.scenario->workload.jobs[j]; /* Borrows. */
		work[j].priority = (uint8_t)(2 - j);
		jobs[j] = (struct link_subset_job){ .job = &work[j],
						    .routed = &plan.jobs[j].routed };
	}
	assert_int_equal(steady_run(jobs, 3, lab.topo, 1,
				    (struct steady_limits){ 16, 64 }, times_ns, rms_ns,
				    NULL, &steady),
			 0);
	assert_near(times_ns[0] / 1e6, 40, 0.1);
	assert_true(times_ns[1] / 1e6 < 44);
	assert_true(times_ns[2] / 1e6 > 600);
	for (int i = 0; i < 30; i++)
		assert_int_equal(window_run(jobs, 3, lab.topo, 1, phases, past_of,
					    times_ns, rms_ns, NULL, &window),
				 0);
	assert_true(times_ns[0] / 1e6 < 44);
	assert_true(times_ns[2] > 10 * times_ns[0]);
	for (int j = 0; j < 3; j++)
		window_past_fini(&pasts[j]);
	sim_plan_fini(&plan);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_experiment_ends_and_says_who_starves),
		cmocka_unit_test(steady_runs_and_windows_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
