/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/isolated.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "topology/topo.h"

struct isolated {
	const struct experiment_opts *opts;
	double *sum_ns;     /* By job: sum over its counted iterations. */
	uint64_t *n_target; /* By job: iterations to do. */
	uint32_t *base;     /* By job: number of its first private link. */
};

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct isolated *isolated = ctx;

	if (iteration >= isolated->opts->warmup_iterations &&
	    iteration < isolated->n_target[job])
		isolated->sum_ns[job] += end_ns - start_ns;
}

int
isolated_add_placeholder(struct engine *engine)
{
	const struct engine_segment segment = { .compute_ns = 1 };
	const struct engine_job nothing = {
		.segments = &segment,
		.n_segments = 1,
		.stop_ns = ENGINE_NEVER,
		.max_iterations = 1,
	};
	uint32_t id;

	return engine_add_job(engine, &nothing, &id);
}

static int
add_job(struct isolated *isolated, const struct work_job *work,
	const struct sim_plan_job *planned, size_t j, struct engine *engine)
{
	struct routed_job routed = planned->routed; /* Borrows. */
	const struct footprint *footprint = &routed.footprint;
	size_t n_links = routed.flows.n ? routed.path_first[routed.flows.n] : 0;
	uint32_t *links = xcalloc(n_links + 1, sizeof *links), id;
	struct work_job job = *work;
	int error;

	for (size_t i = 0; i < n_links; i++)
		links[i] = isolated->base[j] +
			   (uint32_t)(footprint_find(footprint, routed.path_links[i]) -
				      footprint->entries);
	routed.path_links = links;
	job.arrival_ns = 0;
	job.stop_ns = ENGINE_NEVER;
	job.max_iterations = isolated->n_target[j];
	error = routed_job_add(&job, &routed, engine, 0, ENGINE_PACE_FREE, &id);
	free(links);
	return error;
}

static struct engine *
make_engine(struct isolated *isolated, const struct sim_plan *plan,
	    const struct topo *topo)
{
	struct engine_config config = {
		.seed = isolated->opts->seed,
		.observer = { .ctx = isolated, .on_iteration = on_iteration },
	};
	double *capacity_bps;
	struct engine *engine;

	for (size_t j = 0; j < plan->n; j++) {
		isolated->base[j] = config.n_links;
		config.n_links += (uint32_t)plan->jobs[j].routed.footprint.n;
	}
	capacity_bps = xcalloc((size_t)config.n_links + 1, sizeof *capacity_bps);
	for (size_t j = 0; j < plan->n; j++) {
		const struct footprint *footprint = &plan->jobs[j].routed.footprint;

		for (size_t i = 0; i < footprint->n; i++)
			capacity_bps[isolated->base[j] + i] =
				topo_link(topo, footprint->entries[i].link)
					->capacity_bps;
	}
	config.capacity_bps = capacity_bps;
	engine = engine_new(&config);
	free(capacity_bps);
	return engine;
}

int
isolated_fill(const struct scenario *scenario, const struct sim_plan *plan,
	      const struct topo *topo, const struct experiment_opts *opts,
	      struct experiment *experiment)
{
	struct isolated isolated = { .opts = opts };
	struct engine *engine;
	int error = 0;

	isolated.sum_ns = xcalloc(plan->n + 1, sizeof *isolated.sum_ns);
	isolated.n_target = xcalloc(plan->n + 1, sizeof *isolated.n_target);
	isolated.base = xcalloc(plan->n + 1, sizeof *isolated.base);
	engine = make_engine(&isolated, plan, topo);
	for (size_t j = 0; j < plan->n && error == 0; j++) {
		size_t n = experiment->jobs[j].n;

		if (n) {
			isolated.n_target[j] = opts->warmup_iterations + n;
			error = add_job(&isolated, &scenario->workload.jobs[j],
					&plan->jobs[j], j, engine);
		} else {
			error = isolated_add_placeholder(engine);
		}
	}
	if (error == 0)
		engine_run(engine, ENGINE_NEVER);
	for (size_t j = 0; j < plan->n && error == 0; j++) {
		struct experiment_job *job = &experiment->jobs[j];

		if (!job->n)
			continue;
		job->isolated_ns = isolated.sum_ns[j] / (double)job->n;
		job->slowdown =
			job->isolated_ns > 0 ? job->mean_ns / job->isolated_ns : 1;
	}
	engine_free(engine);
	free(isolated.sum_ns);
	free(isolated.n_target);
	free(isolated.base);
	return error;
}
