/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_place.c - CPU time and predicted gain of an advice
 *
 * Leaf-spine fabrics at 2:1 with 8 hosts per leaf.  Jobs of 2 to 9 hosts take nine
 * tenths of the hosts; two thirds of the jobs run, scattered over the hosts
 * ("scattered") or packed ("packed"), and the rest wait.  Periods are equal except for
 * every third job; jitter 2 %.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/rng.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/place.h"
#include "scheduler/core/workload/workload.h"
#include "topology/gen.h"
#include "topology/route.h"
#include "topology/topo.h"

#define PER_LEAF 8

struct lab {
	struct topo *topo;
	struct routes *routes;
	struct workload workload;
};

static void
add_job(struct lab *lab, struct rng *rng, uint32_t n_hosts)
{
	struct work_job *job = &lab->workload.jobs[lab->workload.n++];
	int64_t period_us = lab->workload.n % 3 ? 100000 : 103000;
	struct profile_phase phase = {
		.duration_us = (int64_t)((0.1 + 0.1 * rng_uniform(rng)) * 1e5),
		.rate_bps = 50e9,
	};

	*job = (struct work_job){
		.name = xasprintf("j%zu", lab->workload.n),
		.collective = COLLECTIVE_RING,
		.n_hosts_wanted = n_hosts,
		.slots_per_host = 1,
		.weight = n_hosts,
		.stop_ns = ENGINE_NEVER,
		.jitter_frac = 0.02,
		.profile = { .job = xstrdup("j"),
			     .period_us = period_us,
			     .n_phases = 1,
			     .phases = xmemdup(&phase, 1, sizeof phase) },
	};
	BUG_ON(profile_normalize(&job->profile, NULL) < 0);
	work_job_segments_from_profile(job);
}

static void
make_lab(struct lab *lab, uint32_t n_leaves, bool is_scattered)
{
	struct gen_leaf_spine options = { .n_leaves = n_leaves,
					  .hosts_per_leaf = PER_LEAF,
					  .n_spines = PER_LEAF / 2,
					  .host_bps = 50e9,
					  .uplink_bps = 50e9 };
	uint32_t n_hosts = n_leaves * PER_LEAF, at = 0;
	uint32_t *order = xcalloc(n_hosts, sizeof *order);
	struct rng rng;

	rng_init(&rng, n_leaves);
	*lab = (struct lab){ 0 };
	BUG_ON(gen_leaf_spine(&options, &lab->topo, NULL) < 0);
	lab->routes = routes_new(lab->topo, 1);
	lab->workload.jobs = xcalloc(n_hosts, sizeof *lab->workload.jobs);
	for (uint32_t i = 0; i < n_hosts; i++)
		order[i] = i;
	for (uint32_t i = n_hosts - 1; is_scattered && i > 0; i--) {
		uint32_t k = (uint32_t)rng_below(&rng, i + 1), swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
	while (at + 9 < n_hosts * 9 / 10) {
		uint32_t n = 2 + (uint32_t)rng_below(&rng, 8);

		add_job(lab, &rng, n);
		if (lab->workload.n % 3)
			lab->workload.jobs[lab->workload.n - 1].hosts =
				xmemdup(order + at, n, sizeof *order);
		at += n;
	}
	free(order);
}

static void
free_lab(struct lab *lab)
{
	workload_fini(&lab->workload);
	routes_free(lab->routes);
	topo_unref(lab->topo);
}

/* One search for the last waiting job, with all others present and packed. */
static double
time_search_us(struct lab *lab)
{
	enum {
		N = 20
	};
	struct place *place =
		place_new(lab->topo, lab->routes, &lab->workload, PLACE_HASHED);
	uint32_t job = 0;
	int64_t start_ns;

	for (uint32_t j = 0; j < lab->workload.n; j++) {
		if (lab->workload.jobs[j].hosts)
			BUG_ON(place_put(place, j, lab->workload.jobs[j].hosts) < 0);
		else
			job = j;
	}
	for (uint32_t j = 0; j < job; j++) {
		uint32_t hosts[16];

		if (!lab->workload.jobs[j].hosts && place_pack(place, j, hosts) == 0)
			BUG_ON(place_put(place, j, hosts) < 0);
	}
	start_ns = clk_cpu_ns();
	for (uint64_t i = 0; i < N; i++) {
		struct place_candidates candidates;

		BUG_ON(place_search(place, job, i, 200, 20, &candidates) < 0);
		place_candidates_fini(&candidates);
	}
	start_ns = clk_cpu_ns() - start_ns;
	place_free(place);
	return (double)start_ns / 1e3 / N;
}

static void
bench(uint32_t n_leaves, bool is_scattered)
{
	struct lab lab;
	size_t n_waiting = 0;

	make_lab(&lab, n_leaves, is_scattered);
	for (size_t j = 0; j < lab.workload.n; j++)
		n_waiting += !lab.workload.jobs[j].hosts;
	printf("%5u hosts, %4zu jobs (%3zu wait), %-9s search of 200 moves %7.0f us\n",
	       topo_n_hosts(lab.topo), lab.workload.n, n_waiting,
	       is_scattered ? "scattered" : "packed", time_search_us(&lab));
	for (int policy = 0; policy < N_ADVISE_POLICIES; policy++) {
		struct advise_opts opts = { .policy = (enum advise_policy)policy,
					    .seed = 1 };
		struct advice_set *set;
		int64_t start_ns = clk_cpu_ns();

		BUG_ON(advise(&lab.workload, lab.topo, lab.routes, &opts, &set) < 0);
		printf("    %-9s  %8.3f s  goodput %.4f > %.4f\n",
		       advise_policy_names[policy],
		       (double)(clk_cpu_ns() - start_ns) / 1e9, set->goodput_before,
		       set->goodput_after);
		advice_set_free(set);
	}
	free_lab(&lab);
}

int
main(void)
{
	static const uint32_t n_leaves[] = { 3, 16, 128, 512 };

	for (size_t i = 0; i < sizeof n_leaves / sizeof *n_leaves; i++) {
		bench(n_leaves[i], false);
		bench(n_leaves[i], true);
	}
	return 0;
}
