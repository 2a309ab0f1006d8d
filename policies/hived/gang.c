/* SPDX-License-Identifier: Apache-2.0 */
/* gang.c - gangs and their cells: begin, end, preemption. */

#include "policies/hived/cells_priv.h"

/* ---- One GPU --------------------------------------------------------------------- */

static void
bind_up(struct cell *cell, struct cell *slot)
{
	for (; slot && !slot->bound; slot = slot->parent, cell = cell->parent)
		cell_tie(cell, slot);
}

/* Up to a cell that is pinned, or has other bound cells. */
static void
unbind_up(struct cell *cell)
{
	while (!cell->is_pinned) {
		struct cell *parent = cell->bound->parent;

		cell_untie(cell);
		if (!parent)
			return;
		for (uint32_t i = 0; i < parent->n_children; i++)
			if (parent->children[i].bound)
				return;
		cell = parent->bound;
	}
}

/* By level. */
static struct cell_list *
doomed_of(struct cells *cells, const struct cell *slot)
{
	return cells->vcs.items[slot->vc].shares[slot->chain].doomed;
}

/*
 * Gives a GPU to a gang, in a virtual cell or, if 'slot' is NULL, opportunistically.
 * Returns false if the free cells do not suffice any more for all VCs.
 */
static bool
take_leaf(struct cells *cells, struct cell *leaf, struct cell *slot, int32_t priority,
	  uint32_t vc)
{
	bool is_new;

	if (!slot) {
		cell_use(leaf, CELLS_OPPORTUNISTIC);
		return true;
	}
	cell_use(slot, priority);
	cell_use(leaf, priority);
	is_new = !slot->root->bound;
	/* A cell that is used is not kept only because it is bad. */
	if (!is_new)
		cell_list_remove(&doomed_of(cells, slot)[slot->root->level],
				 slot->root->bound);
	if (!leaf->bound)
		bind_up(leaf, slot);
	return !is_new || cell_allocate(cells, slot->root->bound, vc, false);
}

static void
give_leaf(struct cells *cells, struct cell *leaf)
{
	struct cell *slot = leaf->bound;

	if (slot) {
		struct cell *top = slot->root->bound;

		cell_use(slot, CELL_IDLE);
		/* A bad cell stays bound, if only since it is bad. */
		if (!leaf->is_bad)
			unbind_up(leaf);
		if (!top->is_pinned && slot->root->priority < 0 &&
		    !cell_list_has(&doomed_of(cells, slot)[top->level], top))
			cell_release(cells, top, slot->vc, false);
	}
	cell_use(leaf, CELL_IDLE);
}

/* Gives a GPU that a gang has to another one, perhaps in the same virtual cell. */
static void
pass_leaf(struct cells *cells, struct cell *leaf, struct cell *slot, int32_t priority,
	  uint32_t vc)
{
	if (slot && leaf->bound == slot) {
		cell_use(slot, priority);
		cell_use(leaf, priority);
		return;
	}
	give_leaf(cells, leaf);
	take_leaf(cells, leaf, slot, priority, vc);
}

/* ---- Lazy preemption ------------------------------------------------------------- */

void
gang_preempt_lazily(struct cells *cells, struct gang *gang)
{
	for (uint32_t i = 0; gang->is_virtual && i < gang->n_leaves; i++) {
		struct cell *slot = gang->slots[i];

		if (!slot || !gang->leaves[i])
			continue;
		give_leaf(cells, gang->leaves[i]);
		take_leaf(cells, gang->leaves[i], NULL, CELLS_OPPORTUNISTIC, gang->vc);
	}
	gang->is_virtual = false;
}

void
gang_revert_lazy(struct cells *cells, struct gang *gang)
{
	for (uint32_t i = 0; i < gang->n_leaves; i++) {
		if (!gang->leaves[i] || !gang->slots[i])
			continue;
		give_leaf(cells, gang->leaves[i]);
		take_leaf(cells, gang->leaves[i], gang->slots[i], gang->priority,
			  gang->vc);
	}
	gang->is_virtual = true;
}

/* ---- Gangs ----------------------------------------------------------------------- */

static struct gang *
add_gang(struct cells *cells, const struct cells_request *request, uint32_t chain,
	 const uint32_t *pods, uint32_t n_pods)
{
	struct gang *gang = xcalloc(1, sizeof *gang);

	*gang = (struct gang){ .id = request->gang,
			       .vc = request->vc,
			       .chain = chain,
			       .n_pods = n_pods,
			       .priority = request->priority,
			       .is_lazy = request->is_lazy,
			       .pods = xmemdup(pods, n_pods, sizeof *pods) };
	for (uint32_t i = 0; i < n_pods; i++)
		gang->n_leaves += pods[i];
	gang->leaves = xcalloc(gang->n_leaves, sizeof(struct cell *));
	gang->slots = xcalloc(gang->n_leaves, sizeof(struct cell *));
	while (cells->gangs.n <= gang->id)
		vec_push(&cells->gangs, NULL);
	BUG_ON(cells->gangs.items[gang->id]);
	cells->gangs.items[gang->id] = gang;
	return gang;
}

static void
remove_gang(struct cells *cells, struct gang *gang)
{
	cells->gangs.items[gang->id] = NULL;
	free(gang->pods);
	free(gang->leaves);
	free(gang->slots);
	free(gang);
}

/* ---- Preemption ------------------------------------------------------------------ */

/* Takes the found GPUs from the gangs that use them. */
void
gang_reserve(struct cells *cells, const struct cells_request *request, uint32_t chain)
{
	struct gang *gang = add_gang(cells, request, chain, cells->pods.items,
				     (uint32_t)cells->pods.n);

	gang->is_reserving = gang->is_virtual = true;
	for (uint32_t i = 0; i < gang->n_leaves; i++) {
		struct cell *leaf = gang->leaves[i] = cells->leaves.items[i];

		gang->slots[i] = cells->slots.items[i];
		if (leaf->state == CELL_USED)
			pass_leaf(cells, leaf, gang->slots[i], gang->priority,
				  gang->vc);
		else
			take_leaf(cells, leaf, gang->slots[i], gang->priority,
				  gang->vc);
		leaf->reserver = gang;
		leaf->state = leaf->state == CELL_USED ? CELL_RESERVING : CELL_RESERVED;
	}
}

static struct cell *
slot_of(const struct gang *gang, const struct cell *leaf)
{
	for (uint32_t i = 0; gang->is_virtual && i < gang->n_leaves; i++)
		if (gang->leaves[i] == leaf)
			return gang->slots[i];
	return NULL;
}

/* Returns reserved GPUs to the gangs that still use them. */
static void
cancel(struct cells *cells, struct gang *gang)
{
	for (uint32_t i = 0; i < gang->n_leaves; i++) {
		struct cell *leaf = gang->leaves[i];

		leaf->reserver = NULL;
		if (leaf->state == CELL_RESERVING) {
			leaf->state = CELL_USED;
			pass_leaf(cells, leaf, slot_of(leaf->user, leaf),
				  leaf->user->priority, leaf->user->vc);
		} else {
			give_leaf(cells, leaf);
			leaf->state = CELL_FREE;
		}
	}
	remove_gang(cells, gang);
}

void
cells_end(struct cells *cells, uint32_t id)
{
	struct gang *gang = id < cells->gangs.n ? cells->gangs.items[id] : NULL;

	if (!gang)
		return;
	if (gang->is_reserving) {
		cancel(cells, gang);
		return;
	}
	for (uint32_t i = 0; i < gang->n_leaves; i++) {
		struct cell *leaf = gang->leaves[i];

		if (!leaf)
			continue;
		leaf->user = NULL;
		if (leaf->state == CELL_USED) {
			give_leaf(cells, leaf);
			leaf->state = CELL_FREE;
		} else { /* It is already the reserving gang's. */
			leaf->state = CELL_RESERVED;
		}
	}
	remove_gang(cells, gang);
}

/* ---- Begin ----------------------------------------------------------------------- */

static void
begin_reserved(struct gang *gang)
{
	gang->is_reserving = false;
	for (uint32_t i = 0; i < gang->n_leaves; i++) {
		gang->leaves[i]->reserver = NULL;
		gang->leaves[i]->user = gang;
		gang->leaves[i]->state = CELL_USED;
	}
}

/* The GPU, of this chain if it is in several. */
static struct cell *
find_leaf(const struct cells *cells, uint32_t chain, struct cells_leaf at)
{
	const struct cell_list *list = &cells->node_leaves.items[at.node];
	struct cell *found = NULL;

	for (size_t i = 0; i < list->n; i++)
		if (list->items[i]->leaf.index == at.index &&
		    (!found || list->items[i]->chain == chain))
			found = list->items[i];
	return found;
}

/* An unbound cell, or else the one of lowest priority, below this priority. */
static struct cell *
weakest(struct cell *const *slots, size_t n, int32_t priority)
{
	struct cell *found = NULL;

	for (size_t i = 0; i < n; i++) {
		struct cell *slot = slots[i];

		if (slot->priority == CELL_IDLE && !slot->bound)
			return slot;
		/* A bound cell of no gang is doomed. */
		if (slot->priority != CELL_IDLE && slot->priority < priority &&
		    slot->priority < (found ? found->priority : CELLS_MAX_PRIORITY))
			found = slot;
	}
	return found;
}

/* The virtual cell for a physical one, of those whose root has this level. */
static struct cell *
find_slot(struct cell *cell, const struct cell_list *roots, uint32_t level,
	  int32_t priority)
{
	struct cell_list children = VEC_EMPTY;
	struct cell *slot;

	if (cell->bound)
		return cell->bound;
	if (cell->level == level)
		return weakest(roots->items, roots->n, priority);
	slot = cell->parent ? find_slot(cell->parent, roots, level, priority) : NULL;
	if (!slot)
		return NULL;
	cell_list_add_children(&children, slot);
	slot = weakest(children.items, children.n, priority);
	vec_free(&children);
	return slot;
}

/* The virtual cell for a GPU whose root has 'size' GPUs; NULL: the VC has none. */
static struct cell *
slot_for(struct cells *cells, const struct cells_request *request, struct cell *leaf,
	 uint32_t size)
{
	const struct chain *chain = &cells->chains.items[leaf->chain];
	struct cell_list pinned = VEC_EMPTY;
	struct cell *slot = NULL;

	for (uint32_t l = 1; l <= chain->shape.n_levels; l++) {
		const struct cell_list *roots;

		if (chain->n_leaves[l] != size)
			continue;
		roots = &cells->vcs.items[request->vc].shares[leaf->chain].roots[l];
		if (request->pinned != CELLS_NONE) {
			vec_push(&pinned, cells->pinned.items[request->pinned].root);
			roots = &pinned;
		}
		slot = find_slot(leaf, roots, l, request->priority);
	}
	vec_free(&pinned);
	return slot;
}

/* Preempts the gangs in a virtual cell lazily. */
static void
preempt_slot(struct cells *cells, struct cell *slot)
{
	if (slot->level == 1 && slot->bound && slot->bound->state == CELL_USED)
		gang_preempt_lazily(cells, slot->bound->user);
	for (uint32_t i = 0; i < slot->n_children; i++)
		preempt_slot(cells, &slot->children[i]);
}

/*
 * In the cluster in which the placement was found, each GPU has a virtual cell, and
 * buddy allocation is safe.  Elsewhere the gang may have to be preempted lazily.
 */
static void
begin_new(struct cells *cells, const struct cells_request *request,
	  const struct cells_placement *placement)
{
	struct gang *gang =
		add_gang(cells, request, placement->chain, placement->pods.items,
			 (uint32_t)placement->pods.n);
	bool yields = false;

	gang->is_virtual = request->priority >= 0;
	for (uint32_t i = 0; i < gang->n_leaves; i++) {
		uint32_t size = placement->roots.items[i];
		struct cell *leaf =
			find_leaf(cells, placement->chain, placement->leaves.items[i]);
		struct cell *slot = NULL;

		if (!leaf)
			continue;
		gang->leaves[i] = leaf;
		if (!size)
			gang->is_virtual = false;
		else if (!yields)
			slot = slot_for(cells, request, leaf, size);
		gang->slots[i] = slot;
		if (slot && cell_is_free(leaf) && slot->root->priority > CELL_IDLE)
			preempt_slot(cells, slot->root);
		yields |= size && !slot;
		yields |= !take_leaf(cells, leaf, slot, request->priority, request->vc);
		leaf->user = gang;
		leaf->state = CELL_USED;
	}
	if (yields)
		gang_preempt_lazily(cells, gang);
}

void
cells_begin(struct cells *cells, const struct cells_request *request,
	    const struct cells_placement *placement)
{
	struct gang *gang = request->gang < cells->gangs.n
				    ? cells->gangs.items[request->gang]
				    : NULL;

	if (gang)
		begin_reserved(gang);
	else
		begin_new(cells, request, placement);
}

enum cells_hold
cells_hold(const struct cells *cells, uint32_t id)
{
	const struct gang *gang = id < cells->gangs.n ? cells->gangs.items[id] : NULL;

	if (!gang)
		return CELLS_ABSENT;
	if (gang->is_reserving)
		return CELLS_RESERVING;
	return gang->is_virtual ? CELLS_GUARANTEED : CELLS_AT_WILL;
}
