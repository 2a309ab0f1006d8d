/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell_map.c - physical cells for the virtual cells of a gang.
 *
 * The virtual cells that are not bound yet, up to the first bound one or the cell of
 * the VC, form trees of vertices.  A tree below a bound cell is mapped into its
 * physical cell; any other one gets a free cell by buddy allocation.  Bad nodes and
 * nodes that are not suggested are avoided: then a cell is tried after another.
 */
#include <string.h>

#include "policies/hived/cells_priv.h"

/* A search.  'free' and 'n_wanted' begin as copies of the chain's. */
struct search {
	struct cells *cells;
	const struct cells_shape *shape;
	const bool *suggested;
	struct cell_list free[CELLS_LEVELS + 1];
	int64_t n_wanted[CELLS_LEVELS + 1];
	VEC(uint32_t) whole;   /* Vertices of cells of the VC. */
	VEC(uint32_t) partial; /* Vertices of bound cells with vertices below. */
};

/* ---- Vertices -------------------------------------------------------------------- */

static struct vertex *
vertex(const struct search *s, uint32_t i)
{
	return &s->cells->vertices.items[i];
}

static void
add_child(struct search *s, uint32_t parent, uint32_t child)
{
	struct vertex *v = vertex(s, parent);

	if (v->first_child == CELLS_NONE)
		v->first_child = child;
	else
		vertex(s, v->last_child)->next = child;
	v->last_child = child;
}

static uint32_t
vertex_of(struct search *s, struct cell *slot)
{
	uint32_t parent = CELLS_NONE, i;

	if (slot->vertex != CELLS_NONE)
		return slot->vertex;
	if (!slot->bound && slot->parent)
		parent = vertex_of(s, slot->parent);
	i = slot->vertex = (uint32_t)s->cells->vertices.n;
	vec_push(&s->cells->vertices,
		 ((struct vertex){ slot, CELLS_NONE, CELLS_NONE, CELLS_NONE }));
	if (slot->bound)
		vec_push(&s->partial, i);
	else if (!slot->parent)
		vec_push(&s->whole, i);
	else
		add_child(s, parent, i);
	return i;
}

static void
build_vertices(struct search *s)
{
	s->cells->vertices.n = 0;
	for (size_t i = 0; i < s->cells->slots.n; i++) {
		struct cell *slot = s->cells->slots.items[i];

		slot->mapped = slot->bound;
		if (!slot->bound)
			vertex_of(s, slot);
	}
}

static void
clear_vertices(struct search *s)
{
	for (size_t i = 0; i < s->cells->vertices.n; i++)
		s->cells->vertices.items[i].cell->vertex = CELLS_NONE;
}

/* ---- Vertices onto cells --------------------------------------------------------- */

static bool
is_suggested(const struct search *s, const struct cell *cell)
{
	if (!s->suggested || cell->level == 1)
		return !s->suggested || s->suggested[cell->leaf.node];
	/* Below a node, all are of the same. */
	if (cell->level <= s->shape->node_level)
		return is_suggested(s, &cell->children[0]);
	for (uint32_t i = 0; i < cell->n_children; i++)
		if (is_suggested(s, &cell->children[i]))
			return true;
	return false;
}

/*
 * Lists the usable cells, those with the fewest opportunistic gangs first.  A cell of
 * several nodes is usable if one of them is.
 */
static void
list_usable(const struct search *s, struct cell *const *cells, size_t n,
	    struct cell_list *ret_list)
{
	for (size_t i = 0; i < n; i++) {
		struct cell *cell = cells[i];
		size_t k = ret_list->n;

		if (cell->bound ||
		    (cell->level <= s->shape->node_level && cell->is_bad) ||
		    !is_suggested(s, cell))
			continue;
		vec_push(ret_list, cell);
		for (; k &&
		       ret_list->items[k - 1]->n_opportunistic > cell->n_opportunistic;
		     k--)
			ret_list->items[k] = ret_list->items[k - 1];
		ret_list->items[k] = cell;
	}
}

/* A matching of vertices and cells. */
struct match {
	const uint32_t *vertices;
	uint32_t n;
	struct cell_list cells;
	VEC(uint32_t) vertex_of; /* By cell: its vertex's place; CELLS_NONE: none. */
	VEC(bool) is_seen;       /* By cell. */
	bool is_moved;           /* A vertex got another cell than at first. */
};

static bool map_children(struct search *s, uint32_t vertex, struct cell *cell);

/* Finds a free cell for a vertex; else one whose vertex can go elsewhere. */
static bool
augment(struct search *s, struct match *m, uint32_t place)
{
	for (size_t i = 0; i < m->cells.n; i++) {
		if (m->vertex_of.items[i] != CELLS_NONE ||
		    !map_children(s, m->vertices[place], m->cells.items[i]))
			continue;
		m->vertex_of.items[i] = place;
		return true;
	}
	for (size_t i = 0; i < m->cells.n; i++) {
		if (m->is_seen.items[i] ||
		    !map_children(s, m->vertices[place], m->cells.items[i]))
			continue;
		m->is_seen.items[i] = true;
		if (m->vertex_of.items[i] == CELLS_NONE ||
		    !augment(s, m, m->vertex_of.items[i]))
			continue;
		m->vertex_of.items[i] = place;
		m->is_moved = true;
		return true;
	}
	return false;
}

static bool
match_all(struct search *s, struct match *m)
{
	if (m->cells.n < m->n)
		return false;
	for (size_t i = 0; i < m->cells.n; i++) {
		vec_push(&m->vertex_of, CELLS_NONE);
		vec_push(&m->is_seen, false);
	}
	for (uint32_t place = 0; place < m->n; place++) {
		memset(m->is_seen.items, 0, m->is_seen.n * sizeof *m->is_seen.items);
		if (!augment(s, m, place))
			return false;
	}
	/* Attempts in between have overwritten what is mapped below. */
	for (size_t i = 0; m->is_moved && i < m->cells.n; i++)
		if (m->vertex_of.items[i] != CELLS_NONE)
			map_children(s, m->vertices[m->vertex_of.items[i]],
				     m->cells.items[i]);
	return true;
}

/* Maps vertices onto different cells of these, and removes those from 'ret_list'. */
static bool
map_onto(struct search *s, const uint32_t *vertices, uint32_t n,
	 struct cell *const *cells, size_t n_cells, struct cell_list *ret_list)
{
	struct match m = { .vertices = vertices, .n = n };
	bool ok;

	list_usable(s, cells, n_cells, &m.cells);
	ok = match_all(s, &m);
	for (size_t i = 0; ok && ret_list && i < m.cells.n; i++)
		if (m.vertex_of.items[i] != CELLS_NONE)
			cell_list_remove(ret_list, m.cells.items[i]);
	vec_free(&m.cells);
	vec_free(&m.vertex_of);
	vec_free(&m.is_seen);
	return ok;
}

/* Maps what is below a vertex into a cell. */
static bool
map_children(struct search *s, uint32_t i, struct cell *cell)
{
	VEC(uint32_t) below = VEC_EMPTY;
	struct cell_list children = VEC_EMPTY;
	bool ok;

	if (cell->level == 1) {
		vertex(s, i)->cell->mapped = cell;
		return true;
	}
	for (uint32_t k = vertex(s, i)->first_child; k != CELLS_NONE;
	     k = vertex(s, k)->next)
		vec_push(&below, k);
	cell_list_add_children(&children, cell);
	ok = map_onto(s, below.items, (uint32_t)below.n, children.items, children.n,
		      NULL);
	vec_free(&below);
	vec_free(&children);
	return ok;
}

/* ---- Buddy allocation ------------------------------------------------------------ */

static bool
map_free(struct search *s, uint32_t i, uint32_t level)
{
	return map_onto(s, &i, 1, s->free[level].items, s->free[level].n,
			&s->free[level]);
}

/* Splits cells from this level down; tries one after another. */
static bool
split_and_map(struct search *s, uint32_t i, uint32_t level)
{
	struct cell_list usable = VEC_EMPTY;
	bool ok = false;

	if (level == vertex(s, i)->cell->level)
		return map_free(s, i, level);
	list_usable(s, s->free[level].items, s->free[level].n, &usable);
	for (size_t k = 0; !ok && k < usable.n; k++) {
		cell_list_add_children(&s->free[level - 1], usable.items[k]);
		ok = split_and_map(s, i, level - 1);
		if (ok)
			cell_list_remove(&s->free[level], usable.items[k]);
		else
			s->free[level - 1].n = 0;
	}
	vec_free(&usable);
	return ok;
}

static bool
allocate(struct search *s, uint32_t i)
{
	for (uint32_t l = vertex(s, i)->cell->level; l <= s->shape->n_levels; l++)
		if (s->free[l].n)
			return split_and_map(s, i, l);
	return false;
}

/* Moves the first 'n' cells of a level, split, to the front of a lower one. */
static void
split_down(struct search *s, uint32_t from, uint32_t n, uint32_t to)
{
	struct cell_list split = VEC_EMPTY, children = VEC_EMPTY, swap;

	for (uint32_t i = 0; i < n; i++) {
		vec_push(&split, s->free[from].items[0]);
		cell_list_remove(&s->free[from], split.items[i]);
	}
	for (uint32_t l = from; l > to; l--) {
		children.n = 0;
		for (size_t i = 0; i < split.n; i++)
			cell_list_add_children(&children, split.items[i]);
		swap = split;
		split = children;
		children = swap;
	}
	for (size_t i = 0; i < s->free[to].n; i++)
		vec_push(&split, s->free[to].items[i]);
	vec_free(&children);
	vec_free(&s->free[to]);
	s->free[to] = split;
}

/*
 * If the cells that buddy allocation would take are bad, splits larger ones, as many as
 * the VCs can spare.
 */
static bool
allocate_relaxed(struct search *s, uint32_t i)
{
	uint32_t level = vertex(s, i)->cell->level;
	int64_t n_spare[CELLS_LEVELS + 2] = { 0 };

	for (uint32_t l = s->shape->n_levels; l > level; l--) {
		n_spare[l] = (int64_t)s->free[l].n - s->n_wanted[l];
		if (l < s->shape->n_levels)
			n_spare[l] += n_spare[l + 1] * s->shape->n_children[l + 1];
		if (n_spare[l] < 0)
			return false;
	}
	for (uint32_t l = level + 1; l <= s->shape->n_levels; l++) {
		int64_t n = (int64_t)s->free[l].n;

		n = n < n_spare[l] ? n : n_spare[l];
		if (n <= 0)
			continue;
		split_down(s, l, (uint32_t)n, level);
		if (map_free(s, i, level))
			return true;
	}
	return false;
}

static bool
map_whole(struct search *s, uint32_t i)
{
	if (!allocate(s, i) && !allocate_relaxed(s, i))
		return false;
	s->n_wanted[vertex(s, i)->cell->level]--;
	return true;
}

bool
cell_map(struct cells *cells, uint32_t c, const bool *suggested)
{
	const struct chain *chain = &cells->chains.items[c];
	struct search s = { .cells = cells,
			    .shape = &chain->shape,
			    .suggested = suggested };
	bool ok = true;

	build_vertices(&s);
	for (uint32_t l = 1; s.whole.n && l <= chain->shape.n_levels; l++) {
		s.n_wanted[l] = chain->n_wanted[l];
		for (size_t i = 0; i < chain->free[l].n; i++)
			vec_push(&s.free[l], chain->free[l].items[i]);
	}
	for (size_t i = 0; ok && i < s.whole.n; i++)
		ok = map_whole(&s, s.whole.items[i]);
	for (size_t i = 0; ok && i < s.partial.n; i++)
		ok = map_children(&s, s.partial.items[i],
				  vertex(&s, s.partial.items[i])->cell->bound);
	clear_vertices(&s);
	cells->leaves.n = 0;
	for (size_t i = 0; ok && i < cells->slots.n; i++)
		vec_push(&cells->leaves, cells->slots.items[i]->mapped);
	for (uint32_t l = 1; l <= chain->shape.n_levels; l++)
		vec_free(&s.free[l]);
	vec_free(&s.whole);
	vec_free(&s.partial);
	return ok;
}
