/* SPDX-License-Identifier: Apache-2.0 */
/* test_advisor_moves.c - other hosts for a running job among those of the advisor */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/moves_search.h"
#include "tests/unit/advisor_lab.h"
#include "topology/topo.h"

#define HOUR_S 3600.0

static const struct moves_job two_movable[2] = {
	{ .weight = 2, .left_s = HOUR_S, .cost_s = NAN, .is_movable = true },
	{ .weight = 2, .left_s = HOUR_S, .cost_s = NAN, .is_movable = true },
};

/* Two jobs that cross the uplinks of two of three leaves of four hosts. */
static struct advisor *
set_up(struct fixture *f, uint32_t n_spines, double uplink_bps, unsigned levers)
{
	const struct advisor_opts opts = { .seed = 1, .levers = levers };
	struct advisor *advisor;

	fixture_init(f, 3, 4, n_spines, uplink_bps);
	advisor = advisor_new(f->topo, &opts);
	ON(fixture_job(f, "a", 2, 100000, 0.7, 50e9), 0, 4);
	lab_put(advisor, f, false);
	ON(fixture_job(f, "b", 2, 100700, 0.7, 50e9), 1, 5);
	lab_put(advisor, f, false);
	lab_solve(advisor);
	return advisor;
}

static void
tear_down(struct fixture *f, struct advisor *advisor)
{
	advisor_free(advisor);
	fixture_fini(f);
}

static void
a_job_that_loses_gets_hosts_in_one_leaf(void **state)
{
	struct moves_step step;
	struct fixture f;
	struct advisor *advisor =
		set_up(&f, 1, 50e9, ADVISE_PLACE | ADVISE_TIME | ADVISE_MOVE);

	(void)state;
	assert_int_equal(advisor_find_move(advisor, 0, two_movable, 2, NULL, 1, &step),
			 1);
	assert_int_equal(step.n_jobs, 1);
	assert_int_equal(step.jobs[0], 0);
	assert_int_equal(step.n_workers[0], 1);
	assert_int_equal(topo_leaf_of(f.topo, step.hosts[0][0]),
			 topo_leaf_of(f.topo, step.hosts[0][1]));
	assert_near(step.bill.cost, 2 * 40, 1e-9);
	assert_true(step.bill.gain > 2 * step.bill.cost);
	moves_step_fini(&step);
	tear_down(&f, advisor);
}

/* Nothing of the search stays, so the same question has the same answer. */
static void
a_search_changes_nothing(void **state)
{
	static const unsigned levers[] = { ADVISE_PLACE | ADVISE_TIME | ADVISE_MOVE,
					   ADVISE_ALL_LEVERS };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct advisor_view before, after;
		struct moves_step first, second;
		struct fixture f;
		struct advisor *advisor = set_up(&f, 2, 25e9, levers[i]);
		int64_t free_slots;
		int rc;

		assert_true(advisor_view(advisor, 0, &before));
		free_slots = advisor_set_free(advisor, 2, -1);
		rc = advisor_find_move(advisor, 0, two_movable, 2, NULL, 1, &first);
		assert_int_equal(rc, 1);
		assert_int_equal(advisor_set_free(advisor, 2, -1), free_slots);
		assert_int_equal(advisor_step(advisor, 10), 0);
		assert_true(advisor_view(advisor, 0, &after));
		assert_true(after.is_solved);
		assert_int_equal(after.revision, before.revision);
		assert_int_equal(after.n_paths, before.n_paths);
		assert_int_equal(advisor_job(advisor, 0)->hosts[1], 4);
		assert_int_equal(
			advisor_find_move(advisor, 0, two_movable, 2, NULL, 1, &second),
			1);
		assert_memory_equal(first.hosts[0], second.hosts[0],
				    2 * sizeof(uint32_t));
		assert_near(first.bill.gain, second.bill.gain, 0);
		moves_step_fini(&first);
		moves_step_fini(&second);
		/* And jobs can still be changed and removed. */
		advisor_remove(advisor, "a");
		lab_solve(advisor);
		tear_down(&f, advisor);
	}
}

/* Two spines: chosen paths part the jobs, and nothing is left to gain. */
static void
what_paths_solve_is_not_moved(void **state)
{
	struct moves_step step;
	struct fixture f;
	struct advisor *advisor = set_up(&f, 2, 50e9, ADVISE_ALL_LEVERS);

	(void)state;
	advisor_assign_paths(advisor, 0);
	advisor_assign_paths(advisor, 1);
	lab_solve(advisor);
	assert_int_equal(advisor_find_move(advisor, 0, two_movable, 2, NULL, 1, &step),
			 0);
	tear_down(&f, advisor);
}

static void
jobs_that_may_not_move_stay(void **state)
{
	struct moves_job jobs[2] = { two_movable[0], two_movable[1] };
	bool allowed[12] = { [0] = true, [1] = true, [4] = true, [5] = true };
	struct moves_step step;
	struct fixture f;
	struct advisor *advisor =
		set_up(&f, 1, 50e9, ADVISE_PLACE | ADVISE_TIME | ADVISE_MOVE);

	(void)state;
	/* None in this hour. */
	assert_int_equal(advisor_find_move(advisor, 0, jobs, 2, NULL, 0, &step), 0);
	/* Its own hosts are all that it may have, and two jobs may not move. */
	assert_int_equal(advisor_find_move(advisor, 0, jobs, 2, allowed, 1, &step), 0);
	/* Two may: they exchange workers. */
	assert_int_equal(advisor_find_move(advisor, 0, jobs, 2, allowed, 2, &step), 1);
	assert_int_equal(step.n_jobs, 2);
	moves_step_fini(&step);
	jobs[1].is_movable = false;
	assert_int_equal(advisor_find_move(advisor, 0, jobs, 2, allowed, 2, &step), 0);
	/* It is short of time. */
	jobs[0].left_s = 20;
	assert_int_equal(advisor_find_move(advisor, 0, jobs, 2, NULL, 1, &step), 0);
	/* Numbers beyond the list have no movable job. */
	assert_int_equal(advisor_find_move(advisor, 1, two_movable, 1, NULL, 1, &step),
			 0);
	assert_int_equal(advisor_find_move(advisor, 7, jobs, 2, NULL, 1, &step),
			 -ENOENT);
	advisor_remove(advisor, "a");
	assert_int_equal(advisor_find_move(advisor, 0, jobs, 2, NULL, 1, &step),
			 -ENOENT);
	tear_down(&f, advisor);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_that_loses_gets_hosts_in_one_leaf),
		cmocka_unit_test(a_search_changes_nothing),
		cmocka_unit_test(what_paths_solve_is_not_moved),
		cmocka_unit_test(jobs_that_may_not_move_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
