/* SPDX-License-Identifier: Apache-2.0 */
/* test_joint.c - one shift per job over all links: exactness, loops, invariances */
#include "scheduler/core/cassini/cassini.h"
#include "scheduler/core/solve/joint.h"
#include "tests/unit/joint_fixture.h"
#include "tests/unit/test.h"

static void
excess_is_that_of_walking_the_hyperperiod(void **state)
{
	static const int64_t periods_us[] = { 6, 8, 9, 12, 16, 18, 36 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 1);
	for (int round = 0; round < 3000; round++) {
		uint32_t n = 1 + (uint32_t)rng_below(&rng, 5);
		int64_t shift_us[5];
		double excess_bps, walked_bps;
		struct fixture f;

		fixture_init(&f);
		fixture_add_link(&f);
		for (uint32_t j = 0; j < n; j++) {
			fixture_add_random(&f, &rng, periods_us[rng_below(&rng, 7)], 3,
					   0.5, FIXTURE_C);
			fixture_add_load(&f, j, 0.3 + rng_uniform(&rng));
			shift_us[j] = (int64_t)rng_below(&rng, 100) - 50;
		}
		joint_excess(&f.problem, shift_us, &excess_bps);
		walked_bps = fixture_walk(&f, 0, shift_us);
		assert_near(excess_bps, walked_bps, 1e-9 * walked_bps + 1e-3);
	}
}

/* Three on/off jobs of unrelated periods behave as if independent. */
static void
jobs_without_a_common_period_meet_in_every_phase(void **state)
{
	static const int64_t periods_us[] = { 100003, 103007, 107021 };
	static const int64_t ups_us[] = { 30011, 41017, 26003 };
	int64_t shift_us[3] = { 0, 777, 4242 };
	double excess_bps, expected = 0;
	struct joint_result *result;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	fixture_add_link(&f);
	for (uint32_t j = 0; j < 3; j++) {
		fixture_add_on_off(&f, periods_us[j], 0, ups_us[j], FIXTURE_C);
		fixture_add_load(&f, j, 1);
	}
	for (int set = 0; set < 8; set++) {
		double share = 1;
		int n_up = 0;

		for (int j = 0; j < 3; j++) {
			double up = (double)ups_us[j] / (double)periods_us[j];

			share *= set >> j & 1 ? up : 1 - up;
			n_up += set >> j & 1;
		}
		expected += share * fmax(0, n_up - 1);
	}
	joint_excess(&f.problem, shift_us, &excess_bps);
	assert_near(excess_bps / FIXTURE_C, expected, 1e-9);
	result = fixture_solve(&f, NULL);
	for (int j = 0; j < 3; j++) {
		assert_int_equal(result->method[j], JOINT_FREE);
		assert_int_equal(result->shift_us[j], 0);
	}
	joint_result_free(result);
}

/* Three jobs, each pair with its own link. */
static void
make_triangle(struct fixture *f)
{
	fixture_init(f);
	for (uint32_t j = 0; j < 3; j++)
		fixture_add_on_off(f, 300000, 0, 90000, FIXTURE_C);
	for (uint32_t l = 0; l < 3; l++) {
		fixture_add_link(f);
		fixture_add_load(f, l, 1);
		fixture_add_load(f, (l + 1) % 3, 1);
	}
}

static void
a_loop_that_cassini_gives_up_is_solved(void **state)
{
	struct joint_result *ours, *theirs;
	struct fixture f;

	(void)state;
	make_triangle(&f);
	theirs = cassini_solve(&f.problem, NULL);
	ours = fixture_solve(&f, NULL);
	assert_true(theirs->gave_up);
	assert_near(theirs->objective_after, 0.9, 1e-12);
	assert_true(ours->has_loop);
	assert_true(ours->objective_after == 0);
	for (int j = 0; j < 3; j++) {
		assert_int_equal(ours->method[j], JOINT_LOOP);
		assert_true(ours->slack_us[j] >= 4000);
	}
	assert_int_equal(ours->shift_us[0], 0);
	joint_result_free(ours);
	joint_result_free(theirs);
}

/* Each link of a tree has its isolated optimum (CASSINI, Theorem 1). */
static void
trees_are_as_good_as_their_links_alone(void **state)
{
	static const int64_t periods_us[] = { 12000, 24000, 18000, 36000 };
	struct rng rng;

	(void)state;
	rng_init(&rng, 2);
	for (int round = 0; round < 100; round++) {
		size_t n = 3 + rng_below(&rng, 20);
		struct joint_result *result;
		struct fixture f;

		fixture_init(&f);
		for (uint32_t j = 0; j < n; j++) {
			fixture_add_random(&f, &rng, periods_us[rng_below(&rng, 4)], 2,
					   0.4, FIXTURE_C);
			if (j == 0)
				continue;
			fixture_add_link(&f);
			fixture_add_load(&f, (uint32_t)rng_below(&rng, j), 1);
			fixture_add_load(&f, j, 1);
		}
		result = fixture_solve(&f, NULL);
		assert_false(result->has_loop);
		for (size_t l = 0; l < f.problem.n_links; l++) {
			struct joint_problem one = f.problem;
			struct joint_result *alone;

			one.links = &f.links[l];
			one.n_links = 1;
			alone = joint_solve(&one, NULL);
			assert_near(result->excess_after_bps[l],
				    alone->excess_after_bps[0], 1e-9 * FIXTURE_C);
			joint_result_free(alone);
		}
		for (size_t j = 0; j < n; j++)
			assert_int_not_equal(result->method[j], JOINT_LOOP);
		joint_result_free(result);
	}
}

static void
result_is_never_worse_than_the_start_and_says_what_is(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 15; round++) {
		int64_t start_us[24];
		struct joint_opts opts = { .seed = (uint64_t)round };
		struct joint_result *cold, *warm;
		struct fixture f;

		fixture_make_mesh(&f, &rng, 24, 40, 0.25);
		for (int j = 0; j < 24; j++)
			start_us[j] = (int64_t)rng_below(&rng, 36000);
		cold = fixture_solve(&f, &opts);
		opts.start_shifts_us = start_us;
		warm = fixture_solve(&f, &opts);
		assert_true(cold->objective_after <= cold->objective_before);
		assert_true(warm->objective_after <= warm->objective_before);
		assert_near(cold->objective_after,
			    fixture_objective(&f, cold->shift_us), 1e-9);
		assert_near(warm->objective_before, fixture_objective(&f, start_us),
			    1e-9);
		assert_near(warm->objective_after,
			    fixture_objective(&f, warm->shift_us), 1e-9);
		for (int j = 0; j < 24; j++) {
			assert_true(cold->shift_us[j] >= 0);
			assert_true(cold->shift_us[j] < f.profiles[j].period_us);
		}
		joint_result_free(cold);
		joint_result_free(warm);
	}
}

/* No job gains by moving alone, and moving within its slack costs nothing. */
static void
no_single_job_gains_by_moving_and_slack_is_free(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (int round = 0; round < 10; round++) {
		struct joint_result *result;
		struct fixture f;

		fixture_make_mesh(&f, &rng, 16, 24, 0.2);
		result = fixture_solve(&f, NULL);
		for (int j = 0; j < 16; j++) {
			int64_t at_us = result->shift_us[j];

			for (int i = 0; i < 50; i++) {
				int64_t by_us = (int64_t)rng_below(&rng, 36000);

				result->shift_us[j] = at_us + by_us;
				assert_true(fixture_objective(&f, result->shift_us) >
					    result->objective_after - 1e-3);
			}
			for (int i = -2; i <= 2; i++) {
				result->shift_us[j] =
					at_us + i * result->slack_us[j] / 2;
				/* Unrelated periods are not part of the search. */
				assert_near(fixture_objective(&f, result->shift_us),
					    result->objective_after, 1e-3);
			}
			result->shift_us[j] = at_us;
		}
		joint_result_free(result);
	}
}

static void
jobs_that_must_not_move_do_not(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 5);
	for (int round = 0; round < 10; round++) {
		int64_t start_us[20];
		bool movable[20];
		struct joint_opts opts = { .start_shifts_us = start_us,
					   .movable = movable };
		struct joint_result *result, *again;
		struct fixture f;

		fixture_make_mesh(&f, &rng, 20, 30, 0.25);
		for (int j = 0; j < 20; j++) {
			start_us[j] = (int64_t)rng_below(
				&rng, (uint64_t)f.profiles[j].period_us);
			movable[j] = rng_below(&rng, 3) == 0;
		}
		result = fixture_solve(&f, &opts);
		for (int j = 0; j < 20; j++) {
			if (movable[j])
				continue;
			assert_int_equal(result->shift_us[j], start_us[j]);
			assert_int_equal(result->method[j], JOINT_FIXED);
		}
		assert_true(result->objective_after <= result->objective_before);
		/* A known start excess changes nothing. */
		opts.start_excess_bps = result->excess_before_bps;
		result->excess_before_bps[3] = NAN;
		again = fixture_solve(&f, &opts);
		assert_near(again->objective_before, result->objective_before, 1e-12);
		assert_memory_equal(again->shift_us, result->shift_us,
				    20 * sizeof *again->shift_us);
		joint_result_free(again);
		joint_result_free(result);
	}
}

/*
 * With different periods, two solutions may be the same without equal shifts: some jobs
 * are later by a multiple of the others' periods.
 */
static void
a_common_shift_changes_nothing(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 6);
	for (int round = 0; round < 12; round++) {
		int64_t start_us[20], later_us[20],
			by_us = (int64_t)rng_below(&rng, 99999);
		struct joint_opts opts = { .start_shifts_us = start_us };
		bool are_equal = round % 2;
		struct joint_result *a, *b;
		struct fixture f;

		fixture_make_mesh(&f, &rng, 20, 30, 0.25);
		for (int j = 0; j < 20; j++) {
			if (are_equal)
				f.profiles[j].period_us = 36000;
			start_us[j] = (int64_t)rng_below(&rng, 36000);
			later_us[j] = start_us[j] + by_us;
		}
		assert_near(fixture_objective(&f, start_us),
			    fixture_objective(&f, later_us), 1e-12);
		a = fixture_solve(&f, &opts);
		opts.start_shifts_us = later_us;
		b = fixture_solve(&f, &opts);
		assert_near(a->objective_after, b->objective_after, 1e-12);
		for (size_t l = 0; l < f.problem.n_links; l++)
			assert_near(a->excess_after_bps[l], b->excess_after_bps[l],
				    1e-9 * FIXTURE_C);
		for (int j = 0; j < 20; j++) {
			assert_int_equal(a->slack_us[j], b->slack_us[j]);
			if (are_equal)
				assert_int_equal((a->shift_us[j] + by_us) % 36000,
						 b->shift_us[j]);
		}
		joint_result_free(a);
		joint_result_free(b);
	}
}

/* The same problem with job j renumbered to[j]. */
static void
renumber(const struct fixture *f, const uint32_t *to, struct fixture *ret)
{
	fixture_init(ret);
	ret->problem.n_jobs = f->problem.n_jobs;
	ret->problem.n_links = f->problem.n_links;
	ret->n_loads = f->n_loads;
	memcpy(ret->links, f->links, sizeof ret->links);
	for (size_t j = 0; j < f->problem.n_jobs; j++) {
		ret->profiles[to[j]] = f->profiles[j];
		memcpy(ret->phases[to[j]], f->phases[j], sizeof f->phases[j]);
		ret->profiles[to[j]].phases = ret->phases[to[j]];
	}
	/* Also permutes the loads of a link. */
	for (size_t l = 0; l < f->problem.n_links; l++) {
		const struct joint_link *link = &f->links[l];

		for (uint32_t i = 0; i < link->n_loads; i++) {
			struct joint_load load = f->loads[link->first_load + i];

			load.job = to[load.job];
			ret->loads[link->first_load + link->n_loads - 1 - i] = load;
		}
	}
}

static void
neither_order_nor_names_of_jobs_matter(void **state)
{
	static char name[] = "another name";
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int round = 0; round < 12; round++) {
		struct joint_opts opts = { .seed = 5 };
		struct joint_result *a, *b;
		struct fixture f, g;
		uint32_t to[20];

		fixture_make_mesh(&f, &rng, 20, round % 2 ? 30 : 12, 0.25);
		for (uint32_t j = 0; j < 20; j++)
			to[j] = j;
		for (uint32_t j = 19; j > 0; j--) {
			uint32_t k = (uint32_t)rng_below(&rng, j + 1), t = to[j];

			to[j] = to[k];
			to[k] = t;
		}
		renumber(&f, to, &g);
		for (int j = 0; j < 20; j++)
			g.profiles[j].job = name;
		a = fixture_solve(&f, &opts);
		b = fixture_solve(&g, &opts);
		assert_near(a->objective_after, b->objective_after, 1e-12);
		for (size_t l = 0; l < f.problem.n_links; l++)
			assert_near(a->excess_after_bps[l], b->excess_after_bps[l],
				    1e-9 * FIXTURE_C);
		for (int j = 0; j < 20; j++) {
			assert_int_equal(a->slack_us[j], b->slack_us[to[j]]);
			assert_int_equal(a->method[j], b->method[to[j]]);
		}
		joint_result_free(a);
		joint_result_free(b);
	}
}

static void
the_same_seed_gives_the_same_shifts(void **state)
{
	struct joint_opts opts = { .seed = 11 };
	struct joint_result *a, *b;
	struct fixture f;
	struct rng rng;

	(void)state;
	rng_init(&rng, 8);
	fixture_make_mesh(&f, &rng, 40, 80, 0.25);
	a = fixture_solve(&f, &opts);
	b = fixture_solve(&f, &opts);
	assert_memory_equal(a->shift_us, b->shift_us, 40 * sizeof *a->shift_us);
	assert_memory_equal(a->slack_us, b->slack_us, 40 * sizeof *a->slack_us);
	joint_result_free(a);
	joint_result_free(b);
}

/* Compares descent over a loop of three jobs with every pair of whole shifts. */
static void
small_loops_are_solved_as_well_as_by_enumeration(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 9);
	for (int round = 0; round < 40; round++) {
		struct joint_result *result;
		double best = INFINITY;
		int64_t shift_us[3] = { 0 };
		struct fixture f;

		fixture_init(&f);
		for (uint32_t j = 0; j < 3; j++)
			fixture_add_random(&f, &rng, 24, 2, 0.5, FIXTURE_C);
		for (uint32_t l = 0; l < 3; l++) {
			fixture_add_link(&f);
			fixture_add_load(&f, l, 0.5 + rng_uniform(&rng));
			fixture_add_load(&f, (l + 1) % 3, 0.5 + rng_uniform(&rng));
		}
		for (shift_us[1] = 0; shift_us[1] < 24; shift_us[1]++)
			for (shift_us[2] = 0; shift_us[2] < 24; shift_us[2]++)
				best = fmin(best, fixture_objective(&f, shift_us));
		result = fixture_solve(&f, NULL);
		assert_near(result->objective_after, best, 1e-8);
		joint_result_free(result);
	}
}

/* The same shifts and excess as with the periods that same_period.h gives. */
static void
measured_periods_that_are_one_are_solved_as_one(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 10);
	for (int round = 0; round < 100; round++) {
		struct joint_result *measured, *equal;
		double excess_bps[3];
		struct fixture f;

		fixture_init(&f);
		for (uint32_t j = 0; j < 3; j++) {
			fixture_add_random(&f, &rng,
					   45000 + (int64_t)rng_below(&rng, 20), 2, 0.4,
					   FIXTURE_C);
			f.profiles[j].period_error_us = 10;
			fixture_add_link(&f);
			fixture_add_load(&f, j, 1);
			fixture_add_load(&f, (j + 1) % 3, 1);
		}
		f.profiles[0].period_us = 45020;
		measured = fixture_solve(&f, NULL);
		assert_int_not_equal(f.profiles[1].period_us, 45020);
		joint_excess(&f.problem, measured->shift_us, excess_bps);
		f.profiles[1].period_us = f.profiles[2].period_us = 45020;
		equal = fixture_solve(&f, NULL);
		assert_memory_equal(measured->shift_us, equal->shift_us,
				    3 * sizeof *equal->shift_us);
		for (int l = 0; l < 3; l++) {
			assert_near(measured->excess_after_bps[l],
				    equal->excess_after_bps[l], 0);
			assert_near(measured->excess_after_bps[l], excess_bps[l], 0);
		}
		joint_result_free(measured);
		joint_result_free(equal);
	}
}

static void
nothing_at_all_is_solved(void **state)
{
	struct joint_result *result;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	result = fixture_solve(&f, NULL);
	assert_int_equal(result->n_jobs, 0);
	assert_true(result->objective_after == 0);
	joint_result_free(result);
	joint_result_free(NULL);
}

static void
malformed_problems_are_refused(void **state)
{
	struct fixture f;

	(void)state;
#define REFUSED(change)                                     \
	do {                                                \
		make_triangle(&f);                          \
		change;                                     \
		assert_null(joint_solve(&f.problem, NULL)); \
	} while (0)
	REFUSED(f.loads[0].job = 3);
	REFUSED(f.loads[0].factor = 0);
	REFUSED(f.loads[0].factor = NAN);
	REFUSED(f.loads[1].job = f.loads[0].job);
	REFUSED(f.links[1].capacity_bps = 0);
	REFUSED(f.links[1].capacity_bps = INFINITY);
	REFUSED(f.links[1].weight = -1);
	REFUSED(f.profiles[2].period_us = 0);
	REFUSED(f.phases[2][0].duration_us = 300001);
	REFUSED(f.phases[2][0].start_us = -1);
	REFUSED(f.phases[2][0].rate_bps = NAN);
	REFUSED(f.pointers[1] = NULL);
#undef REFUSED
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(excess_is_that_of_walking_the_hyperperiod),
		cmocka_unit_test(jobs_without_a_common_period_meet_in_every_phase),
		cmocka_unit_test(a_loop_that_cassini_gives_up_is_solved),
		cmocka_unit_test(trees_are_as_good_as_their_links_alone),
		cmocka_unit_test(result_is_never_worse_than_the_start_and_says_what_is),
		cmocka_unit_test(no_single_job_gains_by_moving_and_slack_is_free),
		cmocka_unit_test(jobs_that_must_not_move_do_not),
		cmocka_unit_test(a_common_shift_changes_nothing),
		cmocka_unit_test(neither_order_nor_names_of_jobs_matter),
		cmocka_unit_test(the_same_seed_gives_the_same_shifts),
		cmocka_unit_test(small_loops_are_solved_as_well_as_by_enumeration),
		cmocka_unit_test(measured_periods_that_are_one_are_solved_as_one),
		cmocka_unit_test(nothing_at_all_is_solved),
		cmocka_unit_test(malformed_problems_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
