/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_table.h - operations of a training program, rank by rank, as execution traces list
 * them
 *
 * What all readers fill and op_graph.h turns into segments, so that a further format
 * needs a reader only.  An operation belongs to one rank, has an id that is unique
 * there, and starts when those of its rank that it depends on have ended.  A collective
 * is there once for each of its ranks; the n-th of a group on one rank is the n-th of
 * that group on all others.
 *
 * Pure.
 */
#ifndef SIM_IMPORT_OP_TABLE_H
#define SIM_IMPORT_OP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "topology/collective_phases.h"

struct err;

/* Limits of traces from outside, all ranks together. */
#define OP_MAX_RANKS    65536
#define OP_MAX_OPS      1000000
#define OP_MAX_NEEDS    8000000
#define OP_MAX_NAME     63                     /* Longer names are cut. */
#define OP_MAX_DURATION INT64_C(3600000000000) /* ns: an hour, as of a segment. */

enum op_kind {
	OP_COMPUTE, /* 'ns' of work within the rank; 0: only an order. */
	OP_COLLECTIVE,
	OP_SEND, /* To 'peer'. */
	OP_RECV, /* From 'peer'; the n-th with a tag is the n-th that was sent. */
};

struct op {
	uint64_t id;
	enum op_kind kind;
	enum collective_op collective; /* COLLECTIVE_OP_NONE: a barrier. */
	uint32_t rank, peer;
	uint32_t tag;
	uint32_t name,
		group; /* In 'names' and 'groups'; group STRTAB_NONE: all ranks. */
	uint32_t file; /* In 'files'. */
	unsigned line; /* 0: the file has no lines. */
	int64_t ns;
	double bytes;   /* Of the message: see collective_phases.h. */
	bool is_part;   /* 'bytes' is the part of each rank instead. */
	uint32_t first; /* Its needs: needs[first .. first + n_needs]. */
	uint32_t n_needs;
};

struct op_table {
	VEC(struct op) ops;
	VEC(uint64_t) needs; /* Ids; after op_table_finish(): numbers of operations. */
	struct strtab *names, *groups, *files; /* Owned. */
	uint32_t n_ranks;                      /* Set by op_table_finish(). */
};

void op_table_init(struct op_table *table);
void op_table_fini(struct op_table *table);

/*
 * Adds an operation with 'n' ids that it needs; 'first' and 'n_needs' are filled.
 * Returns 0, or -E2BIG or -EINVAL with 'err' filled.
 */
int op_table_add(struct op_table *table, const struct op *op, const uint64_t *needs,
		 size_t n, struct err *err);

/*
 * Sorts by rank, in the order of the file, and finds the operations that are needed.
 * Returns 0, or -EINVAL with 'err' filled: missing ranks, ids that occur twice or not
 * at all.  Call it once.  O(n log n).
 */
int op_table_finish(struct op_table *table, struct err *err);

/* Fills 'err' with "FILE:LINE: node ID 'NAME' of rank R: TEXT".  Returns -EINVAL. */
int op_table_fail(const struct op_table *table, const struct op *op, struct err *err,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
