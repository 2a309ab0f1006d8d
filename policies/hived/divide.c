/* SPDX-License-Identifier: Apache-2.0 */
/* divide.c - a cluster's cells, and shares of them for virtual clusters. */
#include "policies/hived/divide.h"

#define ROUNDING 1e-9

static struct cells_shape
shape_of(uint32_t chain, uint32_t node_gpus, uint32_t n_nodes)
{
	struct cells_shape shape = { .leaf_type = chain, .n_levels = 1 };
	bool halves = node_gpus <= 64 && (node_gpus & (node_gpus - 1)) == 0;

	for (uint32_t n = 1; n < node_gpus; n *= shape.n_children[shape.n_levels])
		shape.n_children[++shape.n_levels] = halves ? 2 : node_gpus;
	shape.node_level = shape.n_levels;
	if (n_nodes > 1)
		shape.n_children[++shape.n_levels] = n_nodes;
	return shape;
}

static uint32_t
chain_for(struct cells *cells, struct cell_division *division, uint32_t type,
	  uint32_t node_gpus, uint32_t n_nodes)
{
	uint32_t n = (uint32_t)division->chains.n;
	struct cells_shape shape = shape_of(n, node_gpus, n_nodes);

	for (uint32_t c = 0; c < n; c++)
		if (division->chains.items[c].type == type &&
		    division->chains.items[c].node_gpus == node_gpus &&
		    division->chains.items[c].n_nodes == n_nodes)
			return c;
	vec_push(&division->chains, ((struct cell_racks){ type, node_gpus, n_nodes }));
	cells_add_chain(cells, &shape);
	return n;
}

static bool
are_equal(const struct pol_cluster *cluster, uint32_t a, uint32_t b)
{
	return cluster->rack_of[a] == cluster->rack_of[b] &&
	       cluster->type_of[a] == cluster->type_of[b] &&
	       cluster->n_gpus[a] == cluster->n_gpus[b];
}

/* Adds the cell of the nodes that equal the first one. */
static void
add_top(struct cells *cells, const struct pol_cluster *cluster, uint32_t first,
	struct cell_division *division)
{
	VEC(struct cells_leaf) leaves = VEC_EMPTY;
	uint32_t n_nodes = 0, chain;

	for (uint32_t i = first; i < cluster->n_nodes; i++) {
		if (!are_equal(cluster, first, i))
			continue;
		n_nodes++;
		for (uint32_t k = 0; k < cluster->n_gpus[i]; k++)
			vec_push(&leaves, ((struct cells_leaf){ i, k }));
	}
	chain = chain_for(cells, division, cluster->type_of[first],
			  cluster->n_gpus[first], n_nodes);
	for (uint32_t i = first; i < cluster->n_nodes; i++)
		if (are_equal(cluster, first, i))
			division->chain_of.items[i] = chain;
	cells_add_physical(cells, chain, leaves.items);
	vec_free(&leaves);
}

/* GPUs of a cell. */
static uint32_t
size_of(const struct cells_shape *shape, uint32_t level)
{
	uint32_t n = 1;

	for (uint32_t l = 2; l <= level; l++)
		n *= shape->n_children[l];
	return n;
}

/* Deals out 'n_gpus' GPUs, all of a chain. */
static void
deal(struct cells *cells, uint32_t chain, const struct cells_shape *shape,
     uint32_t n_gpus, const double *shares, uint32_t n_vcs)
{
	double sum = 0;

	for (uint32_t vc = 0; vc < n_vcs; vc++)
		sum += shares[vc];
	for (uint32_t vc = 0; vc < n_vcs; vc++) {
		uint32_t n_due = (uint32_t)(n_gpus * shares[vc] / sum + ROUNDING);
		uint32_t size = size_of(shape, shape->n_levels);

		for (uint32_t level = shape->n_levels; level >= 1; level--) {
			cells_add_quota(cells, vc, chain, level, n_due / size);
			n_due %= size;
			size /= level > 1 ? shape->n_children[level] : 1;
		}
	}
}

static uint32_t
count_nodes(const struct cell_division *division, uint32_t chain)
{
	uint32_t n = 0;

	for (size_t i = 0; i < division->chain_of.n; i++)
		n += division->chain_of.items[i] == chain;
	return n;
}

struct cells *
cells_divide(const struct pol_cluster *cluster, const double *shares, uint32_t n_vcs,
	     struct cell_division *ret_division)
{
	struct cells *cells = cells_new();

	*ret_division = (struct cell_division){ 0 };
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		vec_push(&ret_division->chain_of, POL_NONE);
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		if (ret_division->chain_of.items[i] == POL_NONE && cluster->n_gpus[i])
			add_top(cells, cluster, i, ret_division);
	for (uint32_t vc = 0; vc < n_vcs; vc++)
		cells_add_vc(cells);
	for (uint32_t c = 0; c < ret_division->chains.n; c++) {
		const struct cell_racks *racks = &ret_division->chains.items[c];
		struct cells_shape shape =
			shape_of(c, racks->node_gpus, racks->n_nodes);

		deal(cells, c, &shape, count_nodes(ret_division, c) * racks->node_gpus,
		     shares, n_vcs);
	}
	BUG_ON(cells_ready(cells) < 0);
	return cells;
}

void
cell_division_fini(struct cell_division *division)
{
	vec_free(&division->chains);
	vec_free(&division->chain_of);
}
