/* SPDX-License-Identifier: Apache-2.0 */
/* fabric_monkeytree.c - MonkeyTree's moves of a cluster's jobs */
#include "sim/cluster/fabric_monkeytree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"
#include "sim/baselines/monkeytree.h"
#include "topology/topo.h"

/*
 * Chosen: branches times jobs times racks for a proof of the fewest moves, some
 * milliseconds; after them the search decides.
 */
#define EXACT_WORK 2000000

struct fabric_monkeytree {
	uint32_t n_nodes, n_racks, lambda;
	const uint32_t *n_gpus; /* By node; borrowed. */
	uint32_t *rack_of;      /* By node; owned. */
	uint32_t *n_on;         /* By node: pieces of the plan.  Owned, as the next. */
	bool *is_free;          /* By node: for jobs that move. */
	VEC(uint32_t) movers;   /* Grants that may move. */
	VEC(uint32_t) workers;  /* By mover and rack, as the next. */
	VEC(uint32_t) to;
	VEC(uint32_t) capacity;   /* By rack. */
	VEC(uint32_t) rings;      /* By mover. */
	VEC(uint32_t) n_of_group; /* By job id: grants of its group. */
};

/* ---- Begin and end --------------------------------------------------------------- */

static bool
are_alike(const struct pol_cluster *cluster)
{
	for (uint32_t i = 1; i < cluster->n_nodes; i++)
		if (cluster->n_gpus[i] != cluster->n_gpus[0] ||
		    cluster->type_of[i] != cluster->type_of[0])
			return false;
	return true;
}

static uint32_t
count_uplinks(const struct topo *topo, uint32_t leaf)
{
	size_t n;
	const uint32_t *out = topo_links_out(topo, leaf, &n);
	uint32_t n_up = 0;

	for (size_t i = 0; i < n; i++)
		n_up += topo_node(topo, topo_link(topo, out[i])->to)->tier > 1;
	return n_up;
}

/* Numbers the leaves of the nodes; false: a host is on none. */
static bool
find_racks(struct fabric_monkeytree *mv, const struct topo *topo, const uint32_t *hosts)
{
	uint32_t *racks = xcalloc((size_t)topo_n_nodes(topo) + 1, sizeof *racks);
	bool is_known = true;

	mv->lambda = UINT32_MAX;
	for (uint32_t i = 0; i < mv->n_nodes && is_known; i++) {
		uint32_t leaf = topo_leaf_of(topo, hosts[i]), n_up;

		is_known = leaf != TOPO_NONE;
		if (!is_known)
			break;
		if (!racks[leaf]) {
			racks[leaf] = ++mv->n_racks;
			n_up = count_uplinks(topo, leaf);
			mv->lambda = n_up < mv->lambda ? n_up : mv->lambda;
		}
		mv->rack_of[i] = racks[leaf] - 1;
	}
	free(racks);
	return is_known;
}

struct fabric_monkeytree *
fabric_monkeytree_new(const struct pol_cluster *cluster, const struct topo *topo,
		      const uint32_t *hosts)
{
	struct fabric_monkeytree *mv = xcalloc(1, sizeof *mv);

	mv->n_nodes = cluster->n_nodes;
	mv->n_gpus = cluster->n_gpus;
	mv->rack_of = xcalloc((size_t)mv->n_nodes + 1, sizeof *mv->rack_of);
	mv->n_on = xcalloc((size_t)mv->n_nodes + 1, sizeof *mv->n_on);
	mv->is_free = xcalloc((size_t)mv->n_nodes + 1, sizeof *mv->is_free);
	if (are_alike(cluster) && find_racks(mv, topo, hosts))
		return mv;
	fabric_monkeytree_free(mv);
	return NULL;
}

void
fabric_monkeytree_free(struct fabric_monkeytree *mv)
{
	if (!mv)
		return;
	vec_free(&mv->movers);
	vec_free(&mv->workers);
	vec_free(&mv->to);
	vec_free(&mv->capacity);
	vec_free(&mv->rings);
	vec_free(&mv->n_of_group);
	free(mv->rack_of);
	free(mv->n_on);
	free(mv->is_free);
	free(mv);
}

/* ---- Moves ----------------------------------------------------------------------- */

static struct pol_piece *
pieces_of(struct pol_plan *plan, const struct pol_grant *grant)
{
	return plan->pieces.items + grant->first_piece;
}

static bool
may_move(const struct fabric_monkeytree *mv, struct pol_plan *plan,
	 const struct pol_grant *grant)
{
	const struct pol_piece *pieces = pieces_of(plan, grant);

	if (grant->group != grant->job || grant->n_owners ||
	    grant->given.of[NEED_CPUS] > 0 || mv->n_of_group.items[grant->job] > 1 ||
	    pol_plan_names_gpus(plan, grant))
		return false;
	for (uint32_t i = 0; i < grant->n_pieces; i++)
		if (pieces[i].n_gpus < mv->n_gpus[pieces[i].node] ||
		    mv->n_on[pieces[i].node] > 1)
			return false;
	return true;
}

/* Finds the jobs that may move, and the nodes of each rack that they may use. */
static void
describe(struct fabric_monkeytree *mv, const struct pol_view *view,
	 struct pol_plan *plan)
{
	mv->movers.n = mv->workers.n = mv->rings.n = mv->n_of_group.n = mv->capacity.n =
		0;
	for (uint32_t i = 0; i < view->n_ids; i++)
		vec_push(&mv->n_of_group, 0);
	for (uint32_t r = 0; r < mv->n_racks; r++)
		vec_push(&mv->capacity, 0);
	memset(mv->n_on, 0, mv->n_nodes * sizeof *mv->n_on);
	for (size_t g = 0; g < plan->grants.n; g++)
		mv->n_of_group.items[plan->grants.items[g].group]++;
	for (size_t g = 0; g < plan->grants.n; g++) {
		const struct pol_grant *grant = &plan->grants.items[g];

		for (uint32_t i = 0; i < grant->n_pieces; i++)
			mv->n_on[pieces_of(plan, grant)[i].node]++;
	}
	for (uint32_t i = 0; i < mv->n_nodes; i++) {
		mv->is_free[i] = !mv->n_on[i] && pol_node_gpus(view->cluster, i);
		mv->capacity.items[mv->rack_of[i]] += mv->is_free[i];
	}
	for (uint32_t g = 0; g < plan->grants.n; g++) {
		const struct pol_grant *grant = &plan->grants.items[g];
		size_t row = mv->workers.n;

		if (!may_move(mv, plan, grant))
			continue;
		vec_push(&mv->movers, g);
		vec_push(&mv->rings, 1);
		for (uint32_t r = 0; r < mv->n_racks; r++)
			vec_push(&mv->workers, 0);
		for (uint32_t i = 0; i < grant->n_pieces; i++) {
			uint32_t rack = mv->rack_of[pieces_of(plan, grant)[i].node];

			mv->workers.items[row + rack]++;
			mv->capacity.items[rack]++;
		}
	}
}

/* Fills 'to'; false: no job moves. */
static bool
find_plan(struct fabric_monkeytree *mv)
{
	const struct monkeytree mt = { .n_jobs = (uint32_t)mv->movers.n,
				       .n_racks = mv->n_racks,
				       .workers = mv->workers.items,
				       .capacity = mv->capacity.items,
				       .rings = mv->rings.items,
				       .lambda = mv->lambda };
	uint64_t size = (uint64_t)mt.n_jobs * mt.n_racks;
	int r;

	BUG_ON(monkeytree_check(&mt));
	if (!mt.n_jobs || !monkeytree_is_due(&mt))
		return false;
	vec_reserve(&mv->to, mv->workers.n);
	mv->to.n = mv->workers.n;
	r = monkeytree_exact(&mt, EXACT_WORK / size, mv->to.items);
	if (r == -EAGAIN)
		r = monkeytree_moves(&mt, mv->to.items);
	return r == 0;
}

static int
compare_pieces(const void *pa, const void *pb)
{
	const struct pol_piece *a = pa, *b = pb;

	return (a->node > b->node) - (a->node < b->node);
}

static uint32_t
take_free(struct fabric_monkeytree *mv, uint32_t rack)
{
	for (uint32_t i = 0; i < mv->n_nodes; i++)
		if (mv->is_free[i] && mv->rack_of[i] == rack) {
			mv->is_free[i] = false;
			return i;
		}
	BUG("a rack is full");
}

/* Frees the nodes that the job leaves, its last ones of a rack; returns how many. */
static uint32_t
leave_nodes(struct fabric_monkeytree *mv, const struct pol_grant *grant, size_t mover,
	    struct pol_piece *pieces)
{
	const uint32_t *from = mv->workers.items + mover * mv->n_racks;
	const uint32_t *to = mv->to.items + mover * mv->n_racks;
	uint32_t n = 0;

	for (uint32_t r = 0; r < mv->n_racks; r++) {
		uint32_t n_left = from[r] > to[r] ? from[r] - to[r] : 0;

		for (uint32_t i = grant->n_pieces; n_left && i-- > 0;) {
			if (pieces[i].node == POL_NONE ||
			    mv->rack_of[pieces[i].node] != r)
				continue;
			mv->is_free[pieces[i].node] = true;
			pieces[i].node = POL_NONE;
			n_left--;
			n++;
		}
	}
	return n;
}

static void
enter_nodes(struct fabric_monkeytree *mv, const struct pol_grant *grant, size_t mover,
	    struct pol_piece *pieces)
{
	const uint32_t *from = mv->workers.items + mover * mv->n_racks;
	const uint32_t *to = mv->to.items + mover * mv->n_racks;
	uint32_t next = 0;

	for (uint32_t r = 0; r < mv->n_racks; r++)
		for (uint32_t n = from[r]; n < to[r]; n++) {
			while (pieces[next].node != POL_NONE)
				next++;
			pieces[next].node = take_free(mv, r);
		}
	sort_items(pieces, grant->n_pieces, compare_pieces);
}

static bool
runs_there(const struct pol_view *view, const struct pol_grant *grant,
	   const struct pol_piece *pieces)
{
	const struct pol_job *job = &view->jobs[grant->job];

	return job->n_pieces == grant->n_pieces &&
	       memcmp(job->pieces, pieces, grant->n_pieces * sizeof *pieces) == 0;
}

uint32_t
fabric_monkeytree_move(struct fabric_monkeytree *mv, const struct pol_view *view,
		       struct pol_plan *plan, uint32_t *ret_n_left)
{
	uint32_t n_moved = 0;

	memset(ret_n_left, 0, plan->grants.n * sizeof *ret_n_left);
	describe(mv, view, plan);
	if (!find_plan(mv))
		return 0;
	/* All leave before any enters, since jobs change places. */
	for (size_t m = 0; m < mv->movers.n; m++) {
		uint32_t g = mv->movers.items[m], n;
		const struct pol_grant *grant = &plan->grants.items[g];
		struct pol_piece *pieces = pieces_of(plan, grant);
		bool runs = runs_there(view, grant, pieces);

		n = leave_nodes(mv, grant, m, pieces);
		if (runs)
			ret_n_left[g] = n;
		n_moved += n;
	}
	for (size_t m = 0; m < mv->movers.n; m++) {
		const struct pol_grant *grant =
			&plan->grants.items[mv->movers.items[m]];

		enter_nodes(mv, grant, m, pieces_of(plan, grant));
	}
	return n_moved;
}
