/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput.c - goodput models, by hand and fitted to measurements */
#include <math.h>
#include <string.h>

#include "policies/goodput.h"
#include "policies/math/bounded.h"
#include "tests/unit/test.h"

/* a_c 0.1, b_c 0.01; between nodes 0.2 and 0.02, within 0.05 and 0.005. */
static const struct goodput model = {
	.params = { 0.1, 0.01, 0.2, 0.02, 0.05, 0.005, 2 },
	.grad_sqr = 1,
	.grad_var = 3,
	.first_batch = 10,
	.max_batch = 320,
	.min_local = 5,
	.max_local = 40,
};

static void
an_iteration_is_as_by_hand(void **state)
{
	(void)state;
	/* T_grad = 0.3, and no exchange. */
	assert_near(goodput_iteration_s(&model, 1, 1, (struct goodput_batch){ 20, 0 }),
		    0.3, 1e-12);
	/* With two accumulation steps: 0.6 + 0.3. */
	assert_near(goodput_iteration_s(&model, 1, 1, (struct goodput_batch){ 20, 2 }),
		    0.9, 1e-12);
	/* T_sync = 0.05 + 2 * 0.005 within a node, 0.2 + 2 * 0.02 between two. */
	assert_near(goodput_iteration_s(&model, 1, 4, (struct goodput_batch){ 20, 0 }),
		    sqrt(0.09 + 0.0036), 1e-12);
	assert_near(goodput_iteration_s(&model, 2, 4, (struct goodput_batch){ 20, 1 }),
		    0.3 + sqrt(0.09 + 0.0576), 1e-12);
}

static void
larger_batches_are_worth_less_a_sample(void **state)
{
	(void)state;
	/* phi = 30: (30 + 10) / (30 + M). */
	assert_near(goodput_efficiency(&model, 10), 1, 1e-12);
	assert_near(goodput_efficiency(&model, 50), 0.5, 1e-12);
	assert_near(goodput_at(&model, 1, 1, (struct goodput_batch){ 20, 0 }),
		    20 / 0.3 * 0.8, 1e-9);
}

static void
the_best_batch_is_not_worse_than_any_of_a_gpu(void **state)
{
	struct goodput_batch batch;

	(void)state;
	for (uint32_t n_gpus = 2; n_gpus <= 16; n_gpus *= 2) {
		double best = goodput_best(&model, 1, n_gpus, &batch);
		double any = 0;

		assert_near(best, goodput_at(&model, 1, n_gpus, batch), 1e-12);
		for (uint32_t local = 5; local <= 40; local++)
			if (local * n_gpus >= 10 && local * n_gpus <= 320)
				any = fmax(any, goodput_at(&model, 1, n_gpus,
							   (struct goodput_batch){
								   local, 0 }));
		/* One of 50 sizes is close to the optimum. */
		assert_true(best >= 0.995 * any);
	}
	/* More GPUs than smallest batches. */
	assert_near(goodput_best(&model, 16, 65, &batch), 0, 0);
	assert_int_equal(batch.local, 0);
}

/* A fit to a model's values predicts other values within a few per cent. */
static void
a_fit_foretells_what_was_not_measured(void **state)
{
	static const uint32_t places[][2] = { { 1, 1 }, { 1, 2 }, { 1, 4 },
					      { 2, 4 }, { 2, 8 }, { 4, 16 } };
	struct goodput_sample samples[64];
	struct goodput fitted = model;
	double again[GOODPUT_N_PARAMS];
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		for (uint32_t local = 5; local <= 40; local *= 2)
			samples[n++] = (struct goodput_sample){
				.n_nodes = places[i][0],
				.n_gpus = places[i][1],
				.local = local,
				.grad_s = 0.1 + 0.01 * local,
				.iter_s = goodput_iteration_s(
					&model, places[i][0], places[i][1],
					(struct goodput_batch){ local, 0 }),
			};
	goodput_fit(samples, n, fitted.params);
	goodput_fit(samples, n, again);
	assert_memory_equal(fitted.params, again, sizeof again);
	for (uint32_t n_gpus = 1; n_gpus <= 32; n_gpus *= 2) {
		struct goodput_batch batch = { 30, 0 };
		uint32_t n_nodes = (n_gpus + 3) / 4;
		double true_s = goodput_iteration_s(&model, n_nodes, n_gpus, batch);

		assert_near(goodput_iteration_s(&fitted, n_nodes, n_gpus, batch),
			    true_s, 0.05 * true_s);
	}
}

static void
what_no_sample_tells_is_taken_to_be_good(void **state)
{
	const struct goodput_sample one = { 1, 1, 20, 0.3, 0.3 };
	struct goodput fitted = model;

	(void)state;
	goodput_fit(&one, 1, fitted.params);
	assert_near(fitted.params[GOODPUT_A_C], 0.15, 1e-9);
	assert_near(goodput_iteration_s(&fitted, 1, 1, (struct goodput_batch){ 20, 0 }),
		    0.3, 0.003);
	assert_near(
		goodput_iteration_s(&fitted, 4, 16, (struct goodput_batch){ 20, 0 }),
		0.3, 0.003);
}

/* A curved valley (Rosenbrock) with its minimum inside or outside of the bounds. */
static double
valley(void *ctx, const double *x)
{
	double a = 1 - x[0], b = x[1] - x[0] * x[0];

	(void)ctx;
	return a * a + 100 * b * b;
}

static void
the_least_is_found_within_bounds(void **state)
{
	const double low[] = { -2, -2 }, high[] = { 2, 2 }, near[] = { 0.5, 2 };
	double x[] = { -1.2, 1 }, y[] = { -1.2, 1 };

	(void)state;
	assert_near(bounded_minimise(valley, NULL, x, low, high, 2), 0, 1e-6);
	assert_near(x[0], 1, 1e-3);
	assert_near(bounded_minimise(valley, NULL, y, low, near, 2), 0.25, 1e-4);
	assert_near(y[0], 0.5, 1e-3);
	assert_near(y[1], 0.25, 1e-2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_iteration_is_as_by_hand),
		cmocka_unit_test(larger_batches_are_worth_less_a_sample),
		cmocka_unit_test(the_best_batch_is_not_worse_than_any_of_a_gpu),
		cmocka_unit_test(a_fit_foretells_what_was_not_measured),
		cmocka_unit_test(what_no_sample_tells_is_taken_to_be_good),
		cmocka_unit_test(the_least_is_found_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
