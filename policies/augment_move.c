/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_move.c - moving the jobs of a plan: each to nodes like its own, or all
 * anywhere.
 */
#include "policies/augment_move.h"

#include <string.h>

#include "lib/base/rng.h"
#include "policies/places.h"

#define TRIES 4 /* Attempts to place a job in no more racks. */

/* ---- Pieces ---------------------------------------------------------------------- */

const struct pol_piece *
augment_pieces(const struct pol_plan *plan, const struct pol_grant *grant)
{
	return plan->pieces.items + grant->first_piece;
}

void
augment_take(uint32_t *n_free, const struct pol_piece *pieces, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		n_free[pieces[i].node] -= pieces[i].n_gpus;
}

void
augment_push(struct pol_plan *plan, const struct pol_piece *pieces, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		vec_push(&plan->pieces, pieces[i]);
}

/* ---- Equal nodes at random ------------------------------------------------------- */

static void
draw_nodes(struct augment_room *room, const struct pol_cluster *cluster,
	   struct rng *rng)
{
	room->racks.n = room->nodes.n = room->scratch.n = 0;
	for (uint32_t i = 0; i < cluster->n_racks; i++)
		vec_push(&room->racks, i);
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		vec_push(&room->scratch, i);
	rng_shuffle(rng, room->racks.items, room->racks.n);
	rng_shuffle(rng, room->scratch.items, room->scratch.n);
	vec_reserve(&room->nodes, cluster->n_nodes);
	vec_reserve(&room->rack_ends, cluster->n_racks);
	memset(room->rack_ends.items, 0,
	       cluster->n_racks * sizeof *room->rack_ends.items);
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		room->rack_ends.items[cluster->rack_of[i]]++;
	for (size_t r = 0; r < room->racks.n; r++) {
		uint32_t *end = &room->rack_ends.items[room->racks.items[r]];
		uint32_t n = *end;

		*end = (uint32_t)room->nodes.n;
		room->nodes.n += n;
	}
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		uint32_t node = room->scratch.items[i];

		room->nodes.items[room->rack_ends.items[cluster->rack_of[node]]++] =
			node;
	}
}

static void
copy_room(struct augment_room *room)
{
	size_t n = room->room.n;

	room->ours.n = room->theirs.n = 0;
	vec_reserve(&room->ours, n);
	vec_reserve(&room->theirs, n);
	memcpy(room->ours.items, room->room.items, n * sizeof *room->ours.items);
	memcpy(room->theirs.items, room->room.items, n * sizeof *room->theirs.items);
	room->ours.n = room->theirs.n = n;
}

static void
begin(struct augment_room *room, const struct pol_cluster *cluster, struct rng *rng)
{
	copy_room(room);
	draw_nodes(room, cluster, rng);
}

/* The number of racks; pieces are in the order of nodes. */
static uint32_t
count_racks(const struct pol_cluster *cluster, const struct pol_piece *pieces,
	    uint32_t n)
{
	uint32_t n_racks = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool is_new = true;

		for (uint32_t k = 0; k < i && is_new; k++)
			is_new = cluster->rack_of[pieces[k].node] !=
				 cluster->rack_of[pieces[i].node];
		n_racks += is_new;
	}
	return n_racks;
}

static bool
is_among(const struct pol_piece *pieces, uint32_t n, uint32_t node)
{
	for (uint32_t i = 0; i < n; i++)
		if (pieces[i].node == node)
			return true;
	return false;
}

/* Whether a free node has the same room, type and part as the policy's node had. */
static bool
is_like(const struct augment_room *room, const struct pol_cluster *cluster,
	uint32_t node, uint32_t theirs)
{
	return room->ours.items[node] == room->theirs.items[theirs] &&
	       cluster->type_of[node] == cluster->type_of[theirs] &&
	       (!room->parts || room->parts[node] == room->parts[theirs]);
}

/* Places pieces in one rack, whose nodes come next; returns how many nodes it has. */
static uint32_t
match_rack(struct augment_room *room, const struct pol_cluster *cluster,
	   const uint32_t *nodes, uint32_t n_nodes, const struct pol_piece *theirs,
	   uint32_t n, uint32_t first, struct pol_plan *plan)
{
	const uint32_t rack = cluster->rack_of[nodes[0]];
	uint32_t i = 0;

	while (i < n_nodes && cluster->rack_of[nodes[i]] == rack)
		i++;
	n_nodes = i;
	for (uint32_t p = 0; p < n; p++) {
		uint32_t wanted = theirs[p].node;

		for (i = 0; i < n_nodes && !room->scratch.items[p]; i++) {
			if (!is_like(room, cluster, nodes[i], wanted) ||
			    is_among(plan->pieces.items + first,
				     (uint32_t)plan->pieces.n - first, nodes[i]))
				continue;
			vec_push(&plan->pieces,
				 ((struct pol_piece){ nodes[i], theirs[p].n_gpus, 0 }));
			room->scratch.items[p] = (uint32_t)plan->pieces.n;
		}
	}
	return n_nodes;
}

/* Places pieces on nodes with equal room; false if that takes more racks. */
static bool
match(struct augment_room *room, const struct pol_cluster *cluster,
      const struct pol_piece *theirs, uint32_t n, struct pol_plan *plan)
{
	uint32_t n_racks = count_racks(cluster, theirs, n);
	uint32_t first = (uint32_t)plan->pieces.n;

	room->scratch.n = 0;
	for (uint32_t p = 0; p < n; p++)
		vec_push(&room->scratch, 0);
	for (uint32_t i = 0; i < room->nodes.n && plan->pieces.n - first < n;) {
		uint32_t n_before = (uint32_t)plan->pieces.n;

		i += match_rack(room, cluster, room->nodes.items + i,
				(uint32_t)room->nodes.n - i, theirs, n, first, plan);
		if (plan->pieces.n - first < n && n_racks == 1) {
			plan->pieces.n = n_before;
			for (uint32_t p = 0; p < n; p++)
				if (room->scratch.items[p] > n_before)
					room->scratch.items[p] = 0;
		}
		n_racks -= plan->pieces.n > n_before;
	}
	if (plan->pieces.n - first < n) {
		plan->pieces.n = first;
		return false;
	}
	return true;
}

static bool
fits(const uint32_t *n_free, const struct pol_piece *pieces, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (n_free[pieces[i].node] < pieces[i].n_gpus)
			return false;
	return true;
}

/* Whether these very nodes have as much room as the policy's had. */
static bool
is_as_theirs(const struct augment_room *room, const struct pol_piece *theirs,
	     uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (room->ours.items[theirs[i].node] !=
		    room->theirs.items[theirs[i].node])
			return false;
	return true;
}

/* Gives a grant the pieces from 'first' on. */
static void
settle(struct augment_room *room, struct pol_plan *plan, struct pol_grant *grant,
       uint32_t first)
{
	grant->first_piece = first;
	grant->n_pieces = (uint32_t)plan->pieces.n - first;
	place_sort(plan->pieces.items + first, grant->n_pieces);
	augment_take(room->ours.items, plan->pieces.items + first, grant->n_pieces);
}

bool
augment_move_alike(struct augment_room *room, const struct pol_view *view,
		   struct rng *rng, const struct pol_plan *base, struct pol_plan *plan)
{
	begin(room, view->cluster, rng);
	for (size_t i = 0; i < room->movers.n; i++) {
		uint32_t g = room->movers.items[i], first = (uint32_t)plan->pieces.n;
		const struct pol_piece *theirs =
			augment_pieces(base, &base->grants.items[g]);
		uint32_t n = base->grants.items[g].n_pieces;
		bool is_placed = false;

		for (int k = 0; k < TRIES && !is_placed; k++) {
			draw_nodes(room, view->cluster, rng);
			is_placed = match(room, view->cluster, theirs, n, plan);
		}
		if (!is_placed && !is_as_theirs(room, theirs, n))
			return false;
		if (!is_placed)
			augment_push(plan, theirs, n);
		augment_take(room->theirs.items, theirs, n);
		settle(room, plan, &plan->grants.items[g], first);
	}
	return true;
}

/* ---- Anywhere -------------------------------------------------------------------- */

/* Leaves running jobs where they are, if possible; the others stay in 'scratch'. */
static void
stay(struct augment_room *room, const struct pol_view *view, bool stays,
     struct pol_plan *plan)
{
	room->scratch.n = 0;
	for (size_t i = 0; i < room->movers.n; i++) {
		uint32_t g = room->movers.items[i], first = (uint32_t)plan->pieces.n;
		struct pol_grant *grant = &plan->grants.items[g];
		const struct pol_job *job = &view->jobs[grant->job];

		if (!stays || !job->n_pieces || job->n_held_gpus != grant->n_gpus ||
		    !fits(room->ours.items, job->pieces, job->n_pieces)) {
			vec_push(&room->scratch, g);
			continue;
		}
		augment_push(plan, job->pieces, job->n_pieces);
		settle(room, plan, grant, first);
	}
}

/* Takes the largest remaining job; among equals, the first in the plan's order. */
static uint32_t
take_largest(struct augment_room *room, const struct pol_plan *plan)
{
	size_t best = 0;
	uint32_t g;

	for (size_t i = 1; i < room->scratch.n; i++)
		if (plan->grants.items[room->scratch.items[i]].n_gpus >
		    plan->grants.items[room->scratch.items[best]].n_gpus)
			best = i;
	g = room->scratch.items[best];
	room->scratch.n--;
	memmove(room->scratch.items + best, room->scratch.items + best + 1,
		(room->scratch.n - best) * sizeof g);
	return g;
}

/* Numbers the nodes as drawn, so that the placement breaks ties at random. */
bool
augment_move_close(struct augment_room *room, const struct pol_view *view,
		   struct rng *rng, bool stays, struct pol_plan *plan)
{
	const struct pol_cluster *cluster = view->cluster;
	struct pol_cluster drawn = *cluster;
	struct pol_view as_drawn = *view;
	struct pol_free free = { 0 };

	begin(room, cluster, rng);
	stay(room, view, stays, plan);
	room->racks.n = room->theirs.n = 0;
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		uint32_t node = room->nodes.items[i];

		vec_push(&room->racks, cluster->rack_of[node]);
		vec_push(&room->theirs, room->ours.items[node]);
		free.n_all += room->ours.items[node];
	}
	drawn.rack_of = room->racks.items;
	as_drawn.cluster = &drawn;
	free.n_free = room->theirs.items;
	while (room->scratch.n) {
		uint32_t g = take_largest(room, plan), first = (uint32_t)plan->pieces.n;
		struct pol_grant *grant = &plan->grants.items[g];
		struct pol_want want = place_want(&view->jobs[grant->job]);

		want.n_gpus = grant->n_gpus;
		if (!place_best_fit.place(room->place, &as_drawn, &want, &free, plan))
			return false;
		for (size_t i = first; i < plan->pieces.n; i++)
			plan->pieces.items[i].node =
				room->nodes.items[plan->pieces.items[i].node];
		settle(room, plan, grant, first);
	}
	return true;
}
