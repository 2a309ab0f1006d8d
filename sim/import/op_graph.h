/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_graph.h - the operations of all ranks as a few steps that depend on each other
 *
 * A trace has a node for each rank and operation, a scenario a segment for what the
 * ranks do together.  Four reductions lead from one to the other:
 *
 *	1  The nodes of a collective on all its ranks are one vertex; ranks that disagree
 *	   on it are an error.  A message starts when its sender is ready, and its receive
 *	   is over when it has arrived.
 *	2  Computing that only follows computing is one vertex with the sum of the times.
 *	3  What takes no time passes its dependencies on.
 *	4  Vertices of different ranks and groups are one step if they start after the
 *	   same steps and do the same: the same collective of as many bytes over groups
 *	   of one shape, messages of as many bytes to ranks as far away, or computing
 *	   whose times differ by at most a tenth.  A step takes as long as its slowest
 *	   rank.
 *
 * Last, dependencies that follow from others are dropped.
 *
 * Pure.
 */
#ifndef SIM_IMPORT_OP_GRAPH_H
#define SIM_IMPORT_OP_GRAPH_H

#include "sim/import/op_table.h"

#define OP_MAX_STEPS 4096

/* Ranks 'from' to 'to', each 'step'-th; of a message: its two ranks, 'step' 0. */
struct op_ranks {
	uint32_t from, to, step;
};

struct op_step {
	const struct op *op; /* Borrowed: the first one of it. */
	int64_t ns;          /* Of computing, else 0. */
	double bytes;        /* Of the message, else 0. */
	struct op_ranks *
		groups; /* Owned.  Of a collective: its groups; of messages: their ranks. */
	size_t n_groups;
	uint32_t *needs; /* Owned.  Earlier steps, ascending. */
	size_t n_needs;
};

struct op_graph {
	struct op_step *steps; /* Owned.  Each after those that it needs. */
	size_t n;
};

/*
 * Makes the steps of a finished table, which has to outlive them.  Returns 0, or
 * -EINVAL or -E2BIG with 'err' filled: cycles, ranks that disagree, messages without
 * a receiver, groups whose ranks are at no fixed distance, too many steps.  Release
 * with op_graph_fini(), which accepts a zeroed one.
 */
int op_graph_make(const struct op_table *table, struct op_graph *ret_graph,
		  struct err *err);
void op_graph_fini(struct op_graph *graph);

#endif
