/* SPDX-License-Identifier: Apache-2.0 */
/* cell.c - trees of cells, lists of cells, priorities and bindings. */
#include "policies/hived/cells_priv.h"

void
cell_build(struct cell *cell, const struct cells_shape *shape, uint32_t chain,
	   uint32_t level, struct cell *parent)
{
	*cell = (struct cell){ .parent = parent,
			       .chain = chain,
			       .level = level,
			       .priority = CELL_IDLE,
			       .vertex = CELLS_NONE };
	if (level == 1) {
		cell->n_leaves = 1;
		return;
	}
	cell->n_children = shape->n_children[level];
	cell->children = xcalloc(cell->n_children, sizeof *cell->children);
	for (uint32_t i = 0; i < cell->n_children; i++) {
		cell_build(&cell->children[i], shape, chain, level - 1, cell);
		cell->n_leaves += cell->children[i].n_leaves;
	}
}

void
cell_fini(struct cell *cell)
{
	for (uint32_t i = 0; i < cell->n_children; i++)
		cell_fini(&cell->children[i]);
	free(cell->children);
}

struct cell *
cell_above(struct cell *cell, uint32_t level)
{
	while (cell && cell->level < level)
		cell = cell->parent;
	return cell;
}

struct cell *
cell_first_leaf(struct cell *cell)
{
	while (cell->n_children)
		cell = &cell->children[0];
	return cell;
}

/* ---- Lists ----------------------------------------------------------------------- */

/* Puts the last one in its place: the order matters to what is allocated next. */
void
cell_list_remove(struct cell_list *list, const struct cell *cell)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i] != cell)
			continue;
		list->items[i] = list->items[--list->n];
		return;
	}
}

bool
cell_list_has(const struct cell_list *list, const struct cell *cell)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i] == cell)
			return true;
	return false;
}

void
cell_list_add_children(struct cell_list *list, struct cell *cell)
{
	for (uint32_t i = 0; i < cell->n_children; i++)
		vec_push(list, &cell->children[i]);
}

/* ---- Priorities ------------------------------------------------------------------ */

static void
count(struct cell *leaf, int32_t priority, uint32_t n)
{
	for (struct cell *cell = leaf; cell; cell = cell->parent) {
		cell->n_used += n;
		if (priority == CELLS_OPPORTUNISTIC)
			cell->n_opportunistic += n;
	}
}

static int32_t
highest(const struct cell *cell)
{
	int32_t priority = CELL_IDLE;

	for (uint32_t i = 0; i < cell->n_children; i++)
		if (cell->children[i].priority > priority)
			priority = cell->children[i].priority;
	return priority;
}

void
cell_use(struct cell *leaf, int32_t priority)
{
	if (leaf->priority != CELL_IDLE)
		count(leaf, leaf->priority, (uint32_t)-1);
	if (priority != CELL_IDLE)
		count(leaf, priority, 1);
	leaf->priority = priority;
	for (struct cell *cell = leaf->parent; cell; cell = cell->parent) {
		priority = highest(cell);
		if (priority == cell->priority)
			break;
		cell->priority = priority;
	}
}

/* ---- Bindings -------------------------------------------------------------------- */

void
cell_tie(struct cell *physical, struct cell *slot)
{
	physical->bound = slot;
	slot->bound = physical;
}

void
cell_untie(struct cell *physical)
{
	if (!physical->bound)
		return;
	physical->bound->bound = NULL;
	physical->bound = NULL;
}

struct cell *
cell_unbound(struct cell *const *cells, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!cells[i]->bound)
			return cells[i];
	return NULL;
}

struct cell *
cell_unbound_child(struct cell *cell)
{
	for (uint32_t i = 0; i < cell->n_children; i++)
		if (!cell->children[i].bound)
			return &cell->children[i];
	return NULL;
}
