/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_match.h - which operations of different ranks belong together: the members of a
 * collective, and a send and its receive
 *
 * Pure.
 */
#ifndef SIM_IMPORT_OP_MATCH_H
#define SIM_IMPORT_OP_MATCH_H

#include "sim/import/op_graph.h"

struct op_match {
	uint32_t *vertex_of; /* Owned.  By operation: the first one that is the same. */
	uint32_t *
		send_of; /* Owned.  By operation: of a receive, its send; else itself. */
	/* Owned.  By group of the table, the last one: of all ranks. */
	struct op_ranks *groups;
};

/*
 * Returns 0, or -EINVAL with 'err' filled.  Release with op_match_fini(), which accepts
 * a zeroed one.  O(n log n).
 */
int op_match_make(const struct op_table *table, struct op_match *ret_match,
		  struct err *err);
void op_match_fini(struct op_match *match);

#endif
