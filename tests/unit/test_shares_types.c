/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shares_types.c - shares of several GPU types, against one type and random shares
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "lib/base/rng.h"
#include "policies/math/shares.h"
#include "policies/math/shares_types.h"
#include "tests/unit/test.h"

#define MOST_JOBS  8
#define MOST_TYPES 3

struct lab {
	uint32_t n, n_types;
	double gpus[MOST_JOBS], capacity[MOST_TYPES], values[MOST_JOBS * MOST_TYPES];
	double elapsed_s[MOST_JOBS], left_s[MOST_JOBS], isolated_s[MOST_JOBS];
};

static struct shares_types
in_of(const struct lab *lab)
{
	return (struct shares_types){ lab->n, lab->n_types, lab->gpus, lab->capacity,
				      lab->values };
}

static void
draw(struct rng *rng, uint32_t n_types, struct lab *lab)
{
	lab->n = 1 + (uint32_t)rng_below(rng, MOST_JOBS);
	lab->n_types = n_types;
	for (uint32_t t = 0; t < n_types; t++)
		lab->capacity[t] = 1 + (double)rng_below(rng, 8);
	for (uint32_t j = 0; j < lab->n; j++) {
		lab->gpus[j] = 1 + (double)rng_below(rng, 4);
		lab->elapsed_s[j] = 1000 * rng_uniform(rng);
		lab->left_s[j] = 1 + 1000 * rng_uniform(rng);
		lab->isolated_s[j] = 10 + 1000 * rng_uniform(rng);
		for (uint32_t t = 0; t < n_types; t++)
			lab->values[j * n_types + t] =
				t && !rng_below(rng, 4) ? 0 : 0.1 + rng_uniform(rng);
	}
}

static double
worth(const struct lab *lab, const double *x, uint32_t j)
{
	double sum = 0;

	for (uint32_t t = 0; t < lab->n_types; t++)
		sum += lab->values[j * lab->n_types + t] * x[j * lab->n_types + t];
	return sum;
}

static void
assert_allowed(const struct lab *lab, const double *x)
{
	for (uint32_t j = 0; j < lab->n; j++) {
		double sum = 0;

		for (uint32_t t = 0; t < lab->n_types; t++) {
			double it = x[j * lab->n_types + t];

			assert_true(it >= 0);
			if (!(lab->values[j * lab->n_types + t] > 0))
				assert_true(it <= 0);
			sum += it;
		}
		assert_true(sum <= 1 + 1e-7);
	}
	for (uint32_t t = 0; t < lab->n_types; t++) {
		double sum = 0;

		for (uint32_t j = 0; j < lab->n; j++)
			sum += lab->gpus[j] * x[j * lab->n_types + t];
		assert_true(sum <= lab->capacity[t] + 1e-6);
	}
}

enum measure {
	LEAST,
	MOST,
	RHO, /* Negated: larger is better. */
	N_MEASURES,
};

static double
measure_of(const struct lab *lab, const double *x, enum measure measure)
{
	double least = INFINITY, sum = 0, rho = 0;

	for (uint32_t j = 0; j < lab->n; j++) {
		double it = worth(lab, x, j);

		least = fmin(least, it);
		sum += it;
		rho = fmax(rho, (lab->elapsed_s[j] + lab->left_s[j] / it) /
					lab->isolated_s[j]);
	}
	return measure == LEAST ? least : measure == MOST ? sum : -rho;
}

static int
find(const struct lab *lab, enum measure measure, double *ret_x)
{
	const struct shares_types in = in_of(lab);

	if (measure == LEAST)
		return shares_types_max_min(&in, ret_x);
	if (measure == MOST)
		return shares_types_most(&in, ret_x);
	return shares_types_finish_time(&in, lab->elapsed_s, lab->left_s,
					lab->isolated_s, ret_x, NULL);
}

/* Random points between the found one and allowed ones show any linear gain. */
static void
no_others_are_better(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 12);
	for (int round = 0; round < 500; round++) {
		struct lab lab = { 0 };
		enum measure measure = (enum measure)(round % N_MEASURES);
		double x[MOST_JOBS * MOST_TYPES] = { 0 }, best;

		draw(&rng, 1 + (uint32_t)rng_below(&rng, MOST_TYPES), &lab);
		assert_int_equal(find(&lab, measure, x), 0);
		assert_allowed(&lab, x);
		best = measure_of(&lab, x, measure);
		for (int other = 0; other < 200; other++) {
			double y[MOST_JOBS * MOST_TYPES] = { 0 }, scale = 0;
			double part = pow(0.1, 4 * rng_uniform(&rng));

			for (uint32_t i = 0; i < lab.n * lab.n_types; i++)
				if (lab.values[i] > 0 && rng_below(&rng, 3))
					y[i] = rng_uniform(&rng);
			for (uint32_t j = 0; j < lab.n; j++) {
				double sum = 0;

				for (uint32_t t = 0; t < lab.n_types; t++)
					sum += y[j * lab.n_types + t];
				scale = fmax(scale, sum);
			}
			for (uint32_t t = 0; t < lab.n_types; t++) {
				double sum = 0;

				for (uint32_t j = 0; j < lab.n; j++)
					sum += lab.gpus[j] * y[j * lab.n_types + t];
				scale = fmax(scale, sum / lab.capacity[t]);
			}
			for (uint32_t i = 0; scale > 0 && i < lab.n * lab.n_types; i++)
				y[i] = part * y[i] / scale + (1 - part) * x[i];
			assert_true(measure_of(&lab, y, measure) <=
				    best + 1e-6 * fabs(best) + 1e-9);
		}
	}
}

static void
one_type_is_as_by_its_own_formulas(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 13);
	for (int round = 0; round < 300; round++) {
		struct lab lab = { 0 };
		struct shares_types in;
		double x[MOST_JOBS], y[MOST_JOBS], weights[MOST_JOBS], rho;

		draw(&rng, 1, &lab);
		in = in_of(&lab);
		for (uint32_t j = 0; j < lab.n; j++)
			weights[j] = lab.gpus[j] / lab.values[j];
		assert_int_equal(shares_types_max_min(&in, x), 0);
		shares_max_min(lab.gpus, weights, lab.n, lab.capacity[0], y);
		assert_near(measure_of(&lab, x, LEAST), measure_of(&lab, y, LEAST),
			    1e-9);
		for (uint32_t j = 0; j < lab.n; j++)
			lab.values[j] = 1;
		assert_int_equal(shares_types_finish_time(&in, lab.elapsed_s,
							  lab.left_s, lab.isolated_s, x,
							  &rho),
				 0);
		assert_near(rho,
			    shares_finish_time(lab.gpus, lab.elapsed_s, lab.left_s,
					       lab.isolated_s, lab.n, lab.capacity[0],
					       y),
			    1e-6 * rho);
		assert_int_equal(shares_types_most(&in, x), 0);
		shares_most(lab.gpus, lab.values, lab.n, lab.capacity[0], y);
		assert_near(measure_of(&lab, x, MOST), measure_of(&lab, y, MOST), 1e-9);
	}
}

/* Gavel's example (section 2): each job runs where it gains most, relatively. */
static void
each_is_where_it_gains_most(void **state)
{
	static const double gpus[] = { 1, 1, 1 }, capacity[] = { 1, 1, 1 };
	/* On V100, P100, K80; relative to a third of each. */
	static const double values[] = { 4 / 7.0, 2 / 7.0, 1 / 7.0, 3 / 6.0, 2 / 6.0,
					 1 / 6.0, 2 / 5.0, 2 / 5.0, 1 / 5.0 };
	const struct shares_types in = { 3, 3, gpus, capacity, values };
	double x[9];

	(void)state;
	assert_int_equal(shares_types_max_min(&in, x), 0);
	for (int j = 0; j < 3; j++) {
		double sum = 0;

		for (int t = 0; t < 3; t++)
			sum += values[3 * j + t] * x[3 * j + t];
		/* More than a third of the cluster each. */
		assert_true(sum > 1 / 3.0 + 0.02);
	}
	assert_true(x[0] > x[3]);
	assert_true(x[7] > x[1]);
}

/* All shares up to 1 in total are as good: the largest product of what counts. */
static void
of_equal_optima_it_is_the_centre(void **state)
{
	static const double one[] = { 1 }, alike[] = { 3, 3 }, capacity[] = { 1, 2 };
	const struct shares_types in = { 1, 2, one, capacity, alike };
	double a = (sqrt(17) - 1) / 8; /* Of a (1 - a) (1 - a) (1 + a). */
	double x[2];

	(void)state;
	assert_int_equal(shares_types_most(&in, x), 0);
	assert_near(x[0], a, 1e-6);
	assert_near(x[1], 1 - a, 1e-6);
}

static void
equal_jobs_get_the_same(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 15);
	for (int round = 0; round < 300; round++) {
		struct lab lab = { 0 };
		double x[MOST_JOBS * MOST_TYPES] = { 0 };

		draw(&rng, MOST_TYPES, &lab);
		lab.n = MOST_JOBS;
		for (uint32_t j = 1; j < lab.n; j += 2) {
			lab.gpus[j] = lab.gpus[j - 1] = fmax(1, lab.gpus[j]);
			for (uint32_t t = 0; t < lab.n_types; t++)
				lab.values[j * MOST_TYPES + t] =
					lab.values[(j - 1) * MOST_TYPES + t];
		}
		for (uint32_t j = 0; j < lab.n; j++)
			lab.gpus[j] = fmax(1, lab.gpus[j]);
		assert_int_equal(find(&lab, MOST, x), 0);
		for (uint32_t j = 1; j < lab.n; j += 2)
			for (uint32_t t = 0; t < lab.n_types; t++)
				assert_near(x[j * MOST_TYPES + t],
					    x[(j - 1) * MOST_TYPES + t], 1e-6);
	}
}

static void
odd_ones_are_taken(void **state)
{
	static const double gpus[] = { 2, 1 }, capacity[] = { 2, 1 };
	static const double values[] = { 0, 0, 1e-9, 1e9 };
	static const double no_fast[] = { 2, 0 }, wrong[] = { 1, NAN, 1, 1 };
	const double left_s[] = { 1, 0 }, elapsed_s[] = { 0, 0 },
		     isolated_s[] = { 1, 1 };
	struct shares_types in = { 2, 2, gpus, capacity, values };
	double x[4] = { 7, 7, 7, 7 };

	(void)state;
	assert_int_equal(shares_types_max_min(&in, x), 0);
	assert_near(x[0] + x[1], 0, 0);
	assert_near(x[3], 1, 1e-9);
	assert_int_equal(
		shares_types_finish_time(&in, elapsed_s, left_s, isolated_s, x, NULL),
		0);
	assert_int_equal(shares_types_most(&in, x), 0);
	assert_near(x[0] + x[1], 0, 0);
	assert_near(x[3], 1, 1e-7);
	in.n_jobs = UINT32_MAX;
	assert_int_equal(shares_types_max_min(&in, x), -E2BIG);
	assert_int_equal(shares_types_most(&in, x), -E2BIG);
	in.n_jobs = 0;
	assert_int_equal(shares_types_max_min(&in, x), 0);
	assert_int_equal(shares_types_most(&in, x), 0);
	in.n_jobs = 2;
	in.capacity = no_fast;
	assert_int_equal(shares_types_most(&in, x), 0);
	assert_near(x[2], 1, 1e-7);
	assert_near(x[3], 0, 0);
	in.values = wrong;
	assert_int_equal(shares_types_most(&in, x), -EINVAL);
}

static void
as_many_as_a_cluster_has_end(void **state)
{
	enum {
		N = 256,
		T = 3
	};

	static double gpus[N], values[N * T], x[N * T], left_s[N], elapsed_s[N],
		isolated_s[N];
	static const double capacity[T] = { 64, 64, 64 };
	const struct shares_types in = { N, T, gpus, capacity, values };
	struct rng rng;
	clock_t begin = clock();

	(void)state;
	rng_init(&rng, 14);
	for (int j = 0; j < N; j++) {
		gpus[j] = (double)(1u << rng_below(&rng, 4));
		elapsed_s[j] = 1e4 * rng_uniform(&rng);
		left_s[j] = 10 + 1e5 * rng_uniform(&rng);
		isolated_s[j] = 5 * left_s[j] * (0.5 + rng_uniform(&rng));
		for (int t = 0; t < T; t++)
			values[T * j + t] = (1 + rng_uniform(&rng)) / (1 + t);
	}
	assert_int_equal(shares_types_max_min(&in, x), 0);
	print_message("max-min: %.0f ms\n",
		      1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC);
	begin = clock();
	assert_int_equal(
		shares_types_finish_time(&in, elapsed_s, left_s, isolated_s, x, NULL),
		0);
	print_message("finish time: %.0f ms\n",
		      1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC);
	begin = clock();
	assert_int_equal(shares_types_most(&in, x), 0);
	print_message("most: %.0f ms\n",
		      1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_others_are_better),
		cmocka_unit_test(one_type_is_as_by_its_own_formulas),
		cmocka_unit_test(each_is_where_it_gains_most),
		cmocka_unit_test(of_equal_optima_it_is_the_centre),
		cmocka_unit_test(equal_jobs_get_the_same),
		cmocka_unit_test(odd_ones_are_taken),
		cmocka_unit_test(as_many_as_a_cluster_has_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
