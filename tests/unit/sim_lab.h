/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_lab.h - links, jobs with one or more segments, and a record of the engine's calls
 * to its observer
 */
#ifndef TESTS_UNIT_SIM_LAB_H
#define TESTS_UNIT_SIM_LAB_H

#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "lib/base/vec.h"
#include "tests/unit/test.h"

#define MS 1000000

/* Most tests need one link and the path over it. */
static const double ONE_LINK[] = { 50e9 };
static const uint32_t PATH[] = { 0 };

struct lab_iteration {
	uint32_t job;
	uint64_t iteration;
	double start_ns, end_ns;
};

struct lab_flows {
	uint32_t job, segment;
	double start_ns, end_ns;
};

struct lab {
	struct engine *engine;
	uint32_t n_jobs; /* Counted by tests that need it. */
	VEC(struct lab_iteration) iterations;
	VEC(struct lab_flows) flows;
};

static void
lab_on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
		 double end_ns)
{
	struct lab *lab = ctx;

	vec_push(&lab->iterations,
		 ((struct lab_iteration){ job, iteration, start_ns, end_ns }));
}

static void
lab_on_flows(void *ctx, uint32_t job, uint32_t segment, double start_ns, double end_ns)
{
	struct lab *lab = ctx;

	vec_push(&lab->flows, ((struct lab_flows){ job, segment, start_ns, end_ns }));
}

/* The initial state of a lab; change it before lab_open(). */
static inline struct engine_config
lab_config(struct lab *lab, const double *capacity_bps, uint32_t n_links)
{
	return (struct engine_config){
		.capacity_bps = capacity_bps,
		.n_links = n_links,
		.seed = 1,
		.observer = { .ctx = lab,
			      .on_iteration = lab_on_iteration,
			      .on_flows = lab_on_flows },
	};
}

static inline void
lab_open(struct lab *lab, const struct engine_config *config)
{
	memset(lab, 0, sizeof *lab);
	lab->engine = engine_new(config);
}

/* Opens a lab with one link and default values. */
static inline void
lab_open_link(struct lab *lab)
{
	struct engine_config config = lab_config(lab, ONE_LINK, 1);

	lab_open(lab, &config);
}

static inline void
lab_close(struct lab *lab)
{
	engine_free(lab->engine);
	vec_free(&lab->iterations);
	vec_free(&lab->flows);
}

/* A job of one segment: it computes, then sends one flow of 'bytes' over 'links'. */
struct lab_job {
	struct engine_flow flow;
	struct engine_segment segment;
	struct engine_job job;
};

static inline void
lab_job_init(struct lab_job *j, int64_t compute_ns, const uint32_t *links,
	     uint32_t n_links, double bytes)
{
	*j = (struct lab_job){
		.flow = { .links = links,
			  .n_links = n_links,
			  .bytes = bytes,
			  .weight = 1 },
		.segment = { .compute_ns = compute_ns,
			     .flows_offset_ns = compute_ns,
			     .n_flows = 1 },
		.job = { .n_segments = 1, .stop_ns = ENGINE_NEVER },
	};
	j->segment.flows = &j->flow;
	j->job.segments = &j->segment;
}

static inline uint32_t
lab_add(struct lab *lab, const struct lab_job *j)
{
	uint32_t id;

	assert_int_equal(engine_add_job(lab->engine, &j->job, &id), 0);
	return id;
}

/* Duration of iteration 'iteration' of 'job'; fails if it did not happen. */
static inline double
lab_iteration_ns(const struct lab *lab, uint32_t job, uint64_t iteration)
{
	for (size_t i = 0; i < lab->iterations.n; i++) {
		const struct lab_iteration *it = &lab->iterations.items[i];

		if (it->job == job && it->iteration == iteration)
			return it->end_ns - it->start_ns;
	}
	fail_msg("job %u has no iteration %llu", job, (unsigned long long)iteration);
	return 0;
}

/* Mean duration of the first 'n' iterations of 'job'. */
static inline double
lab_mean_ns(const struct lab *lab, uint32_t job, uint64_t n)
{
	double sum_ns = 0;

	for (uint64_t i = 0; i < n; i++)
		sum_ns += lab_iteration_ns(lab, job, i);
	return sum_ns / (double)n;
}

#endif
