/* SPDX-License-Identifier: Apache-2.0 */
/* test_comparison.c - confidence intervals by hand, pairs, and equal policies */
#include "sim/compare/comparison.h"
#include "sim/compare/comparison_report.h"
#include "tests/unit/experiment_fixture.h"

/* An experiment with one job whose iterations all take 'ms'. */
static struct experiment
one_job(double ms, struct experiment_job *job)
{
	*job = (struct experiment_job){
		.is_placed = true,
		.n = 10,
		.mean_ns = ms * 1e6,
		.p50_ns = ms * 1e6,
		.p90_ns = ms * 1e6,
		.p99_ns = ms * 1e6,
		.isolated_ns = 10e6,
		.slowdown = ms / 10,
	};
	return (struct experiment){ .jobs = job, .n_jobs = 1 };
}

static void
note(struct comparison *c, size_t policy, size_t seed, double ms)
{
	struct work_job work = { .weight = 2 };
	const struct workload workload = { &work, 1 };
	struct experiment_job job;
	struct experiment x = one_job(ms, &job);

	comparison_note(c, policy, seed, &x, &workload);
}

static void
intervals_are_students_over_the_seeds(void **state)
{
	struct comparison *c = comparison_new(2, 5, 1);
	struct estimate value, difference, slowdown;

	(void)state;
	for (size_t s = 0; s < 5; s++) {
		note(c, 0, s, 11 + (double)s);
		note(c, 1, s, 10.5 + (double)s);
	}
	comparison_metric(c, 0, METRIC_ITERATION_MEAN_NS, &value, &difference);
	/* Of 11 .. 15: mean 13, s = sqrt(2.5), t(0.975, 4) = 2.7764451. */
	assert_near(value.mean, 13e6, 1e-3);
	assert_near(value.ci95, 2.7764451 * sqrt(2.5) / sqrt(5) * 1e6, 10);
	assert_near(difference.mean, 0, 0);
	assert_near(difference.ci95, 0, 0);
	/* The second is always half a millisecond faster, so the interval has no width. */
	comparison_metric(c, 1, METRIC_ITERATION_MEAN_NS, &value, &difference);
	assert_near(value.ci95, 2.7764451 * sqrt(2.5) / sqrt(5) * 1e6, 10);
	assert_near(difference.mean, -0.5e6, 1e-3);
	assert_near(difference.ci95, 0, 1e-3);
	comparison_metric(c, 0, METRIC_GOODPUT, &value, NULL);
	assert_near(value.mean,
		    (10 / 11. + 10 / 12. + 10 / 13. + 10 / 14. + 10 / 15.) / 5, 1e-12);
	comparison_job(c, 1, 0, &value, &slowdown);
	assert_near(value.mean, 12.5e6, 1e-3);
	assert_near(slowdown.mean, 1.25, 1e-12);
	comparison_free(c);
}

static void
one_seed_has_no_interval(void **state)
{
	struct comparison *c = comparison_new(1, 1, 1);
	struct estimate value;

	(void)state;
	note(c, 0, 0, 12);
	comparison_metric(c, 0, METRIC_SLOWDOWN_WORST, &value, NULL);
	assert_near(value.mean, 1.2, 1e-12);
	assert_near(value.ci95, 0, 0);
	comparison_free(c);
}

static void
a_seed_counts_once_all_policies_have_it(void **state)
{
	struct comparison *c = comparison_new(2, 3, 1);
	struct estimate value;

	(void)state;
	assert_int_equal(comparison_n_seeds(c), 0);
	note(c, 0, 0, 12);
	note(c, 1, 0, 12);
	note(c, 0, 1, 50);
	assert_int_equal(comparison_n_seeds(c), 1);
	comparison_metric(c, 0, METRIC_ITERATION_P99_NS, &value, NULL);
	assert_near(value.mean, 12e6, 1e-3);
	comparison_free(c);
}

/* ---- Through real runs ----------------------------------------------------------- */

static struct comparison *
compare(const struct lab *lab, const char *const *policies, size_t n_policies,
	size_t n_seeds)
{
	struct comparison *c =
		comparison_new(n_policies, n_seeds, lab->scenario->workload.n);

	for (size_t p = 0; p < n_policies; p++) {
		struct sim_plan plan = lab_plan(lab, policies[p]);

		for (size_t s = 0; s < n_seeds; s++) {
			struct experiment_opts opts;
			struct experiment x;

			experiment_opts_init(&opts, lab->scenario, 1);
			opts.seed = s + 1;
			assert_int_equal(experiment_run(lab->scenario, &plan, lab->topo,
							&opts, &x),
					 0);
			comparison_note(c, p, s, &x, &lab->scenario->workload);
			experiment_fini(&x);
		}
		sim_plan_fini(&plan);
	}
	return c;
}

#define TWO_JOBS                                                      \
	"[sim]\niterations = 80\n" LAB_JOB("A", "a0,b0", "25", "125", \
					   "jitter = 1 %\n")          \
		LAB_JOB("B", "a1,b1", "25", "125", "jitter = 1 %\n")

static void
the_same_policy_twice_differs_by_nothing(void **state)
{
	static const char *const policies[] = { "fair", "fair" };
	struct lab lab = lab_make(TWO_JOBS);
	struct comparison *c = compare(&lab, policies, 2, 4);

	(void)state;
	for (int m = 0; m < N_COMPARISON_METRICS; m++) {
		struct estimate one, two, difference;

		comparison_metric(c, 0, (enum comparison_metric)m, &one, NULL);
		comparison_metric(c, 1, (enum comparison_metric)m, &two, &difference);
		assert_near(one.mean, two.mean, 0);
		assert_near(one.ci95, two.ci95, 0);
		assert_near(difference.mean, 0, 0);
		assert_near(difference.ci95, 0, 0);
	}
	comparison_free(c);
	lab_fini(&lab);
}

static char *
text_of(void (*put)(const struct comparison_report *report, FILE *out),
	const struct comparison_report *report)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	put(report, out);
	fclose(out);
	return text;
}

static void
reports_of_the_same_seeds_are_the_same_bytes(void **state)
{
	static const char *const policies[] = { "fair", "cassini", "antiphase" };
	static const uint64_t seeds[] = { 1, 2, 3 };
	struct lab lab = lab_make(TWO_JOBS);
	struct comparison *one = compare(&lab, policies, 3, 3);
	struct comparison *two = compare(&lab, policies, 3, 3);
	struct comparison_report report = {
		.scenario = lab.scenario,
		.comparison = one,
		.policies = policies,
		.n_policies = 3,
		.seeds = seeds,
	};
	char *table = text_of(comparison_report_table, &report);
	char *json = text_of(comparison_report_json, &report), *again;

	(void)state;
	report.comparison = two;
	again = text_of(comparison_report_table, &report);
	assert_string_equal(table, again);
	free(again);
	again = text_of(comparison_report_json, &report);
	assert_string_equal(json, again);
	free(again);
	assert_non_null(strstr(table, "Against fair, with the same seeds:"));
	assert_non_null(strstr(json, "\"seeds\": [1, 2, 3]"));
	free(table);
	free(json);
	comparison_free(one);
	comparison_free(two);
	lab_fini(&lab);
}

static char *
report_of(const struct lab *lab, const char *const *policies, size_t n,
	  void (*print)(const struct comparison_report *report, FILE *out))
{
	struct comparison *c = compare(lab, policies, n, 1);
	struct sim_plan plans[3];
	const struct comparison_report report = {
		.scenario = lab->scenario,
		.comparison = c,
		.policies = policies,
		.n_policies = n,
		.plans = plans,
		.seeds = (const uint64_t[]){ 1 },
	};
	char *text;

	for (size_t p = 0; p < n; p++)
		plans[p] = lab_plan(lab, policies[p]);
	text = text_of(print, &report);
	for (size_t p = 0; p < n; p++)
		sim_plan_fini(&plans[p]);
	comparison_free(c);
	return text;
}

static void
a_policy_that_equals_the_reference_says_why(void **state)
{
	static const char *const policies[] = { "fair", "antiphase" };
	struct lab lab = lab_make(
		"[sim]\niterations = 80\n" LAB_JOB("A", "a0,b0", "25", "125", "")
			LAB_JOB("B", "a1,b1", "41.3", "125", ""));
	char *table = report_of(&lab, policies, 2, comparison_report_table), *json;
	const char *second;

	(void)state;
	assert_non_null(
		strstr(table, "antiphase equals fair: it runs every job as fair does.\n"
			      "    A, B: periods-unrelated. The iteration times have"));
	free(table);
	json = report_of(&lab, policies, 2, comparison_report_json);
	second = strstr(json, "\"policy\": \"antiphase\"");
	assert_non_null(second);
	assert_non_null(strstr(second, "\"same_as_first\": true"));
	assert_non_null(strstr(second,
			       "\"reason\": \"periods-unrelated\",\n"
			       "          \"text\": \"The iteration times have"));
	assert_non_null(strstr(json, "\"reason\": \"fair-sharing\""));
	free(json);
	lab_fini(&lab);
	lab = lab_make(TWO_JOBS);
	table = report_of(&lab, policies, 2, comparison_report_table);
	assert_null(strstr(table, "equals"));
	free(table);
	json = report_of(&lab, policies, 2, comparison_report_json);
	assert_non_null(strstr(json, "\"same_as_first\": false"));
	free(json);
	lab_fini(&lab);
}

static void
a_policy_without_reasons_has_nulls_in_json(void **state)
{
	static const char *const policies[] = { "none", "spray" };
	struct lab lab = lab_make(TWO_JOBS);
	char *json = report_of(&lab, policies, 2, comparison_report_json);

	(void)state;
	assert_non_null(strstr(json, "\"same_as_first\": false"));
	assert_non_null(strstr(json, "\"reason\": null"));
	assert_null(strstr(json, "\"reason\": \""));
	free(json);
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_are_students_over_the_seeds),
		cmocka_unit_test(one_seed_has_no_interval),
		cmocka_unit_test(a_seed_counts_once_all_policies_have_it),
		cmocka_unit_test(the_same_policy_twice_differs_by_nothing),
		cmocka_unit_test(a_policy_that_equals_the_reference_says_why),
		cmocka_unit_test(a_policy_without_reasons_has_nulls_in_json),
		cmocka_unit_test(reports_of_the_same_seeds_are_the_same_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
