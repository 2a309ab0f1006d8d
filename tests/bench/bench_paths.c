/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_paths.c - what a path plan gains, and what it takes
 *
 * Jobs of 2 to 12 hosts are scattered over leaves of 8 hosts of 50 Gb/s, at random by
 * seed; duty 0.2 to 0.5, periods 80 to 600 ms, jitter 1 %.  Small fabrics: mean
 * slowdown by the engine over ten placements, with paths drawn by hashing and with
 * chosen ones. Large fabrics: processor time of a plan of all jobs, and of the paths of
 * one arrival.
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

#define HOSTS_PER_LEAF 8
#define REDRAWS        500 /* As the advisor's (PLACE_REDRAWS). */

/* One row of the output. */
struct scale {
	uint32_t n_leaves, n_spines, n_connections;
	size_t n_jobs;
	uint32_t n_placements;
	bool is_predicted; /* Else only the time is measured. */
};

/* One placement. */
struct lab {
	struct topo *topo;
	struct routes *routes;
	struct workload workload;
	struct routed_job *routed;
	struct paths_job *jobs;
	struct link_loads *loads;
};

static void
make_job(struct work_job *job, struct rng *rng, uint32_t n_hosts, uint32_t number,
	 uint32_t n_connections)
{
	int64_t period_us = 80000 + (int64_t)(rng_uniform(rng) * 520000);
	double duty = 0.2 + 0.3 * rng_uniform(rng);
	struct profile_phase phase = {
		.duration_us = (int64_t)(duty * (double)period_us),
		.rate_bps = 50e9,
	};

	*job = (struct work_job){
		.name = xasprintf("j%u", number),
		.collective = COLLECTIVE_RING,
		.n_hosts_wanted = n_hosts,
		.slots_per_host = 1,
		.weight = 1,
		.stop_ns = ENGINE_NEVER,
		.jitter_frac = 0.01,
		.first_port = (uint16_t)(1000 * number),
		.n_connections = n_connections,
		.profile = { .job = xstrdup("j"),
			     .period_us = period_us,
			     .n_phases = 1,
			     .phases = xmemdup(&phase, 1, sizeof phase) },
	};
	BUG_ON(profile_normalize(&job->profile, NULL) < 0);
	work_job_segments_from_profile(job);
}

/* Places jobs on shuffled hosts until there are enough, or no more room. */
static void
lab_init(struct lab *lab, const struct scale *scale, uint32_t seed)
{
	const struct gen_leaf_spine options = { .n_leaves = scale->n_leaves,
						.hosts_per_leaf = HOSTS_PER_LEAF,
						.n_spines = scale->n_spines,
						.host_bps = 50e9,
						.uplink_bps = 50e9 };
	uint32_t n_hosts = scale->n_leaves * HOSTS_PER_LEAF, used = 0, n;
	uint32_t *hosts = xcalloc(n_hosts, sizeof *hosts);
	struct workload *w = &lab->workload;
	struct rng rng;

	*lab = (struct lab){
		.workload = { .jobs = xcalloc(scale->n_jobs, sizeof *w->jobs) },
		.routed = xcalloc(scale->n_jobs, sizeof *lab->routed),
		.jobs = xcalloc(scale->n_jobs, sizeof *lab->jobs),
	};
	BUG_ON(gen_leaf_spine(&options, &lab->topo, NULL) < 0);
	lab->routes = routes_new(lab->topo, seed);
	rng_init(&rng, seed);
	for (uint32_t i = 0; i < n_hosts; i++)
		hosts[i] = i;
	rng_shuffle(&rng, hosts, n_hosts);
	while (w->n < scale->n_jobs) {
		uint32_t j = (uint32_t)w->n;

		n = 2 + (uint32_t)rng_below(&rng, 11);
		if (used + n > n_hosts)
			break;
		make_job(&w->jobs[j], &rng, n, j, scale->n_connections);
		BUG_ON(routed_job_make(&w->jobs[j], hosts + used, lab->topo,
				       lab->routes, &lab->routed[j]) < 0);
		lab->jobs[j] = (struct paths_job){ .job = j,
						   .first_port = w->jobs[j].first_port,
						   .weight = w->jobs[j].weight,
						   .routed = &lab->routed[j] };
		used += n;
		w->n++;
	}
	free(hosts);
}

static void
lab_fini(struct lab *lab)
{
	link_loads_free(lab->loads);
	for (size_t j = 0; j < lab->workload.n; j++)
		routed_job_fini(&lab->routed[j]);
	workload_fini(&lab->workload);
	free(lab->routed);
	free(lab->jobs);
	routes_free(lab->routes);
	topo_unref(lab->topo);
}

static double
mean_slowdown(const struct lab *lab)
{
	const struct workload *w = &lab->workload;
	struct predict_job *jobs = xcalloc(w->n, sizeof *jobs);
	const struct predict_opts opts = { 1, 3, 60 };
	struct prediction prediction;
	double sum = 0;

	for (size_t j = 0; j < w->n; j++)
		jobs[j] = (struct predict_job){ .job = &w->jobs[j],
						.routed = &lab->routed[j],
						.has_random_phase = true };
	predict(jobs, w->n, lab->topo, &opts, &prediction);
	for (size_t j = 0; j < w->n; j++)
		sum += prediction_mean(&prediction, j);
	prediction_fini(&prediction);
	free(jobs);
	return sum / (double)w->n;
}

/* Plans all jobs. */
static void
plan(struct lab *lab, struct paths_counts *ret_counts)
{
	const struct paths_opts opts = { .seed = 1, .n_redraws = REDRAWS };
	const struct workload *w = &lab->workload;

	lab->loads = link_loads_new(lab->topo);
	for (uint32_t j = 0; j < w->n; j++) {
		link_loads_set_job(lab->loads, j, &w->jobs[j].profile,
				   w->jobs[j].weight);
		paths_load(lab->loads, &lab->jobs[j]);
	}
	BUG_ON(paths_improve(lab->loads, lab->topo, lab->routes, lab->jobs, w->n, &opts,
			     ret_counts) < 0);
}

/* Takes the last job off and gives it paths again. */
static void
arrive(struct lab *lab)
{
	const struct paths_job *job = &lab->jobs[lab->workload.n - 1];

	paths_unload(lab->loads, job);
	BUG_ON(paths_choose(lab->loads, lab->topo, lab->routes, job, 1) < 0);
}

static void
bench(const struct scale *scale)
{
	double drawn = 0, planned = 0, plan_ns = 0, arrival_ns = 0;
	size_t n_flows = 0, n_jobs = 0;

	for (uint32_t seed = 1; seed <= scale->n_placements; seed++) {
		struct paths_counts counts;
		struct lab lab;
		int64_t from_ns;

		lab_init(&lab, scale, seed);
		if (scale->is_predicted)
			drawn += mean_slowdown(&lab) / scale->n_placements;
		from_ns = clk_cpu_ns();
		plan(&lab, &counts);
		plan_ns += (double)(clk_cpu_ns() - from_ns) / scale->n_placements;
		if (scale->is_predicted)
			planned += mean_slowdown(&lab) / scale->n_placements;
		from_ns = clk_cpu_ns();
		arrive(&lab);
		arrival_ns += (double)(clk_cpu_ns() - from_ns) / scale->n_placements;
		n_flows += counts.n_flows;
		n_jobs += lab.workload.n;
		lab_fini(&lab);
	}
	printf("%6u %7u %11u %4zu %5zu ", scale->n_leaves * HOSTS_PER_LEAF,
	       scale->n_spines, scale->n_connections, n_jobs / scale->n_placements,
	       n_flows / scale->n_placements);
	if (scale->is_predicted)
		printf("%6.3f %7.3f", drawn, planned);
	else
		printf("%6s %7s", "-", "-");
	printf(" %8.1f %10.2f\n", plan_ns / 1e6, arrival_ns / 1e6);
}

int
main(void)
{
	static const struct scale scales[] = {
		{ 16, 8, 1, 14, 10, true },     { 16, 4, 1, 14, 10, true },
		{ 16, 4, 4, 14, 10, true },     { 128, 4, 1, 136, 1, true },
		{ 2048, 4, 1, 2000, 1, false },
	};

	puts("paths: chosen for jobs scattered over leaves of 8 hosts\n"
	     " hosts uplinks connections jobs flows  drawn planned  plan ms arrival ms");
	for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
		bench(&scales[i]);
	return 0;
}
