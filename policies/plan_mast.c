/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_mast.c - one queue for all regions: by priority and quota, each job in the best
 * cluster of the region that has its data (MAST, OSDI 2024).
 *
 * A job gets the GPUs of one cluster; of one region, then of several, if no cluster is
 * large enough.  scopes.h scores all of them.
 *
 * A job may leave its region when the copy of its data, begun at submission, is done.
 */
#include <math.h>

#include "lib/base/rng.h"
#include "policies/math/knapsack.h"
#include "policies/order_list.h"
#include "policies/places.h"
#include "policies/planners.h"
#include "policies/scopes.h"

enum {
	RACKS,
	CLUSTERS,
	COPY_S,
	QUOTA,
	N_PARAMS,
};

/* Pieces in 'places'; n_pieces 0: it waits. */
struct run {
	uint32_t first, n_pieces;
};

struct state {
	struct order_list list; /* First: order_list_on_event(). */
	struct scopes *scopes;
	double copy_s, quota;
	/* Of one plan. */
	VEC(uint32_t) n_free; /* By node. */
	struct pol_free free;
	struct pol_plan places; /* Pieces only, also of jobs that lost theirs. */
	VEC(struct run) runs;   /* By id. */
	VEC(uint32_t) n_used;   /* GPUs, by tenant. */
	double quota_gpus;
	VEC(struct knapsack_choice) choices;
	VEC(uint32_t) candidates; /* To lose their GPUs. */
	VEC(uint32_t) kept;
};

static const struct pol_param params[] = {
	[RACKS] =
		POL_WHOLE("mast.racks_per_cluster", "racks of a cluster", 1, 1, 10000),
	[CLUSTERS] = POL_WHOLE("mast.clusters_per_region", "clusters of a region", 2, 1,
			       10000),
	[COPY_S] = { "mast.copy_s",
		     "seconds from submission until a job's data is in all regions "
		     "(assumed)",
		     3600, 0, 1e9, false },
	[QUOTA] = { "mast.quota",
		    "share of the GPUs that is each tenant's quota; 0: an even share "
		    "of the tenants with jobs",
		    0, 0, 1, false },
	[N_PARAMS] = { 0 },
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	(void)rng;
	s->scopes = scopes_new(cluster, (uint32_t)values[RACKS],
			       (uint32_t)values[CLUSTERS]);
	s->copy_s = values[COPY_S];
	s->quota = values[QUOTA];
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	scopes_free(s->scopes);
	vec_free(&s->n_free);
	pol_plan_fini(&s->places);
	vec_free(&s->runs);
	vec_free(&s->n_used);
	vec_free(&s->choices);
	vec_free(&s->candidates);
	vec_free(&s->kept);
}

/* Its VC; else its user; jobs with neither are one tenant. */
static uint32_t
tenant_of(const struct pol_job *job)
{
	if (job->vc != POL_NONE)
		return 2 * job->vc + 1;
	return job->user != POL_NONE ? 2 * job->user + 2 : 0;
}

/* Where a job may run now.  No trace says where data is: each id has a fixed region. */
static struct scope
scope_of(const struct state *s, const struct pol_view *view, const struct pol_job *job)
{
	if (view->now_s >= job->submit_s + s->copy_s)
		return (struct scope){ SCOPE_ALL, 0 };
	return (struct scope){ SCOPE_REGION,
			       (uint32_t)(rng_mix(job->id) %
					  scopes_count(s->scopes, SCOPE_REGION)) };
}

/* ---- Preemption ------------------------------------------------------------------ */

/*
 * Of the listed jobs from 'first' on, those with GPUs in a scope are candidates to lose
 * them: 'kept' says which keep them, as many GPUs as possible; of equal choices, the last
 * jobs lose.  Returns the GPUs lost, or POL_NONE if all are not enough.
 */
static uint32_t
choose_losers(struct state *s, const struct pol_view *view, size_t first,
	      struct scope scope, uint32_t n_gpus)
{
	uint32_t n_room = 0, n, lost = 0;

	s->choices.n = s->candidates.n = 0;
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		if (scopes_have_node(s->scopes, scope, i))
			n_room += s->n_free.items[i];
	for (size_t i = first; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i];
		const struct run *run = &s->runs.items[id];
		uint32_t held = scopes_count_gpus(s->scopes, scope,
						  s->places.pieces.items + run->first,
						  run->n_pieces);
		struct knapsack_choice keep = { .class = (uint32_t)s->choices.n,
						.weight = held,
						.value = view->jobs[id].n_gpus };

		if (!held)
			continue;
		vec_push(&s->choices, keep);
		vec_push(&s->candidates, id);
		n_room += held;
	}
	if (n_room < n_gpus)
		return POL_NONE;
	n_room -= n_gpus;
	n = (uint32_t)s->choices.n;
	for (uint32_t i = 0; i < n; i++) /* Less than one GPU in all. */
		s->choices.items[i].value += (n - i) / (n * (n + 1.0));
	vec_reserve(&s->kept, n);
	/* If this is too large a problem, a good choice suffices. */
	(void)knapsack_solve(s->choices.items, n, n, &n_room, 1, s->kept.items);
	for (uint32_t i = 0; i < n; i++)
		if (s->kept.items[i] == KNAPSACK_NONE)
			lost += view->jobs[s->candidates.items[i]].n_gpus;
	return lost;
}

static void
stop(struct state *s, const struct pol_job *job)
{
	struct run *run = &s->runs.items[job->id];

	place_give_back(&s->free, s->places.pieces.items + run->first, run->n_pieces);
	run->n_pieces = 0;
	s->n_used.items[tenant_of(job)] -= job->n_gpus;
}

/* Makes room in the unit of the level where the fewest GPUs are lost. */
static bool
preempt(struct state *s, const struct pol_view *view, size_t first, struct scope outer,
	enum scope_level level, uint32_t n_gpus)
{
	struct scope best = { level, POL_NONE };
	uint32_t least = POL_NONE;

	for (uint32_t i = 0; i < scopes_count(s->scopes, level); i++) {
		struct scope scope = { level, i };
		uint32_t lost = POL_NONE;

		if (scopes_have_unit(s->scopes, outer, scope))
			lost = choose_losers(s, view, first, scope, n_gpus);
		if (lost < least) {
			least = lost;
			best = scope;
		}
	}
	if (best.unit == POL_NONE)
		return false;
	choose_losers(s, view, first, best, n_gpus);
	for (size_t i = 0; i < s->candidates.n; i++)
		if (s->kept.items[i] == KNAPSACK_NONE)
			stop(s, &view->jobs[s->candidates.items[i]]);
	return true;
}

/* ---- The queue ------------------------------------------------------------------- */

/* Whether there was room for the job. */
static bool
place(struct state *s, const struct pol_job *job, struct scope outer,
      enum scope_level level)
{
	uint32_t first = (uint32_t)s->places.pieces.n;
	uint32_t n = scopes_place(s->scopes, outer, level, job->n_gpus, &s->free,
				  &s->places);

	s->runs.items[job->id] = (struct run){ first, n };
	s->n_used.items[tenant_of(job)] += n ? job->n_gpus : 0;
	return n;
}

/* Of the listed jobs, those from 'first' on have a lower priority. */
static void
serve(struct state *s, const struct pol_view *view, const struct pol_job *job,
      size_t first)
{
	struct scope outer = scope_of(s, view, job);
	enum scope_level level = scopes_level(s->scopes, outer, job->n_gpus);

	if (level != SCOPE_N_LEVELS && !place(s, job, outer, level) &&
	    preempt(s, view, first, outer, level, job->n_gpus))
		place(s, job, outer, level);
}

/* Serves waiting jobs of one priority: with 'is_within', those that keep to their quota. */
static void
serve_class(struct state *s, const struct pol_view *view, size_t begin, size_t end,
	    bool is_within)
{
	for (size_t i = begin; i < end; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];
		uint32_t n_used = s->n_used.items[tenant_of(job)];

		if (!s->runs.items[job->id].n_pieces &&
		    !(is_within && n_used + (double)job->n_gpus > s->quota_gpus))
			serve(s, view, job, end);
	}
}

/* Running jobs keep their GPUs.  Counts what tenants use, and their quota. */
static void
keep_running(struct state *s, const struct pol_view *view)
{
	uint32_t n_tenants = 0;

	s->n_free.n = s->runs.n = s->n_used.n = s->places.pieces.n = 0;
	vec_reserve(&s->n_free, view->cluster->n_nodes);
	s->free = place_empty(view->cluster, s->n_free.items);
	while (s->runs.n < view->n_ids)
		vec_push(&s->runs, ((struct run){ 0 }));
	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		uint32_t tenant = tenant_of(job), first;

		while (s->n_used.n <= tenant)
			vec_push(&s->n_used, POL_NONE);
		if (s->n_used.items[tenant] == POL_NONE) {
			s->n_used.items[tenant] = 0;
			n_tenants++;
		}
		first = (uint32_t)s->places.pieces.n;
		s->runs.items[job->id] =
			(struct run){ first, place_keep(job, &s->free, &s->places) };
		if (s->runs.items[job->id].n_pieces)
			s->n_used.items[tenant] += job->n_gpus;
	}
	s->quota_gpus = pol_cluster_usable(view->cluster) *
			(s->quota > 0 ? s->quota : 1.0 / fmax(n_tenants, 1));
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;
	const uint32_t *ids = s->list.ids.items;
	double *keys = order_list_keys(&s->list, view);

	(void)n_max;
	scopes_update(s->scopes, view->cluster);
	keep_running(s, view);
	for (size_t i = 0; i < s->list.ids.n; i++)
		keys[ids[i]] = -(double)view->jobs[ids[i]].priority;
	order_list_sort(&s->list);
	for (size_t begin = 0, end; begin < s->list.ids.n; begin = end) {
		for (end = begin + 1;
		     end < s->list.ids.n &&
		     view->jobs[ids[end]].priority == view->jobs[ids[begin]].priority;)
			end++;
		serve_class(s, view, begin, end, true);
		serve_class(s, view, begin, end, false);
	}
	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct run *run = &s->runs.items[ids[i]];
		size_t first = plans[0].pieces.n;

		for (uint32_t k = 0; k < run->n_pieces; k++)
			vec_push(&plans[0].pieces,
				 s->places.pieces.items[run->first + k]);
		if (run->n_pieces)
			pol_plan_grant(&plans[0], ids[i], view->jobs[ids[i]].n_gpus,
				       ids[i], first);
	}
	return 1;
}

/* When a waiting job's data has been copied. */
static double
wakeup_s(void *state, const struct pol_view *view)
{
	const struct state *s = state;
	double next_s = INFINITY;

	for (uint32_t i = 0; i < view->n_jobs; i++) {
		const struct pol_job *job = &view->jobs[view->ids[i]];
		double copied_s = job->submit_s + s->copy_s;

		if (!job->n_pieces && copied_s > view->now_s && copied_s < next_s)
			next_s = copied_s;
	}
	return scopes_count(s->scopes, SCOPE_REGION) > 1 ? next_s : INFINITY;
}

/* Jobs stay in the clusters that were chosen for them. */
static const uint32_t *
parts(const void *state)
{
	return scopes_clusters(((const struct state *)state)->scopes);
}

const struct pol_planner planner_mast = {
	.module = { .name = "mast",
		    .text = "by priority and quota, in the best cluster of the region "
			    "that has the data",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = order_list_on_event,
		    .wakeup_s = wakeup_s },
	.plan = plan,
	.parts = parts,
};
