/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - taking and freeing GPUs, for all placements. */
#include "policies/places.h"

#include <string.h>

#include "lib/base/sort.h"

struct pol_free
place_empty(const struct pol_cluster *cluster, uint32_t *ret_n_free)
{
	struct pol_free free = { .n_free = ret_n_free };

	for (uint32_t i = 0; i < cluster->n_nodes; i++) {
		ret_n_free[i] = pol_node_gpus(cluster, i);
		free.n_all += ret_n_free[i];
	}
	return free;
}

void
place_take(struct pol_free *free, struct pol_plan *plan, uint32_t node, uint32_t n_gpus)
{
	place_take_named(free, plan, (struct pol_piece){ node, n_gpus, 0 });
}

void
place_take_named(struct pol_free *free, struct pol_plan *plan, struct pol_piece piece)
{
	vec_push(&plan->pieces, piece);
	free->n_free[piece.node] -= piece.n_gpus;
	free->n_all -= piece.n_gpus;
}

uint32_t
place_keep(const struct pol_job *job, struct pol_free *free, struct pol_plan *plan)
{
	for (uint32_t i = 0; i < job->n_pieces; i++)
		if (free->n_free[job->pieces[i].node] < job->pieces[i].n_gpus)
			return 0;
	for (uint32_t i = 0; i < job->n_pieces; i++)
		place_take_named(free, plan, job->pieces[i]);
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

void
place_busy(const struct pol_plan *plan, uint32_t n_nodes, uint64_t *ret_busy)
{
	memset(ret_busy, 0, n_nodes * sizeof *ret_busy);
	for (size_t i = 0; i < plan->pieces.n; i++)
		ret_busy[plan->pieces.items[i].node] |= plan->pieces.items[i].gpus;
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

bool
place_may_share(const struct pol_cluster *cluster, const struct pol_job *a,
		const struct pol_job *b)
{
	struct needs both = a->needs;
	bool may = true;

	needs_add(&both, &b->needs, 1);
	for (uint32_t type = 0; type < cluster->n_types; type++) {
		struct needs capacity = pol_cluster_capacity(cluster, type);

		may &= needs_fit(&both, &capacity, NEED_MEMORY, NEED_GPU_MEMORY);
	}
	return may;
}
