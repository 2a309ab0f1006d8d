/*
 * augment.c - plans as good as the first.
 */
#include "scheduler/policy/augment.h"

#include <string.h>

#include "lib/base/rng.h"
#include "scheduler/policy/order_list.h"
#include "scheduler/policy/places.h"

#define TRIES 4 /* To have a job in no more racks. */

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
	vec_free(&room->scratch);
	if (room->place)
		place_best_fit.module.fini(room->place);
	free(room->place);
	room->place = NULL;
}

/* ---- Who moves ------------------------------------------------------------------------- */

static const struct pol_piece *
pieces_of(const struct pol_plan *plan, const struct pol_grant *grant)
{
	return plan->pieces.items + grant->first_piece;
}

static bool
is_there(const struct pol_view *view, const struct pol_plan *plan,
	 const struct pol_grant *grant)
{
	const struct pol_job *job = &view->jobs[grant->job];

	return job->n_pieces == grant->n_pieces &&
	       memcmp(job->pieces, pieces_of(plan, grant),
		      grant->n_pieces * sizeof *job->pieces) == 0;
}

static void
take(uint32_t *n_free, const struct pol_piece *pieces, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		n_free[pieces[i].node] -= pieces[i].n_gpus;
}

static void
look(struct augment_room *room, const struct pol_view *view, bool scatters,
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
		vec_push(&room->room, cluster->n_gpus[i]);
	for (uint32_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];

		room->leader.items[grant->job] = i;
		if (grant->n_hosts || is_there(view, plan, grant))
			room->stays.items[grant->group] = room->number;
	}
	/* Where a guest is, its hosts are. */
	for (size_t i = 0; i < plan->hosts.n; i++) {
		const struct pol_host *host = &plan->hosts.items[i];
		const struct pol_grant *grant =
			&plan->grants.items[room->leader.items[host->job]];

		room->stays.items[grant->group] = room->number;
		room->room.items[host->node] += host->n_gpus;
	}
	for (uint32_t i = 0; i < plan->grants.n; i++) {
		const struct pol_grant *grant = &plan->grants.items[i];

		if (grant->group != grant->job)
			continue;
		if (room->stays.items[grant->job] != room->number &&
		    (scatters || grant->n_pieces > 1))
			vec_push(&room->movers, i);
		else
			take(room->room.items, pieces_of(plan, grant), grant->n_pieces);
	}
}

/* Whether it could make a difference to the network. */
static bool
is_worth_it(const struct augment_room *room, const struct pol_plan *plan)
{
	for (size_t i = 0; i < room->movers.n; i++)
		if (plan->grants.items[room->movers.items[i]].n_pieces > 1)
			return true;
	return false;
}

/* ---- Equal nodes at random --------------------------------------------------------------- */

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
	for (size_t r = 0; r < room->racks.n; r++)
		for (uint32_t i = 0; i < cluster->n_nodes; i++)
			if (cluster->rack_of[room->scratch.items[i]] ==
			    room->racks.items[r])
				vec_push(&room->nodes, room->scratch.items[i]);
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

/* Of pieces in the order of nodes. */
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

/* Whether a node of ours is like one of theirs. */
static bool
is_like(const struct augment_room *room, const struct pol_cluster *cluster,
	uint32_t node, uint32_t theirs)
{
	return room->ours.items[node] == room->theirs.items[theirs] &&
	       cluster->type_of[node] == cluster->type_of[theirs] &&
	       (!room->parts || room->parts[node] == room->parts[theirs]);
}

/* In a rack, whose nodes are the next; returns how many nodes it has. */
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
				 ((struct pol_piece){ nodes[i], theirs[p].n_gpus }));
			room->scratch.items[p] = (uint32_t)plan->pieces.n;
		}
	}
	return n_nodes;
}

/* On nodes with as much room as theirs had; false if there are none in as few racks. */
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

/* Whether these very nodes have as much room as theirs had. */
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

/* Has a grant have the pieces from 'first' on. */
static void
settle(struct augment_room *room, struct pol_plan *plan, struct pol_grant *grant,
       uint32_t first)
{
	grant->first_piece = first;
	grant->n_pieces = (uint32_t)plan->pieces.n - first;
	place_sort(plan->pieces.items + first, grant->n_pieces);
	take(room->ours.items, plan->pieces.items + first, grant->n_pieces);
}

static void
push_pieces(struct pol_plan *plan, const struct pol_piece *pieces, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		vec_push(&plan->pieces, pieces[i]);
}

/* Each on nodes like those that it has in 'base'; false if that cannot be. */
static bool
move_alike(struct augment_room *room, const struct pol_view *view, struct rng *rng,
	   const struct pol_plan *base, struct pol_plan *plan)
{
	for (size_t i = 0; i < room->movers.n; i++) {
		uint32_t g = room->movers.items[i], first = (uint32_t)plan->pieces.n;
		const struct pol_piece *theirs =
			pieces_of(base, &base->grants.items[g]);
		uint32_t n = base->grants.items[g].n_pieces;
		bool is_placed = false;

		for (int k = 0; k < TRIES && !is_placed; k++) {
			draw_nodes(room, view->cluster, rng);
			is_placed = match(room, view->cluster, theirs, n, plan);
		}
		if (!is_placed && !is_as_theirs(room, theirs, n))
			return false;
		if (!is_placed)
			push_pieces(plan, theirs, n);
		take(room->theirs.items, theirs, n);
		settle(room, plan, &plan->grants.items[g], first);
	}
	return true;
}

/* ---- Anywhere ------------------------------------------------------------------------------ */

/* Those that run, where they run, if they can; the rest are left in 'scratch'. */
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
		push_pieces(plan, job->pieces, job->n_pieces);
		settle(room, plan, grant, first);
	}
}

/* The next that is largest, of equals the first in the plan's order. */
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

/*
 * As close together as there is room.  Nodes are numbered as drawn, so that of equals the
 * placement takes a random one.
 */
static bool
move_close(struct augment_room *room, const struct pol_view *view, bool stays,
	   struct pol_plan *plan)
{
	const struct pol_cluster *cluster = view->cluster;
	struct pol_cluster drawn = *cluster;
	struct pol_view as_drawn = *view;
	struct pol_free free = { 0 };

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
		const struct pol_want want = { .job = grant->job,
					       .n_gpus = grant->n_gpus,
					       .type = POL_NONE,
					       .group = grant->job,
					       .share = 1 };

		if (!place_best_fit.place(room->place, &as_drawn, &want, &free, plan))
			return false;
		for (size_t i = first; i < plan->pieces.n; i++)
			plan->pieces.items[i].node =
				room->nodes.items[plan->pieces.items[i].node];
		settle(room, plan, grant, first);
	}
	return true;
}

/* ---- Plans ------------------------------------------------------------------------------- */

static bool
are_equal(const struct pol_plan *a, const struct pol_plan *b)
{
	for (size_t i = 0; i < a->grants.n; i++) {
		const struct pol_grant *x = &a->grants.items[i];
		const struct pol_grant *y = &b->grants.items[i];

		if (x->job != y->job || x->n_pieces != y->n_pieces ||
		    memcmp(pieces_of(a, x), pieces_of(b, y),
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

/* All as in the first plan, but for where the movers are. */
static void
copy(const struct augment_room *room, const struct pol_plan *base,
     struct pol_plan *plan)
{
	size_t next = 0;

	pol_plan_clear(plan);
	plan->score = base->score;
	for (size_t i = 0; i < base->hosts.n; i++)
		vec_push(&plan->hosts, base->hosts.items[i]);
	for (uint32_t i = 0; i < base->grants.n; i++) {
		struct pol_grant grant = base->grants.items[i];
		bool moves = next < room->movers.n && room->movers.items[next] == i;

		next += moves;
		if (!moves && grant.group == grant.job) {
			grant.first_piece = (uint32_t)plan->pieces.n;
			push_pieces(plan, pieces_of(base, &base->grants.items[i]),
				    grant.n_pieces);
		}
		vec_push(&plan->grants, grant);
	}
}

/* Those that share GPUs are where the first of them is. */
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

/* CPUs that some have more of than others may not be there where they would be moved. */
static bool
has_cpus(const struct pol_plan *plan, const struct pol_view *view)
{
	for (size_t i = 0; i < plan->grants.n; i++)
		if (plan->grants.items[i].cpus > 0)
			return !pol_plan_why_not(plan, view);
	return true;
}

static void
init_place(struct augment_room *room, const struct pol_cluster *cluster)
{
	const double waits = 0;

	if (room->place)
		return;
	room->place = xcalloc(1, place_best_fit.module.state_size);
	place_best_fit.module.init(room->place, &waits, cluster, NULL);
}

uint32_t
augment_vary(struct augment_room *room, const struct pol_view *view, bool scatters,
	     const uint32_t *parts, struct rng *rng, struct pol_plan *plans, uint32_t n,
	     uint32_t n_max)
{
	if (n >= n_max)
		return n;
	room->parts = parts;
	look(room, view, scatters, &plans[0]);
	if (!is_worth_it(room, &plans[0]))
		return n;
	init_place(room, view->cluster);
	for (uint32_t i = n; i < n_max; i++) {
		struct pol_plan *plan = &plans[n];
		bool is_whole;

		copy(room, &plans[0], plan);
		copy_room(room);
		draw_nodes(room, view->cluster, rng);
		is_whole = scatters ? move_close(room, view, i % 2, plan)
				    : move_alike(room, view, rng, &plans[0], plan);
		if (!is_whole)
			continue;
		follow(room, plan);
		n += is_new(plans, n) && has_cpus(plan, view);
	}
	return n;
}
