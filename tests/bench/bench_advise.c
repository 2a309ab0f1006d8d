/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_advise.c - CPU time of a whole advice, from nothing, with all levers
 *
 * Jobs of 2 to 12 hosts are scattered over leaves of 8 hosts of 50 Gb/s at 2:1, at
 * random by seed; rings, duty 0.2 to 0.5, periods 80 to 600 ms, jitter 1 %.  Some of
 * them wait for a place.  The largest fabric takes about 200 MB.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/rng.h"
#include "scheduler/core/advise/advise.h"
#include "tests/unit/jobs_fixture.h"

#define HOSTS_PER_LEAF 8

static void
add_jobs(struct fixture *f, uint32_t n_hosts, size_t n_jobs, double waiting)
{
	uint32_t *order = xcalloc(n_hosts, sizeof *order), at = 0;
	struct rng rng;

	rng_init(&rng, 1);
	for (uint32_t i = 0; i < n_hosts; i++)
		order[i] = i;
	rng_shuffle(&rng, order, n_hosts);
	while (f->workload.n < n_jobs) {
		uint32_t n = 2 + (uint32_t)rng_below(&rng, 11);
		int64_t period_us = 80000 + (int64_t)(rng_uniform(&rng) * 520000);
		struct work_job *job;

		if (at + n > n_hosts)
			break;
		job = fixture_job(f, "j", n, period_us, 0.2 + 0.3 * rng_uniform(&rng),
				  50e9);
		job->jitter_frac = 0.01;
		job->first_port = (uint16_t)(1000 * f->workload.n);
		if (rng_uniform(&rng) >= waiting)
			fixture_on(job, order + at);
		at += n;
	}
	free(order);
}

static void
bench(uint32_t n_leaves, size_t n_jobs, double waiting, double bar_s)
{
	struct advise_opts opts = { .policy = ADVISE_ANTIPHASE };
	struct advice_set *set;
	struct fixture f;
	size_t n_waiting = 0;
	int64_t ns;

	fixture_init(&f, n_leaves, HOSTS_PER_LEAF, HOSTS_PER_LEAF / 2, 50e9);
	add_jobs(&f, n_leaves * HOSTS_PER_LEAF, n_jobs, waiting);
	for (size_t j = 0; j < f.workload.n; j++)
		n_waiting += !f.workload.jobs[j].hosts;
	ns = clk_cpu_ns();
	BUG_ON(advise(&f.workload, f.topo, f.routes, &opts, &set) < 0);
	ns = clk_cpu_ns() - ns;
	printf("%5u hosts, %4zu jobs, %3zu wait: %6.2f s of CPU time (bar %.0f s); "
	       "goodput %.3f > %.3f\n",
	       n_leaves * HOSTS_PER_LEAF, f.workload.n, n_waiting, (double)ns / 1e9,
	       bar_s, set->goodput_before, set->goodput_after);
	advice_set_free(set);
	fixture_fini(&f);
}

int
main(void)
{
	bench(128, 136, 0, 1);
	bench(128, 136, 0.3, 1);
	bench(2048, 2000, 0, 20);
	bench(2048, 2000, 0.3, 20);
	return 0;
}
