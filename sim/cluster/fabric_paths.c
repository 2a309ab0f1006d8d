/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster/fabric_paths.h"

#include <stdlib.h>

#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/paths/paths.h"
#include "sim/cluster/fabric_priv.h"

/* Chosen: more rounds gain little, as most jobs are those of the last time. */
#define ROUNDS  4
#define REDRAWS 16

struct fabric_paths {
	const struct topo *topo; /* Borrowed, as the next. */
	struct routes *routes;
	uint64_t seed;
	struct link_loads *loads;   /* Owned. */
	VEC(struct placed *) on;    /* Jobs on the links. */
	VEC(struct paths_job) jobs; /* Scratch. */
	bool has_changed;
};

struct fabric_paths *
fabric_paths_new(const struct topo *topo, struct routes *routes, uint64_t seed)
{
	struct fabric_paths *paths = xcalloc(1, sizeof *paths);

	paths->topo = topo;
	paths->routes = routes;
	paths->seed = seed;
	paths->loads = link_loads_new(topo);
	return paths;
}

void
fabric_paths_free(struct fabric_paths *paths)
{
	if (!paths)
		return;
	link_loads_free(paths->loads);
	vec_free(&paths->on);
	vec_free(&paths->jobs);
	free(paths);
}

static struct paths_job
job_of(struct placed *placed)
{
	return (struct paths_job){ .job = placed->id,
				   .first_port = placed->job.first_port,
				   .weight = placed->n_gpus,
				   .routed = &placed->routed };
}

static void
put(struct fabric_paths *paths, struct placed *placed)
{
	struct paths_job job = job_of(placed);

	link_loads_set_job(paths->loads, placed->id, &placed->job.profile, job.weight);
	if (placed->has_paths)
		paths_load(paths->loads, &job);
	else if (paths_choose(paths->loads, paths->topo, paths->routes, &job,
			      paths->seed) < 0)
		BUG("a job has lost its paths");
	placed->is_on_links = true;
	vec_push(&paths->on, placed);
	paths->has_changed = true;
}

void
fabric_paths_set(struct fabric_paths *paths, struct placed *const *jobs, size_t n)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < n; i++)
		jobs[i]->is_wanted = true;
	for (size_t i = 0; i < paths->on.n; i++) {
		struct placed *placed = paths->on.items[i];
		struct paths_job job = job_of(placed);

		if (placed->is_wanted) {
			paths->on.items[n_kept++] = placed;
			continue;
		}
		paths_unload(paths->loads, &job);
		placed->is_on_links = false;
		paths->has_changed = true;
	}
	paths->on.n = n_kept;
	for (size_t i = 0; i < n; i++) {
		jobs[i]->is_wanted = false;
		if (!jobs[i]->is_on_links)
			put(paths, jobs[i]);
	}
}

size_t
fabric_paths_improve(struct fabric_paths *paths)
{
	const struct paths_opts opts = { .seed = paths->seed,
					 .n_rounds = ROUNDS,
					 .n_redraws = REDRAWS,
					 .change_cost = FABRIC_CHANGE_COST };
	struct paths_counts counts = { 0 };

	if (!paths->has_changed)
		return 0;
	paths->jobs.n = 0;
	for (size_t i = 0; i < paths->on.n; i++) {
		vec_push(&paths->jobs, job_of(paths->on.items[i]));
		paths->on.items[i]->has_paths = true;
	}
	if (paths_improve(paths->loads, paths->topo, paths->routes, paths->jobs.items,
			  paths->jobs.n, &opts, &counts) < 0)
		BUG("a job has lost its paths");
	paths->has_changed = false;
	return counts.n_changed;
}

double
fabric_paths_harm(const struct fabric_paths *paths)
{
	return link_loads_total_harm(paths->loads);
}
