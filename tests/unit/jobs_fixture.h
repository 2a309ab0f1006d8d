/* SPDX-License-Identifier: Apache-2.0 */
/* jobs_fixture.h - small workloads on small fabrics, for the tests of advice */
#ifndef TESTS_UNIT_JOBS_FIXTURE_H
#define TESTS_UNIT_JOBS_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/workload/workload.h"
#include "topology/gen.h"
#include "topology/route.h"
#include "topology/topo.h"

struct fixture {
	struct topo *topo;
	struct routes *routes;
	struct workload workload;
};

/* Leaves of 'n_hosts' hosts of 50 Gb/s with 'n_spines' uplinks of 'uplink_bps'. */
static inline void
fixture_init(struct fixture *f, uint32_t n_leaves, uint32_t n_hosts, uint32_t n_spines,
	     double uplink_bps)
{
	struct gen_leaf_spine options = {
		.n_leaves = n_leaves,
		.hosts_per_leaf = n_hosts,
		.n_spines = n_spines,
		.host_bps = 50e9,
		.uplink_bps = uplink_bps,
	};

	*f = (struct fixture){ 0 };
	if (gen_leaf_spine(&options, &f->topo, NULL) < 0)
		abort();
	f->routes = routes_new(f->topo, 1);
}

static inline void
fixture_fini(struct fixture *f)
{
	workload_fini(&f->workload);
	routes_free(f->routes);
	topo_unref(f->topo);
}

/*
 * Adds and returns a waiting job that sends at 'bps' for the first 'duty' of every
 * 'period_us'.  Valid until the next call.
 */
static inline struct work_job *
fixture_job(struct fixture *f, const char *name, uint32_t n_hosts, int64_t period_us,
	    double duty, double bps)
{
	struct work_job *job;
	struct profile_phase phase = { 0, (int64_t)(duty * (double)period_us), bps };

	f->workload.jobs = xreallocarray(f->workload.jobs, f->workload.n + 1,
					 sizeof *f->workload.jobs);
	job = &f->workload.jobs[f->workload.n++];
	*job = (struct work_job){
		.name = xstrdup(name),
		.collective = COLLECTIVE_RING,
		.n_hosts_wanted = n_hosts,
		.slots_per_host = 1,
		.weight = n_hosts,
		.stop_ns = ENGINE_NEVER,
		.profile = { .job = xstrdup(name),
			     .period_us = period_us,
			     .n_phases = 1,
			     .phases = xmemdup(&phase, 1, sizeof phase) },
	};
	if (profile_normalize(&job->profile, NULL) < 0)
		abort();
	work_job_segments_from_profile(job);
	return job;
}

/* Places a job on hosts by number; host i of a generated fabric is node i. */
static inline void
fixture_on(struct work_job *job, const uint32_t *hosts)
{
	free(job->hosts);
	job->hosts = xmemdup(hosts, job->n_hosts_wanted, sizeof *hosts);
}

#define ON(job, ...) fixture_on((job), (const uint32_t[]){ __VA_ARGS__ })

#endif
