/* SPDX-License-Identifier: Apache-2.0 */
/* crux_jobs.c - Crux's paths and priorities of jobs on a fabric */
#include "sim/baselines/crux_jobs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "sim/baselines/crux_levels.h"
#include "topology/route.h"
#include "topology/topo.h"

#define LEAST_S 1e-9 /* Of computing: crux.h divides by iterations. */

/* The arrays of crux.h while they grow. */
struct problem {
	VEC(struct crux_job) jobs;
	VEC(struct crux_flow) flows;
	VEC(struct crux_path) paths;
	VEC(uint32_t) hops;
	VEC(uint32_t) numbers; /* By path; that of a flow's first one is its present. */
	double *capacity_bps;  /* Owned. */
	struct crux_problem is;
};

static void
problem_fini(struct problem *problem)
{
	vec_free(&problem->jobs);
	vec_free(&problem->flows);
	vec_free(&problem->paths);
	vec_free(&problem->hops);
	vec_free(&problem->numbers);
	free(problem->capacity_bps);
}

static void
add_path(struct problem *problem, const uint32_t *links, size_t n, uint32_t number)
{
	vec_push(&problem->paths,
		 ((struct crux_path){ (uint32_t)problem->hops.n, (uint32_t)n }));
	for (size_t i = 0; i < n; i++)
		vec_push(&problem->hops, links[i]);
	vec_push(&problem->numbers, number);
}

/* Bytes that the busiest interface sends in an iteration. */
static double
nic_bytes(const struct work_job *work)
{
	double sum = 0;

	for (size_t i = 0; i < work->n_segments; i++)
		sum += work->segments[i].nic_bytes;
	return sum;
}

static int
add_flow(struct problem *problem, const struct baseline_job *job, uint32_t number,
	 size_t flow, struct routes *routes)
{
	const struct routed_job *routed = job->routed;
	struct crux_flow made = { .job = number,
				  .first_path = (uint32_t)problem->paths.n,
				  .bytes = routed->flows.flows[flow].bytes *
					   nic_bytes(job->work) };
	uint32_t links[ROUTE_MAX_HOPS], n_paths, n_tried;
	const uint32_t *present;
	size_t n;
	int r = baseline_n_paths(job, flow, routes, &n_paths);

	if (r < 0)
		return r;
	present = baseline_links(job, flow, &n);
	add_path(problem, present, n,
		 routed->paths ? routed->paths[flow] : WORK_HASHED);
	n_tried = n_paths < CRUX_MAX_PATHS ? n_paths : CRUX_MAX_PATHS;
	for (uint32_t k = 0; n_paths > 1 && k < n_tried; k++) {
		uint32_t path = (uint32_t)((uint64_t)k * n_paths / n_tried);

		r = baseline_path(job, flow, path, routes, links, &n);
		if (r < 0)
			return r;
		add_path(problem, links, n, path);
	}
	made.n_paths = (uint32_t)problem->paths.n - made.first_path;
	vec_push(&problem->flows, made);
	return 0;
}

static struct crux_job
describe(const struct baseline_job *job, const struct topo *topo)
{
	const struct work_job *work = job->work;
	double line_bps = topo_line_bps(topo, job->hosts, work->n_hosts_wanted);
	double iteration_s = 1e-6 * (double)work->profile.period_us, compute_s = 0;
	double send_s = line_bps > 0 ? 8 * nic_bytes(work) / line_bps : 0;

	for (size_t i = 0; i < work->n_segments; i++)
		compute_s += 1e-9 * (double)work->segments[i].compute_ns;
	compute_s = fmax(compute_s, LEAST_S);
	return (struct crux_job){ .compute_flop = compute_s * job->n_gpus,
				  .compute_s = compute_s,
				  .offset_s = fmax(0, iteration_s - send_s) };
}

/* Fills 'problem', which starts zeroed. */
static int
describe_all(const struct baseline_job *jobs, size_t n, const struct topo *topo,
	     struct routes *routes, struct problem *problem)
{
	const uint32_t n_links = topo_n_links(topo);
	int r = 0;

	problem->capacity_bps =
		xcalloc((size_t)n_links + 1, sizeof *problem->capacity_bps);
	for (uint32_t l = 0; l < n_links; l++)
		problem->capacity_bps[l] = topo_link(topo, l)->capacity_bps;
	for (size_t j = 0; j < n; j++) {
		vec_push(&problem->jobs, describe(&jobs[j], topo));
		for (size_t f = 0; r == 0 && f < jobs[j].routed->flows.n; f++)
			r = add_flow(problem, &jobs[j], (uint32_t)j, f, routes);
	}
	problem->is = (struct crux_problem){
		.capacity_bps = problem->capacity_bps,
		.n_links = n_links,
		.jobs = problem->jobs.items,
		.n_jobs = (uint32_t)n,
		.flows = problem->flows.items,
		.n_flows = (uint32_t)problem->flows.n,
		.paths = problem->paths.items,
		.n_paths = (uint32_t)problem->paths.n,
		.hops = problem->hops.items,
		.n_hops = (uint32_t)problem->hops.n,
	};
	BUG_ON(r == 0 && crux_check(&problem->is));
	return r;
}

static int
set_paths(struct baseline_job *jobs, size_t n, const struct problem *problem,
	  const uint32_t *choices, const struct topo *topo, struct routes *routes)
{
	uint32_t *numbers = xcalloc(problem->flows.n + 1, sizeof *numbers);
	size_t first = 0;
	int r = 0;

	for (size_t f = 0; f < problem->flows.n; f++)
		numbers[f] =
			problem->numbers
				.items[problem->flows.items[f].first_path + choices[f]];
	for (size_t j = 0; r == 0 && j < n; j++) {
		size_t n_flows = jobs[j].routed->flows.n;

		r = baseline_set_paths(&jobs[j], numbers + first, topo, routes);
		first += n_flows;
	}
	free(numbers);
	return r;
}

/* The highest level has the highest priority. */
static void
set_priorities(struct baseline_job *jobs, const struct crux_problem *problem,
	       const uint32_t *choices, uint64_t seed)
{
	const struct crux_levels_opts opts = { .seed = seed };
	const uint32_t n = problem->n_jobs;
	double *priorities = xcalloc((size_t)n + 1, sizeof *priorities);
	double *intensities = xcalloc((size_t)n + 1, sizeof *intensities);
	uint32_t *levels = xcalloc((size_t)n + 1, sizeof *levels);
	struct crux_edge *edges;
	size_t n_edges;
	int r;

	crux_priorities(problem, choices, priorities);
	crux_intensities(problem, choices, NULL, intensities);
	n_edges = crux_contention(problem, choices, priorities, intensities, &edges);
	r = crux_levels_find(n, edges, n_edges, &opts, levels, NULL);
	BUG_ON(r);
	for (uint32_t j = 0; j < n; j++)
		jobs[j].priority = (uint8_t)(CRUX_N_LEVELS - 1 - levels[j]);
	free(edges);
	free(levels);
	free(intensities);
	free(priorities);
}

int
crux_choose(struct baseline_job *jobs, size_t n, const struct topo *topo,
	    struct routes *routes, bool has_priorities, uint64_t seed)
{
	struct problem problem = { 0 };
	int r = describe_all(jobs, n, topo, routes, &problem);

	if (r == 0) {
		uint32_t *choices = xcalloc(problem.flows.n + 1, sizeof *choices);

		crux_choose_paths(&problem.is, choices);
		r = set_paths(jobs, n, &problem, choices, topo, routes);
		if (r == 0 && has_priorities)
			set_priorities(jobs, &problem.is, choices, seed);
		free(choices);
	}
	problem_fini(&problem);
	return r;
}
