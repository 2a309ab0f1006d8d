/* SPDX-License-Identifier: Apache-2.0 */
/* place_whole.c - one node if possible; else whole nodes, and the rest on one more. */
#include "policies/places.h"

/* The first node with at least that many free GPUs, or POL_NONE. */
static uint32_t
find_room(const struct pol_view *view, const struct pol_free *free, uint32_t n_gpus)
{
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		if (free->n_free[i] >= n_gpus)
			return i;
	return POL_NONE;
}

static uint32_t
place(void *state, const struct pol_view *view, const struct pol_want *want,
      struct pol_free *free, struct pol_plan *plan)
{
	const struct pol_cluster *cluster = view->cluster;
	uint32_t left = want->n_gpus, n_pieces = 0, node;

	(void)state;
	if (free->n_all < left)
		return 0;
	node = find_room(view, free, left);
	if (node != POL_NONE) {
		place_take(free, plan, node, left);
		return 1;
	}
	for (uint32_t i = 0; i < cluster->n_nodes && left >= cluster->n_gpus[i]; i++) {
		if (!cluster->n_gpus[i] || free->n_free[i] < cluster->n_gpus[i])
			continue;
		left -= cluster->n_gpus[i];
		place_take(free, plan, i, cluster->n_gpus[i]);
		n_pieces++;
	}
	node = left && n_pieces ? find_room(view, free, left) : POL_NONE;
	if (left && node == POL_NONE) {
		plan->pieces.n -= n_pieces;
		place_give_back(free, plan->pieces.items + plan->pieces.n, n_pieces);
		return 0;
	}
	if (left) {
		place_take(free, plan, node, left);
		n_pieces++;
		place_sort(plan->pieces.items + plan->pieces.n - n_pieces, n_pieces);
	}
	return n_pieces;
}

const struct pol_place place_whole = {
	.module = { .name = "whole",
		    .text = "the first node with room; else whole empty nodes, and "
			    "the rest on one more node" },
	.place = place,
};
