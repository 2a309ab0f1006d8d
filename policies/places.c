#include "policies/places.h"

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
