/* SPDX-License-Identifier: Apache-2.0 */
/* cells_priv.h - what the files of cells.h share. */
#ifndef POLICIES_HIVED_CELLS_PRIV_H
#define POLICIES_HIVED_CELLS_PRIV_H

#include "policies/hived/cells.h"

#define CELL_IDLE (CELLS_OPPORTUNISTIC - 1) /* Priority of a free cell. */

enum cell_state {
	CELL_FREE,
	CELL_USED,
	CELL_RESERVING, /* Used, and reserved for another gang. */
	CELL_RESERVED,  /* Not used any more. */
};

struct gang;

/* Physical or virtual. */
struct cell {
	struct cell *parent, *children; /* 'children' is owned. */
	uint32_t chain, level, n_children, n_leaves;
	struct cell *bound; /* The virtual cell of a physical one, and conversely. */
	int32_t priority;   /* The highest of its gangs'. */
	uint32_t n_used, n_opportunistic; /* Of its GPUs. */
	/* Physical: */
	bool is_bad, is_split, is_pinned; /* is_bad: some node of it is bad. */
	enum cell_state state;            /* Of a leaf. */
	struct cells_leaf leaf;           /* Of a leaf. */
	struct gang *user, *reserver;     /* Of a leaf. */
	/* Virtual: */
	uint32_t vc;
	struct cell *root;   /* The cell of the VC that it is part of. */
	struct cell *mapped; /* Of a leaf: its GPU in a placement that is tried. */
	uint32_t vertex;     /* Of the binding tree; CELLS_NONE: none. */
};

struct cell_list {
	struct cell **items;
	size_t n, capacity;
};

/* A node, or a cell of a VC below a node. */
struct cell_node {
	struct cell *cell;
	uint32_t n_packed, n_higher, n_free;
	bool is_bad, is_suggested;
};

/*
 * Nodes in the order of the last search.  A VC packs all its gangs; opportunistic gangs
 * are packed among themselves, away from guaranteed ones.
 */
struct cell_view {
	VEC(struct cell_node) nodes;
	bool packs_all;
};

struct chain {
	struct cells_shape shape;
	uint32_t n_leaves[CELLS_LEVELS + 1];
	struct cell_list tops;
	/* By level.  'free' holds the largest cells that are not allocated to a VC. */
	struct cell_list free[CELLS_LEVELS + 1], bad[CELLS_LEVELS + 1];
	int64_t n_wanted[CELLS_LEVELS + 1]; /* Cells of all VCs, not allocated. */
	int64_t n_left[CELLS_LEVELS + 1];   /* Free ones, or inside free ones. */
	struct cell_view view;              /* For opportunistic gangs. */
};

/* What a VC owns in a chain, pinned cells apart. */
struct share {
	bool is_there;
	int64_t n_free[CELLS_LEVELS + 1];          /* Not allocated. */
	struct cell_list roots[CELLS_LEVELS + 1];  /* Its virtual cells. */
	struct cell_list doomed[CELLS_LEVELS + 1]; /* Bad ones it has to take. */
	struct cell_list order;                    /* All, in order of construction. */
	struct cell_view view;
};

struct vc {
	struct share *shares; /* By chain; owned. */
};

struct pinned {
	uint32_t vc;
	struct cell *physical, *root; /* 'root' is owned. */
	struct cell_view view;
};

struct gang {
	uint32_t id, vc, n_pods, n_leaves, chain;
	int32_t priority;
	bool is_lazy, is_reserving;
	bool is_virtual;               /* It has virtual cells. */
	uint32_t *pods;                /* GPUs of each; owned. */
	struct cell **leaves, **slots; /* Physical and virtual; owned. */
};

struct vertex {
	struct cell *cell;
	uint32_t first_child, last_child, next; /* CELLS_NONE: none. */
};

struct cells {
	VEC(struct chain) chains;
	VEC(struct vc) vcs;
	VEC(struct pinned) pinned;
	VEC(struct gang *) gangs; /* By number. */
	VEC(bool) bad_nodes;
	VEC(struct cell_list) node_leaves; /* By node. */
	/* A search. */
	VEC(uint32_t) pods, chosen;     /* GPUs, and the node in the view. */
	struct cell_list leaves, slots; /* Found: physical and virtual ones. */
	struct cell_list available;
	VEC(struct vertex) vertices;
	VEC(struct gang *) lazy;
};

/* cell.c: trees, lists and counts. */
void cell_build(struct cell *cell, const struct cells_shape *shape, uint32_t chain,
		uint32_t level, struct cell *parent);
void cell_fini(struct cell *cell);
struct cell *cell_above(struct cell *cell, uint32_t level);
struct cell *cell_first_leaf(struct cell *cell);
struct cell *cell_unbound(struct cell *const *cells, size_t n);
struct cell *cell_unbound_child(struct cell *cell);
void cell_list_remove(struct cell_list *list, const struct cell *cell);
bool cell_list_has(const struct cell_list *list, const struct cell *cell);
void cell_list_add_children(struct cell_list *list, struct cell *cell);
/* Sets the priority of a leaf, and counts it in the cells above. */
void cell_use(struct cell *leaf, int32_t priority);
void cell_tie(struct cell *physical, struct cell *slot); /* Binds two cells. */
void cell_untie(struct cell *physical);

/* cell_buddy.c: cells of the free lists for those of VCs; bad cells. */
/* Whether it is in a free list, or part of a cell that is. */
bool cell_is_free(const struct cell *cell);
/* Returns false if the free cells do not suffice any more for all VCs. */
bool cell_allocate(struct cells *cells, struct cell *cell, uint32_t vc, bool is_doomed);
void cell_release(struct cells *cells, struct cell *cell, uint32_t vc, bool is_doomed);

/* cell_view.c: nodes and GPUs for pods. */
void cell_view_init(struct cell_view *view, const struct cells_shape *shape,
		    const struct cell_list *cells);
/* Fills 'ret_leaves' for cells->pods; false: no room, or only on bad nodes. */
bool cell_view_place(struct cells *cells, struct cell_view *view, int32_t priority,
		     const bool *suggested, struct cell_list *ret_leaves);

/* cell_map.c: fills cells->leaves with the GPUs for cells->slots; false: none. */
bool cell_map(struct cells *cells, uint32_t chain, const bool *suggested);

/* gang.c: gangs and their cells. */
void gang_preempt_lazily(struct cells *cells, struct gang *gang);
void gang_revert_lazy(struct cells *cells, struct gang *gang);
void gang_reserve(struct cells *cells, const struct cells_request *request,
		  uint32_t chain);

#endif
