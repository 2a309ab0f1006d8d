/* SPDX-License-Identifier: Apache-2.0 */
/* test_fabric.c - clusters on a fabric: closed forms, repetition, cached results */
#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "sim/cluster/fabric.h"
#include "sim/cluster/steady.h"
#include "tests/unit/fabric_lab.h"
#include "tests/unit/test.h"
#include "topology/route.h"
#include "topology/topo.h"

#define N_NODES 4

static const uint32_t gpus[N_NODES] = { 2, 2, 2, 2 }, zeros[N_NODES];
static const struct pol_cluster cluster = { .n_nodes = N_NODES,
					    .n_racks = 1,
					    .n_types = 1,
					    .n_gpus = gpus,
					    .rack_of = zeros,
					    .type_of = zeros,
					    .n_all_gpus = 8 };

/* Job i on nodes i and i + 2: both rings cross the same uplinks. */
static void
place_two(struct pol_job *jobs, struct pol_piece (*pieces)[2])
{
	for (uint32_t i = 0; i < 2; i++) {
		pieces[i][0] = (struct pol_piece){ i, 2, 0 };
		pieces[i][1] = (struct pol_piece){ i + 2, 2, 0 };
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
	struct topo *topo = lab_topo(2, 2);
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

/* 30 ms each of 50 ms: 60 ms if they never overlap, 80 ms if they always do. */
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

/* Antiphase finds 45 ms for two jobs that fit; random phases do not always. */
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

/* ---- Steady states --------------------------------------------------------------- */

struct pair {
	struct topo *topo;
	struct routes *routes;
	struct work_job jobs[2];
	struct routed_job routed[2];
	struct link_subset_job steady[2];
};

static void
open_pair(struct pair *pair, const uint32_t *model_of, int64_t shift_ns)
{
	*pair = (struct pair){ .topo = lab_topo(2, 2) };
	pair->routes = routes_new(pair->topo, 1);
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t hosts[] = { i, i + 2 };

		pair->jobs[i].n_hosts_wanted = 2;
		assert_int_equal(work_model_make_job(&models[model_of[i]], 1, LINE,
						     &pair->jobs[i]),
				 0);
		assert_int_equal(routed_job_make(&pair->jobs[i], hosts, pair->topo,
						 pair->routes, &pair->routed[i]),
				 0);
		pair->steady[i] = (struct link_subset_job){ .job = &pair->jobs[i],
							    .routed = &pair->routed[i],
							    .shift_ns = i * shift_ns };
	}
}

static void
close_pair(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		routed_job_fini(&pair->routed[i]);
		work_job_fini(&pair->jobs[i]);
	}
	routes_free(pair->routes);
	topo_unref(pair->topo);
}

/* While both send, each has half the link: 65 ms less the shift, at least 45 ms. */
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
		assert_int_equal(steady_run(pair.steady, 2, pair.topo, 1,
					    (struct steady_limits){ 64, 512 }, found_ns,
					    NULL, NULL, &steady),
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

/* The mean over half an hour in the engine. */
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
		assert_int_equal(routed_job_add(&job, &pair->routed[i], engine,
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
				assert_int_equal(
					steady_run(pair.steady, 2, pair.topo, 1,
						   (struct steady_limits){ 256, 2048 },
						   found_ns, NULL, NULL, &steady),
					0);
				run_long(&pair, long_ns);
				/* The mean of a long run includes its start. */
				for (int i = 0; i < 2; i++)
					assert_near(found_ns[i] / long_ns[i], 1,
						    steady.is_exact ? 2e-4 : 2e-2);
				n_exact += steady.is_exact;
				close_pair(&pair);
			}
	assert_true(n_exact >= 24);
}

/* In phase 65 ms with marks while both send; 20 ms apart 45 ms and no marks. */
static void
what_is_seen_of_iterations_is_what_they_take(void **state)
{
	static const uint32_t model_of[] = { 0, 0 };

	(void)state;
	for (int apart = 0; apart < 2; apart++) {
		double expected_ns = apart ? 45e6 : 65e6, found_ns[2], rms_ns[2];
		struct steady_seen seen[2];
		struct steady steady;
		struct pair pair;

		open_pair(&pair, model_of, apart ? 20000000 : 0);
		assert_int_equal(steady_run(pair.steady, 2, pair.topo, 1,
					    (struct steady_limits){ 64, 512 }, found_ns,
					    rms_ns, seen, &steady),
				 0);
		assert_true(steady.is_exact);
		for (int i = 0; i < 2; i++) {
			assert_near(found_ns[i], expected_ns, 1);
			assert_near(rms_ns[i], expected_ns, 1);
			assert_near(histogram_mean(&seen[i].times_ns), expected_ns, 1);
			assert_near(histogram_quantile(&seen[i].times_ns, 0.99),
				    expected_ns, 1);
			/* 31,250 packets of 4,000 bytes; two flows: 9.2 % per link. */
			if (apart)
				assert_near(seen[i].ecn_packets, 0, 1e-6);
			else
				assert_true(seen[i].ecn_packets >= 0.092 * 31250 - 1 &&
					    seen[i].ecn_packets <= 31250);
			histogram_fini(&seen[i].times_ns);
		}
		close_pair(&pair);
	}
}

/* Iterations are the seconds at a place over the iteration time there. */
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
		struct topo *topo = lab_topo(2, 2);
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
		assert_near(histogram_weight(&times->iteration_s), 200 * speeds[0],
			    1e-3);
		assert_near(histogram_mean(&times->iteration_s), 0.05 / speeds[0],
			    1e-8);
		assert_near(histogram_mean(&times->slowdown), 1 / speeds[0], 1e-6);
		if (augments[a] == FABRIC_DEDICATED)
			assert_true(speeds[0] == 1 && times->ecn_packets < 1e-6);
		else
			assert_true(speeds[0] < 0.9 && times->ecn_packets > 0);
		fabric_free(fabric);
		topo_unref(topo);
	}
}

/*
 * At gates the small job waits for the whole message of the convoy, once in about 20
 * iterations: 12 times as long as alone.  When they share the link, it takes 80 ms in
 * place of 50 ms while the convoy sends.
 */
static void
a_convoy_at_gates_has_the_better_mean_and_the_worse_squares(void **state)
{
	static const uint32_t model_of[] = { 2, 1 };
	double mean_ns[2][2], rms_ns[2][2];

	(void)state;
	for (int gated = 0; gated < 2; gated++) {
		struct steady_seen seen[2];
		struct steady steady;
		struct pair pair;

		open_pair(&pair, model_of, 7000000);
		for (int i = 0; i < 2; i++)
			pair.steady[i].pacing =
				gated ? ENGINE_PACE_GATE : ENGINE_PACE_FREE;
		assert_int_equal(steady_run(pair.steady, 2, pair.topo, 1,
					    (struct steady_limits){ 64, 512 },
					    mean_ns[gated], rms_ns[gated], seen,
					    &steady),
				 0);
		for (int i = 0; i < 2; i++) {
			double square = 0;

			for (size_t b = 0; b < seen[i].times_ns.bins.n; b++) {
				const struct histogram_bin *bin =
					&seen[i].times_ns.bins.items[b];

				square += bin->sum * bin->sum / bin->weight;
			}
			square /= histogram_weight(&seen[i].times_ns);
			assert_near(rms_ns[gated][i] / sqrt(square), 1, 0.02);
			assert_true(rms_ns[gated][i] >= mean_ns[gated][i]);
			histogram_fini(&seen[i].times_ns);
		}
		close_pair(&pair);
	}
	/* Weighted by GPUs: the convoy has four times as many. */
	assert_true(4 * mean_ns[1][0] / 1500e6 + mean_ns[1][1] / 50e6 <
		    4 * mean_ns[0][0] / 1500e6 + mean_ns[0][1] / 50e6);
	assert_true(4 * pow(rms_ns[1][0] / 1500e6, 2) + pow(rms_ns[1][1] / 50e6, 2) >
		    4 * pow(rms_ns[0][0] / 1500e6, 2) + pow(rms_ns[0][1] / 50e6, 2));
}

static void
under_jitter_the_error_is_told(void **state)
{
	static const uint32_t model_of[] = { 0, 0 };
	struct pair pair;
	struct steady steady;
	double found_ns[2], rms_ns[2];

	(void)state;
	open_pair(&pair, model_of, 20000000);
	pair.jobs[0].jitter_frac = pair.jobs[1].jitter_frac = 0.02;
	assert_int_equal(steady_run(pair.steady, 2, pair.topo, 1,
				    (struct steady_limits){ 256, 2048 }, found_ns,
				    rms_ns, NULL, &steady),
			 0);
	assert_false(steady.is_exact);
	assert_true(steady.max_error > 0 && steady.max_error < 0.05);
	assert_true(found_ns[0] > 44e6 && found_ns[0] < 66e6);
	assert_true(rms_ns[0] > found_ns[0] && rms_ns[0] < 1.05 * found_ns[0]);
	close_pair(&pair);
}

/* The second job begins after 10 s; the run includes it, but not its wait. */
static void
a_run_ends_when_all_have_had_an_iteration(void **state)
{
	static const uint32_t model_of[] = { 0, 0 };
	struct pair pair;
	struct steady steady;
	double found_ns[2];

	(void)state;
	open_pair(&pair, model_of, INT64_C(10000000000));
	pair.jobs[0].jitter_frac = pair.jobs[1].jitter_frac = 0.01;
	assert_int_equal(steady_run(pair.steady, 2, pair.topo, 1,
				    (struct steady_limits){ 1000000, 4 }, found_ns,
				    NULL, NULL, &steady),
			 0);
	assert_false(steady.is_exact);
	assert_in_range(steady.n_iterations, 10000 / 66, 10000 / 44);
	for (int i = 0; i < 2; i++)
		assert_true(found_ns[i] > 44e6 && found_ns[i] < 66e6);
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
		cmocka_unit_test(two_equal_jobs_on_a_link_are_as_the_closed_form),
		cmocka_unit_test(what_repeats_is_what_a_long_run_says),
		cmocka_unit_test(what_is_seen_of_iterations_is_what_they_take),
		cmocka_unit_test(iterations_are_counted_as_jobs_work),
		cmocka_unit_test(
			a_convoy_at_gates_has_the_better_mean_and_the_worse_squares),
		cmocka_unit_test(under_jitter_the_error_is_told),
		cmocka_unit_test(a_run_ends_when_all_have_had_an_iteration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
