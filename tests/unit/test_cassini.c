/* SPDX-License-Identifier: Apache-2.0 */
/* test_cassini.c - CASSINI as a whole: combined shifts, loops, Algorithm 2 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/core/cassini/cassini.h"
#include "scheduler/core/cassini/circle.h"
#include "scheduler/core/profile/profile.h"
#include "tests/unit/test.h"

#define C_BPS    50e9
#define MAX_JOBS 24
#define MAX_LOAD 64

/* A placement under construction: jobs of one phase each on links. */
struct world {
	struct profile_phase phases[MAX_JOBS];
	struct profile jobs[MAX_JOBS];
	const struct profile *profiles[MAX_JOBS];
	struct joint_link links[MAX_LOAD];
	struct joint_load loads[MAX_LOAD];
	uint32_t n_loads;
	struct joint_problem problem;
};

static void
world_init(struct world *w)
{
	memset(w, 0, sizeof *w);
	w->problem.profiles = w->profiles;
	w->problem.links = w->links;
	w->problem.loads = w->loads;
}

static uint32_t
add_job(struct world *w, int64_t period_us, int64_t from_us, int64_t up_us,
	double rate_bps)
{
	size_t j = w->problem.n_jobs++;

	w->phases[j] = (struct profile_phase){ from_us, up_us, rate_bps };
	w->jobs[j] = (struct profile){ .period_us = period_us,
				       .n_phases = 1,
				       .phases = &w->phases[j] };
	w->profiles[j] = &w->jobs[j];
	return (uint32_t)j;
}

static void
add_link(struct world *w, double capacity_bps)
{
	w->links[w->problem.n_links] = (struct joint_link){
		.id = 100 + (uint32_t)w->problem.n_links,
		.first_load = w->n_loads,
		.capacity_bps = capacity_bps,
		.weight = 1,
	};
	w->problem.n_links++;
}

/* Puts a job on the link added last. */
static void
put(struct world *w, uint32_t job)
{
	w->loads[w->n_loads++] = (struct joint_load){ .job = job, .factor = 1 };
	w->links[w->problem.n_links - 1].n_loads++;
}

/* Two jobs that send at full rate half of the time, on one link. */
static void
make_pair(struct world *w)
{
	world_init(w);
	add_job(w, 72000, 0, 36000, C_BPS);
	add_job(w, 72000, 0, 36000, C_BPS);
	add_link(w, C_BPS);
	put(w, 0);
	put(w, 1);
}

static void
half_busy_jobs_take_turns(void **state)
{
	struct joint_result *result;
	struct world w;

	(void)state;
	make_pair(&w);
	result = cassini_solve(&w.problem, NULL);
	assert_non_null(result);
	assert_int_equal(result->shift_us[0], 0);
	assert_int_equal(result->shift_us[1], 36000);
	assert_int_equal(result->slack_us[1], 0);
	assert_int_equal(result->method[1], JOINT_TREE);
	assert_near(result->excess_before_bps[0], C_BPS / 2, 1);
	assert_near(result->excess_after_bps[0], 0, 1);
	assert_near(result->objective_before, 0.5, 1e-9);
	assert_near(result->objective_after, 0, 1e-9);
	assert_false(result->has_loop);
	assert_false(result->gave_up);
	assert_near(cassini_score(&w.problem, NULL), 1, 0);
	joint_result_free(result);
}

static void
two_links_for_the_same_two_jobs_are_a_loop_and_no_shifts(void **state)
{
	struct joint_result *result;
	struct world w;

	(void)state;
	make_pair(&w);
	add_link(&w, C_BPS);
	put(&w, 1);
	put(&w, 0);

	result = cassini_solve(&w.problem, NULL);
	assert_true(result->has_loop);
	assert_true(result->gave_up);
	assert_int_equal(result->method[0], JOINT_LOOP);
	for (size_t j = 0; j < 2; j++) {
		assert_int_equal(result->shift_us[j], 0);
		assert_near(result->excess_after_bps[j], C_BPS / 2, 1);
	}
	assert_true(cassini_score(&w.problem, NULL) == -INFINITY);
	joint_result_free(result);
}

static void
twins_may_be_one_vertex_but_not_links_that_differ(void **state)
{
	const struct cassini_opts opts = { .merge_twins = true };
	struct joint_result *result;
	struct world w;

	(void)state;
	make_pair(&w);
	add_link(&w, C_BPS);
	put(&w, 1);
	put(&w, 0);

	result = cassini_solve(&w.problem, &opts);
	assert_false(result->gave_up);
	assert_int_equal(result->shift_us[1], 36000);
	assert_near(result->excess_after_bps[0], 0, 1);
	assert_near(result->excess_after_bps[1], 0, 1);
	assert_near(cassini_score(&w.problem, &opts), 1, 0);
	joint_result_free(result);

	w.loads[3].factor = 0.5;
	assert_true(cassini_score(&w.problem, &opts) == -INFINITY);
	w.loads[3].factor = 1;
	w.links[1].capacity_bps *= 2;
	assert_true(cassini_score(&w.problem, &opts) == -INFINITY);
}

static void
the_score_of_a_placement_is_the_mean_over_its_links(void **state)
{
	struct world w;

	(void)state;
	make_pair(&w); /* Score 1. */
	add_job(&w, 50000, 0, 50000, C_BPS);
	add_job(&w, 50000, 0, 50000, C_BPS);
	add_link(&w, C_BPS); /* Score 0. */
	put(&w, 2);
	put(&w, 3);
	assert_near(cassini_score(&w.problem, NULL), 0.5, 1e-12);

	/* A link with one job is not in V. */
	add_link(&w, C_BPS / 8);
	put(&w, 2);
	assert_near(cassini_score(&w.problem, NULL), 0.5, 1e-12);

	/* Score -1: three jobs at full rate all the time. */
	add_job(&w, 50000, 0, 50000, C_BPS);
	add_job(&w, 50000, 0, 50000, C_BPS);
	add_job(&w, 50000, 0, 50000, C_BPS);
	add_link(&w, C_BPS);
	put(&w, 4);
	put(&w, 5);
	put(&w, 6);
	assert_near(cassini_score(&w.problem, NULL), 0, 1e-12);
}

static void
jobs_that_share_nothing_score_one_and_stay(void **state)
{
	struct joint_result *result;
	struct world w;

	(void)state;
	world_init(&w);
	add_job(&w, 72000, 0, 72000, 9 * C_BPS);
	add_link(&w, C_BPS);
	put(&w, 0);
	assert_near(cassini_score(&w.problem, NULL), 1, 0);
	result = cassini_solve(&w.problem, NULL);
	assert_int_equal(result->method[0], JOINT_FREE);
	assert_int_equal(result->shift_us[0], 0);
	joint_result_free(result);

	world_init(&w);
	result = cassini_solve(&w.problem, NULL);
	assert_non_null(result);
	joint_result_free(result);
}

/*
 * A random loop-free placement.  Periods are multiples of 72 ms, so that every grid
 * angle is whole microseconds and no shift is rounded.
 */
static void
grow(struct world *w, struct rng *rng)
{
	world_init(w);
	for (int j = 0; j < 12; j++) {
		int64_t period_us = 72000 * (1 + (int64_t)rng_below(rng, 3));
		int64_t up_us = 1000 * (1 + (int64_t)rng_below(rng, 40));

		add_job(w, period_us, 1000 * (int64_t)rng_below(rng, 20), up_us,
			(0.2 + rng_uniform(rng)) * C_BPS);
	}
	for (uint32_t j = 1; j < 12;) {
		uint32_t more = 1 + (uint32_t)rng_below(rng, 3);

		add_link(w, C_BPS);
		put(w, (uint32_t)rng_below(rng, j));
		while (more-- > 0 && j < 12)
			put(w, j++);
	}
}

static void
stitched_shifts_give_every_link_its_own_optimum(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 21);
	for (int round = 0; round < 30; round++) {
		const struct cassini_opts opts = { .seed = (uint64_t)round };
		struct joint_result *result, *again;
		struct world w;

		grow(&w, &rng);
		result = cassini_solve(&w.problem, &opts);
		assert_false(result->has_loop);
		for (size_t l = 0; l < w.problem.n_links; l++) {
			struct joint_problem alone = w.problem;
			struct joint_result *optimum;

			/* Each link's search has its own seed. */
			if (w.links[l].n_loads > 3)
				continue;
			alone.n_links = 1;
			alone.links = &w.links[l];
			optimum = cassini_solve(&alone, &opts);
			assert_near(result->excess_after_bps[l],
				    optimum->excess_after_bps[0], 1);
			joint_result_free(optimum);
		}
		again = cassini_solve(&w.problem, &opts);
		assert_memory_equal(result->shift_us, again->shift_us,
				    w.problem.n_jobs * sizeof *result->shift_us);
		joint_result_free(again);
		joint_result_free(result);
	}
}

static void
coprime_periods_are_left_where_they_are(void **state)
{
	struct joint_result *result;
	struct world w;

	(void)state;
	world_init(&w);
	add_job(&w, 101000, 0, 50000, C_BPS);
	add_job(&w, 103000, 0, 50000, C_BPS);
	add_link(&w, C_BPS);
	put(&w, 0);
	put(&w, 1);
	result = cassini_solve(&w.problem, NULL);
	assert_int_equal(result->shift_us[0], 0);
	assert_int_equal(result->shift_us[1], 0);
	assert_false(result->gave_up);
	joint_result_free(result);
}

/* Candidates: two equal jobs that each send for 'up_us' of 72 ms. */
struct candidates {
	struct world worlds[12];
	const struct joint_problem *list[12];
};

static void
make_candidates(struct candidates *c, const int64_t *up_us, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		make_pair(&c->worlds[i]);
		c->worlds[i].phases[0].duration_us = up_us[i];
		c->worlds[i].phases[1].duration_us = up_us[i];
		c->list[i] = &c->worlds[i].problem;
	}
}

static void
make_loop(struct world *w)
{
	add_link(w, 2 * C_BPS);
	put(w, 0);
	put(w, 1);
}

static void
the_best_of_ten_candidates_without_a_loop_is_taken(void **state)
{
	static const int64_t up_us[12] = { 72000, 30000, 60000, 54000, 40000, 54000,
					   40000, 63000, 72000, 45000, 30000, 30000 };
	struct cassini_choice choice;
	struct candidates c;

	(void)state;
	make_candidates(&c, up_us, 12);
	make_loop(&c.worlds[1]); /* Its score would be 1. */
	assert_int_equal(cassini_rank(c.list, 12, NULL, &choice), 0);
	assert_int_equal(choice.n_scored, 10);
	assert_true(choice.scores[1] == -INFINITY);
	assert_near(choice.scores[0], 0, 1e-12);
	assert_near(choice.scores[3], 0.5, 1e-12);
	assert_near(choice.scores[9], 0.75, 1e-12);
	/* 40 of 72 ms: 8 of 72 exceed.  The first of equal candidates wins. */
	assert_near(choice.scores[4], 1 - 8.0 / 72, 1e-12);
	assert_near(choice.scores[6], choice.scores[4], 0);
	assert_int_equal(choice.best, 4);
	assert_non_null(choice.result);
	assert_false(choice.result->gave_up);
	cassini_choice_fini(&choice);
}

static void
nothing_is_chosen_if_all_candidates_have_loops(void **state)
{
	static const int64_t up_us[2] = { 30000, 30000 };
	struct cassini_choice choice;
	struct candidates c;

	(void)state;
	make_candidates(&c, up_us, 2);
	make_loop(&c.worlds[0]);
	make_loop(&c.worlds[1]);
	assert_int_equal(cassini_rank(c.list, 2, NULL, &choice), 0);
	assert_true(choice.best == SIZE_MAX);
	assert_null(choice.result);
	cassini_choice_fini(&choice);

	assert_int_equal(cassini_rank(NULL, 0, NULL, &choice), 0);
	assert_true(choice.best == SIZE_MAX);
	cassini_choice_fini(&choice);
}

static void
a_loop_of_others_does_not_discard_the_newcomers_candidates(void **state)
{
	struct cassini_opts opts = { .has_newcomer = true, .newcomer = 2 };
	const struct joint_problem *candidates[1];
	struct cassini_choice choice;
	struct world w;

	(void)state;
	make_pair(&w);
	make_loop(&w);
	add_job(&w, 72000, 0, 54000, C_BPS);
	add_job(&w, 72000, 0, 54000, C_BPS);
	add_link(&w, C_BPS);
	put(&w, 2);
	put(&w, 3);
	candidates[0] = &w.problem;
	assert_true(cassini_score(&w.problem, NULL) == -INFINITY);
	/* The mean of 1, 1 and 1/2. */
	assert_near(cassini_score(&w.problem, &opts), 2.5 / 3, 1e-12);
	assert_int_equal(cassini_rank(candidates, 1, &opts, &choice), 0);
	assert_int_equal(choice.best, 0);
	assert_true(choice.result->gave_up); /* All jobs get a shift, or none. */
	cassini_choice_fini(&choice);

	opts.newcomer = 1;
	assert_true(cassini_score(&w.problem, &opts) == -INFINITY);
	opts.newcomer = 4;
	assert_true(isnan(cassini_score(&w.problem, &opts)));
}

static void
malformed_problems_are_refused(void **state)
{
	struct cassini_choice choice;
	struct candidates c;
	struct world *w = &c.worlds[0];

	(void)state;
	for (int fault = 0; fault < 7; fault++) {
		make_candidates(&c, (const int64_t[]){ 30000 }, 1);
		switch (fault) {
		case 0:
			w->links[0].capacity_bps = 0;
			break;
		case 1:
			w->links[0].capacity_bps = (double)NAN;
			break;
		case 2:
			w->loads[1].job = 2;
			break;
		case 3:
			w->loads[1].job = 0; /* Twice the same job. */
			break;
		case 4:
			w->loads[1].factor = 0;
			break;
		case 5:
			w->jobs[1].period_us = 0;
			break;
		default:
			w->loads[1].factor = (double)INFINITY;
			break;
		}
		assert_null(cassini_solve(&w->problem, NULL));
		assert_true(isnan(cassini_score(&w->problem, NULL)));
		assert_int_equal(cassini_rank(c.list, 1, NULL, &choice), -EINVAL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_busy_jobs_take_turns),
		cmocka_unit_test(
			two_links_for_the_same_two_jobs_are_a_loop_and_no_shifts),
		cmocka_unit_test(twins_may_be_one_vertex_but_not_links_that_differ),
		cmocka_unit_test(the_score_of_a_placement_is_the_mean_over_its_links),
		cmocka_unit_test(jobs_that_share_nothing_score_one_and_stay),
		cmocka_unit_test(stitched_shifts_give_every_link_its_own_optimum),
		cmocka_unit_test(coprime_periods_are_left_where_they_are),
		cmocka_unit_test(the_best_of_ten_candidates_without_a_loop_is_taken),
		cmocka_unit_test(nothing_is_chosen_if_all_candidates_have_loops),
		cmocka_unit_test(
			a_loop_of_others_does_not_discard_the_newcomers_candidates),
		cmocka_unit_test(malformed_problems_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
