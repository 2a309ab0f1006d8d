/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_gandiva.c - time slices, and pairs of jobs on the same GPUs (Gandiva, OSDI
 * 2018).
 *
 * While jobs request more GPUs than there are, two random jobs of equal size are tried
 * as a pair; the pair lasts while both together do more work than one of them alone.
 * In each round the jobs that ran least are served first, where they were if that is
 * free; a job that does not fit is skipped.  Then some jobs on several nodes migrate
 * to fewer, if there is room.
 */
#include <math.h>

#include "lib/base/rng.h"
#include "policies/order_list.h"
#include "policies/places.h"
#include "policies/planners.h"

struct state {
	struct order_list list;
	struct rng *rng;
	void *place;                /* State of the placement; owned. */
	VEC(uint32_t) mate;         /* By id; POL_NONE: none. */
	VEC(uint8_t) is_served;     /* By id. */
	VEC(uint32_t) ids, singles; /* In the order of service; at random. */
	VEC(uint32_t) n_free;       /* By node. */
	struct pol_free free;
	double most_moves; /* In one round. */
	struct pol_plan tried;
};

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;

	s->most_moves = values[0];
	s->rng = rng;
	s->place = place_best_fit_new(cluster, false);
}

static void
fini(void *state)
{
	struct state *s = state;

	place_best_fit_free(s->place);
	order_list_fini(&s->list);
	vec_free(&s->mate);
	vec_free(&s->is_served);
	vec_free(&s->ids);
	vec_free(&s->singles);
	vec_free(&s->n_free);
	pol_plan_fini(&s->tried);
}

static void
part(struct state *s, uint32_t id)
{
	uint32_t mate = s->mate.items[id];

	s->mate.items[id] = POL_NONE;
	if (mate != POL_NONE)
		s->mate.items[mate] = POL_NONE;
}

static void
on_event(void *state, const struct pol_view *view, enum pol_event event,
	 const struct pol_job *job)
{
	struct state *s = state;

	while (s->mate.n < view->n_ids)
		vec_push(&s->mate, POL_NONE);
	if (event == POL_DONE)
		part(s, job->id);
	order_list_event(&s->list, event, job->id);
}

/* ---- Pairs ----------------------------------------------------------------------- */

static double
speed(const struct pol_view *view, const struct pol_job *job,
      const struct pol_job *mate)
{
	return view->speed.speed(view->speed.ctx, job, job->n_gpus, 1, 0, &mate, 1);
}

static bool
is_worth_it(const struct pol_view *view, uint32_t a, uint32_t b)
{
	const struct pol_job *one = &view->jobs[a], *other = &view->jobs[b];

	return place_may_share(view->cluster, one, other) &&
	       speed(view, one, other) + speed(view, other, one) > 1;
}

/* Returns the requested GPUs, a pair's once; dissolves pairs that no longer pay. */
static uint64_t
check_pairs(struct state *s, const struct pol_view *view)
{
	uint64_t n_wanted = 0;

	s->singles.n = 0;
	for (size_t i = 0; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i], mate = s->mate.items[id];

		if (mate != POL_NONE && !is_worth_it(view, id, mate))
			part(s, id);
	}
	for (size_t i = 0; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i], mate = s->mate.items[id];

		if (mate == POL_NONE || id < mate)
			n_wanted += view->jobs[id].n_gpus;
		if (mate == POL_NONE)
			vec_push(&s->singles, id);
	}
	return n_wanted;
}

/* Tries pairs in random order; each job is tried with one other. */
static void
pair(struct state *s, const struct pol_view *view, uint64_t n_wanted)
{
	uint32_t *ids = s->singles.items;

	rng_shuffle(s->rng, ids, s->singles.n);
	for (size_t i = 0;
	     i < s->singles.n && n_wanted > pol_cluster_usable(view->cluster); i++) {
		size_t k = i + 1;

		while (k < s->singles.n &&
		       (s->mate.items[ids[k]] != POL_NONE ||
			view->jobs[ids[k]].n_gpus != view->jobs[ids[i]].n_gpus))
			k++;
		if (k == s->singles.n || s->mate.items[ids[i]] != POL_NONE ||
		    !is_worth_it(view, ids[i], ids[k]))
			continue;
		s->mate.items[ids[i]] = ids[k];
		s->mate.items[ids[k]] = ids[i];
		n_wanted -= view->jobs[ids[i]].n_gpus;
	}
}

/* ---- Serving --------------------------------------------------------------------- */

/* Returns the number of pieces; 0: the job does not fit. */
static uint32_t
place(struct state *s, const struct pol_view *view, const struct pol_job *job,
      struct pol_plan *plan)
{
	const struct pol_want want = place_want(job);
	uint32_t n = place_keep(job, &s->free, plan);

	return n ? n : place_best_fit.place(s->place, view, &want, &s->free, plan);
}

static void
serve(struct state *s, const struct pol_view *view, uint32_t id, struct pol_plan *plan)
{
	const struct pol_job *job = &view->jobs[id];
	uint32_t members[2] = { id, s->mate.items[id] };
	uint32_t first = (uint32_t)plan->pieces.n, n = place(s, view, job, plan);

	for (uint32_t i = 0; n && i < 2 && members[i] != POL_NONE; i++) {
		pol_plan_grant(plan, members[i], job->n_gpus, id, first);
		s->is_served.items[members[i]] = 1;
	}
}

/* ---- Moving ---------------------------------------------------------------------- */

static void
take_again(struct pol_free *free, const struct pol_piece *pieces, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		free->n_free[pieces[i].node] -= pieces[i].n_gpus;
		free->n_all -= pieces[i].n_gpus;
	}
}

/* Moves a job and its mate to fewer nodes; false if there is no such place. */
static bool
move(struct state *s, const struct pol_view *view, struct pol_plan *plan, size_t at)
{
	const struct pol_grant *grant = &plan->grants.items[at];
	const struct pol_want want = place_want(&view->jobs[grant->job]);
	uint32_t group = grant->group, first = (uint32_t)plan->pieces.n, n;

	pol_plan_clear(&s->tried);
	place_give_back(&s->free, plan->pieces.items + grant->first_piece,
			grant->n_pieces);
	n = place_best_fit.place(s->place, view, &want, &s->free, &s->tried);
	if (!n || n >= grant->n_pieces) {
		place_give_back(&s->free, s->tried.pieces.items, n);
		take_again(&s->free, plan->pieces.items + grant->first_piece,
			   grant->n_pieces);
		return false;
	}
	for (uint32_t i = 0; i < n; i++)
		vec_push(&plan->pieces, s->tried.pieces.items[i]);
	for (; at < plan->grants.n && plan->grants.items[at].group == group; at++) {
		plan->grants.items[at].first_piece = first;
		plan->grants.items[at].n_pieces = n;
	}
	return true;
}

/* Moves jobs in the order of service, in which the jobs of a pair are adjacent. */
static void
move_some(struct state *s, const struct pol_view *view, struct pol_plan *plan)
{
	double n_left = s->most_moves;

	for (size_t i = 0; i < plan->grants.n && n_left > 0; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];

		if (grant->group == grant->job && grant->n_pieces > 1)
			n_left -= move(s, view, plan, i);
	}
}

static void
sort_by_time(struct state *s, const struct pol_view *view)
{
	double *keys = order_list_keys(&s->list, view);

	s->ids.n = s->is_served.n = 0;
	vec_reserve(&s->is_served, view->n_ids);
	for (size_t i = 0; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i];

		vec_push(&s->ids, id);
		keys[id] = view->jobs[id].executed_s;
		s->is_served.items[id] = 0;
	}
	order_list_sort_ids(&s->list, s->ids.items, (uint32_t)s->ids.n);
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;

	(void)n_max;
	pair(s, view, check_pairs(s, view));
	sort_by_time(s, view);
	vec_reserve(&s->n_free, view->cluster->n_nodes);
	s->free = place_empty(view->cluster, s->n_free.items);
	for (size_t i = 0; i < s->list.ids.n && s->free.n_all; i++)
		if (!s->is_served.items[s->ids.items[i]])
			serve(s, view, s->ids.items[i], &plans[0]);
	move_some(s, view, &plans[0]);
	return 1;
}

static const struct pol_param params[] = {
	{ "gandiva.max_moves", "jobs that a round may migrate to fewer nodes", 0, 0,
	  1e6, true },
	{ 0 },
};

const struct pol_planner planner_gandiva = {
	.module = { .name = "gandiva",
		    .text = "least executed first; pairs share GPUs where that raises "
			    "throughput",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini,
		    .on_event = on_event },
	.plan = plan,
};
