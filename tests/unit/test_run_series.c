/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_run_series.c - a run by time: closed forms, and sums that are the totals of the
 * same run; golden test sim-series reads the JSON
 */
#include "sim/run/run_series.h"
#include "tests/unit/experiment_fixture.h"

static struct experiment
run_with(const struct lab *lab, bool with_series)
{
	struct sim_plan plan = lab_plan(lab, "none");
	struct experiment_opts opts;
	struct experiment experiment;

	experiment_opts_init(&opts, lab->scenario, SIM_POLICY_NONE);
	opts.with_series = with_series;
	assert_int_equal(
		experiment_run(lab->scenario, &plan, lab->topo, &opts, &experiment), 0);
	sim_plan_fini(&plan);
	return experiment;
}

static double
sum_of(const float *values, size_t n)
{
	double sum = 0;

	for (size_t k = 0; k < n; k++)
		sum += (double)values[k];
	return sum;
}

/* The sums over all steps are the totals of each link that carried anything. */
static void
assert_totals(const struct experiment *x)
{
	const struct run_series *series = x->series;
	size_t i = 0;

	assert_near(series->end_ns, x->simulated_ns, 0);
	assert_in_range(series->n_steps, 1, RUN_SERIES_MAX_STEPS);
	for (size_t l = 0; l < x->n_links; l++) {
		const struct engine_link_stats *stats = &x->links[l].stats;

		if (!(stats->bytes > 0))
			continue;
		assert_true(i < series->n_links);
		assert_int_equal(series->links[i].link, x->links[l].link);
		assert_near(sum_of(series->links[i].step_bytes, series->n_steps) /
				    stats->bytes,
			    1, 1e-6);
		assert_near(sum_of(series->links[i].step_over_ns, series->n_steps),
			    stats->over_ns, 1e-6 * x->simulated_ns);
		i++;
	}
	assert_int_equal(i, series->n_links);
}

static void
a_job_alone_fills_the_steps_in_which_it_sends(void **state)
{
	struct lab lab = lab_make(
		"[sim]\niterations = 1\n" LAB_JOB("A", "a0,b0", "25", "125", ""));
	struct experiment x = run_with(&lab, true);
	const struct run_series *series = x.series;

	(void)state;
	assert_totals(&x);
	assert_int_equal(series->step_ns, 125000);
	assert_int_equal(series->n_steps, 45 * 8);
	for (size_t i = 0; i < series->n_links; i++)
		for (size_t k = 0; k < series->n_steps; k++) {
			double bytes = k < (size_t)25 * 8 ? 0 : 50e9 * 125e-6 / 8;

			assert_near((double)series->links[i].step_bytes[k], bytes, 1);
			assert_near((double)series->links[i].step_over_ns[k], 0, 0);
		}
	experiment_fini(&x);
	lab_fini(&lab);
}

static void
steps_become_longer_in_a_long_run_and_keep_the_sums(void **state)
{
	struct lab lab = lab_make(
		"[sim]\niterations = 700\n" LAB_JOB("A", "a0,b0", "25", "125",
						    "jitter = 5 %\n")
			LAB_JOB("B", "a1,b1", "35", "62.5", "jitter = 10 %\n"));
	struct experiment x = run_with(&lab, true), plain = run_with(&lab, false);
	struct run_series *series = x.series;

	(void)state;
	assert_null(plain.series);
	assert_totals(&x);
	assert_true(series->n_steps > RUN_SERIES_MAX_STEPS / 2);
	for (size_t j = 0; j < 2; j++) {
		const struct run_series_job *job = &series->jobs[j];
		double sum = 0;

		/* The run is the same with and without. */
		assert_memory_equal(x.jobs[j].iteration_ns, plain.jobs[j].iteration_ns,
				    700 * sizeof(double));
		assert_int_equal(job->per_entry, 2);
		assert_int_equal(job->n, 350);
		assert_near(job->start_ns[7], x.jobs[j].start_ns[14], 0);
		for (size_t k = 0; k < job->n; k++)
			sum += job->mean_ns[k];
		assert_near(sum / 350, x.jobs[j].mean_ns, 1e-3);
	}
	run_series_coarsen(series, 5 * series->step_ns);
	assert_in_range(series->n_steps, RUN_SERIES_MAX_STEPS / 16,
			RUN_SERIES_MAX_STEPS / 8);
	assert_totals(&x);
	experiment_fini(&plain);
	experiment_fini(&x);
	lab_fini(&lab);
}

static void
an_entry_that_is_not_full_has_the_mean_of_its_iterations(void **state)
{
	struct lab lab = lab_make("[sim]\niterations = 513\n" LAB_JOB(
		"A", "a0,b0", "2", "1", "jitter = 20 %\n"));
	struct experiment x = run_with(&lab, true);
	const struct run_series_job *job = &x.series->jobs[0];

	(void)state;
	assert_int_equal(job->per_entry, 2);
	assert_int_equal(job->n, 257);
	assert_near(job->mean_ns[256], x.jobs[0].iteration_ns[512], 1e-3);
	assert_near(job->start_ns[256], x.jobs[0].start_ns[512], 0);
	experiment_fini(&x);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_alone_fills_the_steps_in_which_it_sends),
		cmocka_unit_test(steps_become_longer_in_a_long_run_and_keep_the_sums),
		cmocka_unit_test(
			an_entry_that_is_not_full_has_the_mean_of_its_iterations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
