/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_best_fit.c - as close together as there is room.
 *
 * The node that is left with the fewest free GPUs; else the rack with the fewest
 * nodes, among equals the one with the least room; else the nodes with most room,
 * anywhere.
 */
#include <string.h>

#include "policies/order_list.h"
#include "policies/places.h"

struct state {
	VEC(uint32_t) most; /* GPUs of the largest 1, 2, 3... nodes. */
	VEC(uint32_t) nodes, scratch;
	VEC(double) keys;
	VEC(uint32_t) left, n_used, n_free; /* By rack. */
	bool waits;
};

static const struct pol_param params[] = {
	{ "best-fit.wait_consolidated",
	  "1: a job waits until it gets as few nodes as in the empty cluster; 0: it "
	  "takes more",
	  0, 0, 1, true },
	{ 0 },
};

/* Sorts the nodes, those with the most GPUs first. */
static void
sort_nodes(struct state *s, const struct pol_cluster *cluster, const uint32_t *n_gpus)
{
	s->nodes.n = s->scratch.n = s->keys.n = 0;
	vec_reserve(&s->scratch, cluster->n_nodes);
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		vec_push(&s->nodes, i);
		vec_push(&s->keys, -(double)n_gpus[i]);
	}
	order_sort(s->nodes.items, cluster->n_nodes, s->keys.items, s->scratch.items);
}

static void
init(void *state, const double *values, const struct pol_cluster *cluster,
     struct rng *rng)
{
	struct state *s = state;
	uint32_t sum = 0;

	(void)rng;
	s->waits = values[0] != 0;
	sort_nodes(s, cluster, cluster->n_gpus);
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		sum += cluster->n_gpus[s->nodes.items[i]];
		vec_push(&s->most, sum);
	}
}

static void
fini(void *state)
{
	struct state *s = state;

	vec_free(&s->most);
	vec_free(&s->nodes);
	vec_free(&s->scratch);
	vec_free(&s->keys);
	vec_free(&s->left);
	vec_free(&s->n_used);
	vec_free(&s->n_free);
}

static uint32_t
find_node(const struct pol_free *free, uint32_t n_nodes, uint32_t n_gpus)
{
	uint32_t best = POL_NONE;

	for (uint32_t i = 0; i < n_nodes; i++)
		if (free->n_free[i] >= n_gpus &&
		    (best == POL_NONE || free->n_free[i] < free->n_free[best]))
			best = i;
	return best;
}

/* Counts for each rack the nodes that the job would need. */
static void
try_racks(struct state *s, const struct pol_cluster *cluster,
	  const struct pol_free *free, uint32_t n_gpus)
{
	s->left.n = s->n_used.n = s->n_free.n = 0;
	for (uint32_t r = 0; r < cluster->n_racks; r++) {
		vec_push(&s->left, n_gpus);
		vec_push(&s->n_used, 0);
		vec_push(&s->n_free, 0);
	}
	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		uint32_t node = s->nodes.items[i], r = cluster->rack_of[node];
		uint32_t n = free->n_free[node];

		s->n_free.items[r] += n;
		s->n_used.items[r] += n && s->left.items[r];
		s->left.items[r] -= n < s->left.items[r] ? n : s->left.items[r];
	}
}

static uint32_t
find_rack(const struct state *s, uint32_t n_racks)
{
	uint32_t best = POL_NONE;

	for (uint32_t r = 0; r < n_racks; r++) {
		if (s->left.items[r])
			continue;
		if (best == POL_NONE || s->n_used.items[r] < s->n_used.items[best] ||
		    (s->n_used.items[r] == s->n_used.items[best] &&
		     s->n_free.items[r] < s->n_free.items[best]))
			best = r;
	}
	return best;
}

/* Takes the roomiest nodes of a rack, or of all (POL_NONE); the rest by best fit. */
static uint32_t
take(const struct state *s, const struct pol_cluster *cluster, uint32_t rack,
     uint32_t n_gpus, struct pol_free *free, struct pol_plan *plan)
{
	uint32_t n_pieces = 0, left = n_gpus;

	for (uint32_t i = 0; left && i < cluster->n_nodes; i++) {
		uint32_t node = s->nodes.items[i];

		if (rack != POL_NONE && cluster->rack_of[node] != rack)
			continue;
		for (uint32_t k = i + 1;
		     free->n_free[node] >= left && k < cluster->n_nodes; k++) {
			uint32_t other = s->nodes.items[k];

			if (free->n_free[other] >= left &&
			    free->n_free[other] < free->n_free[node] &&
			    (rack == POL_NONE || cluster->rack_of[other] == rack))
				node = other;
		}
		if (!free->n_free[node])
			break;
		n_gpus = free->n_free[node] < left ? free->n_free[node] : left;
		place_take(free, plan, node, n_gpus);
		left -= n_gpus;
		n_pieces++;
	}
	return n_pieces;
}

static uint32_t
place(void *state, const struct pol_view *view, const struct pol_want *want,
      struct pol_free *free, struct pol_plan *plan)
{
	struct state *s = state;
	const struct pol_cluster *cluster = view->cluster;
	uint32_t node = find_node(free, cluster->n_nodes, want->n_gpus);
	uint32_t rack, n = 0, n_least = 1;

	if (node != POL_NONE) {
		place_take(free, plan, node, want->n_gpus);
		return 1;
	}
	if (free->n_all < want->n_gpus)
		return 0;
	while (s->most.items[n_least - 1] < want->n_gpus)
		n_least++;
	if (s->waits && n_least == 1)
		return 0;
	sort_nodes(s, cluster, free->n_free);
	try_racks(s, cluster, free, want->n_gpus);
	rack = find_rack(s, cluster->n_racks);
	if (s->waits) {
		uint32_t left = want->n_gpus;

		if (rack != POL_NONE && s->n_used.items[rack] > n_least)
			rack = POL_NONE;
		for (; left; n++) {
			uint32_t room = free->n_free[s->nodes.items[n]];

			left -= room < left ? room : left;
		}
		if (n > n_least)
			return 0;
	}
	n = take(s, cluster, rack, want->n_gpus, free, plan);
	place_sort(plan->pieces.items + plan->pieces.n - n, n);
	return n;
}

const struct pol_place place_best_fit = {
	.module = { .name = "best-fit",
		    .text = "the fullest node with room; else one rack; else the "
			    "nodes with most room",
		    .params = params,
		    .state_size = sizeof(struct state),
		    .init = init,
		    .fini = fini },
	.place = place,
};

void *
place_best_fit_new(const struct pol_cluster *cluster, bool waits)
{
	struct state *s = xcalloc(1, sizeof *s);

	init(s, (const double[]){ waits }, cluster, NULL);
	return s;
}

void
place_best_fit_free(void *state)
{
	if (state)
		fini(state);
	free(state);
}
