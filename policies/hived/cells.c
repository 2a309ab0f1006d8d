/* SPDX-License-Identifier: Apache-2.0 */
/* cells.c - a cluster of cells. */
#include "policies/hived/cells.h"

#include <errno.h>

#include "policies/hived/cells_priv.h"

/* ---- The cluster ----------------------------------------------------------------- */

struct cells *
cells_new(void)
{
	return xcalloc(1, sizeof(struct cells));
}

static void
free_list(struct cell_list *list, bool owns)
{
	for (size_t i = 0; owns && i < list->n; i++) {
		cell_fini(list->items[i]);
		free(list->items[i]);
	}
	vec_free(list);
}

static void
free_chain(struct chain *chain)
{
	free_list(&chain->tops, true);
	for (uint32_t l = 1; l <= CELLS_LEVELS; l++) {
		vec_free(&chain->free[l]);
		vec_free(&chain->bad[l]);
	}
	vec_free(&chain->view.nodes);
}

static void
free_vc(struct vc *vc, size_t n_chains)
{
	for (size_t i = 0; i < n_chains; i++) {
		struct share *share = &vc->shares[i];

		for (uint32_t l = 1; l <= CELLS_LEVELS; l++) {
			vec_free(&share->roots[l]);
			vec_free(&share->doomed[l]);
		}
		free_list(&share->order, true);
		vec_free(&share->view.nodes);
	}
	free(vc->shares);
}

void
cells_free(struct cells *cells)
{
	if (!cells)
		return;
	for (size_t i = 0; i < cells->gangs.n; i++)
		cells_end(cells, (uint32_t)i);
	for (size_t i = 0; i < cells->vcs.n; i++)
		free_vc(&cells->vcs.items[i], cells->chains.n);
	for (size_t i = 0; i < cells->chains.n; i++)
		free_chain(&cells->chains.items[i]);
	for (size_t i = 0; i < cells->pinned.n; i++) {
		cell_fini(cells->pinned.items[i].root);
		free(cells->pinned.items[i].root);
		vec_free(&cells->pinned.items[i].view.nodes);
	}
	for (size_t i = 0; i < cells->node_leaves.n; i++)
		vec_free(&cells->node_leaves.items[i]);
	vec_free(&cells->node_leaves);
	vec_free(&cells->chains);
	vec_free(&cells->vcs);
	vec_free(&cells->pinned);
	vec_free(&cells->gangs);
	vec_free(&cells->pods);
	vec_free(&cells->chosen);
	vec_free(&cells->leaves);
	vec_free(&cells->slots);
	vec_free(&cells->available);
	vec_free(&cells->vertices);
	vec_free(&cells->lazy);
	free(cells);
}

void
cells_add_chain(struct cells *cells, const struct cells_shape *shape)
{
	struct chain chain = { .shape = *shape, .n_leaves = { [1] = 1 } };

	for (uint32_t l = 2; l <= shape->n_levels; l++)
		chain.n_leaves[l] = chain.n_leaves[l - 1] * shape->n_children[l];
	vec_push(&cells->chains, chain);
}

static void
add_leaves(struct cells *cells, struct cell *cell, const struct cells_leaf **next)
{
	for (uint32_t i = 0; i < cell->n_children; i++)
		add_leaves(cells, &cell->children[i], next);
	if (cell->level > 1)
		return;
	cell->leaf = *(*next)++;
	while (cells->node_leaves.n <= cell->leaf.node)
		vec_push(&cells->node_leaves, ((struct cell_list)VEC_EMPTY));
	vec_push(&cells->node_leaves.items[cell->leaf.node], cell);
}

void
cells_add_physical(struct cells *cells, uint32_t c, const struct cells_leaf *leaves)
{
	struct chain *chain = &cells->chains.items[c];
	struct cell *top = xcalloc(1, sizeof *top);
	uint32_t level = chain->shape.n_levels;

	cell_build(top, &chain->shape, c, level, NULL);
	add_leaves(cells, top, &leaves);
	vec_push(&chain->tops, top);
	vec_push(&chain->free[level], top);
}

void
cells_add_vc(struct cells *cells)
{
	struct vc vc = { xcalloc(cells->chains.n, sizeof(struct share)) };

	vec_push(&cells->vcs, vc);
}

static void
own(struct cell *cell, uint32_t vc, struct cell *root)
{
	cell->vc = vc;
	cell->root = root;
	for (uint32_t i = 0; i < cell->n_children; i++)
		own(&cell->children[i], vc, root);
}

static struct cell *
new_root(struct cells *cells, uint32_t vc, uint32_t c, uint32_t level)
{
	struct cell *root = xcalloc(1, sizeof *root);

	cell_build(root, &cells->chains.items[c].shape, c, level, NULL);
	own(root, vc, root);
	cells->vcs.items[vc].shares[c].n_free[level]++;
	cells->chains.items[c].n_wanted[level]++;
	return root;
}

void
cells_add_quota(struct cells *cells, uint32_t vc, uint32_t c, uint32_t level,
		uint32_t n)
{
	struct share *share = &cells->vcs.items[vc].shares[c];

	for (; n; n--) {
		struct cell *root = new_root(cells, vc, c, level);

		share->is_there = true;
		vec_push(&share->roots[level], root);
		vec_push(&share->order, root);
	}
}

void
cells_pin(struct cells *cells, uint32_t vc, uint32_t c, uint32_t level,
	  struct cells_leaf leaf)
{
	struct pinned pinned = { .vc = vc, .root = new_root(cells, vc, c, level) };
	const struct cell_list *list = &cells->node_leaves.items[leaf.node];

	for (size_t i = 0; i < list->n; i++)
		if (list->items[i]->chain == c &&
		    list->items[i]->leaf.index == leaf.index)
			pinned.physical = cell_above(list->items[i], level);
	pinned.physical->is_pinned = true;
	vec_push(&cells->pinned, pinned);
}

/* Counts the cells of a chain, all of them free. */
static void
count_cells(struct chain *chain)
{
	int64_t n = (int64_t)chain->tops.n;

	for (uint32_t l = chain->shape.n_levels; l >= 1; l--) {
		chain->n_left[l] = n;
		n *= chain->shape.n_children[l];
	}
}

/* Whether the cells that VCs may still ask for fit into the free ones. */
static bool
fits(const struct chain *chain)
{
	int64_t n_spare = 0;

	for (uint32_t l = chain->shape.n_levels; l >= 1; l--) {
		n_spare += (int64_t)chain->free[l].n - chain->n_wanted[l];
		if (n_spare < 0)
			return false;
		n_spare *= chain->shape.n_children[l];
	}
	return true;
}

static bool
bind_pinned(struct cells *cells, struct pinned *pinned)
{
	const struct cell_list roots = { &pinned->root, 1, 1 };

	if (!cell_is_free(pinned->physical))
		return false;
	pinned->view.packs_all = true;
	cell_view_init(&pinned->view, &cells->chains.items[pinned->root->chain].shape,
		       &roots);
	cell_allocate(cells, pinned->physical, pinned->vc, false);
	cell_tie(pinned->physical, pinned->root);
	return true;
}

int
cells_ready(struct cells *cells)
{
	for (size_t i = 0; i < cells->chains.n; i++) {
		struct chain *chain = &cells->chains.items[i];

		count_cells(chain);
		cell_view_init(&chain->view, &chain->shape, &chain->tops);
		for (size_t v = 0; v < cells->vcs.n; v++) {
			struct share *share = &cells->vcs.items[v].shares[i];

			share->view.packs_all = true;
			cell_view_init(&share->view, &chain->shape, &share->order);
		}
	}
	for (size_t i = 0; i < cells->pinned.n; i++)
		if (!bind_pinned(cells, &cells->pinned.items[i]))
			return -EINVAL;
	for (size_t i = 0; i < cells->chains.n; i++)
		if (!fits(&cells->chains.items[i]))
			return -EINVAL;
	return 0;
}
