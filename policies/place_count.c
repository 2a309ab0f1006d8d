#include <string.h>

#include "policies/places.h"

const struct pol_place *const place_all[] = {
	&place_count, &place_whole, &place_best_fit, &place_spread, &place_random,
	&place_skew,  NULL
};

const struct pol_place *
place_find(const char *name)
{
	for (const struct pol_place *const *place = place_all; *place; place++)
		if (strcmp((*place)->module.name, name) == 0)
			return *place;
	return NULL;
}

struct pol_free
place_empty(const struct pol_cluster *cluster, uint32_t *ret_n_free)
{
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		ret_n_free[i] = cluster->n_gpus[i];
	return (struct pol_free){ .n_free = ret_n_free, .n_all = cluster->n_all_gpus };
}

void
place_take(struct pol_free *free, struct pol_plan *plan, uint32_t node, uint32_t n_gpus)
{
	vec_push(&plan->pieces, ((struct pol_piece){ node, n_gpus }));
	free->n_free[node] -= n_gpus;
	free->n_all -= n_gpus;
}

void
place_sort(struct pol_piece *pieces, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k && pieces[k].node < pieces[k - 1].node; k--) {
			struct pol_piece piece = pieces[k];

			pieces[k] = pieces[k - 1];
			pieces[k - 1] = piece;
		}
}

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
	.module = { .name = "count", .text = "any free GPUs, in the order of nodes" },
	.place = place,
	.scatters = true,
};
