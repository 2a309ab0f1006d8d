/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_knots.c - series in closed form, and which jobs share a GPU (Kube-Knots) */
#include <math.h>
#include <string.h>

#include "policies/math/series.h"
#include "tests/unit/policy_lab.h"
#include "tests/unit/test.h"

#define N 1000

static const uint32_t three_gpus[] = { 1, 1, 1 };

/* Of sines over whole periods: cos(shift), and for one with itself cos(w lag). */
static void
correlation_is_the_closed_form(void **state)
{
	double x[N], y[N], w = 2 * M_PI / 100;

	(void)state;
	for (int k = 0; k < 8; k++) {
		for (int i = 0; i < N; i++) {
			x[i] = 3 + sin(w * i);
			y[i] = 5 * sin(w * i + k * M_PI / 4) - 1;
		}
		assert_near(series_correlation(x, y, N), cos(k * M_PI / 4), 1e-12);
	}
	/* The sum over N - lag samples; lag is a whole number of half periods. */
	for (uint32_t lag = 50; lag <= 500; lag += 50)
		assert_near(series_autocorrelation(x, N, lag),
			    cos(w * lag) * (N - lag) / N, 1e-12);
	for (int i = 0; i < N; i++)
		y[i] = 7;
	assert_true(isnan(series_correlation(x, y, N)));
	assert_true(isnan(series_autocorrelation(y, N, 1)));
	assert_near(series_forecast(y, N, 1), 7, 0);
}

/* x_{i+1} = mu + phi x_i exactly; the forecast over k steps iterates that. */
static void
the_forecast_of_a_first_order_series_is_exact(void **state)
{
	static const double phis[] = { 0.9, 0.5, -0.7 };
	double x[60];

	(void)state;
	for (size_t k = 0; k < sizeof phis / sizeof *phis; k++) {
		double mu = 0.3, next;

		x[0] = 4;
		for (int i = 1; i < 60; i++)
			x[i] = mu + phis[k] * x[i - 1];
		for (uint32_t lag = 1; lag <= 3; lag++) {
			next = x[19];
			for (uint32_t i = 0; i < lag; i++)
				next = mu + phis[k] * next;
			assert_near(series_forecast(x, 20, lag), next, 1e-9);
		}
	}
}

static void
submit(struct policy_lab *lab, double load_s, double gpu_s, double network_s)
{
	lab_add(lab, (struct pol_job){
			     .n_gpus = 1,
			     .max_gpus = 1,
			     .iteration_s = load_s + gpu_s + network_s,
			     .stage_s = { load_s, gpu_s, network_s },
		     });
}

static const char *
decide(const char *const *sets, size_t n_sets, const double (*stages)[3], int n)
{
	static char text[64];
	const struct policy_opts opts = {
		.sets = sets, .n_sets = n_sets, .round_s = NAN, .restart_s = NAN
	};
	struct policy_lab lab;

	lab_init_on(&lab, lab_cluster_of(three_gpus, 3), "kube-knots", &opts);
	for (int i = 0; i < n; i++)
		submit(&lab, stages[i][0], stages[i][1], stages[i][2]);
	lab_plan(&lab, 1);
	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		const struct pol_grant *grant =
			pol_plan_find(&lab.plans[0], (uint32_t)i);

		text[i] = grant ? (char)('a' + (int)grant->group) : '-';
		text[i + 1] = '\0';
	}
	lab_fini(&lab);
	return text;
}

static void
jobs_share_unless_they_peak_together(void **state)
{
	static const char *const cbp[] = { "kube-knots.predict_peaks=0",
					   "kube-knots.memory=0.9" };
	/* a and b compute in turn; c computes with a; d is unknown. */
	static const double stages[][3] = {
		{ 0.5, 0.5, 0 }, { 0, 0.5, 0.5 }, { 0.5, 0.5, 0 }, { NAN, NAN, NAN }
	};

	(void)state;
	/* Correlations -1, 1; a with b leaves 0.2 of the memory: c needs 0.4. */
	assert_string_equal(decide(cbp, 1, stages, 4), "aacd");
	/* Memory of 0.9 each: none fits beside another. */
	assert_string_equal(decide(cbp, 2, stages, 3), "abc");
}

/*
 * Both compute at the same time, but the memory of a in a second is foreseen: with
 * a period of 1 s, as now, where both are about to load.
 */
static void
a_gpu_whose_peak_is_not_near_is_shared(void **state)
{
	static const char *const cbp[] = { "kube-knots.predict_peaks=0" };
	static const char *const pp[] = { "kube-knots.memory=0.6",
					  "kube-knots.base_memory=0.1" };
	static const double same[][3] = { { 0.5, 0.05, 0.45 }, { 0.5, 0.05, 0.45 } };
	static const double late[][3] = { { 0.5, 0.5, 0 }, { 0.5, 0.5, 0 } };

	(void)state;
	assert_string_equal(decide(cbp, 1, same, 2), "ab");
	/* The 90th percentile is the base: 0.06. */
	assert_string_equal(decide(pp, 2, same, 2), "aa");
	/* Resized to 0.6 each, they do not fit. */
	assert_string_equal(decide(pp, 2, late, 2), "ab");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(correlation_is_the_closed_form),
		cmocka_unit_test(the_forecast_of_a_first_order_series_is_exact),
		cmocka_unit_test(jobs_share_unless_they_peak_together),
		cmocka_unit_test(a_gpu_whose_peak_is_not_near_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
