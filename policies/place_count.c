/* SPDX-License-Identifier: Apache-2.0 */
/* place_count.c - any free GPUs, by node number. */
#include "policies/places.h"

static uint32_t
place(void *state, const struct pol_view *view, const struct pol_want *want,
      struct pol_free *free, struct pol_plan *plan)
{
	uint32_t left = want->n_gpus, n_pieces = 0;

	(void)state;
	if (free->n_all < left)
		return 0;
	for (uint32_t i = 0; left && i < view->cluster->n_nodes; i++) {
		uint32_t n = free->n_free[i] < left ? free->n_free[i] : left;

		if (!n)
			continue;
		place_take(free, plan, i, n);
		left -= n;
		n_pieces++;
	}
	return n_pieces;
}

const struct pol_place place_count = {
	.module = { .name = "count", .text = "any free GPUs, by node number" },
	.place = place,
	.scatters = true,
};
