/* SPDX-License-Identifier: Apache-2.0 */
/* cells_search.c - the search for GPUs of a gang, and its answers. */
#include <errno.h>

#include "policies/hived/cells_priv.h"

/* ---- Search ---------------------------------------------------------------------- */

/* In a cell with a bad node, virtual cells are bound anew when the gang leaves it. */
static bool
may_leave(const struct gang *gang)
{
	for (uint32_t i = 0; i < gang->n_leaves; i++)
		if (gang->is_virtual && gang->slots[i] && gang->slots[i]->root->bound &&
		    gang->slots[i]->root->bound->is_bad)
			return false;
	return gang->is_lazy;
}

/* Takes gangs out of the virtual cells that were found, if they allow it. */
static void
preempt_lazily(struct cells *cells)
{
	cells->lazy.n = 0;
	for (size_t i = 0; i < cells->slots.n; i++) {
		const struct cell *leaf = cells->slots.items[i]->bound;

		if (!leaf || leaf->state != CELL_USED || !may_leave(leaf->user))
			continue;
		vec_push(&cells->lazy, leaf->user);
		gang_preempt_lazily(cells, leaf->user);
	}
}

static bool
find_in_view(struct cells *cells, struct cell_view *view, uint32_t chain,
	     const struct cells_request *request)
{
	if (!cell_view_place(cells, view, request->priority, request->suggested,
			     &cells->slots))
		return false;
	preempt_lazily(cells);
	if (cell_map(cells, chain, request->suggested))
		return true;
	for (size_t i = 0; i < cells->lazy.n; i++)
		gang_revert_lazy(cells, cells->lazy.items[i]);
	return false;
}

static bool
find_in_chain(struct cells *cells, uint32_t c, const struct cells_request *request)
{
	struct chain *chain = &cells->chains.items[c];

	cells->slots.n = 0;
	if (request->priority >= 0)
		return find_in_view(cells,
				    &cells->vcs.items[request->vc].shares[c].view, c,
				    request);
	return cell_view_place(cells, &chain->view, request->priority,
			       request->suggested, &cells->leaves);
}

/* Lists the pods, those with the fewest GPUs first. */
static void
list_pods(struct cells *cells, const struct cells_request *request)
{
	cells->pods.n = 0;
	for (uint32_t i = 0; i < request->n_members; i++) {
		for (uint32_t k = 0; k < request->members[i].n_pods; k++) {
			uint32_t n = request->members[i].n_leaves;
			size_t at = cells->pods.n;

			vec_push(&cells->pods, n);
			for (; at && cells->pods.items[at - 1] > n; at--)
				cells->pods.items[at] = cells->pods.items[at - 1];
			cells->pods.items[at] = n;
		}
	}
}

static bool
is_valid(const struct cells *cells, const struct cells_request *request)
{
	if (request->vc >= cells->vcs.n || !request->n_members ||
	    request->priority < CELLS_OPPORTUNISTIC ||
	    request->priority > CELLS_MAX_PRIORITY)
		return false;
	for (uint32_t i = 0; i < request->n_members; i++)
		if (!request->members[i].n_pods || !request->members[i].n_leaves)
			return false;
	return request->pinned == CELLS_NONE ||
	       (request->pinned < cells->pinned.n && request->priority >= 0 &&
		cells->pinned.items[request->pinned].vc == request->vc);
}

/* Returns 1 and the chain if GPUs were found, 0 if not; or -EINVAL. */
static int
search(struct cells *cells, const struct cells_request *request, uint32_t *ret_chain)
{
	bool has_type = request->leaf_type == CELLS_NONE;

	if (!is_valid(cells, request))
		return -EINVAL;
	list_pods(cells, request);
	if (request->pinned != CELLS_NONE) {
		struct pinned *pinned = &cells->pinned.items[request->pinned];

		*ret_chain = pinned->root->chain;
		return find_in_view(cells, &pinned->view, *ret_chain, request);
	}
	for (uint32_t c = 0; c < cells->chains.n; c++) {
		const struct share *share = &cells->vcs.items[request->vc].shares[c];

		if ((request->leaf_type != CELLS_NONE &&
		     request->leaf_type != cells->chains.items[c].shape.leaf_type) ||
		    (request->priority >= 0 && !share->is_there))
			continue;
		has_type = true;
		*ret_chain = c;
		if (find_in_chain(cells, c, request))
			return 1;
	}
	return has_type ? 0 : -EINVAL;
}

/* ---- Answers --------------------------------------------------------------------- */

void
cells_answer_fini(struct cells_answer *answer)
{
	vec_free(&answer->placement.pods);
	vec_free(&answer->placement.leaves);
	vec_free(&answer->placement.roots);
	vec_free(&answer->victims);
}

static void
clear(struct cells_answer *answer)
{
	answer->placement.pods.n = 0;
	answer->placement.leaves.n = answer->placement.roots.n = 0;
	answer->victims.n = 0;
}

static void
add_victim(struct cells_answer *answer, uint32_t gang)
{
	for (size_t i = 0; i < answer->victims.n; i++)
		if (answer->victims.items[i] == gang)
			return;
	vec_push(&answer->victims, gang);
}

/* 'slots' may be NULL.  Returns an outcome. */
static int
fill(struct cells_answer *ret_answer, uint32_t chain, const uint32_t *pods,
     size_t n_pods, struct cell *const *leaves, struct cell *const *slots)
{
	struct cells_placement *placement = &ret_answer->placement;

	clear(ret_answer);
	placement->chain = chain;
	for (size_t i = 0; i < n_pods; i++) {
		vec_push(&placement->pods, pods[i]);
		for (uint32_t k = 0; k < pods[i]; k++) {
			const struct cell *leaf = leaves[placement->leaves.n];
			uint32_t root =
				slots ? slots[placement->leaves.n]->root->n_leaves : 0;

			vec_push(&placement->leaves, leaf->leaf);
			vec_push(&placement->roots, root);
			if (leaf->user)
				add_victim(ret_answer, leaf->user->id);
		}
	}
	return ret_answer->victims.n ? CELLS_PREEMPTS : CELLS_FITS;
}

static int
find(struct cells *cells, const struct cells_request *request, uint32_t *ret_chain,
     struct cells_answer *ret_answer)
{
	int r = search(cells, request, ret_chain);

	clear(ret_answer);
	if (r <= 0)
		return r < 0 ? r : CELLS_WAITS;
	return fill(ret_answer, *ret_chain, cells->pods.items, cells->pods.n,
		    cells->leaves.items, cells->slots.n ? cells->slots.items : NULL);
}

int
cells_find(struct cells *cells, const struct cells_request *request,
	   struct cells_answer *ret_answer)
{
	uint32_t chain;

	return find(cells, request, &chain, ret_answer);
}

int
cells_claim(struct cells *cells, const struct cells_request *request,
	    struct cells_answer *ret_answer)
{
	uint32_t chain;
	int r = find(cells, request, &chain, ret_answer);

	if (r != CELLS_FITS && r != CELLS_PREEMPTS)
		return r;
	for (size_t i = 0; i < cells->leaves.n; i++)
		if (cells->leaves.items[i]->reserver)
			cells_end(cells, cells->leaves.items[i]->reserver->id);
	if (r == CELLS_PREEMPTS)
		gang_reserve(cells, request, chain);
	return r;
}

int
cells_resume(struct cells *cells, uint32_t id, const bool *suggested,
	     struct cells_answer *ret_answer)
{
	const struct gang *gang = cells->gangs.items[id];

	for (uint32_t i = 0; i < gang->n_leaves; i++) {
		const struct cell *leaf = gang->leaves[i];

		if (!leaf->is_bad && (!suggested || suggested[leaf->leaf.node]))
			continue;
		clear(ret_answer);
		cells_end(cells, id);
		return CELLS_WAITS;
	}
	return fill(ret_answer, gang->chain, gang->pods, gang->n_pods, gang->leaves,
		    gang->slots);
}
