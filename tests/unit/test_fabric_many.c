/* SPDX-License-Identifier: Apache-2.0 */
/* test_fabric_many.c - many contending jobs on a fabric: run lengths, and no shifts */
#include <string.h>

#include "lib/base/err.h"
#include "sim/cluster/fabric_priv.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/topo.h"

#define MOST 20 /* Jobs, each on a host in both leaves. */
#define LINE 50e9

/* In a ring of two each host sends 2 ms at 50 Gb/s, of 102 ms: twenty fit. */
static struct work_segment segments[] = { { .compute_ns = 100000000 },
					  { .nic_bytes = 12.5e6 } };
static bool messages[] = { false, true };
static struct work_model model = {
	.name = "few", .segments = segments, .n_segments = 2, .is_message = messages
};

/* Jobs that share the one uplink of their leaves. */
struct scene {
	struct topo *topo;
	struct fabric *fabric;
	struct cluster_work work;
	uint32_t gpus[2 * MOST], ids[MOST];
	struct pol_cluster cluster;
	struct pol_piece pieces[MOST][2];
	struct pol_job jobs[MOST];
	struct pol_view view;
};

static void
open_scene(struct scene *scene, const struct fabric_opts *opts)
{
	static const uint32_t model_of[MOST], zeros[2 * MOST];
	const struct gen_leaf_spine options = { .n_leaves = 2,
						.hosts_per_leaf = MOST,
						.n_spines = 1,
						.host_bps = LINE,
						.uplink_bps = LINE };
	struct err err;

	scene->cluster = (struct pol_cluster){ .n_nodes = 2 * MOST,
					       .n_racks = 1,
					       .n_types = 1,
					       .n_gpus = scene->gpus,
					       .rack_of = zeros,
					       .type_of = zeros,
					       .n_all_gpus = 2 * MOST };
	scene->view = (struct pol_view){ .cluster = &scene->cluster,
					 .ids = scene->ids,
					 .jobs = scene->jobs };
	for (uint32_t i = 0; i < 2 * MOST; i++)
		scene->gpus[i] = 1;
	for (uint32_t i = 0; i < MOST; i++) {
		scene->pieces[i][0] = (struct pol_piece){ i, 1, 0 };
		scene->pieces[i][1] = (struct pol_piece){ MOST + i, 1, 0 };
		scene->ids[i] = i;
		scene->jobs[i] = (struct pol_job){ .id = i,
						   .pieces = scene->pieces[i],
						   .n_pieces = 2,
						   .n_held_gpus = 2 };
	}
	assert_int_equal(gen_leaf_spine(&options, &scene->topo, &err), 0);
	assert_int_equal(fabric_new(&scene->cluster, scene->topo, &model, model_of,
				    MOST, opts, &scene->fabric, &err),
			 0);
	scene->work = fabric_work(scene->fabric);
}

static void
close_scene(struct scene *scene)
{
	fabric_free(scene->fabric);
	topo_unref(scene->topo);
}

/* Speeds of the first 'n'; returns the counts so far. */
static struct fabric_counts
rates_of(struct scene *scene, uint32_t n, double *ret_speeds)
{
	for (uint32_t i = 0; i < n; i++)
		ret_speeds[i] = 1;
	scene->view.n_jobs = scene->view.n_ids = n;
	scene->work.rates(scene->work.ctx, &scene->view, ret_speeds);
	return fabric_counts(scene->fabric);
}

static struct fabric_counts
meet(uint32_t n, enum fabric_augment augment, double *ret_speeds)
{
	const struct fabric_opts opts = { .augment = augment, .seed = 1 };
	struct fabric_counts counts;
	struct scene scene;

	open_scene(&scene, &opts);
	counts = rates_of(&scene, n, ret_speeds);
	close_scene(&scene);
	assert_int_equal(counts.max_jobs, n);
	return counts;
}

static void
as_many_as_are_shifted_are_as_alone(void **state)
{
	double chance[MOST], shifted[MOST];

	(void)state;
	meet(FABRIC_MANY, FABRIC_NONE, chance);
	assert_int_equal(meet(FABRIC_MANY, FABRIC_ANTIPHASE, shifted).n_shifted, 1);
	for (uint32_t i = 0; i < FABRIC_MANY; i++)
		assert_near(shifted[i], 1, 1e-3);
	assert_memory_not_equal(chance, shifted, FABRIC_MANY * sizeof *chance);
}

static void
more_are_left_to_chance(void **state)
{
	double chance[MOST], left[MOST];

	(void)state;
	meet(FABRIC_MANY + 1, FABRIC_NONE, chance);
	assert_int_equal(meet(FABRIC_MANY + 1, FABRIC_ANTIPHASE, left).n_shifted, 0);
	assert_memory_equal(chance, left, (FABRIC_MANY + 1) * sizeof *chance);
}

static void
many_are_looked_at_in_windows(void **state)
{
	struct fabric_opts opts = { .seed = 1 };
	struct fabric_counts counts;
	double speeds[MOST];
	struct scene scene;

	(void)state;
	open_scene(&scene, &opts);
	counts = rates_of(&scene, FABRIC_MANY, speeds);
	assert_int_equal(counts.n_windows, 0);
	assert_int_equal(counts.n_exact + counts.n_means, 1);
	for (uint32_t n = MOST; n > FABRIC_MANY; n--)
		counts = rates_of(&scene, n, speeds);
	assert_int_equal(counts.n_windows, MOST - FABRIC_MANY);
	assert_int_equal(counts.n_exact + counts.n_means, 1);
	for (uint32_t i = 0; i < FABRIC_MANY; i++)
		assert_true(speeds[i] > 0.95 && speeds[i] <= 1 + 1e-9);
	/* A cached result: no new run. */
	assert_int_equal(rates_of(&scene, MOST, speeds).n_windows, MOST - FABRIC_MANY);
	close_scene(&scene);

	opts.max_iterations = 8;
	open_scene(&scene, &opts);
	counts = rates_of(&scene, MOST, speeds);
	assert_int_equal(counts.n_windows, 0);
	assert_int_equal(counts.n_exact + counts.n_means, 1);
	close_scene(&scene);
}

static void
plan_grant(struct pol_plan *plan, uint32_t job, uint32_t node, uint32_t other)
{
	vec_push(&plan->grants,
		 ((struct pol_grant){ .job = job,
				      .n_gpus = 2,
				      .group = job,
				      .first_piece = (uint32_t)plan->pieces.n,
				      .n_pieces = 2 }));
	vec_push(&plan->pieces, ((struct pol_piece){ node, 1, 0 }));
	vec_push(&plan->pieces, ((struct pol_piece){ other, 1, 0 }));
}

/* Another job may cross the crowded uplink, or stay below a leaf. */
static void
of_many_the_least_overlap_is_taken_without_a_run(void **state)
{
	const struct fabric_opts opts = { .augment = FABRIC_ANTIPHASE, .seed = 1 };
	const uint32_t n = FABRIC_MANY + 1;

	(void)state;
	for (uint32_t close = 0; close < 2; close++) {
		struct pol_plan plans[2] = { 0 };
		struct fabric_counts counts;
		struct scene scene;
		double speeds[MOST];

		open_scene(&scene, &opts);
		rates_of(&scene, n, speeds);
		scene.jobs[n].n_pieces = 0;
		scene.view.n_jobs = scene.view.n_ids = n + 1;
		for (uint32_t p = 0; p < 2; p++) {
			for (uint32_t i = 0; i < n; i++)
				plan_grant(&plans[p], i, i, MOST + i);
			plan_grant(&plans[p], n, n, p == close ? n + 1 : MOST + n);
		}
		assert_int_equal(scene.work.augment.choose(scene.work.augment.ctx,
							   &scene.view, plans, 2),
				 close);
		counts = fabric_counts(scene.fabric);
		assert_int_equal(counts.n_judged, 2);
		assert_int_equal(counts.n_solved, 1);
		pol_plan_fini(&plans[0]);
		pol_plan_fini(&plans[1]);
		close_scene(&scene);
	}
}

static void
more_jobs_are_run_for_fewer_iterations(void **state)
{
	static const struct {
		size_t n;
		struct steady_limits limits;
	} rows[] = {
		{ 1, { 128, 1024 } }, { 8, { 128, 1024 } }, { 16, { 32, 256 } },
		{ 32, { 16, 64 } },   { 57, { 16, 16 } },   { 1000, { 16, 16 } },
	};
	struct fabric fabric = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct steady_limits limits = fabric_limits(&fabric, rows[i].n);

		assert_int_equal(limits.of_slowest, rows[i].limits.of_slowest);
		assert_int_equal(limits.of_each, rows[i].limits.of_each);
	}
	fabric.opts.max_iterations = 20;
	assert_int_equal(fabric_limits(&fabric, 57).of_slowest, 20);
	assert_int_equal(fabric_limits(&fabric, 57).of_each, 160);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_as_are_shifted_are_as_alone),
		cmocka_unit_test(more_are_left_to_chance),
		cmocka_unit_test(many_are_looked_at_in_windows),
		cmocka_unit_test(of_many_the_least_overlap_is_taken_without_a_run),
		cmocka_unit_test(more_jobs_are_run_for_fewer_iterations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
