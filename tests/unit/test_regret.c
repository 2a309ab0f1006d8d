/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_regret.c - learning between turns and sharing from noisy costs and a prediction
 */
#include "lib/base/rng.h"
#include "scheduler/core/control/regret.h"
#include "tests/unit/test.h"

#define BLOCK_NOISE 0.04

struct world {
	double share, turns;                     /* True costs. */
	double predicted_share, predicted_turns; /* Predicted costs. */
};

struct outcome {
	double regret_sharing; /* Sum over iterations of the regret against sharing, */
	double regret_best;    /* or against the better of the two. */
	uint32_t n_turning, n_changes, n_last; /* Blocks; in the last quarter. */
	double worst_span; /* The worst of any first REGRET_REST_BLOCKS. */
};

static struct outcome
live(const struct world *w, uint32_t n_blocks, uint64_t seed)
{
	struct outcome o = { 0 };
	double spans[REGRET_REST_BLOCKS] = { 0 }, span = 0;
	struct regret l;
	struct rng rng;

	rng_init(&rng, seed);
	regret_init(&l);
	regret_predict(&l, w->predicted_share, w->predicted_turns);
	for (uint32_t i = 0; i < n_blocks; i++) {
		bool was_turning = l.is_turning;
		double truth = was_turning ? w->turns : w->share;
		double more = REGRET_BLOCK_PERIODS * (truth - w->share);

		span += more - spans[i % REGRET_REST_BLOCKS];
		spans[i % REGRET_REST_BLOCKS] = more;
		o.worst_span = fmax(o.worst_span, span);
		o.regret_sharing += more;
		o.regret_best +=
			REGRET_BLOCK_PERIODS * (truth - fmin(w->share, w->turns));
		o.n_turning += was_turning;
		o.n_last += was_turning && i >= n_blocks * 3 / 4;
		regret_take(&l, truth + BLOCK_NOISE * rng_normal(&rng));
		regret_predict(&l, w->predicted_share, w->predicted_turns);
		o.n_changes += l.is_turning != was_turning;
	}
	return o;
}

static void
turns_that_are_clear_are_taken_at_once_and_kept(void **state)
{
	const struct world w = { 0.18, 0.003, 0.18, 0.003 };

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct outcome o = live(&w, 400, seed);

		assert_true(o.n_turning == 400 && o.n_changes == 0);
	}
}

static void
turns_that_are_foretold_to_lose_are_not_tried(void **state)
{
	const struct world w = { 0.08, 0.12, 0.08, 0.12 };

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		assert_int_equal(live(&w, 400, seed).n_turning, 0);
}

/* As measured live: the rollout predicted a gain of turns, and there is none. */
static void
turns_that_cost_more_than_foretold_do_little_harm(void **state)
{
	static const struct world worlds[] = {
		{ 0.13, 0.18, 0.186, 0.14 },  { 0.13, 0.15, 0.186, 0.10 },
		{ 0.05, 0.30, 0.186, 0.003 }, { 0.01, 0.04, 0.18, 0.003 },
		{ 0.10, 0.14, 0.20, 0.05 },
	};

	(void)state;
	for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++) {
		double sum = 0, last = 0;

		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct outcome o = live(&worlds[w], 400, seed);

			sum += o.regret_sharing / 20;
			last += o.n_last / 20.0;
			/* The cost of the block in which it is seen comes on top. */
			assert_true(o.worst_span <= 2 * REGRET_MAX_REGRET + 2);
		}
		/* Of 3200 iterations. */
		assert_true(sum <= 3200 * 0.003);
		assert_true(last <= 25);
	}
}

static void
turns_that_pay_are_found_though_they_are_not_clear(void **state)
{
	static const struct world worlds[] = {
		{ 0.16, 0.07, 0.16, 0.07 },
		{ 0.20, 0.08, 0.12, 0.08 },
		{ 0.12, 0.06, 0.18, 0.06 },
	};

	(void)state;
	for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			struct outcome o = live(&worlds[w], 400, seed);

			assert_true(o.regret_best <= 3200 * 0.02);
			assert_true(o.n_last >= 75 && o.n_changes <= 25);
		}
}

/* Turns that pay, but whose first blocks were bad by chance. */
static void
bad_luck_at_first_is_not_for_ever(void **state)
{
	const struct world w = { 0.12, 0.06, 0.18, 0.06 };
	struct regret l;
	uint32_t n_turning = 0;

	(void)state;
	regret_init(&l);
	regret_predict(&l, w.predicted_share, w.predicted_turns);
	assert_true(l.is_turning);
	while (l.is_turning)
		regret_take(&l, 0.15);
	for (int i = 0; i < 5 * REGRET_REST_BLOCKS; i++) {
		n_turning += l.is_turning;
		regret_take(&l, l.is_turning ? w.turns : w.share);
	}
	assert_true(n_turning > 2 * REGRET_REST_BLOCKS);
}

static void
what_is_the_same_is_not_changed_over_and_over(void **state)
{
	const struct world w = { 0.10, 0.10, 0.14, 0.08 };

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		assert_true(live(&w, 1000, seed).n_changes <= 80);
}

static void
turns_that_can_no_longer_be_taken_are_not(void **state)
{
	struct regret l;

	(void)state;
	regret_init(&l);
	regret_predict(&l, 0.18, 0.003);
	assert_true(l.is_turning);
	regret_predict(&l, 0.18, INFINITY);
	assert_false(l.is_turning);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_that_are_clear_are_taken_at_once_and_kept),
		cmocka_unit_test(turns_that_are_foretold_to_lose_are_not_tried),
		cmocka_unit_test(turns_that_cost_more_than_foretold_do_little_harm),
		cmocka_unit_test(turns_that_pay_are_found_though_they_are_not_clear),
		cmocka_unit_test(bad_luck_at_first_is_not_for_ever),
		cmocka_unit_test(what_is_the_same_is_not_changed_over_and_over),
		cmocka_unit_test(turns_that_can_no_longer_be_taken_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
