/* SPDX-License-Identifier: Apache-2.0 */
/* test_fabric_monkeytree.c - MonkeyTree's moves keep plans valid, and restore the bound */
#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "lib/base/sort.h"
#include "sim/baselines/monkeytree.h"
#include "sim/cluster/fabric.h"
#include "sim/cluster/fabric_monkeytree.h"
#include "tests/unit/cluster_lab.h"
#include "tests/unit/fabric_lab.h"

#define NODES  16
#define LEAVES 4
#define GPUS   2
#define LAMBDA 2
#define JOBS   12

static uint32_t gpus[NODES], rack_of[NODES], type_of[NODES];
static const struct pol_cluster cluster = { .n_nodes = NODES,
					    .n_racks = LEAVES,
					    .n_types = 1,
					    .n_gpus = gpus,
					    .rack_of = rack_of,
					    .type_of = type_of,
					    .n_all_gpus = NODES * GPUS };

struct lab {
	struct topo *topo;
	struct fabric_monkeytree *moves;
	struct pol_job jobs[JOBS];
	uint32_t ids[JOBS];
	struct pol_piece held[JOBS][NODES]; /* Of running jobs. */
	struct pol_view view;
	struct pol_plan plan;
	uint32_t n_left[JOBS]; /* Nodes that a running job leaves. */
};

static void
lab_init(struct lab *lab)
{
	const struct gen_leaf_spine options = { .n_leaves = LEAVES,
						.hosts_per_leaf = NODES / LEAVES,
						.n_spines = LAMBDA,
						.host_bps = LINE,
						.uplink_bps = LINE };
	const uint32_t *hosts;
	size_t n_hosts;
	struct err err;

	*lab = (struct lab){ .topo = NULL };
	for (uint32_t i = 0; i < NODES; i++) {
		gpus[i] = GPUS;
		rack_of[i] = i / (NODES / LEAVES);
	}
	assert_int_equal(gen_leaf_spine(&options, &lab->topo, &err), 0);
	hosts = topo_hosts(lab->topo, &n_hosts);
	lab->moves = fabric_monkeytree_new(&cluster, lab->topo, hosts);
	assert_non_null(lab->moves);
	lab->view = (struct pol_view){
		.cluster = &cluster, .ids = lab->ids, .jobs = lab->jobs, .n_ids = JOBS
	};
}

static void
lab_fini(struct lab *lab)
{
	fabric_monkeytree_free(lab->moves);
	topo_unref(lab->topo);
	pol_plan_fini(&lab->plan);
}

static void
lab_clear(struct lab *lab)
{
	pol_plan_clear(&lab->plan);
	lab->view.n_jobs = 0;
}

/* Grants the next job 'n_gpus' on each of these nodes; it may run there already. */
static void
grant(struct lab *lab, const uint32_t *nodes, uint32_t n, uint32_t n_gpus, bool runs)
{
	uint32_t id = lab->view.n_jobs++;
	size_t first = lab->plan.pieces.n;

	lab->ids[id] = id;
	for (uint32_t i = 0; i < n; i++) {
		vec_push(&lab->plan.pieces,
			 ((struct pol_piece){ nodes[i], n_gpus, 0 }));
		lab->held[id][i] = (struct pol_piece){ nodes[i], n_gpus, 0 };
	}
	lab->jobs[id] = (struct pol_job){
		.id = id, .n_gpus = n * n_gpus, .max_gpus = n * n_gpus, .group = id
	};
	if (runs) {
		lab->jobs[id].pieces = lab->held[id];
		lab->jobs[id].n_pieces = n;
		lab->jobs[id].n_held_gpus = n * n_gpus;
	}
	pol_plan_grant(&lab->plan, id, n * n_gpus, id, first);
}

static uint32_t
apply(struct lab *lab)
{
	return fabric_monkeytree_move(lab->moves, &lab->view, &lab->plan, lab->n_left);
}

/* Nodes of the job now that it had not in 'before'. */
static uint32_t
count_new(const struct lab *lab, uint32_t job, const struct pol_piece *before)
{
	const struct pol_grant *g = pol_plan_find(&lab->plan, job);
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_pieces; i++) {
		uint32_t node = lab->plan.pieces.items[g->first_piece + i].node;
		bool is_old = false;

		for (uint32_t k = 0; k < g->n_pieces; k++)
			is_old |= before[k].node == node;
		n += !is_old;
	}
	return n;
}

static void
two_split_jobs_change_places(void **state)
{
	/* Three jobs have parts in leaves 0 and 1; two uplinks each. */
	const uint32_t a[] = { 0, 1, 4 }, b[] = { 2, 5, 6 }, c[] = { 3, 7 };
	struct lab lab;
	uint32_t n;

	(void)state;
	lab_init(&lab);
	grant(&lab, a, 3, GPUS, true);
	grant(&lab, b, 3, GPUS, true);
	grant(&lab, c, 2, GPUS, false);
	n = apply(&lab);
	assert_null(pol_plan_why_not(&lab.plan, &lab.view));
	/* A job of two nodes leaves, or two jobs change places. */
	assert_int_equal(n, 2);
	/* Now nothing is above the bound. */
	assert_int_equal(apply(&lab), 0);
	lab_fini(&lab);
}

static void
jobs_within_the_bound_stay(void **state)
{
	const uint32_t a[] = { 0, 1, 4 }, b[] = { 2, 5, 6 };
	struct lab lab;

	(void)state;
	lab_init(&lab);
	grant(&lab, a, 3, GPUS, true);
	grant(&lab, b, 3, GPUS, true);
	assert_int_equal(apply(&lab), 0);
	assert_int_equal(count_new(&lab, 0, lab.held[0]), 0);
	assert_int_equal(count_new(&lab, 1, lab.held[1]), 0);
	lab_fini(&lab);
}

/* Random plans: whole nodes move, jobs on parts of nodes stay; starts are free. */
static void
plans_stay_valid_and_bounded(void **state)
{
	uint32_t n_nodes_moved = 0;
	struct lab lab;
	struct rng rng;

	(void)state;
	lab_init(&lab);
	rng_init(&rng, 9);
	for (int i = 0; i < 300; i++) {
		uint32_t nodes[NODES], next = 0, loads[LEAVES] = { 0 }, n, sum = 0;
		struct pol_piece before[JOBS][NODES];

		lab_clear(&lab);
		for (uint32_t k = 0; k < NODES; k++)
			nodes[k] = k;
		rng_shuffle(&rng, nodes, NODES);
		while (lab.view.n_jobs < JOBS && next < NODES - 1) {
			uint32_t most = NODES - 1 - next;
			uint32_t size =
				1 + (uint32_t)rng_below(&rng, most < 4 ? most : 4);

			sort_items(nodes + next, size, sort_by_u32);
			grant(&lab, nodes + next, size, 1 + (rng_below(&rng, 4) > 0),
			      rng_below(&rng, 2));
			next += size;
		}
		memcpy(before, lab.held, sizeof before);
		n = apply(&lab);
		n_nodes_moved += n;
		assert_null(pol_plan_why_not(&lab.plan, &lab.view));
		for (uint32_t j = 0; j < lab.view.n_jobs; j++) {
			const struct pol_grant *g = pol_plan_find(&lab.plan, j);
			const struct pol_piece *pieces =
				lab.plan.pieces.items + g->first_piece;
			uint32_t n_new = count_new(&lab, j, before[j]);
			bool is_in[LEAVES] = { false },
			     is_whole = pieces[0].n_gpus == GPUS;
			uint32_t n_leaves = 0;

			assert_true(is_whole || !n_new);
			sum += n_new;
			assert_int_equal(lab.n_left[j],
					 lab.jobs[j].n_pieces ? n_new : 0);
			for (uint32_t k = 0; k < g->n_pieces; k++)
				is_in[rack_of[pieces[k].node]] = true;
			for (uint32_t r = 0; r < LEAVES; r++)
				n_leaves += is_in[r];
			for (uint32_t r = 0; r < LEAVES; r++)
				loads[r] += is_whole && n_leaves > 1 && is_in[r];
		}
		assert_int_equal(sum, n);
		for (uint32_t r = 0; n && r < LEAVES; r++)
			assert_true(loads[r] <= LAMBDA);
	}
	assert_true(n_nodes_moved > 50);
	lab_fini(&lab);
}

static void
unlike_nodes_do_not_move(void **state)
{
	struct lab lab;
	const uint32_t *hosts;
	size_t n_hosts;

	(void)state;
	lab_init(&lab);
	hosts = topo_hosts(lab.topo, &n_hosts);
	gpus[3] = GPUS + 1;
	assert_null(fabric_monkeytree_new(&cluster, lab.topo, hosts));
	gpus[3] = GPUS;
	lab_fini(&lab);
}

/* Plans are checked; a job that moves does not pay the policy's restart of 1000 s. */
static void
a_simulation_with_moves_keeps_its_invariants(void **state)
{
	static const enum fabric_augment augments[] = { FABRIC_SPRAY, FABRIC_CRUX,
							FABRIC_CRUX_PATHS,
							FABRIC_MONKEYTREE };
	struct cluster_job jobs[60];
	struct cluster_result results[60];
	uint32_t model_of[60];
	struct rng rng;
	struct lab lab;

	(void)state;
	lab_init(&lab);
	rng_init(&rng, 3);
	for (uint32_t j = 0; j < 60; j++) {
		jobs[j] = cluster_lab_job(j, 100 + (double)rng_below(&rng, 400),
					  GPUS * (1 + (uint32_t)rng_below(&rng, 6)));
		model_of[j] = (uint32_t)rng_below(&rng, 2);
	}
	for (size_t a = 0; a < sizeof augments / sizeof *augments; a++) {
		const struct fabric_opts opts = { .augment = augments[a],
						  .seed = 1,
						  .max_iterations = 8,
						  .may_move = true };
		const struct policy_opts policy_opts = { .seed = 1,
							 .round_s = NAN,
							 .restart_s = 1000 };
		struct cluster_counts counts;
		struct fabric_counts seen;
		struct cluster_work work;
		struct policy *policy;
		struct fabric *fabric;
		struct cluster_opts cluster_opts = { .cluster = &cluster,
						     .work = &work,
						     .until_s = INFINITY,
						     .check = true };
		struct err err = { 0 };
		size_t bad;

		assert_int_equal(fabric_new(&cluster, lab.topo, models, model_of, 60,
					    &opts, &fabric, &err),
				 0);
		work = fabric_work(fabric);
		assert_int_equal(policy_new(policy_find("fifo-backfill"), &policy_opts,
					    &cluster, &policy, &err),
				 0);
		assert_int_equal(cluster_run(jobs, 60, policy, &cluster_opts, results,
					     &counts, &bad),
				 0);
		seen = fabric_counts(fabric);
		assert_int_equal(counts.n_migrations > 0,
				 augments[a] == FABRIC_MONKEYTREE);
		assert_int_equal(seen.n_nodes_moved > 0,
				 augments[a] == FABRIC_MONKEYTREE);
		assert_int_equal(seen.n_path_changes > 0, augments[a] != FABRIC_SPRAY);
		for (uint32_t j = 0; j < 60; j++) {
			assert_true(results[j].end_s > jobs[j].submit_s);
			/* With restarts of 1000 s, moved jobs would take longer. */
			assert_true(results[j].end_s - results[j].first_s < 1000);
		}
		policy_free(policy);
		fabric_free(fabric);
	}
	lab_fini(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_split_jobs_change_places),
		cmocka_unit_test(jobs_within_the_bound_stay),
		cmocka_unit_test(plans_stay_valid_and_bounded),
		cmocka_unit_test(unlike_nodes_do_not_move),
		cmocka_unit_test(a_simulation_with_moves_keeps_its_invariants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
