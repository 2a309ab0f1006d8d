/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shares.c - optimal shares: constraints hold, and no random feasible shares are
 * better
 */
#include <math.h>
#include <string.h>

#include "lib/base/rng.h"
#include "policies/math/shares.h"
#include "tests/unit/test.h"

#define MAX     12
#define N_CASES 300
#define N_TRIES 300
#define NEAR    1e-9

struct lab {
	struct rng rng;
	uint32_t n;
	double capacity;
	double gpus[MAX], left_s[MAX], elapsed_s[MAX], isolated_s[MAX], gains[MAX];
	double x[MAX], other[MAX];
};

static void
draw(struct lab *lab, uint64_t seed)
{
	rng_init(&lab->rng, seed);
	lab->n = 1 + (uint32_t)rng_below(&lab->rng, MAX);
	lab->capacity = 16 + (double)rng_below(&lab->rng, 32);
	for (uint32_t j = 0; j < lab->n; j++) {
		lab->gpus[j] = (double)(1u << rng_below(&lab->rng, 5));
		lab->left_s[j] = 1 + (double)rng_below(&lab->rng, 1000);
		lab->elapsed_s[j] = (double)rng_below(&lab->rng, 1000);
		lab->isolated_s[j] =
			lab->left_s[j] + (double)rng_below(&lab->rng, 1000);
		lab->gains[j] = 1 + (double)rng_below(&lab->rng, 9);
	}
}

static double
used(const struct lab *lab, const double *x)
{
	double sum = 0;

	for (uint32_t j = 0; j < lab->n; j++) {
		assert_true(x[j] >= 0 && x[j] <= 1);
		sum += lab->gpus[j] * x[j];
	}
	return sum;
}

/* Other feasible shares with nothing left over. */
static void
draw_other(struct lab *lab)
{
	double sum = 0;

	for (uint32_t j = 0; j < lab->n; j++) {
		lab->other[j] = (double)rng_below(&lab->rng, 1000) / 1000;
		sum += lab->gpus[j] * lab->other[j];
	}
	for (uint32_t j = 0; j < lab->n && sum > lab->capacity; j++)
		lab->other[j] *= lab->capacity / sum;
	shares_spread(lab->gpus, lab->n, lab->capacity, lab->other);
}

static double
least(const struct lab *lab, const double *x)
{
	double min = INFINITY;

	for (uint32_t j = 0; j < lab->n; j++)
		min = fmin(min, lab->gpus[j] * x[j]);
	return min;
}

static double
longest(const struct lab *lab, const double *x)
{
	double max = 0;

	for (uint32_t j = 0; j < lab->n; j++)
		max = fmax(max, lab->left_s[j] / x[j]);
	return max;
}

static double
worst(const struct lab *lab, const double *x)
{
	double max = 0;

	for (uint32_t j = 0; j < lab->n; j++)
		max = fmax(max, (lab->elapsed_s[j] + lab->left_s[j] / x[j]) /
					lab->isolated_s[j]);
	return max;
}

static double
most(const struct lab *lab, const double *x)
{
	double sum = 0;

	for (uint32_t j = 0; j < lab->n; j++)
		sum += lab->gains[j] * x[j];
	return sum;
}

/* 'value' is the objective; larger is better. */
static void
check(struct lab *lab, double value, double sign,
      double (*measure)(const struct lab *lab, const double *x))
{
	double slack = NEAR * (1 + fabs(value));

	assert_true(used(lab, lab->x) <= lab->capacity * (1 + NEAR));
	assert_near(measure(lab, lab->x), value, slack);
	for (int i = 0; i < N_TRIES; i++) {
		draw_other(lab);
		assert_true(sign * measure(lab, lab->other) <= sign * value + slack);
	}
	/* Distributing the rest makes no job worse off. */
	shares_spread(lab->gpus, lab->n, lab->capacity, lab->x);
	assert_true(used(lab, lab->x) <= lab->capacity * (1 + NEAR));
	assert_true(sign * measure(lab, lab->x) >= sign * value - slack);
}

static void
no_other_shares_are_better(void **state)
{
	struct lab lab;

	(void)state;
	for (uint64_t seed = 1; seed <= N_CASES; seed++) {
		double value;

		draw(&lab, seed);
		value = shares_max_min(lab.gpus, NULL, lab.n, lab.capacity, lab.x);
		check(&lab, value, 1, least);
		value = shares_makespan(lab.gpus, lab.left_s, lab.n, lab.capacity,
					lab.x);
		check(&lab, value, -1, longest);
		value = shares_finish_time(lab.gpus, lab.elapsed_s, lab.left_s,
					   lab.isolated_s, lab.n, lab.capacity, lab.x);
		check(&lab, value, -1, worst);
		shares_most(lab.gpus, lab.gains, lab.n, lab.capacity, lab.x);
		check(&lab, most(&lab, lab.x), 1, most);
	}
}

static void
all_is_given_out_if_somebody_has_room(void **state)
{
	struct lab lab;

	(void)state;
	for (uint64_t seed = 1; seed <= N_CASES; seed++) {
		double wanted = 0;

		draw(&lab, seed);
		for (uint32_t j = 0; j < lab.n; j++)
			wanted += lab.gpus[j];
		shares_max_min(lab.gpus, NULL, lab.n, lab.capacity, lab.x);
		shares_spread(lab.gpus, lab.n, lab.capacity, lab.x);
		assert_near(used(&lab, lab.x), fmin(wanted, lab.capacity), 1e-6);
	}
}

static void
weights_are_followed(void **state)
{
	static const double gpus[] = { 4, 4 }, weights[] = { 3, 1 };
	double x[2];

	(void)state;
	assert_near(shares_max_min(gpus, weights, 2, 4, x), 1, NEAR);
	assert_near(x[0], 0.75, NEAR);
	assert_near(x[1], 0.25, NEAR);
}

static void
equal_shares_do_not_look_at_sizes(void **state)
{
	double x[4];

	(void)state;
	shares_equal(4, 2, x);
	assert_near(x[3], 0.5, NEAR);
	shares_equal(4, 8, x);
	assert_near(x[0], 1, NEAR);
}

/* A finished job gets nothing; a single job everything; an oversized job a part. */
static void
odd_ones_have_shares_too(void **state)
{
	static const double gpus[] = { 1, 2 }, large[] = { 32 };
	static const double left_s[] = { 0, 10 }, none_s[] = { 0, 0 };
	static const double elapsed_s[] = { 5, 0 }, isolated_s[] = { 5, 10 };
	double x[2];

	(void)state;
	assert_near(shares_finish_time(gpus, elapsed_s, left_s, isolated_s, 2, 2, x), 1,
		    NEAR);
	assert_near(x[0], 0, NEAR);
	assert_near(x[1], 1, NEAR);
	assert_near(shares_makespan(gpus, none_s, 2, 2, x), 0, NEAR);
	assert_near(x[1], 0, NEAR);
	assert_near(shares_max_min(large, NULL, 1, 16, x), 16, NEAR);
	assert_near(x[0], 0.5, NEAR);
	shares_spread(large, 1, 16, x);
	assert_near(x[0], 0.5, NEAR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_other_shares_are_better),
		cmocka_unit_test(all_is_given_out_if_somebody_has_room),
		cmocka_unit_test(weights_are_followed),
		cmocka_unit_test(equal_shares_do_not_look_at_sizes),
		cmocka_unit_test(odd_ones_have_shares_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
