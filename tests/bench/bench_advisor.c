/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_advisor.c - CPU time of the advisor per event: 10,000 jobs on about 20,000
 * links
 *
 * A leaf-spine fabric of 320 leaves of 32 hosts with 8 uplinks each: 10,240 hosts of 4
 * slots and 25,600 directed links, of which 5,120 are between switches.  10,000 jobs of
 * 2 to 8 hosts with one slot each, packed in runs of neighboring hosts from a random
 * start, so that many straddle leaves.  Then jobs arrive, are ranked, placed best, and
 * solved with their neighbors, while others leave.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "scheduler/core/advisor/advisor.h"
#include "scheduler/core/workload/workload.h"
#include "topology/gen.h"
#include "topology/topo.h"

#define LEAVES   320
#define PER_LEAF 32
#define HOSTS    (LEAVES * PER_LEAF)
#define JOBS     10000u
#define EVENTS   60

static void
make_job(struct work_job *job, struct rng *rng, unsigned number)
{
	int64_t period_us = 100000 + 20000 * (int64_t)rng_below(rng, 4);
	struct profile_phase phase = {
		.duration_us =
			(int64_t)((0.1 + 0.2 * rng_uniform(rng)) * (double)period_us),
		.rate_bps = 25e9,
	};

	*job = (struct work_job){
		.name = xasprintf("j%u", number),
		.collective = COLLECTIVE_RING,
		.n_hosts_wanted = 2 + (uint32_t)rng_below(rng, 7),
		.slots_per_host = 1,
		.weight = 1,
		.stop_ns = ENGINE_NEVER,
		.jitter_frac = 0.02,
		.profile = { .job = xstrdup("j"),
			     .period_us = period_us,
			     .n_phases = 1,
			     .phases = xmemdup(&phase, 1, sizeof phase) },
	};
	job->first_port = (uint16_t)(number * 17);
	BUG_ON(profile_normalize(&job->profile, NULL) < 0);
	work_job_segments_from_profile(job);
}

static void
say(const char *what, double *ms, size_t n)
{
	double worst = 0, sum = 0;

	for (size_t i = 0; i < n; i++) {
		worst = ms[i] > worst ? ms[i] : worst;
		sum += ms[i];
	}
	printf("  %-34s mean %7.2f ms, worst %7.2f ms\n", what, sum / (double)n, worst);
}

int
main(void)
{
	struct gen_leaf_spine options = { .n_leaves = LEAVES,
					  .hosts_per_leaf = PER_LEAF,
					  .n_spines = 8,
					  .n_slots = 4,
					  .host_bps = 100e9,
					  .uplink_bps = 100e9 };
	double rank_ms[EVENTS], put_ms[EVENTS], step_ms[2000], leave_ms[EVENTS];
	size_t n_steps = 0;
	struct advisor *advisor;
	struct rusage usage;
	struct topo *topo;
	struct rng rng;
	int64_t t_ns = clk_cpu_ns();
	unsigned solved = 0;

	rng_init(&rng, 1);
	BUG_ON(gen_leaf_spine(&options, &topo, NULL) < 0);
	advisor = advisor_new(topo, NULL);
	for (unsigned j = 0; j < JOBS; j++) {
		struct work_job job;
		uint32_t number, start;

		make_job(&job, &rng, j);
		start = (uint32_t)rng_below(&rng, HOSTS - job.n_hosts_wanted);
		job.hosts = xcalloc(job.n_hosts_wanted, sizeof *job.hosts);
		for (uint32_t i = 0; i < job.n_hosts_wanted; i++)
			job.hosts[i] = start + i;
		BUG_ON(advisor_put(advisor, &job, true, &number) < 0);
		work_job_fini(&job);
	}
	printf("advisor: %u jobs, %u hosts, %u directed links\n", JOBS,
	       topo_n_hosts(topo), topo_n_links(topo));
	printf("  putting all                        %10.2f s\n",
	       (double)(clk_cpu_ns() - t_ns) / 1e9);
	t_ns = clk_cpu_ns();
	while (advisor_step(advisor, 1) > 0)
		solved++;
	printf("  solving all                        %10.2f s, %u components\n",
	       (double)(clk_cpu_ns() - t_ns) / 1e9, solved);
	for (unsigned e = 0; e < EVENTS; e++) {
		struct advisor_ranking ranking;
		struct work_job job;
		uint32_t number;
		char name[16];
		size_t left;

		make_job(&job, &rng, JOBS + e);
		BUG_ON(advisor_put(advisor, &job, true, &number) < 0);
		t_ns = clk_cpu_ns();
		BUG_ON(advisor_rank(advisor, number, NULL, &ranking) < 0);
		rank_ms[e] = (double)(clk_cpu_ns() - t_ns) / 1e6;
		job.hosts = xmemdup(ranking.items[0].hosts, job.n_hosts_wanted,
				    sizeof *job.hosts);
		advisor_ranking_fini(&ranking);
		t_ns = clk_cpu_ns();
		BUG_ON(advisor_put(advisor, &job, true, &number) < 0);
		put_ms[e] = (double)(clk_cpu_ns() - t_ns) / 1e6;
		work_job_fini(&job);
		snprintf(name, sizeof name, "j%u", (unsigned)rng_below(&rng, JOBS));
		t_ns = clk_cpu_ns();
		advisor_remove(advisor, name);
		leave_ms[e] = (double)(clk_cpu_ns() - t_ns) / 1e6;
		do {
			t_ns = clk_cpu_ns();
			left = advisor_step(advisor, 1);
			step_ms[n_steps++] = (double)(clk_cpu_ns() - t_ns) / 1e6;
		} while (left > 0 && n_steps < 2000);
	}
	say("an arrival ranked", rank_ms, EVENTS);
	say("a job put", put_ms, EVENTS);
	say("a job removed", leave_ms, EVENTS);
	say("a component solved anew", step_ms, n_steps);
	getrusage(RUSAGE_SELF, &usage);
	printf("  resident %ld MiB\n", usage.ru_maxrss / 1024);
	advisor_free(advisor);
	topo_unref(topo);
	return 0;
}
