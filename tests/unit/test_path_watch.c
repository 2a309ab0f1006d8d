/* SPDX-License-Identifier: Apache-2.0 */
/* test_path_watch.c - paths inferred from the frames of hosts and switches */
#include "scheduler/live/flow_paths.h"
#include "scheduler/live/live.h"
#include "scheduler/live/path_watch.h"
#include "sim/telemetry/emit.h"
#include "tests/unit/inference_lab.h"
#include "tests/unit/test.h"

#define SECOND INT64_C(1000000000)

/* What switches report. */
enum counters {
	COUNTERS_NONE,
	COUNTERS_EACH_MS,
	COUNTERS_EACH_SECOND,
};

struct watched {
	struct inference_lab lab;
	enum counters counters;
	struct emit *emit;
	struct live *live;
	struct path_watch *watch;
	struct tele_frame frame;
};

/* As importers do with one reading of each counter a second. */
static void
flatten(struct tele_frame *frame)
{
	for (size_t i = 0; i < frame->series.n; i++) {
		const struct tele_series *series = &frame->series.items[i];
		uint32_t *bins = frame->bins.items + series->bins_at;
		uint64_t sum = 0, given = 0;

		for (uint32_t t = 0; t < series->n_bins; t++)
			sum += bins[t];
		for (uint32_t t = 0; t < series->n_bins; t++) {
			bins[t] = (uint32_t)(sum * (t + 1) / series->n_bins - given);
			given += bins[t];
		}
	}
}

static void
on_sent(void *ctx, uint32_t job, uint32_t flow, double start_ns, double end_ns,
	double rate_bps, double ecn_packets)
{
	struct watched *w = ctx;

	emit_sent(w->emit, job, flow, start_ns, end_ns, rate_bps, ecn_packets);
}

static bool
on_tick(void *ctx, int64_t now_ns)
{
	struct watched *w = ctx;

	emit_window(w->emit, now_ns);
	for (size_t i = 0; i < emit_n_senders(w->emit); i++) {
		if (!emit_frame(w->emit, i, TELE_RAW, &w->frame))
			continue;
		if (w->counters == COUNTERS_EACH_SECOND &&
		    emit_sender(w->emit, i)[0] != 'h')
			flatten(&w->frame);
		live_frame(w->live, &w->frame);
	}
	path_watch_follow(w->watch);
	return true;
}

static void
watched_init(struct watched *w, enum counters counters, uint32_t duration_s)
{
	const struct inference_lab_opts opts = { .n_leaves = 8,
						 .hosts_per_leaf = 4,
						 .n_spines = 4,
						 .n_jobs = 4,
						 .duration_s = duration_s,
						 .seed = 5 };
	const struct emit_opts emit_opts = { .with_switches =
						     counters != COUNTERS_NONE };
	struct experiment_opts run;
	struct experiment experiment;

	*w = (struct watched){ .counters = counters };
	inference_lab_init(&w->lab, &opts);
	w->emit = emit_new(w->lab.topo, w->lab.scenario, &w->lab.plan, &emit_opts);
	w->live = live_new(NULL);
	w->watch = path_watch_new(w->live, w->lab.topo, w->lab.routes);
	experiment_opts_init(&run, w->lab.scenario, SIM_POLICY_NONE);
	run.random_phases = true;
	run.ctx = w;
	run.on_sent = on_sent;
	run.on_tick = on_tick;
	run.tick_ns = SECOND;
	assert_int_equal(experiment_run(w->lab.scenario, &w->lab.plan, w->lab.topo,
					&run, &experiment),
			 0);
	experiment_fini(&experiment);
}

static void
watched_fini(struct watched *w)
{
	path_watch_free(w->watch);
	live_free(w->live);
	emit_free(w->emit);
	tele_fini(&w->frame);
	inference_lab_fini(&w->lab);
}

/* Compares known paths with the true ones; returns how many with a choice are known. */
static size_t
check(const struct watched *w, const struct flow_paths *paths, uint32_t bin_ms,
      size_t *ret_n)
{
	size_t n_known = 0;

	*ret_n = 0;
	for (uint32_t j = 0; j < w->lab.plan.n; j++) {
		const struct routed_job *routed = &w->lab.plan.jobs[j].routed;
		char name[16];

		snprintf(name, sizeof name, "j%u", j);
		for (size_t i = 0; i < routed->flows.n; i++) {
			const struct collective_flow *flow = &routed->flows.flows[i];
			uint32_t job = live_find_job(w->live, name);
			const struct flow_path *found = flow_paths_find(
				paths, job, flow->source, flow->destination, 0);
			const uint32_t *links;
			size_t n;

			assert_non_null(found);
			if (found->n_paths == 1)
				continue;
			++*ret_n;
			links = flow_paths_links(paths, job, flow->source,
						 flow->destination, 0, &n);
			assert_int_equal(links != NULL,
					 found->reason == PATH_INFERENCE_KNOWN);
			if (!links)
				continue;
			n_known++;
			assert_int_equal(found->bin_ms, bin_ms);
			assert_int_equal(n, routed->path_first[i + 1] -
						    routed->path_first[i]);
			assert_memory_equal(links,
					    routed->path_links + routed->path_first[i],
					    n * sizeof *links);
		}
	}
	return n_known;
}

static void
fine_counters_tell_paths_within_10_s(void **state)
{
	struct watched w;
	size_t n, n_known;

	(void)state;
	watched_init(&w, COUNTERS_EACH_MS, 10);
	n_known = check(&w, path_watch_infer(w.watch), 100, &n);
	assert_true(n >= 8 && 10 * n_known >= 8 * n);
	watched_fini(&w);
}

static void
counters_of_each_second_tell_paths_over_time(void **state)
{
	struct watched w;
	size_t n, n_known;

	(void)state;
	watched_init(&w, COUNTERS_EACH_SECOND, 150);
	n_known = check(&w, path_watch_infer(w.watch), 1000, &n);
	assert_true(n >= 8 && 10 * n_known >= 7 * n);
	watched_fini(&w);
}

/* The state keeps 32 s; of longer runs only the last PATH_WATCH_SECONDS count. */
static void
what_is_kept_is_bounded(void **state)
{
	struct watched w;
	const struct flow_paths *paths;
	size_t n;

	(void)state;
	watched_init(&w, COUNTERS_EACH_SECOND, PATH_WATCH_SECONDS + 40);
	paths = path_watch_infer(w.watch);
	assert_true(check(&w, paths, 1000, &n) > 0);
	for (size_t i = 0; i < paths->flows.n; i++)
		assert_true(paths->flows.items[i].n_bins <= PATH_WATCH_SECONDS);
	watched_fini(&w);
}

static void
without_switches_there_is_no_table(void **state)
{
	struct watched w;
	const struct flow_paths *paths;

	(void)state;
	watched_init(&w, COUNTERS_NONE, 10);
	paths = path_watch_infer(w.watch);
	assert_int_equal(paths->flows.n, 0);
	assert_null(flow_paths_find(paths, 0, 0, 1, 0));
	assert_null(flow_paths_find(NULL, 0, 0, 1, 0));
	watched_fini(&w);
}

static void
before_any_frame_there_is_no_table(void **state)
{
	struct watched w = { .counters = COUNTERS_NONE };
	struct topo *topo;

	(void)state;
	assert_int_equal(
		gen_leaf_spine(&(const struct gen_leaf_spine){ .n_leaves = 2,
							       .hosts_per_leaf = 2,
							       .n_spines = 2 },
			       &topo, NULL),
		0);
	w.lab.routes = routes_new(topo, 1);
	w.live = live_new(NULL);
	w.watch = path_watch_new(w.live, topo, w.lab.routes);
	path_watch_follow(w.watch);
	assert_int_equal(path_watch_infer(w.watch)->flows.n, 0);
	path_watch_free(w.watch);
	path_watch_free(NULL);
	live_free(w.live);
	routes_free(w.lab.routes);
	topo_unref(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fine_counters_tell_paths_within_10_s),
		cmocka_unit_test(counters_of_each_second_tell_paths_over_time),
		cmocka_unit_test(what_is_kept_is_bounded),
		cmocka_unit_test(without_switches_there_is_no_table),
		cmocka_unit_test(before_any_frame_there_is_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
