/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell_view.c - nodes and GPUs for the pods of a gang.
 *
 * Nodes with most used GPUs first; within a node, GPUs as near one another as possible:
 * those whose lowest common cell is lowest.
 */
#include "policies/hived/cells_priv.h"

/* The node of a cell; a cell of a VC below a node counts as a node. */
static bool
is_node(const struct cell *cell, uint32_t node_level)
{
	return cell->level == node_level || (cell->level < node_level && !cell->parent);
}

static void
add_nodes(struct cell_view *view, struct cell *cell, uint32_t level,
	  uint32_t node_level)
{
	if (cell->level == level && is_node(cell, node_level))
		vec_push(&view->nodes, ((struct cell_node){ .cell = cell }));
	else if (cell->level > level)
		for (uint32_t i = 0; i < cell->n_children; i++)
			add_nodes(view, &cell->children[i], level, node_level);
}

void
cell_view_init(struct cell_view *view, const struct cells_shape *shape,
	       const struct cell_list *cells)
{
	for (uint32_t level = shape->node_level; level >= 1; level--)
		for (size_t i = 0; i < cells->n; i++)
			add_nodes(view, cells->items[i], level, shape->node_level);
}

/* ---- Nodes ----------------------------------------------------------------------- */

/* GPUs that a gang of this priority does not get. */
static uint32_t
n_kept(const struct cell *cell, int32_t priority)
{
	uint32_t n = 0;

	if (priority == CELLS_OPPORTUNISTIC)
		return cell->n_used;
	if (cell->level == 1)
		return cell->priority >= priority;
	for (uint32_t i = 0; i < cell->n_children; i++)
		n += n_kept(&cell->children[i], priority);
	return n;
}

static void
update(struct cell_view *view, int32_t priority, const bool *suggested, bool is_virtual)
{
	for (size_t i = 0; i < view->nodes.n; i++) {
		struct cell_node *node = &view->nodes.items[i];
		struct cell *cell = node->cell;
		struct cell *physical = is_virtual ? cell->bound : cell;

		node->n_free = cell->n_leaves - n_kept(cell, priority);
		node->n_packed = view->packs_all ? cell->n_used : cell->n_opportunistic;
		node->n_higher = cell->n_used - node->n_packed;
		node->is_bad = physical && physical->is_bad;
		node->is_suggested = !physical || !suggested ||
				     suggested[cell_first_leaf(physical)->leaf.node];
	}
}

static bool
goes_before(const struct cell_node *a, const struct cell_node *b)
{
	if (a->is_bad != b->is_bad)
		return b->is_bad;
	if (a->is_suggested != b->is_suggested)
		return a->is_suggested;
	if (a->n_packed != b->n_packed)
		return a->n_packed > b->n_packed;
	return a->n_higher < b->n_higher;
}

/* Stable; nearly in order since the last time. */
static void
sort(struct cell_view *view)
{
	for (size_t i = 1; i < view->nodes.n; i++) {
		const struct cell_node node = view->nodes.items[i];
		size_t k = i;

		for (; k && goes_before(&node, &view->nodes.items[k - 1]); k--)
			view->nodes.items[k] = view->nodes.items[k - 1];
		view->nodes.items[k] = node;
	}
}

/* Chooses a node for each pod, in order; fails at a node that must not be used. */
static bool
choose_nodes(struct cells *cells, struct cell_view *view)
{
	uint32_t n_taken = 0;

	sort(view);
	cells->chosen.n = 0;
	for (uint32_t i = 0; i < view->nodes.n;) {
		const struct cell_node *node = &view->nodes.items[i];
		uint32_t n_leaves = cells->pods.items[cells->chosen.n];

		if (node->n_free < n_taken + n_leaves) {
			n_taken = 0;
			i++;
			continue;
		}
		if (node->is_bad || !node->is_suggested)
			return false;
		vec_push(&cells->chosen, i);
		n_taken += n_leaves;
		if (cells->chosen.n == cells->pods.n)
			return true;
	}
	return false;
}

/* ---- GPUs of a node -------------------------------------------------------------- */

static void
list_leaves(struct cell *cell, int32_t from, int32_t below, struct cell_list *ret_list)
{
	if (cell->level == 1 && cell->priority >= from && cell->priority < below)
		vec_push(ret_list, cell);
	for (uint32_t i = 0; i < cell->n_children; i++)
		list_leaves(&cell->children[i], from, below, ret_list);
}

static uint32_t
n_within(const struct cell_list *list, const struct cell *cell)
{
	uint32_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		n += cell_above(list->items[i], cell->level) == cell;
	return n;
}

/* The lowest cell with 'n' GPUs of the list; that of the first GPU, if several. */
static struct cell *
find_near(const struct cell_list *list, uint32_t n, uint32_t top)
{
	for (uint32_t level = 1; level <= top; level++)
		for (size_t i = 0; i < list->n; i++) {
			struct cell *cell = cell_above(list->items[i], level);

			if (cell && cell->n_leaves >= n && n_within(list, cell) >= n)
				return cell;
		}
	return NULL;
}

/* Moves the first 'n' GPUs within 'cell' from the list to 'ret_leaves'. */
static void
pick(struct cell_list *list, const struct cell *cell, uint32_t n,
     struct cell_list *ret_leaves)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (n && cell_above(list->items[i], cell->level) == cell) {
			vec_push(ret_leaves, list->items[i]);
			n--;
		} else {
			list->items[n_kept++] = list->items[i];
		}
	}
	list->n = n_kept;
}

bool
cell_view_place(struct cells *cells, struct cell_view *view, int32_t priority,
		const bool *suggested, struct cell_list *ret_leaves)
{
	int32_t tried = CELLS_OPPORTUNISTIC; /* First without preemption. */

	update(view, tried, suggested, view->packs_all);
	if (!choose_nodes(cells, view)) {
		if (priority == tried)
			return false;
		tried = priority;
		update(view, tried, suggested, view->packs_all);
		if (!choose_nodes(cells, view))
			return false;
	}
	ret_leaves->n = 0;
	for (size_t i = 0; i < cells->pods.n; i++) {
		struct cell *node = view->nodes.items[cells->chosen.items[i]].cell;
		uint32_t n = cells->pods.items[i];
		struct cell *near;

		if (!i || cells->chosen.items[i] != cells->chosen.items[i - 1]) {
			/* Free ones first. */
			cells->available.n = 0;
			list_leaves(node, CELL_IDLE, CELLS_OPPORTUNISTIC,
				    &cells->available);
			list_leaves(node, CELLS_OPPORTUNISTIC, tried,
				    &cells->available);
		}
		near = find_near(&cells->available, n, node->level);
		if (!near)
			return false;
		pick(&cells->available, near, n, ret_leaves);
	}
	return true;
}
