/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_plan.c - plans, and the components that their links tie together.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advise/advise_internal.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/workload/workload.h"
#include "topology/topo.h"

/* ---- Components ----------------------------------------------------------------- */

void
component_fini(struct component *component)
{
	free(component->jobs);
	free(component->links);
	*component = (struct component){ 0 };
}

static void
components_fini(struct components *components)
{
	for (size_t i = 0; i < components->n; i++)
		component_fini(&components->items[i]);
	free(components->items);
	*components = (struct components){ 0 };
}

static bool
ties(const struct place *place, uint32_t link, enum component_tie tie)
{
	size_t n;

	if (tie == TIE_EXCEEDABLE)
		return link_loads_is_exceedable(place_link_loads(place), link);
	(void)link_loads_of(place_link_loads(place), link, &n);
	return n > 1;
}

/*
 * Walks breadth first from 'job' over connecting links, marks the jobs in 'is_seen',
 * and adds no more jobs than 'n_max'.
 */
static void
walk(const struct place *place, const struct advise_ctx *ctx, uint32_t job,
     enum component_tie tie, size_t n_max, bool *is_seen,
     struct component *ret_component)
{
	bool *is_seen_link = NULL;
	VEC(uint32_t) jobs = VEC_EMPTY;
	VEC(uint32_t) links = VEC_EMPTY;

	is_seen_link = xcalloc(topo_n_links(ctx->topo) + 1, sizeof *is_seen_link);
	is_seen[job] = true;
	vec_push(&jobs, job);
	for (size_t next = 0; next < jobs.n; next++) {
		const struct routed_job *routed =
			place_routed_job(place, jobs.items[next]);

		for (size_t i = 0; i < routed->footprint.n; i++) {
			uint32_t link = routed->footprint.entries[i].link;
			const struct link_load *loads;
			size_t n;

			if (is_seen_link[link] || !ties(place, link, tie))
				continue;
			is_seen_link[link] = true;
			vec_push(&links, link);
			loads = link_loads_of(place_link_loads(place), link, &n);
			for (size_t k = 0; k < n; k++) {
				if (is_seen[loads[k].job] || jobs.n >= n_max)
					continue;
				is_seen[loads[k].job] = true;
				vec_push(&jobs, loads[k].job);
			}
		}
	}
	sort_items(jobs.items, jobs.n, sort_by_u32);
	sort_items(links.items, links.n, sort_by_u32);
	free(is_seen_link);
	*ret_component = (struct component){ jobs.items, jobs.n, links.items, links.n };
}

void
component_around(const struct place *place, const struct advise_ctx *ctx, uint32_t job,
		 size_t n_max, struct component *ret_component)
{
	bool *is_seen = xcalloc(ctx->workload->n + 1, sizeof *is_seen);

	walk(place, ctx, job, TIE_EXCEEDABLE, n_max, is_seen, ret_component);
	free(is_seen);
}

static void
components_make(const struct place *place, const struct advise_ctx *ctx,
		enum component_tie tie, struct components *ret_components)
{
	bool *is_seen = xcalloc(ctx->workload->n + 1, sizeof *is_seen);
	VEC(struct component) all = VEC_EMPTY;

	for (uint32_t j = 0; j < ctx->workload->n; j++) {
		struct component component;

		if (is_seen[j] || !place_routed_job(place, j))
			continue;
		walk(place, ctx, j, tie, SIZE_MAX, is_seen, &component);
		if (component.n_links)
			vec_push(&all, component);
		else
			component_fini(&component);
	}
	free(is_seen);
	*ret_components = (struct components){ all.items, all.n };
}

/* ---- The joint problem of a component ----------------------------------------- */

void
component_problem_make(const struct component *component, const struct place *place,
		       const struct advise_ctx *ctx,
		       struct component_problem *ret_problem)
{
	struct component_problem problem = { 0 };
	uint32_t *number = xcalloc(ctx->workload->n + 1, sizeof *number);
	VEC(struct joint_load) loads = VEC_EMPTY;

	problem.profiles =
		xcalloc(component->n_jobs + 1, sizeof(const struct profile *));
	problem.links = xcalloc(component->n_links + 1, sizeof *problem.links);
	for (size_t i = 0; i < component->n_jobs; i++) {
		number[component->jobs[i]] = (uint32_t)i + 1;
		problem.profiles[i] = &ctx->workload->jobs[component->jobs[i]].profile;
	}
	for (size_t i = 0; i < component->n_links; i++) {
		uint32_t link = component->links[i];
		uint32_t first = (uint32_t)loads.n;
		size_t n;
		const struct link_load *on_link =
			link_loads_of(place_link_loads(place), link, &n);

		for (size_t k = 0; k < n; k++) {
			uint32_t j = number[on_link[k].job];

			if (j > 0)
				vec_push(&loads, ((struct joint_load){
							 j - 1, on_link[k].factor }));
		}
		problem.links[i] = (struct joint_link){
			.id = link,
			.first_load = first,
			.n_loads = (uint32_t)loads.n - first,
			.capacity_bps = topo_link(ctx->topo, link)->capacity_bps,
			.weight = 1,
		};
	}
	free(number);
	problem.loads = loads.items;
	problem.problem = (struct joint_problem){
		.n_jobs = component->n_jobs,
		.profiles = problem.profiles,
		.n_links = component->n_links,
		.links = problem.links,
		.loads = problem.loads,
	};
	*ret_problem = problem;
}

void
component_problem_fini(struct component_problem *problem)
{
	free(problem->profiles);
	free(problem->links);
	free(problem->loads);
	*problem = (struct component_problem){ 0 };
}

struct predict_job *
component_predict_jobs(const struct component *component, const struct place *place,
		       const struct advise_ctx *ctx)
{
	struct predict_job *jobs = xcalloc(component->n_jobs + 1, sizeof *jobs);

	for (size_t i = 0; i < component->n_jobs; i++)
		jobs[i] = (struct predict_job){
			.job = &ctx->workload->jobs[component->jobs[i]],
			.routed = place_routed_job(place, component->jobs[i]),
			.has_random_phase = true,
			.pacing = ENGINE_PACE_FREE,
		};
	return jobs;
}

/* ---- Plans ----------------------------------------------------------------------- */

void
plan_begin(struct plan *plan, const struct advise_ctx *ctx)
{
	size_t n = ctx->workload->n;

	*plan = (struct plan){
		.place = place_new(ctx->topo, ctx->routes, ctx->workload, ctx->paths),
		.phase_us = xcalloc(n + 1, sizeof(int64_t)),
		.is_phased = xcalloc(n + 1, sizeof(bool)),
		.pacing = xcalloc(n + 1, sizeof(enum engine_pacing)),
		.slack_us = xcalloc(n + 1, sizeof(int64_t)),
		.excess_bps = xcalloc(topo_n_links(ctx->topo) + 1, sizeof(double)),
		.why = xcalloc(n + 1, sizeof(enum reason)),
		.moves = xcalloc(n + 1, sizeof(struct plan_move)),
	};
	place_set_shifting(plan->place, ctx->is_shifting);
	for (size_t j = 0; j < n; j++)
		plan->why[j] = N_REASONS;
}

int
plan_init(struct plan *plan, const struct advise_ctx *ctx)
{
	plan_begin(plan, ctx);
	for (uint32_t j = 0; j < ctx->workload->n; j++) {
		const uint32_t *hosts = ctx->workload->jobs[j].hosts;
		int r = hosts ? place_put(plan->place, j, hosts) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

void
plan_fini(struct plan *plan)
{
	components_fini(&plan->components);
	place_free(plan->place);
	free(plan->phase_us);
	free(plan->slack_us);
	free(plan->is_phased);
	free(plan->pacing);
	free(plan->slowdown);
	free(plan->excess_bps);
	free(plan->why);
	free(plan->moves);
	*plan = (struct plan){ 0 };
}

void
plan_find_components(struct plan *plan, const struct advise_ctx *ctx,
		     enum component_tie tie)
{
	components_fini(&plan->components);
	components_make(plan->place, ctx, tie, &plan->components);
	free(plan->slowdown);
	plan->slowdown = xcalloc(ctx->workload->n * ctx->n_seeds + 1, sizeof(double));
	for (size_t i = 0; i < ctx->workload->n * ctx->n_seeds; i++)
		plan->slowdown[i] = 1;
	for (size_t i = 0; i < plan->components.n; i++) {
		const struct component *c = &plan->components.items[i];

		for (size_t l = 0; l < c->n_links; l++)
			plan->excess_bps[c->links[l]] = link_loads_excess_bps(
				place_link_loads(plan->place), c->links[l]);
	}
}

void
plan_predict_component(struct plan *plan, const struct advise_ctx *ctx,
		       const struct component *c)
{
	struct predict_opts opts = { ctx->opts.seed, ctx->n_seeds, ctx->n_iterations };
	struct predict_job *jobs = component_predict_jobs(c, plan->place, ctx);
	struct prediction prediction;

	for (size_t k = 0; k < c->n_jobs; k++) {
		jobs[k].shift_us = plan->phase_us[c->jobs[k]];
		jobs[k].has_random_phase = !plan->is_phased[c->jobs[k]];
		jobs[k].pacing = plan->pacing[c->jobs[k]];
	}
	predict(jobs, c->n_jobs, ctx->topo, &opts, &prediction);
	for (size_t k = 0; k < c->n_jobs; k++)
		memcpy(&plan->slowdown[c->jobs[k] * ctx->n_seeds],
		       &prediction.slowdown[k * ctx->n_seeds],
		       ctx->n_seeds * sizeof(double));
	prediction_fini(&prediction);
	free(jobs);
}

void
plan_predict(struct plan *plan, const struct advise_ctx *ctx)
{
	for (size_t i = 0; i < plan->components.n; i++)
		plan_predict_component(plan, ctx, &plan->components.items[i]);
}

void
plan_predict_as(struct plan *plan, const struct plan *same,
		const struct advise_ctx *ctx)
{
	plan_find_components(plan, ctx, TIE_EXCEEDABLE);
	memcpy(plan->slowdown, same->slowdown,
	       ctx->workload->n * ctx->n_seeds * sizeof *plan->slowdown);
}

void
plan_unshift(struct plan *plan, const struct advise_ctx *ctx)
{
	for (size_t j = 0; j < ctx->workload->n; j++) {
		plan->is_phased[j] = false;
		plan->phase_us[j] = plan->slack_us[j] = 0;
		plan->pacing[j] = ENGINE_PACE_FREE;
		plan->why[j] = N_REASONS;
	}
	for (uint32_t l = 0; l < topo_n_links(ctx->topo); l++)
		plan->excess_bps[l] = 0;
	plan->has_loop = false;
}

double
plan_slowdown(const struct plan *plan, const struct advise_ctx *ctx, uint32_t job)
{
	double sum = 0;

	if (!place_routed_job(plan->place, job))
		return 0;
	for (uint32_t s = 0; s < ctx->n_seeds; s++)
		sum += plan->slowdown[(size_t)job * ctx->n_seeds + s];
	return sum / ctx->n_seeds;
}

double
plan_goodput(const struct plan *plan, const struct advise_ctx *ctx)
{
	double sum = 0, weights = 0;

	for (uint32_t j = 0; j < ctx->workload->n; j++) {
		double weight = ctx->workload->jobs[j].weight;
		double slowdown = plan_slowdown(plan, ctx, j);

		weights += weight;
		if (slowdown > 0)
			sum += weight / slowdown;
	}
	return weights > 0 ? sum / weights : 0;
}

double
cap_noise(const struct advise_ctx *ctx, const double *slowdown, size_t n_jobs)
{
	return ctx->n_seeds < ADVISE_SEEDS
		       ? prediction_noise(slowdown, n_jobs, ctx->n_seeds)
		       : 0;
}

/* The largest acceptable slowdown of a job with slowdown 'before' in the baseline. */
static double
limit_of(const struct advise_ctx *ctx, double before)
{
	return fmax(ctx->opts.max_slowdown, before * (1 + ADVISE_HARM_FRAC));
}

bool
cap_is_broken(const struct advise_ctx *ctx, double before, double after, double noise)
{
	double error = noise * fmax(after - 1, 0);

	return after - ADVISE_SURE_SES * error > limit_of(ctx, before);
}

bool
plan_breaks_cap(const struct plan *plan, const struct plan *base,
		const struct advise_ctx *ctx)
{
	double noise = cap_noise(ctx, plan->slowdown, ctx->workload->n);

	for (uint32_t j = 0; j < ctx->workload->n; j++)
		if (cap_is_broken(ctx, plan_slowdown(base, ctx, j),
				  plan_slowdown(plan, ctx, j), noise))
			return true;
	return false;
}
