/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - taking and freeing GPUs, for all placements. */
#include "policies/places.h"

#include "lib/base/sort.h"

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

uint32_t
place_keep(const struct pol_job *job, struct pol_free *free, struct pol_plan *plan)
{
	for (uint32_t i = 0; i < job->n_pieces; i++)
		if (free->n_free[job->pieces[i].node] < job->pieces[i].n_gpus)
			return 0;
	for (uint32_t i = 0; i < job->n_pieces; i++)
		place_take(free, plan, job->pieces[i].node, job->pieces[i].n_gpus);
	return job->n_pieces;
}

void
place_give_back(struct pol_free *free, const struct pol_piece *pieces, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		free->n_free[pieces[i].node] += pieces[i].n_gpus;
		free->n_all += pieces[i].n_gpus;
	}
}

static int
by_node(const void *a, const void *b)
{
	const struct pol_piece *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

void
place_sort(struct pol_piece *pieces, uint32_t n)
{
	sort_items(pieces, n, by_node);
}
