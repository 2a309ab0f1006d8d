/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_paths.c - CPU time and gain of a path plan
 *
 * 14 jobs of 2 to 12 hosts scattered over 16 leaves of 8 hosts, at 1:1 and 2:1; duty 0.2
 * to 0.5, periods 80 to 600 ms, jitter 1 %.  Ten placements; mean slowdown by the
 * engine with paths drawn and planned.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/rng.h"
#include "scheduler/core/advise/predict.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/paths/paths.h"
#include "scheduler/core/workload/workload.h"
#include "topology/gen.h"
#include "topology/route.h"
#include "topology/topo.h"

#define WEIGHT (getenv("UNWEIGHTED") ? 1.0 : 1.0)

static void
make_job(struct work_job *job, struct rng *rng, uint32_t n_hosts, size_t number)
{
	int64_t period_us = 80000 + (int64_t)(rng_uniform(rng) * 520000);
	struct profile_phase phase = {
		.duration_us = (int64_t)((0.2 + 0.3 * rng_uniform(rng)) * (double)period_us),
		.rate_bps = 50e9,
	};

	*job = (struct work_job){
		.name = xasprintf("j%zu", number),
		.collective = COLLECTIVE_RING,
		.n_hosts_wanted = n_hosts,
		.slots_per_host = 1,
		.weight = n_hosts,
		.stop_ns = ENGINE_NEVER,
		.jitter_frac = 0.01,
		.first_port = (uint16_t)(1000 * number),
		.profile = { .job = xstrdup("j"),
			     .period_us = period_us,
			     .n_phases = 1,
			     .phases = xmemdup(&phase, 1, sizeof phase) },
	};
	BUG_ON(profile_normalize(&job->profile, NULL) < 0);
	work_job_segments_from_profile(job);
}

static double
mean_slowdown(const struct workload *w, const struct routed_job *routed,
	      const struct topo *topo)
{
	struct predict_job *jobs = xcalloc(w->n, sizeof *jobs);
	struct predict_opts opts = { 1, 3, 60 };
	struct prediction prediction;
	double sum = 0;

	for (size_t j = 0; j < w->n; j++)
		jobs[j] = (struct predict_job){ .job = &w->jobs[j],
						.routed = &routed[j],
						.has_random_phase = true };
	predict(jobs, w->n, topo, &opts, &prediction);
	for (size_t j = 0; j < w->n; j++)
		sum += prediction_mean(&prediction, j);
	prediction_fini(&prediction);
	free(jobs);
	return sum / (double)w->n;
}

static void
bench(uint32_t n_leaves, uint32_t n_spines, size_t n_jobs, uint32_t n_seeds)
{
	struct gen_leaf_spine options = { .n_leaves = n_leaves, .hosts_per_leaf = 8,
					  .n_spines = n_spines, .host_bps = 50e9,
					  .uplink_bps = 50e9 };
	uint32_t n_hosts = n_leaves * 8;
	double drawn = 0, planned = 0;

	for (uint32_t seed = 1; seed <= n_seeds; seed++) {
		struct workload w = { .jobs = xcalloc(n_jobs, sizeof *w.jobs) };
		struct routed_job *routed = xcalloc(n_jobs, sizeof *routed);
		struct paths_job *jobs = xcalloc(n_jobs, sizeof *jobs);
		struct link_loads *loads;
		struct paths_opts opts = { .seed = 1, .n_redraws = 500 };
		struct paths_counts counts;
		uint32_t *order = xcalloc(n_hosts, sizeof *order), at = 0;
		struct topo *topo;
		struct routes *routes;
		struct rng rng;
		int64_t ns;
		double a, b;

		rng_init(&rng, seed);
		BUG_ON(gen_leaf_spine(&options, &topo, NULL) < 0);
		routes = routes_new(topo, seed);
		for (uint32_t i = 0; i < n_hosts; i++)
			order[i] = i;
		rng_shuffle(&rng, order, n_hosts);
		while (w.n < n_jobs) {
			uint32_t n = 2 + (uint32_t)rng_below(&rng, 11);

			if (at + n > n_hosts)
				break;
			make_job(&w.jobs[w.n], &rng, n, w.n);
			BUG_ON(routed_job_make(&w.jobs[w.n], order + at, topo, routes,
					       &routed[w.n]) < 0);
			jobs[w.n] = (struct paths_job){ (uint32_t)w.n, w.jobs[w.n].first_port, false, WEIGHT, &routed[w.n] };
			at += n;
			w.n++;
		}
		a = n_leaves <= 128 ? mean_slowdown(&w, routed, topo) : 0;
		ns = clk_cpu_ns();
		loads = link_loads_new(topo);
		for (size_t j = 0; j < w.n; j++) {
			link_loads_set_job(loads, (uint32_t)j, &w.jobs[j].profile, WEIGHT);
			if (getenv("ONLINE"))
				BUG_ON(paths_choose(loads, topo, routes, &jobs[j], 1) < 0);
			else
				paths_load(loads, &jobs[j]);
		}
		if (getenv("ONLINE"))
			opts.n_redraws = 0;
		BUG_ON(paths_improve(loads, topo, routes, jobs, w.n, &opts, &counts) < 0);
		link_loads_free(loads);
		ns = clk_cpu_ns() - ns;
		b = n_leaves <= 128 ? mean_slowdown(&w, routed, topo) : 0;
		drawn += a;
		planned += b;
		printf("%5u %3u %5zu jobs seed %2u: drawn %.3f planned %.3f  (%zu of %zu flows, "
		       "%.3f -> %.3f, %.1f ms)\n",
		       n_leaves, n_spines, w.n, seed, a, b, counts.n_changed, counts.n_flows,
		       counts.harm_before, counts.harm_after, (double)ns / 1e6);
		for (size_t j = 0; j < w.n; j++)
			routed_job_fini(&routed[j]);
		workload_fini(&w);
		free(routed);
		free(jobs);
		free(order);
		routes_free(routes);
		topo_unref(topo);
	}
	printf("mean: drawn %.3f planned %.3f\n", drawn / n_seeds, planned / n_seeds);
}

int
main(void)
{
	bench(16, 8, 14, 10);
	bench(16, 4, 14, 10);
	bench(128, 4, 136, 1);
	if (getenv("BIG")) bench(2048, 4, 2000, 1);
	return 0;
}
