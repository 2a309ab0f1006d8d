/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_case.h - random workloads for the engine: jobs of all kinds on a few links
 */
#ifndef TESTS_UNIT_WORKLOAD_CASE_H
#define TESTS_UNIT_WORKLOAD_CASE_H

#include <string.h>

#include "engine/engine.h"
#include "lib/base/rng.h"
#include "tests/unit/sim_lab.h"

#define CASE_MAX_JOBS  8
#define CASE_MAX_SEGS  3
#define CASE_MAX_FLOWS 4
#define CASE_MAX_LINKS 8

struct workload_case {
	uint32_t n_links, n_jobs;
	double capacity_bps[CASE_MAX_LINKS];
	struct engine_flow flows[CASE_MAX_JOBS][CASE_MAX_SEGS][CASE_MAX_FLOWS];
	uint32_t paths[CASE_MAX_JOBS][CASE_MAX_SEGS][CASE_MAX_FLOWS][3];
	struct engine_segment segments[CASE_MAX_JOBS][CASE_MAX_SEGS];
	struct engine_job jobs[CASE_MAX_JOBS];
	bool is_late[CASE_MAX_JOBS]; /* Added during the run. */
};

static int64_t
draw_ns(struct rng *rng, uint64_t below_ms)
{
	return (int64_t)rng_below(rng, below_ms * MS);
}

static void
draw_flow(struct rng *rng, uint32_t n_links, struct engine_flow *flow, uint32_t *path)
{
	uint32_t first = (uint32_t)rng_below(rng, n_links);

	flow->n_links = (uint32_t)rng_below(rng, 10) == 0
				? 0
				: 1 + (uint32_t)rng_below(rng, n_links < 3 ? 1 : 3);
	/* Distinct links: a shortest path crosses no link twice. */
	for (uint32_t i = 0; i < flow->n_links; i++)
		path[i] = (first + i) % n_links;
	flow->links = path;
	flow->bytes = rng_below(rng, 8) == 0 ? 0 : 1e6 + 60e6 * rng_uniform(rng);
	flow->cap_bps = rng_below(rng, 3) == 0 ? 5e9 + 40e9 * rng_uniform(rng) : 0;
	flow->weight = rng_below(rng, 3) == 0 ? 0.5 + 3 * rng_uniform(rng) : 1;
}

static void
draw_segment(struct workload_case *c, struct rng *rng, uint32_t j, uint32_t s)
{
	struct engine_segment *seg = &c->segments[j][s];

	/* Flows after computing or during it, only computing, or neither. */
	seg->compute_ns = rng_below(rng, 4) == 0 ? 0 : MS + draw_ns(rng, 20);
	seg->flows_offset_ns =
		rng_below(rng, 2) == 0 ? seg->compute_ns : draw_ns(rng, 15);
	seg->n_flows = (uint32_t)rng_below(rng, CASE_MAX_FLOWS + 1);
	seg->flows = c->flows[j][s];
	for (uint32_t f = 0; f < seg->n_flows; f++)
		draw_flow(rng, c->n_links, &c->flows[j][s][f], c->paths[j][s][f]);
}

static void
draw_job(struct workload_case *c, struct rng *rng, uint32_t j)
{
	struct engine_job *job = &c->jobs[j];

	job->n_segments = 1 + (uint32_t)rng_below(rng, CASE_MAX_SEGS);
	job->segments = c->segments[j];
	for (uint32_t s = 0; s < job->n_segments; s++)
		draw_segment(c, rng, j, s);
	c->segments[j][0].compute_ns += MS; /* Every iteration takes some time. */
	job->arrival_ns = rng_below(rng, 2) == 0 ? 0 : draw_ns(rng, 80);
	job->shift_ns = rng_below(rng, 2) == 0 ? 0 : draw_ns(rng, 30);
	job->stop_ns = rng_below(rng, 3) == 0 ? draw_ns(rng, 300) : ENGINE_NEVER;
	job->max_iterations = 1 + rng_below(rng, 6);
	job->jitter_frac = rng_below(rng, 2) == 0 ? 0.1 * rng_uniform(rng) : 0;
	job->pacing = (enum engine_pacing)rng_below(rng, 3);
	job->grid_ns = rng_below(rng, 4) == 0 ? 0 : 15 * MS + draw_ns(rng, 40);
	job->deadband_frac = rng_below(rng, 2) == 0 ? 0 : 0.2 * rng_uniform(rng);
	c->is_late[j] = rng_below(rng, 4) == 0;
}

static void
draw_case(struct workload_case *c, uint64_t seed)
{
	struct rng rng;

	memset(c, 0, sizeof *c);
	rng_init(&rng, seed);
	c->n_links = 1 + (uint32_t)rng_below(&rng, CASE_MAX_LINKS);
	c->n_jobs = 1 + (uint32_t)rng_below(&rng, CASE_MAX_JOBS);
	for (uint32_t l = 0; l < c->n_links; l++)
		c->capacity_bps[l] = rng_below(&rng, 2) == 0
					     ? 50e9
					     : 10e9 + 90e9 * rng_uniform(&rng);
	for (uint32_t j = 0; j < c->n_jobs; j++)
		draw_job(c, &rng, j);
	/* Numbers follow the order of adding; late jobs come last. */
	for (uint32_t j = 1; j < c->n_jobs; j++)
		c->is_late[j] |= c->is_late[j - 1];
}

#endif
