/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advisor_solve.c - one component, solved with advise.h as a workload of its own.  The
 * jobs' paths are given, so that shifts and gates are for the links which they meet on.
 *
 * A component of more than MAX_JOBS jobs is cut: the jobs nearest to the touched one
 * are taken, and only the touched job and those whose neighbors are all taken get
 * another view; the others keep theirs until it is their turn.
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advisor/advisor_priv.h"
#include "scheduler/core/control/period_lock.h"
#include "scheduler/core/control/phase_constraints.h"
#include "scheduler/core/paths/link_loads.h"
#include "scheduler/core/profile/same_period.h"
#include "topology/topo.h"

#define MAX_JOBS 16

/* Limit of predictions, in flows; far below ADVISE_EFFORT_FLOWS. */
#define EFFORT_FLOWS 1e5
#define ITERATIONS   15
#define RESTARTS     1

/* ---- Locked periods -------------------------------------------------------------- */

/*
 * Locked periods, if some jobs can only be kept in phase, so that they have windows;
 * NULL if all can take turns, or if contention costs less than idle time.
 */
static int64_t *
locked_periods(const struct workload *workload)
{
	size_t n = workload->n;
	int64_t *period_us = xcalloc(n + 1, sizeof *period_us);
	int64_t *sends_us = xcalloc(n + 1, sizeof *sends_us);
	int64_t *locked_us = xcalloc(n + 1, sizeof *locked_us);
	const struct profile **profiles = xcalloc(n + 1, sizeof *profiles);
	bool has_windows = false, is_cheaper = false;
	struct profile *joined;

	for (size_t i = 0; i < n; i++)
		profiles[i] = &workload->jobs[i].profile;
	joined = same_period_join(profiles, n);
	for (size_t i = 0; i < n; i++) {
		has_windows |= phase_constraints_burst_us(profiles[i]) == 0;
		period_us[i] = joined ? joined[i].period_us : profiles[i]->period_us;
		sends_us[i] = profile_busy_us(profiles[i]);
	}
	free(joined);
	free(profiles);
	if (has_windows)
		is_cheaper = period_lock_find(period_us, sends_us, n, locked_us) <
			     period_lock_contention(period_us, sends_us, n);
	free(period_us);
	free(sends_us);
	if (is_cheaper)
		return locked_us;
	free(locked_us);
	return NULL;
}

/* Changes the jobs as if they idled until the end of their locked periods. */
static void
lock_jobs(struct workload *workload, const int64_t *locked_us)
{
	for (size_t i = 0; i < workload->n; i++) {
		workload->jobs[i].profile.period_us = locked_us[i];
		work_job_segments_from_profile(&workload->jobs[i]);
	}
}

/* ---- The component as a workload ------------------------------------------------- */

struct question {
	struct workload workload;
	bool *is_fixed; /* Owned, as the others; by number in the component. */
	int64_t *start_us;
	bool *is_inner;     /* All its neighbors are in the component. */
	int64_t *locked_us; /* NULL: no job is locked. */
};

static bool
has_all_neighbors(const struct advisor *advisor, const struct component *component,
		  const uint32_t *number, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);

	(void)component;
	for (size_t i = 0; i < routed->footprint.n; i++) {
		uint32_t link = routed->footprint.entries[i].link;
		const struct link_load *loads;
		size_t n;

		if (!link_loads_is_exceedable(place_link_loads(advisor->place), link))
			continue;
		loads = link_loads_of(place_link_loads(advisor->place), link, &n);
		for (size_t k = 0; k < n; k++)
			if (number[loads[k].job] == 0)
				return false;
	}
	return true;
}

static void
question_init(struct question *q, const struct advisor *advisor,
	      const struct component *component)
{
	uint32_t *number = xcalloc(advisor->workload.n + 1, sizeof *number);
	size_t n = component->n_jobs;

	q->workload.jobs = xcalloc(n + 1, sizeof *q->workload.jobs);
	q->workload.n = n;
	q->is_fixed = xcalloc(n + 1, sizeof *q->is_fixed);
	q->start_us = xcalloc(n + 1, sizeof *q->start_us);
	q->is_inner = xcalloc(n + 1, sizeof *q->is_inner);
	for (size_t i = 0; i < n; i++)
		number[component->jobs[i]] = (uint32_t)i + 1;
	for (size_t i = 0; i < n; i++) {
		uint32_t job = component->jobs[i];
		struct work_job *copy = &q->workload.jobs[i];

		work_job_copy(&advisor->workload.jobs[job], copy);
		/* Shifts are phases on one clock, not delays of an arrival. */
		copy->arrival_ns = 0;
		copy->shift_ns = 0;
		copy->stop_ns = ENGINE_NEVER;
		copy->max_iterations = 0;
		q->is_fixed[i] = !advisor->jobs.items[job]->is_shiftable;
		q->start_us[i] = advisor->jobs.items[job]->solved.shift_us;
		q->is_inner[i] = has_all_neighbors(advisor, component, number, job);
	}
	free(number);
	if (advisor->opts.levers & ADVISE_TIME)
		q->locked_us = locked_periods(&q->workload);
	if (q->locked_us)
		lock_jobs(&q->workload, q->locked_us);
}

static void
question_fini(struct question *q)
{
	workload_fini(&q->workload);
	free(q->is_fixed);
	free(q->start_us);
	free(q->is_inner);
	free(q->locked_us);
}

/* ---- Views ----------------------------------------------------------------------- */

static struct advisor_link *
links_of(const struct advice *advice)
{
	struct advisor_link *links = xcalloc(advice->n_links + 1, sizeof *links);

	for (size_t i = 0; i < advice->n_links; i++)
		links[i] = (struct advisor_link){
			.link = advice->links[i].link,
			.n_jobs = advice->links[i].n_jobs,
			.score_before = advice->links[i].score_before,
			.score_after = advice->links[i].score_after,
			.excess_before_bps = advice->links[i].excess_before_bps,
			.excess_after_bps = advice->links[i].excess_after_bps,
		};
	return links;
}

/* The constraints of job 'i' of the component, with the advisor's numbers of jobs. */
static struct steer_constraint *
edges_of(const struct phase_constraints *edges, const struct component *component,
	 uint32_t i, size_t *ret_n)
{
	VEC(struct steer_constraint) mine = VEC_EMPTY;

	for (size_t k = 0; k < edges->n; k++) {
		struct steer_constraint edge = edges->items[k];

		if (edge.a != i && edge.b != i)
			continue;
		edge.a = component->jobs[edge.a];
		edge.b = component->jobs[edge.b];
		vec_push(&mine, edge);
	}
	*ret_n = mine.n;
	return mine.items;
}

/* Whether the advice requires an action on the job. */
static bool
is_acted_on(const struct advice *advice)
{
	return advice->is_phased || advice->pacing != ENGINE_PACE_FREE;
}

static void
store_views(struct advisor *advisor, const struct component *component,
	    const struct question *q, const struct advice_set *set,
	    const struct phase_constraints *edges)
{
	uint32_t id = ++advisor->n_components;

	for (uint32_t i = 0; i < component->n_jobs; i++) {
		const struct advice *advice = &set->items[i];
		struct advisor_job *job = advisor->jobs.items[component->jobs[i]];
		struct advisor_view view = {
			.is_solved = true,
			.component = id,
			.shift_us = advice->shift_us,
			.slack_us = advice->slack_us,
			.mode = is_acted_on(advice) && job->is_shiftable
					? edges->modes[i]
					: STEER_FREE,
			.score_before = advice->score_before,
			.score_after = advice->score_after,
			.slowdown_before = advice->slowdown_before,
			.slowdown_after = advice->slowdown_after,
			.gain_low = advice->gain_low,
			.gain_high = advice->gain_high,
			.reason = advice->reason,
			.n_links = advice->n_links,
		};

		if (!q->is_inner[i])
			continue;
		if (q->locked_us && view.mode == STEER_SHIFT) {
			const struct work_job *alone =
				&advisor->workload.jobs[component->jobs[i]];

			view.locked_us = q->locked_us[i];
			view.slowdown_after *= (double)view.locked_us /
					       (double)alone->profile.period_us;
		}
		view.links = links_of(advice);
		view.constraints = edges_of(edges, component, i, &view.n_constraints);
		job->is_touched = false;
		advisor_publish(advisor, component->jobs[i], &view);
	}
}

/* Stores the view of a job that can exceed no link with another. */
static void
store_alone(struct advisor *advisor, uint32_t job)
{
	const struct routed_job *routed = place_routed_job(advisor->place, job);
	struct advisor_view view = { .is_solved = true,
				     .component = ++advisor->n_components,
				     .mode = STEER_FREE,
				     .score_before = 1,
				     .score_after = 1,
				     .slowdown_before = 1,
				     .slowdown_after = 1,
				     .reason = REASON_ISOLATED };

	for (size_t i = 0; i < routed->footprint.n; i++) {
		size_t n;

		(void)link_loads_of(place_link_loads(advisor->place),
				    routed->footprint.entries[i].link, &n);
		if (n > 1)
			view.reason = REASON_FITS;
	}
	advisor_publish(advisor, job, &view);
}

/* ---- Solving --------------------------------------------------------------------- */

void
advisor_solve(struct advisor *advisor, uint32_t job)
{
	struct advise_ctx ctx = advisor_ctx(advisor);
	struct component_problem problem;
	struct component component;
	struct advice_set *set = NULL;
	struct phase_constraints edges = { 0 };
	struct question q = { 0 };
	int64_t *shift_us;

	component_around(advisor->place, &ctx, job, MAX_JOBS, &component);
	if (component.n_links == 0) {
		component_fini(&component);
		store_alone(advisor, job);
		return;
	}
	question_init(&q, advisor, &component);
	/* A job with neighbors outside the component keeps its view. */
	for (size_t i = 0; i < component.n_jobs; i++)
		q.is_inner[i] |= component.jobs[i] == job;
	ctx.opts.is_fixed = q.is_fixed;
	ctx.opts.start_us = q.start_us;
	ctx.opts.n_restarts = RESTARTS;
	ctx.opts.effort_flows = EFFORT_FLOWS;
	if (ctx.opts.n_iterations == 0)
		ctx.opts.n_iterations = ITERATIONS;
	/* All of these jobs were routed on this fabric before. */
	BUG_ON(advise(&q.workload, advisor->topo, advisor->routes, &ctx.opts, &set) <
	       0);
	shift_us = xcalloc(component.n_jobs + 1, sizeof *shift_us);
	for (size_t i = 0; i < component.n_jobs; i++)
		shift_us[i] = set->items[i].shift_us;
	component_problem_make(&component, advisor->place, &ctx, &problem);
	phase_constraints_make(&problem.problem, shift_us, q.locked_us, &edges);
	store_views(advisor, &component, &q, set, &edges);
	phase_constraints_fini(&edges);
	component_problem_fini(&problem);
	free(shift_us);
	advice_set_free(set);
	question_fini(&q);
	component_fini(&component);
}
