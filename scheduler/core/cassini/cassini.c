/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/cassini/cassini.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/cassini/affinity.h"
#include "scheduler/core/cassini/circle.h"
#include "scheduler/core/profile/profile.h"

#define DEFAULT_RESTARTS 8

/* A vertex of V: a link of more than one job, or the first of its twins. */
struct vertex {
	size_t link; /* Index in the problem. */
	double capacity_bps;
	uint32_t n_loads;
	struct joint_load *loads; /* Owned.  By job. */
};

/* The graph of one placement, with its solution. */
struct plan {
	size_t n_vertices;
	struct vertex *vertices;     /* Owned. */
	size_t n_edges;              /* Loads of all vertices. */
	struct affinity_edge *edges; /* Owned.  Vertex by vertex, by job. */
	bool has_loop;
	double score;
};

/* ---- The graph -------------------------------------------------------------- */

static bool
link_is_sane(const struct joint_problem *problem, const struct joint_link *link,
	     size_t *seen_at, size_t stamp)
{
	if (!(link->capacity_bps > 0) || !isfinite(link->capacity_bps))
		return false;
	for (uint32_t i = 0; i < link->n_loads; i++) {
		const struct joint_load *load = &problem->loads[link->first_load + i];

		if (load->job >= problem->n_jobs || !(load->factor > 0) ||
		    !isfinite(load->factor) || seen_at[load->job] == stamp)
			return false;
		seen_at[load->job] = stamp;
	}
	return true;
}

static bool
is_sane(const struct joint_problem *problem)
{
	size_t *seen_at = xcalloc(problem->n_jobs + 1, sizeof *seen_at);
	bool sane = problem->n_jobs < UINT32_MAX && problem->n_links < UINT32_MAX;

	for (size_t j = 0; sane && j < problem->n_jobs; j++)
		sane = problem->profiles[j]->period_us > 0 &&
		       problem->profiles[j]->period_us <= PROFILE_MAX_PERIOD_US;
	for (size_t l = 0; sane && l < problem->n_links; l++)
		sane = link_is_sane(problem, &problem->links[l], seen_at, l + 1);
	free(seen_at);
	return sane;
}

static int
compare_jobs(const void *pa, const void *pb)
{
	const struct joint_load *a = pa, *b = pb;

	return (a->job > b->job) - (a->job < b->job);
}

/* Compares everything that determines a circle; 0 for twins. */
static int
compare_circles(const struct vertex *a, const struct vertex *b)
{
	if (a->n_loads != b->n_loads)
		return a->n_loads < b->n_loads ? -1 : 1;
	if (a->capacity_bps != b->capacity_bps)
		return a->capacity_bps < b->capacity_bps ? -1 : 1;
	for (uint32_t i = 0; i < a->n_loads; i++) {
		const struct joint_load *x = &a->loads[i], *y = &b->loads[i];

		if (x->job != y->job)
			return x->job < y->job ? -1 : 1;
		if (x->factor != y->factor)
			return x->factor < y->factor ? -1 : 1;
	}
	return 0;
}

static int
compare_links(const void *pa, const void *pb)
{
	const struct vertex *a = pa, *b = pb;

	return (a->link > b->link) - (a->link < b->link);
}

/* As compare_circles(), twins by link. */
static int
compare_vertices(const void *pa, const void *pb)
{
	int order = compare_circles(pa, pb);

	return order != 0 ? order : compare_links(pa, pb);
}

/* Keeps one of each group of twins: the one with the lowest link. */
static void
merge_twins(struct plan *plan)
{
	size_t n = 0;

	qsort(plan->vertices, plan->n_vertices, sizeof *plan->vertices,
	      compare_vertices);
	for (size_t v = 0; v < plan->n_vertices; v++) {
		if (n > 0 &&
		    compare_circles(&plan->vertices[n - 1], &plan->vertices[v]) == 0) {
			free(plan->vertices[v].loads);
			continue;
		}
		plan->vertices[n++] = plan->vertices[v];
	}
	plan->n_vertices = n;
	qsort(plan->vertices, n, sizeof *plan->vertices, compare_links);
}

static void
collect_vertices(struct plan *plan, const struct joint_problem *problem)
{
	plan->vertices = xcalloc(problem->n_links + 1, sizeof *plan->vertices);
	for (size_t l = 0; l < problem->n_links; l++) {
		const struct joint_link *link = &problem->links[l];
		struct vertex *vertex = &plan->vertices[plan->n_vertices];

		if (link->n_loads < 2)
			continue;
		vertex->link = l;
		vertex->capacity_bps = link->capacity_bps;
		vertex->n_loads = link->n_loads;
		vertex->loads = xmemdup(&problem->loads[link->first_load],
					link->n_loads, sizeof *vertex->loads);
		qsort(vertex->loads, vertex->n_loads, sizeof *vertex->loads,
		      compare_jobs);
		plan->n_vertices++;
	}
}

static struct affinity *
make_graph(const struct plan *plan, const struct joint_problem *problem)
{
	return affinity_new((uint32_t)problem->n_jobs, (uint32_t)plan->n_vertices,
			    plan->edges, plan->n_edges);
}

/* ---- The links -------------------------------------------------------------- */

/*
 * Solves the circle of vertex 'v', writes Equation 5 into its edges, in ticks,
 * and returns its score.
 */
static double
solve_vertex(const struct vertex *vertex, const struct joint_problem *problem,
	     const struct cassini_opts *opts, struct affinity_edge *edges)
{
	struct circle_job *jobs = xcalloc(vertex->n_loads, sizeof *jobs);
	unsigned *turns = xcalloc(vertex->n_loads, sizeof *turns);
	struct circle circle;
	double score;

	for (uint32_t i = 0; i < vertex->n_loads; i++) {
		jobs[i].profile = problem->profiles[vertex->loads[i].job];
		jobs[i].factor = vertex->loads[i].factor;
	}
	circle_init(&circle, jobs, vertex->n_loads, vertex->capacity_bps);
	score = circle_solve(&circle, rng_mix(opts->seed ^ vertex->link),
			     opts->n_restarts > 0 ? opts->n_restarts : DEFAULT_RESTARTS,
			     turns);
	for (uint32_t i = 0; i < vertex->n_loads; i++)
		edges[i].weight = circle_shift_ticks(&circle.rings[i], turns[i]);

	circle_fini(&circle);
	free(turns);
	free(jobs);
	return score;
}

/* Steps 1 to 4; returns -EINVAL for a malformed problem. */
static int
plan_init(struct plan *plan, const struct joint_problem *problem,
	  const struct cassini_opts *opts)
{
	struct affinity *graph;
	double sum = 0;
	size_t edge = 0;

	memset(plan, 0, sizeof *plan);
	if (!is_sane(problem) ||
	    (opts->has_newcomer && opts->newcomer >= problem->n_jobs))
		return -EINVAL;
	collect_vertices(plan, problem);
	if (opts->merge_twins)
		merge_twins(plan);

	for (size_t v = 0; v < plan->n_vertices; v++)
		plan->n_edges += plan->vertices[v].n_loads;
	plan->edges = xcalloc(plan->n_edges + 1, sizeof *plan->edges);
	for (size_t v = 0; v < plan->n_vertices; v++)
		for (uint32_t i = 0; i < plan->vertices[v].n_loads; i++, edge++) {
			plan->edges[edge].job = plan->vertices[v].loads[i].job;
			plan->edges[edge].link = (uint32_t)v;
		}

	graph = make_graph(plan, problem);
	plan->has_loop = opts->has_newcomer
				 ? affinity_has_loop_round(graph, opts->newcomer)
				 : affinity_has_loop(graph);
	affinity_free(graph);
	if (plan->has_loop) {
		plan->score = -INFINITY;
		return 0;
	}

	edge = 0;
	for (size_t v = 0; v < plan->n_vertices; v++) {
		sum += solve_vertex(&plan->vertices[v], problem, opts,
				    &plan->edges[edge]);
		edge += plan->vertices[v].n_loads;
	}
	plan->score = plan->n_vertices > 0 ? sum / (double)plan->n_vertices : 1;
	return 0;
}

static void
plan_fini(struct plan *plan)
{
	for (size_t v = 0; v < plan->n_vertices; v++)
		free(plan->vertices[v].loads);
	free(plan->vertices);
	free(plan->edges);
}

/* ---- The shifts ------------------------------------------------------------- */

/* Step 5: Algorithm 1, in ticks, and the result in microseconds. */
static void
stitch(const struct plan *plan, const struct joint_problem *problem,
       struct joint_result *result)
{
	struct affinity *graph = make_graph(plan, problem);
	int64_t *periods = xcalloc(problem->n_jobs + 1, sizeof *periods);
	int64_t *ticks = xcalloc(problem->n_jobs + 1, sizeof *ticks);

	for (size_t j = 0; j < problem->n_jobs; j++)
		periods[j] = circle_period_ticks(problem->profiles[j]->period_us);
	affinity_stitch(graph, periods, ticks);
	for (size_t j = 0; j < problem->n_jobs; j++)
		result->shift_us[j] =
			circle_ticks_to_us(ticks[j], problem->profiles[j]->period_us);
	free(ticks);
	free(periods);
	affinity_free(graph);
}

static struct joint_result *
result_new(const struct plan *plan, const struct joint_problem *problem)
{
	struct joint_result *result = xcalloc(1, sizeof *result);
	size_t n_jobs = problem->n_jobs, n_links = problem->n_links;

	result->n_jobs = n_jobs;
	result->n_links = n_links;
	result->shift_us = xcalloc(n_jobs + 1, sizeof *result->shift_us);
	result->slack_us = xcalloc(n_jobs + 1, sizeof *result->slack_us);
	result->method = xcalloc(n_jobs + 1, sizeof *result->method);
	result->excess_before_bps =
		xcalloc(n_links + 1, sizeof *result->excess_before_bps);
	result->excess_after_bps =
		xcalloc(n_links + 1, sizeof *result->excess_after_bps);

	result->has_loop = result->gave_up = plan->has_loop;
	for (size_t j = 0; j < n_jobs; j++)
		result->method[j] = JOINT_FREE;
	for (size_t e = 0; e < plan->n_edges; e++)
		result->method[plan->edges[e].job] =
			plan->has_loop ? JOINT_LOOP : JOINT_TREE;

	joint_excess(problem, result->shift_us, result->excess_before_bps);
	result->objective_before = joint_objective(problem, result->excess_before_bps);
	if (plan->has_loop) {
		if (n_links > 0)
			memcpy(result->excess_after_bps, result->excess_before_bps,
			       n_links * sizeof *result->excess_after_bps);
	} else {
		stitch(plan, problem, result);
		joint_excess(problem, result->shift_us, result->excess_after_bps);
	}
	result->objective_after = joint_objective(problem, result->excess_after_bps);
	return result;
}

/* ---- What the header offers -------------------------------------------------- */

static const struct cassini_opts no_opts;

struct joint_result *
cassini_solve_scored(const struct joint_problem *problem,
		     const struct cassini_opts *opts, double *ret_score,
		     size_t *ret_n_links)
{
	struct cassini_opts whole = opts != NULL ? *opts : no_opts;
	struct joint_result *result = NULL;
	struct plan plan;

	whole.has_newcomer = false; /* Shifts are for all jobs, or for none. */
	if (plan_init(&plan, problem, &whole) == 0) {
		result = result_new(&plan, problem);
		*ret_score = plan.score;
		*ret_n_links = plan.n_vertices;
	}
	plan_fini(&plan);
	return result;
}

struct joint_result *
cassini_solve(const struct joint_problem *problem, const struct cassini_opts *opts)
{
	double score;
	size_t n_links;

	return cassini_solve_scored(problem, opts, &score, &n_links);
}

double
cassini_score(const struct joint_problem *problem, const struct cassini_opts *opts)
{
	struct plan plan;
	double score;

	score = plan_init(&plan, problem, opts != NULL ? opts : &no_opts) == 0
			? plan.score
			: (double)NAN;
	plan_fini(&plan);
	return score;
}

int
cassini_rank(const struct joint_problem *const *candidates, size_t n,
	     const struct cassini_opts *opts, struct cassini_choice *ret_choice)
{
	struct cassini_choice choice = { .best = SIZE_MAX };

	choice.n_scored = n < CASSINI_MAX_CANDIDATES ? n : CASSINI_MAX_CANDIDATES;
	for (size_t i = 0; i < choice.n_scored; i++) {
		double score = cassini_score(candidates[i], opts);

		if (isnan(score))
			return -EINVAL;
		choice.scores[i] = score;
		if (score >
		    (choice.best == SIZE_MAX ? -INFINITY : choice.scores[choice.best]))
			choice.best = i;
	}
	if (choice.best != SIZE_MAX)
		choice.result = cassini_solve(candidates[choice.best], opts);
	*ret_choice = choice;
	return 0;
}

void
cassini_choice_fini(struct cassini_choice *choice)
{
	joint_result_free(choice->result);
	memset(choice, 0, sizeof *choice);
}
