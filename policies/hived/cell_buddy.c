/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell_buddy.c - physical cells for the cells of VCs, and bad cells.
 *
 * A cell that is taken out of a larger free one splits it; a cell that comes back
 * merges with its buddies if all of them are free.
 *
 * A cell is bad if one of its nodes is.  If fewer healthy cells are left than a VC may
 * still ask for, the VC takes some of the bad ones: its virtual cells are bound to
 * them ("doomed"), so that it does not place gangs there.
 */
#include "policies/hived/cells_priv.h"

/* ---- Free lists ------------------------------------------------------------------ */

/* Whether it is in a free list, or part of a cell that is. */
bool
cell_is_free(const struct cell *cell)
{
	for (;; cell = cell->parent) {
		if (cell->bound || cell->is_split)
			return false;
		if (!cell->parent || cell->parent->is_split)
			return true;
	}
}

/* Takes it out of the free lists; returns the highest level that was split. */
static uint32_t
take(struct chain *chain, struct cell *cell)
{
	for (;; cell = cell->parent) {
		struct cell *parent = cell->parent;
		bool was_split = !parent || parent->is_split;

		if (!was_split) {
			cell_list_add_children(&chain->free[cell->level], parent);
			parent->is_split = true;
		}
		cell_list_remove(&chain->free[cell->level], cell);
		if (was_split)
			return cell->level;
	}
}

static bool
buddies_are_free(const struct chain *chain, const struct cell *cell)
{
	for (uint32_t i = 0; i < cell->parent->n_children; i++) {
		const struct cell *buddy = &cell->parent->children[i];

		if (buddy != cell && !cell_list_has(&chain->free[cell->level], buddy))
			return false;
	}
	return true;
}

/* Puts it into the free lists; returns the highest level that was merged. */
static uint32_t
put(struct chain *chain, struct cell *cell)
{
	for (; cell->parent && buddies_are_free(chain, cell); cell = cell->parent) {
		for (uint32_t i = 0; i < cell->parent->n_children; i++)
			if (&cell->parent->children[i] != cell)
				cell_list_remove(&chain->free[cell->level],
						 &cell->parent->children[i]);
		cell->parent->is_split = false;
	}
	vec_push(&chain->free[cell->level], cell);
	return cell->level;
}

/* ---- Bad cells ------------------------------------------------------------------- */

static int64_t
n_healthy(const struct chain *chain, uint32_t level)
{
	return chain->n_left[level] - (int64_t)chain->bad[level].n;
}

static void
try_doom(struct cells *cells, uint32_t c, uint32_t level)
{
	struct chain *chain = &cells->chains.items[c];

	for (uint32_t v = 0; v < cells->vcs.n; v++) {
		struct share *share = &cells->vcs.items[v].shares[c];

		while (share->n_free[level] > n_healthy(chain, level)) {
			struct cell_list *roots = &share->roots[level];
			struct cell *slot = cell_unbound(roots->items, roots->n);
			struct cell *cell;

			if (!chain->bad[level].n || !slot)
				break;
			cell = chain->bad[level].items[0];
			cell_tie(cell, slot);
			vec_push(&share->doomed[level], cell);
			cell_allocate(cells, cell, v, true);
		}
	}
}

static void
try_undoom(struct cells *cells, uint32_t c, uint32_t level)
{
	struct chain *chain = &cells->chains.items[c];

	for (uint32_t v = 0; v < cells->vcs.n; v++) {
		struct share *share = &cells->vcs.items[v].shares[c];

		while (share->doomed[level].n &&
		       share->n_free[level] < n_healthy(chain, level)) {
			struct cell *cell = share->doomed[level].items[0];

			cell_untie(cell);
			cell_list_remove(&share->doomed[level], cell);
			cell_release(cells, cell, v, true);
		}
	}
}

/* Binds a cell inside a bound one. */
static void
tie_inside(struct cell *cell)
{
	struct cell *slot = cell->parent && cell->parent->bound
				    ? cell_unbound_child(cell->parent->bound)
				    : NULL;

	if (slot)
		cell_tie(cell, slot);
}

/* Binds a bad cell and its bad children, so that the VC knows them. */
static void
allocate_bad(struct cells *cells, struct cell *cell)
{
	cell_list_remove(&cells->chains.items[cell->chain].bad[cell->level], cell);
	if (!cell->bound)
		tie_inside(cell);
	for (uint32_t i = 0; i < cell->n_children; i++)
		if (cell->children[i].is_bad)
			allocate_bad(cells, &cell->children[i]);
}

static void
release_bad(struct cells *cells, struct cell *cell)
{
	vec_push(&cells->chains.items[cell->chain].bad[cell->level], cell);
	cell_untie(cell);
	for (uint32_t i = 0; i < cell->n_children; i++)
		if (cell->children[i].is_bad)
			release_bad(cells, &cell->children[i]);
}

/* ---- Allocation ------------------------------------------------------------------ */

bool
cell_allocate(struct cells *cells, struct cell *cell, uint32_t vc, bool is_doomed)
{
	uint32_t c = cell->chain, level = cell->level, top, n;
	struct chain *chain = &cells->chains.items[c];
	struct cell *parent = cell->parent;
	bool is_safe = true;

	cells->vcs.items[vc].shares[c].n_free[level]--;
	chain->n_wanted[level]--;
	chain->n_left[level]--;
	top = take(chain, cell);
	for (uint32_t l = level + 1; l <= top; l++, parent = parent->parent) {
		chain->n_left[l]--;
		is_safe &= chain->n_left[l] >= chain->n_wanted[l];
		if (parent->is_bad)
			cell_list_remove(&chain->bad[l], parent);
		else
			try_doom(cells, c, l);
	}
	if (cell->is_bad) {
		allocate_bad(cells, cell);
		if (!is_doomed)
			try_undoom(cells, c, level);
	} else {
		try_doom(cells, c, level);
	}
	n = cell->n_children;
	for (uint32_t l = level - 1; l >= 1; l--) {
		chain->n_left[l] -= n;
		is_safe &= chain->n_left[l] >= chain->n_wanted[l];
		if (!is_doomed)
			try_doom(cells, c, l);
		n *= l > 1 ? chain->shape.n_children[l] : 1;
	}
	return is_safe;
}

void
cell_release(struct cells *cells, struct cell *cell, uint32_t vc, bool is_doomed)
{
	uint32_t c = cell->chain, level = cell->level, top, n;
	struct chain *chain = &cells->chains.items[c];
	struct cell *parent = cell->parent;

	cells->vcs.items[vc].shares[c].n_free[level]++;
	chain->n_wanted[level]++;
	chain->n_left[level]++;
	top = put(chain, cell);
	for (uint32_t l = level + 1; l <= top; l++, parent = parent->parent) {
		chain->n_left[l]++;
		if (parent->is_bad)
			vec_push(&chain->bad[l], parent);
		else
			try_undoom(cells, c, l);
	}
	if (cell->is_bad) {
		release_bad(cells, cell);
		if (!is_doomed)
			try_doom(cells, c, level);
	} else {
		try_undoom(cells, c, level);
	}
	n = cell->n_children;
	for (uint32_t l = level - 1; l >= 1; l--) {
		chain->n_left[l] += n;
		if (!is_doomed)
			try_undoom(cells, c, l);
		n *= l > 1 ? chain->shape.n_children[l] : 1;
	}
}

/* ---- Nodes ----------------------------------------------------------------------- */

/* From a leaf upwards; the cells above are marked first. */
static void
set_bad(struct cells *cells, struct cell *cell)
{
	if (cell->is_bad)
		return;
	cell->is_bad = true;
	if (cell->parent)
		set_bad(cells, cell->parent);
	if (cell_is_free(cell)) {
		struct chain *chain = &cells->chains.items[cell->chain];

		vec_push(&chain->bad[cell->level], cell);
		if (chain->n_wanted[cell->level] > n_healthy(chain, cell->level))
			try_doom(cells, cell->chain, cell->level);
	} else if (!cell->bound && !cell->is_split) {
		tie_inside(cell);
	}
}

/* A cell that is bound only because it was bad gives its virtual cell back. */
static void
unbind_healthy(struct cells *cells, struct cell *cell)
{
	struct cell *slot = cell->bound;
	struct share *share;

	if (!slot || cell->is_pinned || cell->priority >= 0)
		return;
	cell_untie(cell);
	if (slot->parent)
		return;
	share = &cells->vcs.items[slot->vc].shares[cell->chain];
	cell_list_remove(&share->doomed[cell->level], cell);
	cell_release(cells, cell, slot->vc, true);
}

static void
set_healthy(struct cells *cells, struct cell *cell)
{
	if (!cell->is_bad)
		return;
	cell->is_bad = false;
	if (cell_is_free(cell)) {
		cell_list_remove(&cells->chains.items[cell->chain].bad[cell->level],
				 cell);
		try_undoom(cells, cell->chain, cell->level);
	} else {
		unbind_healthy(cells, cell);
	}
	if (!cell->parent)
		return;
	for (uint32_t i = 0; i < cell->parent->n_children; i++)
		if (cell->parent->children[i].is_bad)
			return;
	set_healthy(cells, cell->parent);
}

void
cells_set_node(struct cells *cells, uint32_t node, bool is_healthy)
{
	if (node >= cells->node_leaves.n)
		return;
	for (size_t i = 0; i < cells->node_leaves.items[node].n; i++) {
		if (is_healthy)
			set_healthy(cells, cells->node_leaves.items[node].items[i]);
		else
			set_bad(cells, cells->node_leaves.items[node].items[i]);
	}
}
