/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c - paths and priorities of placed jobs, as published systems choose them */
#include "sim/baselines/baseline.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "sim/baselines/crux_jobs.h"
#include "sim/baselines/mltcp.h"
#include "sim/baselines/monkeytree_paths.h"
#include "topology/route.h"

static uint16_t
port_of(const struct baseline_job *job, size_t flow)
{
	return (uint16_t)(job->work->first_port + flow);
}

int
baseline_path(const struct baseline_job *job, size_t flow, uint32_t number,
	      struct routes *routes, uint32_t *ret_links, size_t *ret_n)
{
	const struct collective_flow *f = &job->routed->flows.flows[flow];
	uint32_t n_paths;

	return routes_numbered_path(routes, f->source, f->destination,
				    port_of(job, flow), number, ret_links, ret_n,
				    &n_paths);
}

int
baseline_n_paths(const struct baseline_job *job, size_t flow, struct routes *routes,
		 uint32_t *ret_n_paths)
{
	const struct collective_flow *f = &job->routed->flows.flows[flow];
	uint32_t links[ROUTE_MAX_HOPS];
	size_t n;

	*ret_n_paths = 1;
	if (!job->routed->paths || job->routed->flows.n > BASELINE_MAX_FLOWS)
		return 0;
	return routes_numbered_path(routes, f->source, f->destination,
				    port_of(job, flow), 0, links, &n, ret_n_paths);
}

int
baseline_set_paths(struct baseline_job *job, const uint32_t *numbers,
		   const struct topo *topo, struct routes *routes)
{
	const size_t n = job->routed->flows.n;
	struct work_job work = *job->work;
	struct routed_job routed;
	uint32_t n_changed = 0;
	int r;

	for (size_t f = 0; job->routed->paths && f < n; f++)
		n_changed += numbers[f] != job->routed->paths[f];
	if (!n_changed)
		return 0;
	work.paths = xmemdup(numbers, n, sizeof *numbers);
	work.n_paths = n;
	r = routed_job_make(&work, job->hosts, topo, routes, &routed);
	free(work.paths);
	if (r < 0)
		return r;
	routed_job_fini(job->routed);
	*job->routed = routed;
	job->n_changed = n_changed;
	return 0;
}

int
baseline_route(enum baseline baseline, struct baseline_job *jobs, size_t n,
	       const struct topo *topo, struct routes *routes, uint64_t seed)
{
	for (size_t j = 0; j < n; j++) {
		jobs[j].priority = 0;
		jobs[j].n_changed = 0;
	}
	switch (baseline) {
	case BASELINE_CRUX:
	case BASELINE_CRUX_PATHS:
		return crux_choose(jobs, n, topo, routes, baseline == BASELINE_CRUX,
				   seed);
	case BASELINE_MONKEYTREE:
		return monkeytree_choose_paths(jobs, n, topo, routes);
	default:
		return 0;
	}
}

const struct mltcp *
baseline_mltcp(enum baseline baseline)
{
	switch (baseline) {
	case BASELINE_MLTCP:
		return &mltcp_of_code;
	case BASELINE_MLTCP_TEXT:
		return &mltcp_of_text;
	default:
		return NULL;
	}
}
