/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stand_back.c - turns that do not help end soon, and stay away for growing pauses
 */
#include "lib/base/rng.h"
#include "scheduler/core/control/stand_back.h"
#include "tests/unit/test.h"

#define PERIOD_NS INT64_C(400000000)
#define N_JOBS    3
#define NOISE     0.1 /* Standard deviation of the cost of an iteration. */

/* Three jobs with periods of 0.4 s that take turns whenever they may. */
struct world {
	double share, turns; /* True costs. */
	struct stand_back watch;
	struct rng rng;
	int64_t now_ns;
	uint32_t n_changes;
	double lost; /* Periods lost against sharing, in the mean over the jobs. */
};

static void
world_init(struct world *w, double share, double turns, uint64_t seed)
{
	*w = (struct world){ .share = share, .turns = turns, .now_ns = PERIOD_NS };
	stand_back_init(&w->watch);
	rng_init(&w->rng, seed);
}

/* One iteration of each job; predicted: sharing costs 0.2, turns nothing. */
static void
step(struct world *w)
{
	for (int j = 0; j < N_JOBS; j++) {
		bool is_turning = w->watch.state == STAND_BACK_NOT;
		struct stand_back_iteration it = {
			.now_ns = w->now_ns,
			.is_turning = is_turning,
			.cost = (is_turning ? w->turns : w->share) +
				NOISE * rng_normal(&w->rng),
			.weight = 1.0 / N_JOBS,
			.predicted_share = 0.2,
			.predicted_turns = is_turning ? 0 : INFINITY,
		};

		if (is_turning)
			w->lost += (w->turns - w->share) / N_JOBS;
		w->n_changes += stand_back_take(&w->watch, &it);
		w->now_ns += PERIOD_NS / N_JOBS;
	}
}

static void
run_until(struct world *w, enum stand_back_state state, int64_t most_ns)
{
	int64_t until_ns = w->now_ns + most_ns;

	while (w->watch.state != state && w->now_ns < until_ns)
		step(w);
	assert_int_equal(w->watch.state, state);
}

static void
turns_that_help_go_on(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world w;

		world_init(&w, 0.2, 0.03, seed);
		while (w.now_ns < INT64_C(600000000000))
			step(&w);
		assert_int_equal(w.n_changes, 0);
	}
}

static void
turns_that_do_not_help_end_within_ten_seconds(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world w;

		world_init(&w, 0.2, 0.25, seed);
		run_until(&w, STAND_BACK_LOOKS, INT64_C(10000000000));
		/* The prediction speaks for turns once more, until they fail again. */
		while (w.watch.state != STAND_BACK_RESTS)
			step(&w);
		assert_int_equal(w.watch.n_failed, 1);
		assert_int_equal(w.watch.pause_ns, STAND_BACK_FIRST_NS);
	}
}

/* Another program's bursts cost as much with turns as without. */
static void
a_cost_that_is_common_to_both_stops_no_turns_for_long(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world w;
		double turning = 0;

		world_init(&w, 0.4, 0.2, seed);
		for (int i = 0; i < 400; i++) {
			step(&w);
			turning += w.watch.state == STAND_BACK_NOT;
		}
		assert_true(turning >= 340);
		assert_int_equal(w.watch.n_failed, 0);
	}
}

static void
pauses_grow_and_harm_is_bounded(void **state)
{
	struct world w;
	int64_t pause_ns = 0;

	(void)state;
	world_init(&w, 0.1, 0.3, 1);
	for (uint32_t n = 1; n <= 8; n++) {
		while (w.watch.n_failed < n)
			step(&w);
		assert_true(w.watch.pause_ns ==
				    (n == 1 ? STAND_BACK_FIRST_NS : 2 * pause_ns) ||
			    w.watch.pause_ns == STAND_BACK_LONGEST_NS);
		pause_ns = w.watch.pause_ns;
	}
	assert_int_equal(pause_ns, STAND_BACK_LONGEST_NS);
	/* Each time less than 3 of the iterations of 50 minutes. */
	assert_true(w.now_ns > INT64_C(1800000000000));
	assert_true(w.lost < 3 * (8 + 1));
}

static void
a_success_makes_the_next_pause_short(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 0.1, 0.3, 1);
	while (w.watch.n_failed < 4)
		step(&w);
	w.turns = 0.02;
	run_until(&w, STAND_BACK_NOT, STAND_BACK_LONGEST_NS);
	for (int64_t end_ns = w.now_ns + 2 * STAND_BACK_TRUST_NS; w.now_ns < end_ns;)
		step(&w);
	assert_int_equal(w.watch.n_failed, 4);
	w.turns = 0.3;
	while (w.watch.n_failed < 5)
		step(&w);
	assert_int_equal(w.watch.pause_ns, STAND_BACK_FIRST_NS);
}

static void
a_clock_that_is_set_back_ends_the_pause(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, 0.1, 0.3, 1);
	w.now_ns = INT64_C(100000000000000);
	run_until(&w, STAND_BACK_RESTS, INT64_C(60000000000));
	w.now_ns = PERIOD_NS;
	step(&w);
	assert_int_equal(w.watch.state, STAND_BACK_NOT);
}

static void
without_a_prediction_nothing_is_judged(void **state)
{
	struct stand_back watch;
	struct stand_back_iteration it = { .is_turning = true,
					   .cost = 1,
					   .weight = 1,
					   .predicted_share = INFINITY,
					   .predicted_turns = INFINITY };

	(void)state;
	stand_back_init(&watch);
	assert_true(isinf(stand_back_turns_cost(&watch)));
	for (it.now_ns = PERIOD_NS; it.now_ns < 100 * PERIOD_NS; it.now_ns += PERIOD_NS)
		assert_false(stand_back_take(&watch, &it));
	assert_near(stand_back_turns_cost(&watch), 1, 1e-12);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_that_help_go_on),
		cmocka_unit_test(turns_that_do_not_help_end_within_ten_seconds),
		cmocka_unit_test(a_cost_that_is_common_to_both_stops_no_turns_for_long),
		cmocka_unit_test(pauses_grow_and_harm_is_bounded),
		cmocka_unit_test(a_success_makes_the_next_pause_short),
		cmocka_unit_test(a_clock_that_is_set_back_ends_the_pause),
		cmocka_unit_test(without_a_prediction_nothing_is_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
