/* SPDX-License-Identifier: Apache-2.0 */
/* test_fabric_choose.c - the choice among plans on a fabric; small jobs */
#include <string.h>

#include "lib/base/err.h"
#include "sim/cluster/fabric.h"
#include "tests/unit/fabric_lab.h"
#include "tests/unit/test.h"
#include "topology/topo.h"

/*
 * Two jobs run, each on two of the four nodes of a leaf, and two more arrive.  In one
 * plan both new jobs cross the leaves and contend; in the other each is on one leaf.
 */
#define N_CHOICE_NODES 8

static struct pol_piece crossed[2][2] = { { { 1, 2, 0 }, { 5, 2, 0 } },
					  { { 2, 2, 0 }, { 6, 2, 0 } } };
static struct pol_piece on_leaves[2][2] = { { { 1, 2, 0 }, { 2, 2, 0 } },
					    { { 5, 2, 0 }, { 6, 2, 0 } } };

static void
make_plan(const struct pol_job *jobs, struct pol_piece (*pieces)[2],
	  struct pol_plan *plan)
{
	pol_plan_clear(plan);
	for (uint32_t i = 0; i < 4; i++) {
		const struct pol_piece *of = i < 2 ? jobs[i].pieces : pieces[i - 2];

		vec_push(&plan->grants, ((struct pol_grant){ .job = i,
							     .n_gpus = 4,
							     .group = i,
							     .first_piece = 2 * i,
							     .n_pieces = 2 }));
		vec_push(&plan->pieces, of[0]);
		vec_push(&plan->pieces, of[1]);
	}
}

static uint32_t
choose(enum fabric_augment augment, struct pol_piece (*first)[2],
       struct pol_piece (*second)[2])
{
	static const uint32_t eight[N_CHOICE_NODES] = { 2, 2, 2, 2, 2, 2, 2, 2 };
	static const uint32_t none[N_CHOICE_NODES], ids[] = { 0, 1, 2, 3 };
	static const uint32_t model_of[] = { 1, 1, 1, 1 };
	static const struct pol_cluster wide = { .n_nodes = N_CHOICE_NODES,
						 .n_racks = 1,
						 .n_types = 1,
						 .n_gpus = eight,
						 .rack_of = none,
						 .type_of = none,
						 .n_all_gpus = 16 };
	const struct fabric_opts opts = { .augment = augment, .seed = 1 };
	struct pol_piece run[2][2] = { { { 0, 2, 0 }, { 3, 2, 0 } },
				       { { 4, 2, 0 }, { 7, 2, 0 } } };
	struct pol_job jobs[4];
	const struct pol_view view = {
		.cluster = &wide, .ids = ids, .n_jobs = 4, .jobs = jobs, .n_ids = 4
	};
	struct pol_plan plans[2] = { 0 };
	struct cluster_work work;
	struct fabric *fabric;
	struct topo *topo = lab_topo(2, 4);
	struct err err;
	uint32_t chosen;

	for (uint32_t i = 0; i < 4; i++)
		jobs[i] = (struct pol_job){ .id = i,
					    .n_gpus = 4,
					    .max_gpus = 4,
					    .group = i,
					    .pieces = i < 2 ? run[i] : NULL,
					    .n_pieces = i < 2 ? 2 : 0,
					    .n_held_gpus = i < 2 ? 4 : 0 };
	make_plan(jobs, first, &plans[0]);
	make_plan(jobs, second, &plans[1]);
	assert_null(pol_plan_why_not(&plans[0], &view));
	assert_null(pol_plan_why_not(&plans[1], &view));
	assert_int_equal(
		fabric_new(&wide, topo, models, model_of, 4, &opts, &fabric, &err), 0);
	work = fabric_work(fabric);
	chosen = work.augment.choose(work.augment.ctx, &view, plans, 2);
	/* With an empty cache the same plan is chosen again. */
	work.rates(work.ctx, &view, (double[4]){ 1, 1, 0, 0 });
	assert_int_equal(work.augment.choose(work.augment.ctx, &view, plans, 2),
			 chosen);
	pol_plan_fini(&plans[0]);
	pol_plan_fini(&plans[1]);
	fabric_free(fabric);
	topo_unref(topo);
	return chosen;
}

static void
of_two_plans_the_one_without_a_collision_is_chosen(void **state)
{
	(void)state;
	for (enum fabric_augment a = FABRIC_CASSINI; a <= FABRIC_CASSINI_ONCE; a++) {
		assert_int_equal(choose(a, crossed, on_leaves), 1);
		assert_int_equal(choose(a, on_leaves, crossed), 0);
		assert_int_equal(choose(a, crossed, crossed), 0);
	}
}

/*
 * A convoy runs across the first two of four leaves, and another job across the others.
 * A small job arrives, with an iteration a thirtieth of the convoy's: beside the convoy
 * (0) or beside the other job (1).  GPU counts are per node, on two nodes each.
 */
static void plan_company(struct pol_piece (*pieces)[2], struct pol_plan *plan)
{
	for (uint32_t i = 0; i < 3; i++) {
		vec_push(&plan->grants,
			 ((struct pol_grant){ .job = i,
					      .n_gpus = 2 * pieces[i][0].n_gpus,
					      .group = i,
					      .first_piece = 2 * i,
					      .n_pieces = 2 }));
		vec_push(&plan->pieces, pieces[i][0]);
		vec_push(&plan->pieces, pieces[i][1]);
	}
}

/*
 * The choice, and the speeds of the three jobs; n_before of the other job were on the
 * same nodes before.
 */
static uint32_t
choose_company(uint32_t n_convoy, uint32_t n_before, uint32_t n_other, uint32_t n_small,
	       double ret_speeds[3])
{
	static const uint32_t sixteen[] = { 16, 16, 16, 16, 16, 16, 16, 16 };
	static const uint32_t none[N_CHOICE_NODES], ids[] = { 0, 1, 2 };
	static const uint32_t model_of[] = { 2, 1, 1 };
	static const struct pol_cluster wide = { .n_nodes = N_CHOICE_NODES,
						 .n_racks = 1,
						 .n_types = 1,
						 .n_gpus = sixteen,
						 .rack_of = none,
						 .type_of = none,
						 .n_all_gpus = 128 };
	const struct fabric_opts opts = { .augment = FABRIC_ANTIPHASE, .seed = 1 };
	struct pol_piece beside_convoy[3][2] = {
		{ { 0, n_convoy, 0 }, { 2, n_convoy, 0 } },
		{ { 4, n_other, 0 }, { 6, n_other, 0 } },
		{ { 1, n_small, 0 }, { 3, n_small, 0 } }
	};
	struct pol_piece beside_other[3][2] = {
		{ { 0, n_convoy, 0 }, { 2, n_convoy, 0 } },
		{ { 4, n_other, 0 }, { 6, n_other, 0 } },
		{ { 5, n_small, 0 }, { 7, n_small, 0 } }
	};
	struct pol_job jobs[3];
	const struct pol_view view = {
		.cluster = &wide, .ids = ids, .n_jobs = 3, .jobs = jobs, .n_ids = 3
	};
	struct pol_plan plans[2] = { 0 };
	struct cluster_work work;
	struct fabric *fabric;
	struct topo *topo = lab_topo(4, 2);
	struct err err;
	uint32_t chosen;

	assert_int_equal(
		fabric_new(&wide, topo, models, model_of, 3, &opts, &fabric, &err), 0);
	work = fabric_work(fabric);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t n_gpus = 2 * beside_convoy[i][0].n_gpus;

		jobs[i] = (struct pol_job){ .id = i,
					    .n_gpus = n_gpus,
					    .max_gpus = n_gpus,
					    .group = i,
					    .pieces = beside_convoy[i],
					    .n_pieces = i < 2 ? 2 : 0,
					    .n_held_gpus = i < 2 ? n_gpus : 0 };
		ret_speeds[i] = 1;
	}
	jobs[1].n_held_gpus = 2 * n_before;
	work.rates(work.ctx, &view, ret_speeds);
	jobs[1].n_held_gpus = 2 * n_other;
	plan_company(beside_convoy, &plans[0]);
	plan_company(beside_other, &plans[1]);
	assert_null(pol_plan_why_not(&plans[0], &view));
	assert_null(pol_plan_why_not(&plans[1], &view));
	chosen = work.augment.choose(work.augment.ctx, &view, plans, 2);
	jobs[2].pieces = chosen ? beside_other[2] : beside_convoy[2];
	jobs[2].n_pieces = 2;
	jobs[2].n_held_gpus = jobs[2].n_gpus;
	work.rates(work.ctx, &view, ret_speeds);
	pol_plan_fini(&plans[0]);
	pol_plan_fini(&plans[1]);
	fabric_free(fabric);
	topo_unref(topo);
	return chosen;
}

/* Mean losses: 2 times 0.58 GPUs, or 2 and 6 times 0.2 beside the other job. */
static void
a_small_job_is_not_put_where_it_waits_for_a_large_one(void **state)
{
	double speeds[3];

	(void)state;
	assert_int_equal(choose_company(8, 6, 6, 2, speeds), 1);
	assert_near(speeds[0], 1, 1e-9);
	assert_near(speeds[1], 50.0 / 60, 1e-3);
	assert_near(speeds[2], 50.0 / 60, 1e-3);
}

/* The other job is too large to be slowed down, so they share the link. */
static void
a_small_job_takes_no_turns_with_a_large_one(void **state)
{
	double speeds[3];

	(void)state;
	assert_int_equal(choose_company(8, 16 - 2, 16 - 2, 2, speeds), 0);
	assert_near(speeds[1], 1, 1e-9);
	/* With gates 1 and 0.63. */
	assert_true(speeds[0] > 0.75 && speeds[0] < 0.9);
	assert_true(speeds[2] > 0.75 && speeds[2] < 0.9);
}

/* As above, with its present size. */
static void
a_job_that_grew_where_it_is_counts_more(void **state)
{
	double speeds[3];

	(void)state;
	assert_int_equal(choose_company(8, 6, 16 - 2, 2, speeds), 0);
	assert_int_equal(choose_company(8, 16 - 2, 6, 2, speeds), 1);
}

/* One job starts, alone: in both plans no link is shared. */
static void
of_quiet_plans_antiphase_takes_the_one_with_fewer_fragments(void **state)
{
	static const uint32_t eight[N_CHOICE_NODES] = { 2, 2, 2, 2, 2, 2, 2, 2 };
	static const uint32_t none[N_CHOICE_NODES], id = 0, model_of = 1;
	static const struct pol_cluster wide = { .n_nodes = N_CHOICE_NODES,
						 .n_racks = 1,
						 .n_types = 1,
						 .n_gpus = eight,
						 .rack_of = none,
						 .type_of = none,
						 .n_all_gpus = 16 };

	static const enum fabric_augment augments[] = { FABRIC_CASSINI,
							FABRIC_ANTIPHASE };
	struct pol_job job = { .n_gpus = 4, .max_gpus = 4 };
	const struct pol_view view = {
		.cluster = &wide, .ids = &id, .n_jobs = 1, .jobs = &job, .n_ids = 1
	};

	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		const struct fabric_opts opts = { .augment = augments[k], .seed = 1 };
		struct pol_plan plans[2] = { 0 };
		struct topo *topo = lab_topo(2, 4);
		struct cluster_work work;
		struct fabric *fabric;
		struct err err;

		for (uint32_t i = 0; i < 2; i++) {
			vec_push(&plans[i].grants,
				 ((struct pol_grant){ .n_gpus = 4, .n_pieces = 2 }));
			vec_push(&plans[i].pieces, ((struct pol_piece){ 1, 2, 0 }));
			vec_push(&plans[i].pieces,
				 ((struct pol_piece){ i ? 2 : 5, 2, 0 }));
		}
		assert_int_equal(fabric_new(&wide, topo, models, &model_of, 1, &opts,
					    &fabric, &err),
				 0);
		work = fabric_work(fabric);
		assert_int_equal(work.augment.choose(work.augment.ctx, &view, plans, 2),
				 k);
		for (uint32_t i = 0; i < 2; i++)
			pol_plan_fini(&plans[i]);
		fabric_free(fabric);
		topo_unref(topo);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_two_plans_the_one_without_a_collision_is_chosen),
		cmocka_unit_test(a_small_job_is_not_put_where_it_waits_for_a_large_one),
		cmocka_unit_test(a_small_job_takes_no_turns_with_a_large_one),
		cmocka_unit_test(a_job_that_grew_where_it_is_counts_more),
		cmocka_unit_test(
			of_quiet_plans_antiphase_takes_the_one_with_fewer_fragments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
