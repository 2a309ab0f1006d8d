/* Clusters on a fabric: closed forms, what repeats, what is remembered. */
#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "sim/cluster/fabric.h"
#include "sim/cluster/steady.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/route.h"
#include "topology/topo.h"

#define N_NODES 4
#define LINE    50e9

static const uint32_t gpus[N_NODES] = { 2, 2, 2, 2 }, zeros[N_NODES];
static const struct pol_cluster cluster = { .n_nodes = N_NODES,
					    .n_racks = 1,
					    .n_types = 1,
					    .n_gpus = gpus,
					    .rack_of = zeros,
					    .type_of = zeros,
					    .n_all_gpus = 8 };

/* A ring of two sends the message out of each: 20 ms at 50 Gb/s, in 45 ms. */
static struct work_segment halves[] = { { .compute_ns = 25000000 },
					{ .nic_bytes = 125e6 } };
/* 30 ms of 50 ms: two do not fit. */
static struct work_segment longer[] = { { .compute_ns = 20000000 },
					{ .nic_bytes = 187.5e6 } };
static bool messages[] = { false, true };
static struct work_model models[] = {
	{ .name = "halves",
	  .segments = halves,
	  .n_segments = 2,
	  .is_message = messages },
	{ .name = "longer",
	  .segments = longer,
	  .n_segments = 2,
	  .is_message = messages },
};

/* Two leaves of two hosts, and one uplink each. */
static struct topo *
make_topo(void)
{
	const struct gen_leaf_spine options = { .n_leaves = 2,
						.hosts_per_leaf = 2,
						.n_spines = 1,
						.host_bps = LINE,
						.uplink_bps = LINE };
	struct topo *topo;
	struct err err;

	assert_int_equal(gen_leaf_spine(&options, &topo, &err), 0);
	return topo;
}

/* Job i on nodes i and i + 2: both rings cross the same uplinks. */
static void
place_two(struct pol_job *jobs, struct pol_piece (*pieces)[2])
{
	for (uint32_t i = 0; i < 2; i++) {
		pieces[i][0] = (struct pol_piece){ i, 2 };
		pieces[i][1] = (struct pol_piece){ i + 2, 2 };
		jobs[i] = (struct pol_job){
			.id = i, .pieces = pieces[i], .n_pieces = 2, .n_held_gpus = 4
		};
	}
}

static struct fabric_counts
rates_of_two(const uint32_t *model_of, const struct fabric_opts *opts, unsigned n_times,
	     double ret_speeds[2])
{
	static const uint32_t ids[] = { 0, 1 };
	struct pol_piece pieces[2][2];
	struct pol_job jobs[2];
	const struct pol_view view = {
		.cluster = &cluster, .ids = ids, .n_jobs = 2, .jobs = jobs, .n_ids = 2
	};
	struct topo *topo = make_topo();
	struct fabric *fabric;
	struct fabric_counts counts;
	struct cluster_work work;
	struct err err;

	place_two(jobs, pieces);
	assert_int_equal(
		fabric_new(&cluster, topo, models, model_of, 2, opts, &fabric, &err),
		0);
	work = fabric_work(fabric);
	while (n_times--) {
		double speeds[2] = { 1, 1 };

		work.rates(work.ctx, &view, speeds);
		memcpy(ret_speeds, speeds, sizeof speeds);
	}
	counts = fabric_counts(fabric);
	fabric_free(fabric);
	topo_unref(topo);
	return counts;
}

/* 30 ms each of 50 ms: 60 ms if they are never together, 80 ms if they always are. */
static void
two_equal_jobs_that_do_not_fit_are_slowed_alike(void **state)
{
	static const uint32_t model_of[] = { 1, 1 };
	double speeds[2];

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct fabric_opts opts = { .seed = seed };
		struct fabric_counts counts = rates_of_two(model_of, &opts, 1, speeds);

		assert_true(speeds[0] <= 50.0 / 60 + 1e-6);
		assert_true(speeds[0] >= 50.0 / 80 - 1e-6);
		assert_near(speeds[0], speeds[1], 1e-6);
		assert_int_equal(counts.n_exact, 1);
	}
}

/* Antiphase finds 45 ms for two that fit; chance does not always. */
static void
shifts_let_two_that_fit_be_as_alone(void **state)
{
	static const uint32_t model_of[] = { 0, 0 };
	double speeds[2], worst = 1;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct fabric_opts opts = { .seed = seed };

		rates_of_two(model_of, &opts, 1, speeds);
		worst = fmin(worst, speeds[0]);
		opts.augment = FABRIC_CASSINI;
		rates_of_two(model_of, &opts, 1, speeds);
		assert_near(speeds[0], 1, 1e-6);
		assert_near(speeds[1], 1, 1e-6);
		opts.augment = FABRIC_CASSINI_ONCE;
		rates_of_two(model_of, &opts, 1, speeds);
		assert_near(speeds[0], 1, 1e-6);
		assert_near(speeds[1], 1, 1e-6);
		opts.augment = FABRIC_ANTIPHASE;
		rates_of_two(model_of, &opts, 1, speeds);
		assert_near(speeds[0], 1, 1e-6);
		assert_near(speeds[1], 1, 1e-6);
	}
	assert_true(worst < 0.95);
}

static void
what_was_seen_before_is_not_run_again(void **state)
{
	static const uint32_t model_of[] = { 0, 1 };
	const struct fabric_opts opts = { .seed = 3 };
	struct fabric_counts counts;
	double once[2], again[2];

	(void)state;
	rates_of_two(model_of, &opts, 1, once);
	counts = rates_of_two(model_of, &opts, 5, again);
	assert_memory_equal(once, again, sizeof once);
	assert_int_equal(counts.n_components, 5);
	assert_int_equal(counts.n_solved, 1);
}

static void
jobs_without_a_model_or_on_one_host_are_as_alone(void **state)
{
	static const uint32_t model_of[] = { 1, POL_NONE };
	const struct fabric_opts opts = { .seed = 1 };
	double speeds[2];

	(void)state;
	assert_int_equal(rates_of_two(model_of, &opts, 1, speeds).n_components, 0);
	assert_near(speeds[0], 1, 0);
	assert_near(speeds[1], 1, 0);
}

/*
 * Two jobs run, each on two of the four nodes of a leaf, and two come: in one plan both
 * are across the leaves, where they meet, in the other each is on one leaf.
 */
#define N_CHOICE_NODES 8

static struct pol_piece crossed[2][2] = { { { 1, 2 }, { 5, 2 } },
					  { { 2, 2 }, { 6, 2 } } };
static struct pol_piece on_leaves[2][2] = { { { 1, 2 }, { 2, 2 } },
					    { { 5, 2 }, { 6, 2 } } };

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
							     .n_pieces = 2,
							     .share = 1 }));
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
	const struct gen_leaf_spine options = { .n_leaves = 2,
						.hosts_per_leaf = 4,
						.n_spines = 1,
						.host_bps = LINE,
						.uplink_bps = LINE };
	const struct fabric_opts opts = { .augment = augment, .seed = 1 };
	struct pol_piece run[2][2] = { { { 0, 2 }, { 3, 2 } }, { { 4, 2 }, { 7, 2 } } };
	struct pol_job jobs[4];
	const struct pol_view view = {
		.cluster = &wide, .ids = ids, .n_jobs = 4, .jobs = jobs, .n_ids = 4
	};
	struct pol_plan plans[2] = { 0 };
	struct cluster_work work;
	struct fabric *fabric;
	struct topo *topo;
	struct err err;
	uint32_t chosen;

	assert_int_equal(gen_leaf_spine(&options, &topo, &err), 0);
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
	/* What was tried is forgotten, and the same is chosen again. */
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

/* ---- Steady states ------------------------------------------------------------------------- */

struct pair {
	struct topo *topo;
	struct routes *routes;
	struct work_job jobs[2];
	struct laid_job laid[2];
	struct steady_job steady[2];
};

static void
open_pair(struct pair *pair, const uint32_t *model_of, int64_t shift_ns)
{
	*pair = (struct pair){ .topo = make_topo() };
	pair->routes = routes_new(pair->topo, 1);
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t hosts[] = { i, i + 2 };

		pair->jobs[i].n_hosts_wanted = 2;
		assert_int_equal(work_model_make_job(&models[model_of[i]], 1, LINE,
						     &pair->jobs[i]),
				 0);
		assert_int_equal(laid_job_make(&pair->jobs[i], hosts, pair->topo,
					       pair->routes, &pair->laid[i]),
				 0);
		pair->steady[i] = (struct steady_job){ .job = &pair->jobs[i],
						       .laid = &pair->laid[i],
						       .shift_ns = i * shift_ns };
	}
}

static void
close_pair(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		laid_job_fini(&pair->laid[i]);
		work_job_fini(&pair->jobs[i]);
	}
	routes_free(pair->routes);
	topo_unref(pair->topo);
}

/* Until the other is done, each has half the link: 65 ms less the shift, at least 45 ms. */
static void
two_equal_jobs_on_a_link_are_as_the_closed_form(void **state)
{
	static const uint32_t model_of[] = { 0, 0 };

	(void)state;
	for (int64_t shift_ns = 0; shift_ns <= 22500000; shift_ns += 2500000) {
		double expected_ns = fmax(45e6, 65e6 - (double)shift_ns), found_ns[2];
		struct pair pair;
		struct steady steady;

		open_pair(&pair, model_of, shift_ns);
		assert_int_equal(steady_run(pair.steady, 2, pair.topo, 1, 64, found_ns,
					    NULL, &steady),
				 0);
		assert_true(steady.is_exact);
		assert_true(steady.n_iterations < 16);
		assert_near(found_ns[0], expected_ns, 1);
		assert_near(found_ns[1], expected_ns, 1);
		close_pair(&pair);
	}
}

struct told {
	uint64_t n[2];
	double end_ns[2];
};

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct told *told = ctx;

	(void)start_ns;
	told->n[job] = iteration + 1;
	told->end_ns[job] = end_ns;
}

/* The mean over what the engine says of half an hour. */
static void
run_long(const struct pair *pair, double ret_ns[2])
{
	struct told told = { 0 };
	double *capacity_bps = xcalloc(topo_n_links(pair->topo), sizeof *capacity_bps);
	struct engine_config config = { .capacity_bps = capacity_bps,
					.n_links = topo_n_links(pair->topo),
					.observer = { .ctx = &told,
						      .on_iteration = on_iteration } };
	struct engine *engine;

	for (uint32_t l = 0; l < config.n_links; l++)
		capacity_bps[l] = topo_link(pair->topo, l)->capacity_bps;
	engine = engine_new(&config);
	for (int i = 0; i < 2; i++) {
		struct work_job job = pair->jobs[i];
		uint32_t id;

		job.stop_ns = ENGINE_NEVER;
		assert_int_equal(laid_job_add(&job, &pair->laid[i], engine,
					      pair->steady[i].shift_ns,
					      pair->steady[i].pacing, &id),
				 0);
	}
	engine_run(engine, INT64_C(1800000000000));
	for (int i = 0; i < 2; i++)
		ret_ns[i] = (told.end_ns[i] - (double)pair->steady[i].shift_ns) /
			    (double)told.n[i];
	engine_free(engine);
	free(capacity_bps);
}

static void
what_repeats_is_what_a_long_run_says(void **state)
{
	static const uint32_t mixes[][2] = { { 0, 0 }, { 0, 1 }, { 1, 1 } };

	static const enum engine_pacing pacings[] = { ENGINE_PACE_FREE,
						      ENGINE_PACE_GATE };

	unsigned n_exact = 0;

	(void)state;
	for (size_t m = 0; m < 3; m++)
		for (int64_t shift_ns = 0; shift_ns < 50000000; shift_ns += 7000000)
			for (size_t p = 0; p < 2; p++) {
				struct pair pair;
				struct steady steady;
				double found_ns[2], long_ns[2];

				open_pair(&pair, mixes[m], shift_ns);
				pair.steady[0].pacing = pair.steady[1].pacing =
					pacings[p];
				assert_int_equal(steady_run(pair.steady, 2, pair.topo,
							    1, 256, found_ns, NULL,
							    &steady),
						 0);
				run_long(&pair, long_ns);
				/* A long run has its beginning in it, too. */
				for (int i = 0; i < 2; i++)
					assert_near(found_ns[i] / long_ns[i], 1,
						    steady.is_exact ? 2e-4 : 2e-2);
				n_exact += steady.is_exact;
				close_pair(&pair);
			}
	assert_true(n_exact >= 24);
}

/* Together 65 ms, and marks while both send; 20 ms apart 45 ms, and none. */
static void
what_is_seen_of_iterations_is_what_they_take(void **state)
{
	static const uint32_t model_of[] = { 0, 0 };

	(void)state;
	for (int apart = 0; apart < 2; apart++) {
		double expected_ns = apart ? 45e6 : 65e6, found_ns[2];
		struct steady_seen seen[2];
		struct steady steady;
		struct pair pair;

		open_pair(&pair, model_of, apart ? 20000000 : 0);
		assert_int_equal(steady_run(pair.steady, 2, pair.topo, 1, 64, found_ns,
					    seen, &steady),
				 0);
		assert_true(steady.is_exact);
		for (int i = 0; i < 2; i++) {
			assert_near(found_ns[i], expected_ns, 1);
			assert_near(spread_mean(&seen[i].times_ns), expected_ns, 1);
			assert_near(spread_quantile(&seen[i].times_ns, 0.99),
				    expected_ns, 1);
			/* 31,250 packets of 4,000 bytes; two flows: 9.2 % a link. */
			if (apart)
				assert_near(seen[i].ecn_packets, 0, 1e-6);
			else
				assert_true(seen[i].ecn_packets >= 0.092 * 31250 - 1 &&
					    seen[i].ecn_packets <= 31250);
			spread_fini(&seen[i].times_ns);
		}
		close_pair(&pair);
	}
}

/* So many seconds on a place are so many iterations of what they take there. */
static void
iterations_are_counted_as_jobs_work(void **state)
{
	static const uint32_t model_of[] = { 1, 1 }, ids[] = { 0, 1 };

	static const enum fabric_augment augments[] = { FABRIC_NONE, FABRIC_DEDICATED };

	(void)state;
	for (size_t a = 0; a < 2; a++) {
		const struct fabric_opts opts = { .seed = 1,
						  .augment = augments[a],
						  .measure = true };
		struct pol_piece pieces[2][2];
		struct pol_job jobs[2];
		const struct pol_view view = { .cluster = &cluster,
					       .ids = ids,
					       .n_jobs = 2,
					       .jobs = jobs,
					       .n_ids = 2 };
		struct topo *topo = make_topo();
		const struct fabric_times *times;
		double speeds[2] = { 1, 1 };
		struct fabric *fabric;
		struct cluster_work work;
		struct err err;

		place_two(jobs, pieces);
		assert_int_equal(fabric_new(&cluster, topo, models, model_of, 2, &opts,
					    &fabric, &err),
				 0);
		work = fabric_work(fabric);
		work.rates(work.ctx, &view, speeds);
		for (int i = 0; i < 2; i++)
			work.worked(work.ctx, &jobs[i], 5);
		times = fabric_times(fabric);
		/* 50 ms alone. */
		assert_near(spread_weight(&times->iteration_s), 200 * speeds[0], 1e-3);
		assert_near(spread_mean(&times->iteration_s), 0.05 / speeds[0], 1e-8);
		assert_near(spread_mean(&times->slowdown), 1 / speeds[0], 1e-6);
		if (augments[a] == FABRIC_DEDICATED)
			assert_true(speeds[0] == 1 && times->ecn_packets < 1e-6);
		else
			assert_true(speeds[0] < 0.9 && times->ecn_packets > 0);
		fabric_free(fabric);
		topo_unref(topo);
	}
}

static void
under_jitter_the_error_is_told(void **state)
{
	static const uint32_t model_of[] = { 0, 0 };
	struct pair pair;
	struct steady steady;
	double found_ns[2];

	(void)state;
	open_pair(&pair, model_of, 20000000);
	pair.jobs[0].jitter_frac = pair.jobs[1].jitter_frac = 0.02;
	assert_int_equal(
		steady_run(pair.steady, 2, pair.topo, 1, 256, found_ns, NULL, &steady),
		0);
	assert_false(steady.is_exact);
	assert_true(steady.max_error > 0 && steady.max_error < 0.05);
	assert_true(found_ns[0] > 44e6 && found_ns[0] < 66e6);
	close_pair(&pair);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_equal_jobs_that_do_not_fit_are_slowed_alike),
		cmocka_unit_test(shifts_let_two_that_fit_be_as_alone),
		cmocka_unit_test(what_was_seen_before_is_not_run_again),
		cmocka_unit_test(jobs_without_a_model_or_on_one_host_are_as_alone),
		cmocka_unit_test(of_two_plans_the_one_without_a_collision_is_chosen),
		cmocka_unit_test(two_equal_jobs_on_a_link_are_as_the_closed_form),
		cmocka_unit_test(what_repeats_is_what_a_long_run_says),
		cmocka_unit_test(what_is_seen_of_iterations_is_what_they_take),
		cmocka_unit_test(iterations_are_counted_as_jobs_work),
		cmocka_unit_test(under_jitter_the_error_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
