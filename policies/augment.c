/* SPDX-License-Identifier: Apache-2.0 */
/* augment.c - variants of a plan. */
#include "policies/augment.h"

#include <string.h>

#include "lib/base/rng.h"
#include "policies/augment_move.h"
#include "policies/places.h"

void
augment_room_fini(struct augment_room *room)
{
	vec_free(&room->stays);
	vec_free(&room->leader);
	vec_free(&room->movers);
	vec_free(&room->room);
	vec_free(&room->theirs);
	vec_free(&room->ours);
	vec_free(&room->nodes);
	vec_free(&room->racks);
	vec_free(&room->rack_ends);
	vec_free(&room->scratch);
	place_best_fit_free(room->place);
	room->place = NULL;
}

/* ---- Movers ---------------------------------------------------------------------- */

static bool
is_there(const struct pol_view *view, const struct pol_plan *plan,
	 const struct pol_grant *grant)
{
	const struct pol_job *job = &view->jobs[grant->job];

	return job->n_pieces == grant->n_pieces &&
	       memcmp(job->pieces, augment_pieces(plan, grant),
		      grant->n_pieces * sizeof *job->pieces) == 0;
}

/* Whether the job may be placed anew. */
static bool
may_move(const struct pol_view *view, const struct pol_place *scatters,
	 const void *state, const struct pol_plan *plan, const struct pol_grant *grant)
{
	if (pol_plan_names_gpus(plan, grant))
		return false;
	if (!scatters)
		return grant->n_pieces > 1;
	return !scatters->is_bound ||
	       !scatters->is_bound(state, &view->jobs[grant->job]);
}

static void
find_movers(struct augment_room *room, const struct pol_view *view,
	    const struct pol_place *scatters, const void *state,
	    const struct pol_plan *plan)
{
	const struct pol_cluster *cluster = view->cluster;

	while (room->stays.n < view->n_ids) {
		vec_push(&room->stays, 0);
		vec_push(&room->leader, 0);
	}
	room->number++;
	room->movers.n = room->room.n = 0;
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		vec_push(&room->room, pol_node_gpus(cluster, i));
	for (uint32_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];

		room->leader.items[grant->job] = i;
		if (grant->n_owners || is_there(view, plan, grant))
			room->stays.items[grant->group] = room->number;
	}
	/* The owners of an opportunistic job stay with it. */
	for (size_t i = 0; i < plan->owners.n; i++) {
		const struct pol_owner *owner = &plan->owners.items[i];
		const struct pol_grant *grant =
			&plan->grants.items[room->leader.items[owner->job]];

		room->stays.items[grant->group] = room->number;
		room->room.items[owner->node] += owner->n_gpus;
	}
	for (uint32_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];

		if (grant->group != grant->job)
			continue;
		if (room->stays.items[grant->job] != room->number &&
		    may_move(view, scatters, state, plan, grant))
			vec_push(&room->movers, i);
		else
			augment_take(room->room.items, augment_pieces(plan, grant),
				     grant->n_pieces);
	}
}

/* Whether moving could change the network load. */
static bool
is_worth_it(const struct augment_room *room, const struct pol_plan *plan)
{
	for (size_t i = 0; i < room->movers.n; i++)
		if (plan->grants.items[room->movers.items[i]].n_pieces > 1)
			return true;
	return false;
}

/* ---- Plans ----------------------------------------------------------------------- */

static bool
are_equal(const struct pol_plan *a, const struct pol_plan *b)
{
	for (size_t i = 0; i < a->grants.n; i++) {
		const struct pol_grant *x = &a->grants.items[i];
		const struct pol_grant *y = &b->grants.items[i];

		if (x->job != y->job || x->n_pieces != y->n_pieces ||
		    memcmp(augment_pieces(a, x), augment_pieces(b, y),
			   x->n_pieces * sizeof *a->pieces.items) != 0)
			return false;
	}
	return true;
}

static bool
is_new(const struct pol_plan *plans, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (plans[i].grants.n == plans[n].grants.n &&
		    are_equal(&plans[i], &plans[n]))
			return false;
	return true;
}

/* Copies the first plan, without the movers' pieces. */
static void
copy(const struct augment_room *room, const struct pol_plan *base,
     struct pol_plan *plan)
{
	size_t next = 0;

	pol_plan_clear(plan);
	plan->score = base->score;
	for (size_t i = 0; i < base->owners.n; i++)
		vec_push(&plan->owners, base->owners.items[i]);
	for (uint32_t i = 0; i < base->grants.n; i++) {
		struct pol_grant grant = base->grants.items[i];
		bool moves = next < room->movers.n && room->movers.items[next] == i;

		next += moves;
		if (!moves && grant.group == grant.job) {
			grant.first_piece = (uint32_t)plan->pieces.n;
			augment_push(plan, augment_pieces(base, &base->grants.items[i]),
				     grant.n_pieces);
		}
		vec_push(&plan->grants, grant);
	}
}

/* The jobs of a group are where its first job is. */
static void
follow(const struct augment_room *room, struct pol_plan *plan)
{
	for (size_t i = 0; i < plan->grants.n; i++) {
		struct pol_grant *grant = &plan->grants.items[i];
		const struct pol_grant *first =
			&plan->grants.items[room->leader.items[grant->group]];

		grant->first_piece = first->first_piece;
		grant->n_pieces = first->n_pieces;
	}
}

/* With uneven shares, the new node may lack the CPUs. */
static bool
has_cpus(const struct pol_plan *plan, const struct pol_view *view)
{
	for (size_t i = 0; i < plan->grants.n; i++)
		if (plan->grants.items[i].given.of[NEED_CPUS] > 0)
			return !pol_plan_why_not(plan, view);
	return true;
}

uint32_t
augment_vary(struct augment_room *room, const struct pol_view *view,
	     const struct pol_place *scatters, const void *state, const uint32_t *parts,
	     struct rng *rng, struct pol_plan *plans, uint32_t n, uint32_t n_max)
{
	if (n >= n_max)
		return n;
	room->parts = parts;
	find_movers(room, view, scatters, state, &plans[0]);
	if (!is_worth_it(room, &plans[0]))
		return n;
	if (!room->place)
		room->place = place_best_fit_new(view->cluster, false);
	for (uint32_t i = n; i < n_max; i++) {
		struct pol_plan *plan = &plans[n];
		bool is_whole;

		copy(room, &plans[0], plan);
		is_whole =
			scatters ? augment_move_close(room, view, rng, i % 2, plan)
				 : augment_move_alike(room, view, rng, &plans[0], plan);
		if (!is_whole)
			continue;
		follow(room, plan);
		n += is_new(plans, n) && has_cpus(plan, view);
	}
	return n;
}

/* Leaves one of the movers, at random, that is on several nodes; false if none is. */
static bool
pick_mover(struct augment_room *room, const struct pol_plan *base, struct rng *rng)
{
	uint32_t picked = 0;
	size_t n = 0;

	for (size_t i = 0; i < room->movers.n; i++) {
		const struct pol_grant *grant =
			&base->grants.items[room->movers.items[i]];

		if (grant->n_pieces > 1 && rng_below(rng, ++n) == 0)
			picked = room->movers.items[i];
	}
	if (n == 0)
		return false;
	for (size_t i = 0; i < room->movers.n; i++) {
		const struct pol_grant *grant =
			&base->grants.items[room->movers.items[i]];

		if (room->movers.items[i] != picked)
			augment_take(room->room.items, augment_pieces(base, grant),
				     grant->n_pieces);
	}
	room->movers.items[0] = picked;
	room->movers.n = 1;
	return true;
}

bool
augment_vary_one(struct augment_room *room, const struct pol_view *view,
		 const struct pol_place *scatters, const void *state,
		 const uint32_t *parts, struct rng *rng, const struct pol_plan *base,
		 struct pol_plan *plan)
{
	room->parts = parts;
	find_movers(room, view, scatters, state, base);
	if (!pick_mover(room, base, rng))
		return false;
	if (!room->place)
		room->place = place_best_fit_new(view->cluster, false);
	copy(room, base, plan);
	if (!(scatters ? augment_move_close(room, view, rng, false, plan)
		       : augment_move_alike(room, view, rng, base, plan)))
		return false;
	follow(room, plan);
	return has_cpus(plan, view);
}
