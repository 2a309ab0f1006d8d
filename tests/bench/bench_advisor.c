/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_advisor.c - CPU time of the advisor per event: 10,000 jobs on about 20,000
 * links, and 2,000 jobs on 16,384 hosts; paths hashed, and chosen
 *
 * A leaf-spine fabric of 320 leaves of 32 hosts with 8 uplinks each: 10,240 hosts of 4
 * slots and 25,600 directed links, of which 5,120 are between switches.  10,000 jobs of
 * 2 to 8 hosts with one slot each, packed in runs of neighboring hosts from a random
 * start, so that many straddle leaves.  Then jobs arrive, are ranked, placed best, and
 * solved with their neighbors, while others leave.  At the end, moves of jobs are sought.
 *
 * Then the same with jobs that are scattered, and arrivals of up to 64 hosts, which no
 * leaf has; and these on 512 leaves of 32 hosts with 16 uplinks, at the rate of a host.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/rng.h"
#include "lib/base/stats.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/moves_search.h"
#include "scheduler/core/advisor/advisor.h"
#include "scheduler/core/workload/workload.h"
#include "topology/gen.h"
#include "topology/topo.h"

#define LEAVES    320
#define PER_LEAF  32
#define JOBS      10000u
#define HASHED    (ADVISE_PLACE | ADVISE_TIME)
#define EVENTS    60
#define MAX_STEPS 2000
#define LOOKS     40 /* At most, after an event. */
#define MOVES     40
#define EVENT_NS  INT64_C(10000000000)

static void
make_job(struct work_job *job, struct rng *rng, unsigned number, double rate_bps,
	 uint32_t max_hosts)
{
	int64_t period_us = 100000 + 20000 * (int64_t)rng_below(rng, 4);
	struct profile_phase phase = {
		.duration_us =
			(int64_t)((0.1 + 0.2 * rng_uniform(rng)) * (double)period_us),
		.rate_bps = rate_bps,
	};

	*job = (struct work_job){
		.name = xasprintf("j%u", number),
		.collective = COLLECTIVE_RING,
		.n_hosts_wanted = 2 + (uint32_t)rng_below(rng, max_hosts - 1),
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

/* A fabric with jobs on it. */
struct size {
	uint32_t n_leaves, hosts_per_leaf, n_spines, n_jobs;
	bool is_scattered;  /* Hosts at random; otherwise runs of neighbors. */
	double rate_bps;    /* Of a burst. */
	uint32_t max_hosts; /* Of an arrival; the others have up to 8. */
	bool is_solved;     /* All at the start. */
	unsigned levers;
};

static void
choose_hosts(struct work_job *job, const struct size *size, struct rng *rng)
{
	uint32_t n_hosts = size->n_leaves * size->hosts_per_leaf;
	uint32_t start = (uint32_t)rng_below(rng, n_hosts - job->n_hosts_wanted);

	job->hosts = xcalloc(job->n_hosts_wanted, sizeof *job->hosts);
	for (uint32_t i = 0; i < job->n_hosts_wanted; i++) {
		job->hosts[i] = start + i;
		/* Distinct, as each is of another part of the fabric. */
		if (size->is_scattered)
			job->hosts[i] =
				(n_hosts / job->n_hosts_wanted) * i +
				(uint32_t)rng_below(rng, n_hosts / job->n_hosts_wanted);
	}
}

static double
ms_since(int64_t t_ns)
{
	return (double)(clk_cpu_ns() - t_ns) / 1e6;
}

static struct advisor *
make_advisor(const struct size *size, struct rng *rng)
{
	struct gen_leaf_spine options = { .n_leaves = size->n_leaves,
					  .hosts_per_leaf = size->hosts_per_leaf,
					  .n_spines = size->n_spines,
					  .n_slots = 4,
					  .host_bps = 100e9,
					  .uplink_bps = 100e9 };
	const struct advisor_opts opts = { .levers = size->levers,
					   .changes_a_minute = UINT32_MAX };
	struct advisor *advisor;
	struct topo *topo;
	int64_t t_ns;

	BUG_ON(gen_leaf_spine(&options, &topo, NULL) < 0);
	printf("advisor: %u jobs%s, %u hosts, %u directed links, paths %s\n",
	       size->n_jobs, size->is_scattered ? " scattered" : "", topo_n_hosts(topo),
	       topo_n_links(topo), size->levers & ADVISE_PATH ? "chosen" : "hashed");
	advisor = advisor_new(topo, &opts);
	topo_unref(topo);
	t_ns = clk_cpu_ns();
	for (unsigned j = 0; j < size->n_jobs; j++) {
		struct work_job job;
		uint32_t number;

		make_job(&job, rng, j, size->rate_bps, 8);
		choose_hosts(&job, size, rng);
		BUG_ON(advisor_put(advisor, &job, true, &number) < 0);
		work_job_fini(&job);
	}
	printf("  putting all                        %10.2f s\n", ms_since(t_ns) / 1e3);
	return advisor;
}

/* All that there is to change at the start, and the longest look at one job. */
static void
change_all(struct advisor *advisor)
{
	double worst_ms = 0;
	int64_t began_ns = clk_cpu_ns();
	unsigned n = 0;
	bool is_more;

	do {
		int64_t t_ns = clk_cpu_ns();
		double took_ms;

		is_more = advisor_change_paths(advisor, 0, 1);
		took_ms = ms_since(t_ns);
		worst_ms = took_ms > worst_ms ? took_ms : worst_ms;
		n++;
	} while (is_more);
	printf("  changing paths                     %10.2f s, %u looks, worst %.2f ms, "
	       "%llu flows of %zu jobs\n",
	       ms_since(began_ns) / 1e3, n, worst_ms,
	       (unsigned long long)advisor_path_counts(advisor).n_changed,
	       advisor_path_counts(advisor).n_jobs);
}

static void
solve_all(struct advisor *advisor)
{
	int64_t t_ns = clk_cpu_ns();
	unsigned solved = 0;

	while (advisor_step(advisor, 1) > 0)
		solved++;
	printf("  solving all                        %10.2f s, %u steps\n",
	       ms_since(t_ns) / 1e3, solved);
}

/* Jobs arrive, are ranked, placed best, and solved with their neighbors; others leave. */
static void
run_events(struct advisor *advisor, const struct size *size, struct rng *rng)
{
	double rank_ms[EVENTS], put_ms[EVENTS], step_ms[MAX_STEPS], leave_ms[EVENTS];
	double look_ms[EVENTS * LOOKS];
	size_t n_steps = 0, n_looks = 0;

	for (unsigned e = 0; e < EVENTS; e++) {
		struct advisor_ranking ranking;
		struct work_job job;
		uint32_t number;
		int64_t t_ns;
		char name[16];

		make_job(&job, rng, size->n_jobs + e, size->rate_bps, size->max_hosts);
		BUG_ON(advisor_put(advisor, &job, true, &number) < 0);
		t_ns = clk_cpu_ns();
		BUG_ON(advisor_rank(advisor, number, NULL, &ranking) < 0);
		rank_ms[e] = ms_since(t_ns);
		job.hosts = xmemdup(ranking.items[0].hosts, job.n_hosts_wanted,
				    sizeof *job.hosts);
		advisor_ranking_fini(&ranking);
		t_ns = clk_cpu_ns();
		BUG_ON(advisor_put(advisor, &job, true, &number) < 0);
		put_ms[e] = ms_since(t_ns);
		work_job_fini(&job);
		snprintf(name, sizeof name, "j%u",
			 (unsigned)rng_below(rng, size->n_jobs));
		t_ns = clk_cpu_ns();
		advisor_remove(advisor, name);
		leave_ms[e] = ms_since(t_ns);
		for (bool is_more = true; is_more && n_looks < (e + 1) * LOOKS;) {
			t_ns = clk_cpu_ns();
			is_more = advisor_change_paths(advisor, e * EVENT_NS, 1);
			look_ms[n_looks++] = ms_since(t_ns);
		}
		for (size_t left = 1, end = MAX_STEPS * (e + 1) / EVENTS;
		     left > 0 && n_steps < end;) {
			t_ns = clk_cpu_ns();
			left = advisor_step(advisor, 1);
			step_ms[n_steps++] = ms_since(t_ns);
		}
	}
	say("an arrival ranked", rank_ms, EVENTS);
	say("a job put", put_ms, EVENTS);
	say("a job removed", leave_ms, EVENTS);
	say("a look at one job's paths", look_ms, n_looks);
	say("a component solved anew", step_ms, n_steps);
}

/* Other hosts for running jobs, all of which may move: one search a job. */
static void
seek_moves(struct advisor *advisor, const struct size *size, struct rng *rng)
{
	size_t n_jobs = size->n_jobs + EVENTS, n_found = 0;
	struct moves_job *jobs = xcalloc(n_jobs, sizeof *jobs);
	double seek_ms[MOVES];

	for (uint32_t j = 0; j < n_jobs; j++)
		if (advisor_job(advisor, j))
			jobs[j] = (struct moves_job){ .weight = 1,
						      .left_s = 36000,
						      .cost_s = NAN,
						      .is_movable = true };
	for (size_t i = 0; i < MOVES; i++) {
		uint32_t job = (uint32_t)rng_below(rng, size->n_jobs);
		struct moves_step step = { .n_jobs = 0 };
		int64_t t_ns = clk_cpu_ns();

		n_found += advisor_find_move(advisor, job, jobs, n_jobs, NULL, 2,
					     &step) > 0;
		seek_ms[i] = ms_since(t_ns);
		moves_step_fini(&step);
	}
	say("a move of one job sought", seek_ms, MOVES);
	printf("  %zu of %d would pay\n", n_found, MOVES);
	free(jobs);
}

int
main(int argc, char **argv)
{
	static const struct size sizes[] = {
		{ LEAVES, PER_LEAF, 8, JOBS, false, 25e9, 8, true, HASHED },
		{ LEAVES, PER_LEAF, 8, JOBS, false, 25e9, 8, true, ADVISE_ALL_LEVERS },
		{ LEAVES, PER_LEAF, 8, JOBS, true, 25e9, 64, false, HASHED },
		{ LEAVES, PER_LEAF, 8, JOBS, true, 25e9, 64, false, ADVISE_ALL_LEVERS },
		{ 512, 32, 16, 2000, true, 100e9, 64, true, HASHED },
		{ 512, 32, 16, 2000, true, 100e9, 64, true, ADVISE_ALL_LEVERS },
	};
	/* One of them, by number, or all. */
	size_t chosen = argc > 1 ? strtoul(argv[1], NULL, 10) : SIZE_MAX;
	struct rusage usage;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct advisor *advisor;
		struct rng rng;

		if (chosen != SIZE_MAX && chosen != i)
			continue;
		rng_init(&rng, 1);
		advisor = make_advisor(&sizes[i], &rng);
		if (sizes[i].levers & ADVISE_PATH)
			change_all(advisor);
		if (sizes[i].is_solved)
			solve_all(advisor);
		run_events(advisor, &sizes[i], &rng);
		seek_moves(advisor, &sizes[i], &rng);
		advisor_free(advisor);
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("  resident %ld MiB\n", usage.ru_maxrss / 1024);
	return 0;
}
