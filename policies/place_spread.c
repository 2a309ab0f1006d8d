/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_spread.c - the node with most free GPUs, repeatedly.
 *
 * This spreads load; a job has few nodes while there are empty ones.
 */
#include "policies/places.h"

static uint32_t
place(void *state, const struct pol_view *view, const struct pol_want *want,
      struct pol_free *free, struct pol_plan *plan)
{
	uint32_t left = want->n_gpus, n_pieces = 0;

	(void)state;
	if (free->n_all < left)
		return 0;
	while (left) {
		uint32_t most = 0, n;

		for (uint32_t i = 1; i < view->cluster->n_nodes; i++)
			if (free->n_free[i] > free->n_free[most])
				most = i;
		n = free->n_free[most] < left ? free->n_free[most] : left;
		place_take(free, plan, most, n);
		left -= n;
		n_pieces++;
	}
	place_sort(plan->pieces.items + plan->pieces.n - n_pieces, n_pieces);
	return n_pieces;
}

const struct pol_place place_spread = {
	.module = { .name = "spread", .text = "the node with most free GPUs first" },
	.place = place,
};
