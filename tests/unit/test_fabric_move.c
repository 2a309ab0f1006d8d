/* SPDX-License-Identifier: Apache-2.0 */
/* test_fabric_move.c - moves of running jobs in a replay */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "scheduler/core/advise/advise.h"
#include "sim/cluster/fabric.h"
#include "tests/unit/cluster_lab.h"
#include "tests/unit/fabric_lab.h"
#include "tests/unit/test.h"

#define N_NODES 8

static const uint32_t two_each[N_NODES] = { 2, 2, 2, 2, 2, 2, 2, 2 };
static const uint32_t zeros[N_NODES];
static const struct pol_cluster cluster = { .n_nodes = N_NODES,
					    .n_racks = 1,
					    .n_types = 1,
					    .n_gpus = two_each,
					    .rack_of = zeros,
					    .type_of = zeros,
					    .n_all_gpus = 2 * N_NODES };

/* Jobs of two whole nodes, on two leaves of four hosts and one uplink. */
struct lab {
	struct topo *topo;
	struct fabric *fabric;
	struct cluster_work work;
	struct pol_job jobs[4];
	struct pol_piece run[4][2];
	struct pol_view view;
	struct pol_plan plan;
	double lost_s[4];
};

static const uint32_t ids[] = { 0, 1, 2, 3 };
static const uint32_t model_of[] = { 1, 1, 1, 1 };

static void
lab_init(struct lab *lab, uint32_t n, const struct pol_piece (*pieces)[2],
	 const struct fabric_opts *opts)
{
	struct err err;

	*lab = (struct lab){ .topo = lab_topo(2, 4) };
	lab->view = (struct pol_view){ .now_s = 10000,
				       .cluster = &cluster,
				       .ids = ids,
				       .n_jobs = n,
				       .jobs = lab->jobs,
				       .n_ids = n };
	assert_int_equal(fabric_new(&cluster, lab->topo, models, model_of, n, opts,
				    &lab->fabric, &err),
			 0);
	lab->work = fabric_work(lab->fabric);
	memcpy(lab->run, pieces, n * sizeof *pieces);
	for (uint32_t i = 0; i < n; i++) {
		lab->jobs[i] = (struct pol_job){ .id = i,
						 .n_gpus = 4,
						 .max_gpus = 4,
						 .group = i,
						 .predicted_s = NAN,
						 .executed_s = 5000,
						 .pieces = lab->run[i],
						 .n_pieces = 2,
						 .n_held_gpus = 4 };
		vec_push(&lab->plan.pieces, pieces[i][0]);
		vec_push(&lab->plan.pieces, pieces[i][1]);
		pol_plan_grant(&lab->plan, i, 4, i, 2 * (size_t)i);
	}
}

static void
lab_fini(struct lab *lab)
{
	pol_plan_fini(&lab->plan);
	fabric_free(lab->fabric);
	topo_unref(lab->topo);
}

static void
lab_move(struct lab *lab)
{
	memset(lab->lost_s, 0, sizeof lab->lost_s);
	lab->work.move(lab->work.ctx, &lab->view, &lab->plan, lab->lost_s);
	assert_null(pol_plan_why_not(&lab->plan, &lab->view));
}

/* Whether job 'i' has all its nodes on one leaf in the plan. */
static bool
is_whole(const struct lab *lab, uint32_t i)
{
	const struct pol_piece *pieces = lab->plan.pieces.items + 2 * (size_t)i;

	return pieces[0].node / 4 == pieces[1].node / 4;
}

static const struct fabric_opts with_moves = { .augment = FABRIC_ANTIPHASE,
					       .levers = ADVISE_MOVE,
					       .moves_per_hour = 1,
					       .seed = 1 };
static const struct pol_piece crossing[][2] = { { { 0, 2, 0 }, { 4, 2, 0 } },
						{ { 1, 2, 0 }, { 5, 2, 0 } } };

static void
one_of_two_crossing_jobs_moves(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, 2, crossing, &with_moves);
	lab_move(&lab);
	assert_int_equal(is_whole(&lab, 0) + is_whole(&lab, 1), 1);
	/* One worker: a restart and 10 s. */
	assert_near(lab.lost_s[0] + lab.lost_s[1], 40, 1e-9);
	assert_int_equal(fabric_counts(lab.fabric).n_moves, 1);
	assert_near(fabric_counts(lab.fabric).moved_lost_s, 40, 1e-9);
	lab_fini(&lab);
}

static void
a_job_that_may_end_soon_stays(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, 2, crossing, &with_moves);
	lab.jobs[0].executed_s = lab.jobs[1].executed_s = 20;
	lab_move(&lab);
	assert_memory_equal(lab.plan.pieces.items, crossing, sizeof crossing);
	/* It is predicted to go on, but nothing is sought for a while. */
	lab.jobs[0].predicted_s = lab.jobs[1].predicted_s = 5000;
	lab.view.now_s += 10;
	lab_move(&lab);
	assert_memory_equal(lab.plan.pieces.items, crossing, sizeof crossing);
	lab.view.now_s += 600;
	lab_move(&lab);
	assert_int_equal(is_whole(&lab, 0) + is_whole(&lab, 1), 1);
	lab_fini(&lab);
}

static void
a_move_that_costs_too_much_is_left(void **state)
{
	struct fabric_opts opts = with_moves;
	struct lab lab;

	(void)state;
	opts.move_cost_s = 4000;
	lab_init(&lab, 2, crossing, &opts);
	lab_move(&lab);
	assert_memory_equal(lab.plan.pieces.items, crossing, sizeof crossing);
	lab_fini(&lab);
}

/* The cluster is full: fragments are exchanged, or starts, which is free. */
static void
a_full_cluster_exchanges(void **state)
{
	static const struct pol_piece full[][2] = { { { 0, 2, 0 }, { 4, 2, 0 } },
						    { { 1, 2, 0 }, { 5, 2, 0 } },
						    { { 2, 2, 0 }, { 3, 2, 0 } },
						    { { 6, 2, 0 }, { 7, 2, 0 } } };

	(void)state;
	for (int start = 0; start < 2; start++) {
		struct lab lab;

		lab_init(&lab, 4, full, &with_moves);
		for (uint32_t i = 0; start && i < 2; i++) {
			lab.jobs[i].pieces = NULL;
			lab.jobs[i].n_pieces = lab.jobs[i].n_held_gpus = 0;
		}
		lab_move(&lab);
		for (uint32_t i = 0; i < 4; i++)
			assert_true(is_whole(&lab, i));
		assert_near(lab.lost_s[0], start ? 0 : 40, 1e-9);
		assert_near(lab.lost_s[1], start ? 0 : 40, 1e-9);
		assert_int_equal(fabric_counts(lab.fabric).n_moves, start ? 0 : 2);
		assert_int_equal(fabric_counts(lab.fabric).n_starts_moved,
				 start ? 2 : 0);
		lab_fini(&lab);
	}
}

/* ---- Racks brought within their uplinks ------------------------------------------ */

static const struct fabric_opts with_healing = { .augment = FABRIC_ANTIPHASE,
						 .levers = ADVISE_PATH | ADVISE_MOVE,
						 .moves_per_hour = 1,
						 .may_move = true,
						 .seed = 1 };

/* Two jobs over one uplink, which by themselves would end too soon for a move. */
static void
heal_lab_init(struct lab *lab, const struct fabric_opts *opts)
{
	lab_init(lab, 2, crossing, opts);
	lab->jobs[0].executed_s = lab->jobs[1].executed_s = 20;
}

static void
a_rack_above_its_uplinks_heals_though_its_jobs_may_end_soon(void **state)
{
	struct lab lab;

	(void)state;
	heal_lab_init(&lab, &with_healing);
	lab_move(&lab);
	assert_true(is_whole(&lab, 0) || is_whole(&lab, 1));
	assert_near(lab.lost_s[0] + lab.lost_s[1], 40, 1e-9);
	assert_int_equal(fabric_counts(lab.fabric).n_moves, 1);
	/* Now nothing does harm, and nothing moves. */
	for (uint32_t i = 0; i < 2; i++)
		memcpy(lab.run[i], lab.plan.pieces.items + 2 * (size_t)i,
		       sizeof lab.run[i]);
	lab.view.now_s += 1000;
	lab_move(&lab);
	assert_int_equal(fabric_counts(lab.fabric).n_moves, 1);
	lab_fini(&lab);
}

static void
a_start_heals_for_nothing(void **state)
{
	struct lab lab;

	(void)state;
	heal_lab_init(&lab, &with_healing);
	for (uint32_t i = 0; i < 2; i++) {
		lab.jobs[i].pieces = NULL;
		lab.jobs[i].n_pieces = lab.jobs[i].n_held_gpus = 0;
	}
	lab_move(&lab);
	assert_true(is_whole(&lab, 0) || is_whole(&lab, 1));
	assert_near(lab.lost_s[0] + lab.lost_s[1], 0, 1e-9);
	assert_int_equal(fabric_counts(lab.fabric).n_moves, 0);
	lab_fini(&lab);
}

/* Costs above what 600 s of harm are worth, no move allowed, and no leave to move. */
static void
a_rack_does_not_heal_beyond_cost_and_limit(void **state)
{
	struct fabric_opts opts[] = { with_healing, with_healing, with_healing };

	(void)state;
	opts[0].move_cost_s = 4000;
	opts[1].moves_per_hour = 0.25;
	opts[2].may_move = false;
	for (size_t i = 0; i < sizeof opts / sizeof *opts; i++) {
		struct lab lab;

		heal_lab_init(&lab, &opts[i]);
		if (i == 1) {
			/* The one move of two hours is taken. */
			lab_move(&lab);
			assert_int_equal(fabric_counts(lab.fabric).n_moves, 1);
			memcpy(lab.plan.pieces.items, crossing, sizeof crossing);
			lab.view.now_s += 3600;
		}
		lab_move(&lab);
		assert_memory_equal(lab.plan.pieces.items, crossing, sizeof crossing);
		lab_fini(&lab);
	}
}

/* ---- Limits ---------------------------------------------------------------------- */

static void
no_more_move_than_the_share(void **state)
{
	struct fabric_opts opts = with_moves;
	struct lab lab;

	(void)state;
	/* Half a job an hour: one in two hours. */
	opts.moves_per_hour = 0.25;
	lab_init(&lab, 2, crossing, &opts);
	lab_move(&lab);
	assert_int_equal(fabric_counts(lab.fabric).n_moves, 1);
	memcpy(lab.plan.pieces.items, crossing, sizeof crossing);
	lab.view.now_s += 3600;
	lab_move(&lab);
	assert_int_equal(fabric_counts(lab.fabric).n_moves, 1);
	lab.view.now_s += 3601;
	lab_move(&lab);
	assert_int_equal(fabric_counts(lab.fabric).n_moves, 2);
	lab_fini(&lab);
}

static void
jobs_that_share_gpus_stay(void **state)
{
	struct lab lab;

	(void)state;
	lab_init(&lab, 2, crossing, &with_moves);
	lab.plan.grants.items[0].given.of[NEED_CPUS] = 1;
	lab.plan.grants.items[1].given.of[NEED_CPUS] = 1;
	lab_move(&lab);
	assert_memory_equal(lab.plan.pieces.items, crossing, sizeof crossing);
	lab_fini(&lab);
}

/* Without the lever there is no callback; by default the lever is off. */
static void
no_lever_no_move(void **state)
{
	struct fabric_opts opts = with_moves;
	struct lab lab;

	(void)state;
	opts.levers = 0;
	lab_init(&lab, 2, crossing, &opts);
	assert_null(lab.work.move);
	lab_fini(&lab);
}

/* ---- In the loop ----------------------------------------------------------------- */

/* Moves the job that runs when the second one arrives. */
static void
move_first(void *ctx, const struct pol_view *view, struct pol_plan *plan,
	   double *ret_lost_s)
{
	size_t *n_calls = ctx;

	(void)view;
	if ((*n_calls)++ != 1)
		return;
	assert_int_equal(plan->grants.items[0].job, 0);
	plan->pieces.items[plan->grants.items[0].first_piece].node = 7;
	ret_lost_s[0] = 40;
}

static void
a_moved_job_ends_later_by_what_it_loses(void **state)
{
	const struct cluster_job jobs[] = { cluster_lab_job(0, 1000, 2),
					    cluster_lab_job(100, 50, 2) };
	const struct policy_opts policy_opts = { .seed = 1,
						 .round_s = NAN,
						 .restart_s = NAN };

	(void)state;
	/* A planner, or a policy that empties the cluster, would undo the move. */
	for (int i = 0; i < 2; i++) {
		struct cluster_result results[2];
		struct cluster_counts counts;
		struct policy *policy;
		struct err err;
		size_t bad, n_calls = 0;
		const struct cluster_work work = { .ctx = &n_calls,
						   .move = move_first };
		const struct cluster_opts opts = { .cluster = &cluster,
						   .work = &work,
						   .until_s = INFINITY,
						   .check = true };

		assert_int_equal(policy_new(policy_find(i ? "gandiva" : "fifo"),
					    &policy_opts, &cluster, &policy, &err),
				 0);
		assert_int_equal(
			cluster_run(jobs, 2, policy, &opts, results, &counts, &bad), 0);
		if (i == 0) {
			assert_near(results[0].end_s, 1040, 1e-9);
			assert_near(results[0].executed_s, 1000, 1e-9);
			assert_near(results[1].end_s, 150, 1e-9);
			assert_int_equal(counts.n_migrations, 1);
		} else {
			assert_int_equal(n_calls, 0);
		}
		policy_free(policy);
	}
}

/* Jobs that come one by one, some of which run for long. */
static double
run_jobs(const char *policy_name, unsigned levers, double *ret_lost_s)
{
	struct fabric_opts opts = with_moves;
	const struct policy_opts policy_opts = { .seed = 1,
						 .round_s = NAN,
						 .restart_s = NAN };
	struct cluster_job jobs[40];
	struct cluster_result results[40];
	uint32_t model_of_all[40];
	struct cluster_counts counts;
	struct topo *topo = lab_topo(2, 4);
	struct fabric *fabric;
	struct cluster_work work;
	struct cluster_opts cluster_opts = {
		.cluster = &cluster, .work = &work, .until_s = INFINITY, .check = true
	};
	struct policy *policy;
	struct err err;
	size_t bad;
	double sum_s = 0;

	for (int i = 0; i < 40; i++) {
		jobs[i] = cluster_lab_job(500 * i, i % 3 == 0 ? 9000 : 800 + 37 * i,
					  2 + 2 * (uint32_t)(i % 2));
		model_of_all[i] = 1;
	}
	opts.levers = levers;
	assert_int_equal(fabric_new(&cluster, topo, models, model_of_all, 40, &opts,
				    &fabric, &err),
			 0);
	work = fabric_work(fabric);
	assert_int_equal(policy_new(policy_find(policy_name), &policy_opts, &cluster,
				    &policy, &err),
			 0);
	assert_int_equal(
		cluster_run(jobs, 40, policy, &cluster_opts, results, &counts, &bad),
		0);
	for (int i = 0; i < 40; i++)
		sum_s += results[i].end_s - jobs[i].submit_s;
	*ret_lost_s = fabric_counts(fabric).moved_lost_s;
	assert_true(counts.n_migrations >= fabric_counts(fabric).n_moves);
	policy_free(policy);
	fabric_free(fabric);
	topo_unref(topo);
	return sum_s / 40;
}

static void
moves_in_whole_runs_keep_plans_valid(void **state)
{
	static const char *const names[] = { "fifo-backfill", "las", "random", "blox",
					     "srtf" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		double lost_s, none_s, with_s;

		none_s = run_jobs(names[i], ADVISE_PATH, &lost_s);
		assert_near(lost_s, 0, 0);
		with_s = run_jobs(names[i], ADVISE_PATH | ADVISE_MOVE, &lost_s);
		print_message("%s: %.1f s, with moves %.1f s, lost %.0f s\n", names[i],
			      none_s, with_s, lost_s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_two_crossing_jobs_moves),
		cmocka_unit_test(a_job_that_may_end_soon_stays),
		cmocka_unit_test(a_move_that_costs_too_much_is_left),
		cmocka_unit_test(a_full_cluster_exchanges),
		cmocka_unit_test(
			a_rack_above_its_uplinks_heals_though_its_jobs_may_end_soon),
		cmocka_unit_test(a_start_heals_for_nothing),
		cmocka_unit_test(a_rack_does_not_heal_beyond_cost_and_limit),
		cmocka_unit_test(no_more_move_than_the_share),
		cmocka_unit_test(jobs_that_share_gpus_stay),
		cmocka_unit_test(no_lever_no_move),
		cmocka_unit_test(a_moved_job_ends_later_by_what_it_loses),
		cmocka_unit_test(moves_in_whole_runs_keep_plans_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
