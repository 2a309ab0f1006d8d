/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cells.h - GPUs as cells, shared by virtual clusters (HiveD, OSDI 2020).
 *
 * A cell is a GPU, or some equal cells that are near one another: GPU, PCIe switch,
 * socket, node, rack.  Cells of one shape form a chain; level 1 is a GPU.  A virtual
 * cluster (VC) owns numbers of cells, by chain and level, and perhaps particular cells
 * (pinned).  Its gangs are placed in virtual cells; a virtual cell gets a physical one
 * by buddy allocation when its first GPU is used, and gives it back with the last.  So
 * a VC gets what it would get from a private cluster of its cells.
 *
 * A gang of priority 0 or more is guaranteed: it uses cells of its VC. A gang of lower
 * priority in the same VC may have to yield.  If it allows lazy preemption, it loses
 * its virtual cells only, and stops when another gang needs the physical ones.
 * An opportunistic gang (priority -1) uses any free GPUs, and stops when a guaranteed
 * gang needs them.
 *
 * Order of calls: chains, physical cells, VCs, quotas and pinned cells, cells_ready();
 * then gangs and nodes.  Numbers count from 0, in order of the calls.  Pure and
 * deterministic.
 *
 * The rules follow microsoft/hivedscheduler 66f26ac.
 */
#ifndef POLICIES_HIVED_CELLS_H
#define POLICIES_HIVED_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

#define CELLS_LEVELS        9 /* Most levels of a chain. */
#define CELLS_NONE          UINT32_MAX
#define CELLS_OPPORTUNISTIC (-1)
#define CELLS_MAX_PRIORITY  1000

struct cells;

/* ---- The cluster ----------------------------------------------------------------- */

struct cells_shape {
	uint32_t leaf_type;            /* The caller's number of its GPUs' type. */
	uint32_t n_levels, node_level; /* node_level: of a whole node. */
	uint32_t n_children[CELLS_LEVELS + 1]; /* By level, from 2 on; 2 or more. */
};

/* A GPU of a node. */
struct cells_leaf {
	uint32_t node, index;
};

struct cells *cells_new(void);
void cells_free(struct cells *cells); /* Accepts NULL. */

/* Chains of the same GPUs are searched in their order. */
void cells_add_chain(struct cells *cells, const struct cells_shape *shape);
/* Adds a cell of the highest level; 'leaves': all its GPUs, in the order of its tree. */
void cells_add_physical(struct cells *cells, uint32_t chain,
			const struct cells_leaf *leaves);
void cells_add_vc(struct cells *cells);
void cells_add_quota(struct cells *cells, uint32_t vc, uint32_t chain, uint32_t level,
		     uint32_t n);
/* Pins the cell of this level with this GPU to a VC. */
void cells_pin(struct cells *cells, uint32_t vc, uint32_t chain, uint32_t level,
	       struct cells_leaf leaf);
/* Returns 0, or -EINVAL: the cells of all VCs do not fit into the physical ones. */
int cells_ready(struct cells *cells);

/* Gangs are not placed on a bad node; those that are there stay.  All begin healthy. */
void cells_set_node(struct cells *cells, uint32_t node, bool is_healthy);

/* ---- Gangs ----------------------------------------------------------------------- */

/* Some pods that need GPUs of one node each. */
struct cells_member {
	uint32_t n_pods, n_leaves;
};

struct cells_request {
	uint32_t gang;      /* The caller's number; small. */
	uint32_t vc;        /* Also of an opportunistic gang. */
	uint32_t pinned;    /* A pinned cell; CELLS_NONE: none. */
	uint32_t leaf_type; /* CELLS_NONE: any. */
	int32_t priority;
	bool is_lazy; /* Allows lazy preemption. */
	const struct cells_member *members;
	uint32_t n_members;
	const bool *suggested; /* By node; NULL: all.  Other nodes are not used. */
};

/* The GPUs of a gang: all that is needed to place it again in another cluster. */
struct cells_placement {
	uint32_t chain;
	VEC(uint32_t) pods;            /* GPUs of each pod, ascending. */
	VEC(struct cells_leaf) leaves; /* Pod by pod. */
	VEC(uint32_t) roots;           /* By GPU: size of the VC's cell; 0: none. */
};

enum cells_outcome {
	CELLS_WAITS,    /* There is no placement. */
	CELLS_FITS,     /* Its GPUs are free. */
	CELLS_PREEMPTS, /* Other gangs have to end first. */
};

struct cells_answer {
	struct cells_placement placement;
	VEC(uint32_t) victims; /* Gangs that have to end first. */
};

void cells_answer_fini(struct cells_answer *answer);

/*
 * Finds GPUs for a new gang.  Lazy preemption happens at once.  Returns an outcome, or
 * -EINVAL for a request that can never be met: unknown VC, pinned cell or type of GPUs,
 * or a priority out of range.
 */
int cells_find(struct cells *cells, const struct cells_request *request,
	       struct cells_answer *ret_answer);
/*
 * The same; if other gangs have to end first, reserves their GPUs.  Gangs that had
 * reserved some of them lose their reservation.
 */
int cells_claim(struct cells *cells, const struct cells_request *request,
		struct cells_answer *ret_answer);
/*
 * Continues a gang with a reservation.  CELLS_WAITS: it lost the reservation since some
 * of its nodes are bad or not suggested.
 */
int cells_resume(struct cells *cells, uint32_t gang, const bool *suggested,
		 struct cells_answer *ret_answer);
/* Gives a gang the GPUs of 'placement', or those that it had reserved. */
void cells_begin(struct cells *cells, const struct cells_request *request,
		 const struct cells_placement *placement);
/* Frees the GPUs of a gang, or its reservation. */
void cells_end(struct cells *cells, uint32_t gang);

enum cells_hold {
	CELLS_ABSENT,
	CELLS_GUARANTEED, /* In virtual cells. */
	CELLS_AT_WILL,    /* Opportunistic, or preempted lazily. */
	CELLS_RESERVING,
};

enum cells_hold cells_hold(const struct cells *cells, uint32_t gang);

#endif
