/* SPDX-License-Identifier: Apache-2.0 */
/* test_pacer_gap.c - begins of iterations, learned from jobs' collectives */
#include <string.h>

#include "lib/base/rng.h"
#include "pacer/gap.h"
#include "tests/unit/test.h"

#define MS INT64_C(1000000)

/* The collectives of one iteration. */
struct shape {
	const char *name;
	uint32_t n;                   /* Collectives per iteration. */
	double gap_ms[80], bytes[80]; /* Time before each; 0 bytes: as the first. */
	double jitter;
};

static struct gap gap; /* Too large for a stack. */

/*
 * Runs 'n_iterations' after the collectives of a start.  Returns how many of the second
 * half were found exactly at their begin; stores the number of false begins in that
 * half.
 */
static unsigned
run(const struct shape *shape, unsigned n_iterations, uint64_t seed,
    unsigned *ret_n_false)
{
	struct rng rng;
	unsigned n_right = 0;

	*ret_n_false = 0;
	rng_init(&rng, seed);
	gap_next(&gap, 3000 * MS, 77);
	gap_next(&gap, 2 * MS, 78);
	for (unsigned i = 0; i < n_iterations; i++) {
		for (uint32_t k = 0; k < shape->n; k++) {
			double vary = 1 + shape->jitter * (2 * rng_uniform(&rng) - 1);
			double bytes =
				shape->bytes[k] > 0 ? shape->bytes[k] : shape->bytes[0];
			bool is_new =
				gap_next(&gap, (int64_t)(shape->gap_ms[k] * vary * 1e6),
					 (uint32_t)bytes);

			if (i < n_iterations / 2)
				continue;
			n_right += k == 0 && is_new;
			*ret_n_false += k != 0 && is_new;
		}
	}
	return n_right;
}

static void
assert_found(const struct shape *shape, unsigned n_iterations)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		unsigned n_false, n_right;

		gap_init(&gap, 0);
		n_right = run(shape, n_iterations, seed, &n_false);
		if (n_right != n_iterations - n_iterations / 2 || n_false ||
		    !gap.is_learned)
			fail_msg("%s, seed %d: %u of %u right, %u wrong, learned %d",
				 shape->name, (int)seed, n_right,
				 n_iterations - n_iterations / 2, n_false,
				 gap.is_learned);
		assert_int_equal(gap.per_iteration, shape->n);
	}
}

static void
one_collective_an_iteration_is_one(void **state)
{
	const struct shape even = { "one", 1, { 180 }, { 2e6 }, 0.02 };
	const struct shape rough = { "one, 20 % jitter", 1, { 60 }, { 2e6 }, 0.2 };

	(void)state;
	assert_found(&even, 40);
	assert_found(&rough, 40);
}

static void
buckets_of_one_backward_pass_are_one_iteration(void **state)
{
	const struct shape even = {
		"four buckets", 4, { 120, 20, 20, 20 }, { 25e6, 25e6, 25e6, 9e6 }, 0.1
	};
	const struct shape equal = {
		"five buckets alike", 5, { 100, 30, 30, 30, 30 }, { 25e6 }, 0.1
	};
	struct shape many = { "25 buckets", 25, { 60 }, { 25e6 }, 0.1 };
	struct shape close = { "buckets at once", 8, { 90 }, { 25e6 }, 0.05 };

	(void)state;
	for (int k = 1; k < 25; k++)
		many.gap_ms[k] = 5;
	for (int k = 1; k < 8; k++)
		close.gap_ms[k] = 0.02;
	assert_found(&even, 40);
	assert_found(&equal, 40);
	assert_found(&many, 40);
	assert_found(&close, 40);
}

static void
layers_that_are_gathered_and_scattered_are_one_iteration(void **state)
{
	struct shape fsdp = { "70 layers", 70, { 40 }, { 5e6 }, 0.2 };

	(void)state;
	for (int k = 1; k < 70; k++)
		fsdp.gap_ms[k] = 1.5;
	assert_found(&fsdp, 40);
}

static void
accumulated_gradients_are_one_iteration(void **state)
{
	/* Seven steps without collectives, one with three. */
	const struct shape silent = {
		"accumulation", 3, { 800, 15, 15 }, { 25e6, 25e6, 4e6 }, 0.05
	};

	(void)state;
	assert_found(&silent, 40);
}

static void
equal_gaps_are_told_by_messages_that_repeat(void **state)
{
	const struct shape shape = {
		"a smaller last", 4, { 20, 20, 20, 20 }, { 1e6, 1e6, 1e6, 4e5 }, 0.05
	};

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		unsigned n_false, n_right;

		gap_init(&gap, 0);
		n_right = run(&shape, 60, seed, &n_false);
		/* Any of the four may be taken as the begin, but always one is. */
		assert_int_equal(n_right + n_false, 30);
		assert_int_equal(gap.per_iteration, 4);
		assert_true(gap.is_learned);
	}
}

static void
a_checkpoint_or_a_stall_now_and_then_is_no_boundary(void **state)
{
	const struct shape shape = {
		"four buckets", 4, { 120, 20, 20, 20 }, { 25e6, 25e6, 25e6, 9e6 }, 0.1
	};
	unsigned n_false, n_right;

	(void)state;
	gap_init(&gap, 0);
	for (int round = 0; round < 8; round++) {
		n_right = run(&shape, 20 + 3 * (unsigned)round % 7, 1, &n_false);
		(void)n_right;
		gap_next(&gap, 4000 * MS, 25000000);
	}
	n_right = run(&shape, 20, 2, &n_false);
	assert_int_equal(n_right, 10);
	assert_int_equal(n_false, 0);
}

static void
what_computes_for_longer_or_shorter_is_found_on(void **state)
{
	struct shape shape = {
		"four buckets", 4, { 120, 20, 20, 20 }, { 25e6, 25e6, 25e6, 9e6 }, 0.05
	};
	unsigned n_false;

	(void)state;
	for (int direction = 0; direction < 2; direction++) {
		gap_init(&gap, 0);
		assert_int_equal(run(&shape, 20, 1, &n_false), 10);
		for (int k = 0; k < 4; k++)
			shape.gap_ms[k] *= direction ? 1 / 1.3 : 1.3;
		/* From the first iteration on. */
		assert_int_equal(run(&shape, 20, 2, &n_false), 10);
		assert_int_equal(n_false, 0);
	}
}

static void
another_job_altogether_is_learned_anew(void **state)
{
	const struct shape before = { "one", 1, { 180 }, { 2e6 }, 0.02 };
	const struct shape after = {
		"four buckets", 4, { 20, 2, 2, 2 }, { 25e6, 25e6, 25e6, 9e6 }, 0.1
	};
	unsigned n_false;

	(void)state;
	gap_init(&gap, 0);
	assert_int_equal(run(&before, 200, 1, &n_false), 100);
	assert_int_equal(run(&after, 200, 2, &n_false), 100);
	assert_int_equal(n_false, 0);
}

static void
a_solver_that_reduces_all_the_time_has_no_iterations(void **state)
{
	const struct shape shape = { "solver", 2, { 0.1, 0.02 }, { 8, 8 }, 0.3 };
	unsigned n_false;

	(void)state;
	gap_init(&gap, 0);
	assert_int_equal(run(&shape, 2000, 1, &n_false), 0);
	assert_int_equal(n_false, 0);
}

static void
gaps_without_any_order_are_a_guess_and_no_more(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	gap_init(&gap, 0);
	for (int i = 0; i < 3000; i++) {
		double ms = 0.05;

		/* Any gap up to a second, any size. */
		for (uint64_t k = rng_below(&rng, 15); k; k--)
			ms *= 2;
		gap_next(&gap, (int64_t)(ms * 1e6 * (1 + rng_uniform(&rng))),
			 (uint32_t)rng_next(&rng));
		assert_false(gap.is_learned);
	}
}

static void
a_given_gap_is_taken_as_it_is(void **state)
{
	(void)state;
	gap_init(&gap, 7 * MS);
	assert_true(gap.is_learned);
	assert_true(gap_next(&gap, 7 * MS, 1));
	for (int i = 0; i < 3000; i++)
		assert_false(gap_next(&gap, 6 * MS, 1));
	assert_int_equal(gap_threshold_ns(&gap), 7 * MS);
}

static void
any_numbers_at_all_do_no_harm(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	gap_init(&gap, 0);
	for (int i = 0; i < 20000; i++)
		gap_next(&gap, (int64_t)rng_next(&rng) >> rng_below(&rng, 64),
			 (uint32_t)rng_below(&rng, 3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_collective_an_iteration_is_one),
		cmocka_unit_test(buckets_of_one_backward_pass_are_one_iteration),
		cmocka_unit_test(
			layers_that_are_gathered_and_scattered_are_one_iteration),
		cmocka_unit_test(accumulated_gradients_are_one_iteration),
		cmocka_unit_test(equal_gaps_are_told_by_messages_that_repeat),
		cmocka_unit_test(a_checkpoint_or_a_stall_now_and_then_is_no_boundary),
		cmocka_unit_test(what_computes_for_longer_or_shorter_is_found_on),
		cmocka_unit_test(another_job_altogether_is_learned_anew),
		cmocka_unit_test(a_solver_that_reduces_all_the_time_has_no_iterations),
		cmocka_unit_test(gaps_without_any_order_are_a_guess_and_no_more),
		cmocka_unit_test(a_given_gap_is_taken_as_it_is),
		cmocka_unit_test(any_numbers_at_all_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
