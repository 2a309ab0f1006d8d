/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/import/op_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/sort.h"

#define MAX_BYTES 1e15 /* Of one segment. */

void
op_table_init(struct op_table *table)
{
	memset(table, 0, sizeof *table);
	table->names = strtab_new();
	table->groups = strtab_new();
	table->files = strtab_new();
}

void
op_table_fini(struct op_table *table)
{
	vec_free(&table->ops);
	vec_free(&table->needs);
	strtab_free(table->names);
	strtab_free(table->groups);
	strtab_free(table->files);
}

int
op_table_fail(const struct op_table *table, const struct op *op, struct err *err,
	      const char *fmt, ...)
{
	char text[sizeof err->text];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	return err_set(err, strtab_name(table->files, op->file), op->line, 0,
		       "node %" PRIu64 " '%s' of rank %u: %s", op->id,
		       strtab_name(table->names, op->name), op->rank, text);
}

int
op_table_add(struct op_table *table, const struct op *op, const uint64_t *needs,
	     size_t n, struct err *err)
{
	struct op made = *op;

	if (op->rank >= OP_MAX_RANKS)
		return op_table_fail(table, op, err, "expected ranks below %d",
				     OP_MAX_RANKS);
	if (op->ns < 0 || op->ns > OP_MAX_DURATION)
		return op_table_fail(table, op, err,
				     "expected a duration of at most an hour");
	if (!(op->bytes >= 0 && op->bytes <= MAX_BYTES))
		return op_table_fail(table, op, err,
				     "expected a size of 0 B to 1000 TB");
	if (table->ops.n >= OP_MAX_OPS || n > OP_MAX_NEEDS - table->needs.n) {
		op_table_fail(table, op, err,
			      "expected at most %d nodes with %d dependencies in all; "
			      "import one iteration of the trace",
			      OP_MAX_OPS, OP_MAX_NEEDS);
		return -E2BIG;
	}
	made.first = (uint32_t)table->needs.n;
	made.n_needs = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		vec_push(&table->needs, needs[i]);
	vec_push(&table->ops, made);
	return 0;
}

/* By rank, then in the order of the file, which is that of 'first' and the addition. */
static int
by_rank(const void *a, const void *b)
{
	const struct op *x = *(const struct op *const *)a;
	const struct op *y = *(const struct op *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int
by_id(const void *a, const void *b)
{
	const struct op *x = *(const struct op *const *)a;
	const struct op *y = *(const struct op *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Puts the operations in the order of their ranks, and checks that none is missing. */
static int
sort_ranks(struct op_table *table, struct err *err)
{
	size_t n = table->ops.n;
	const struct op **order = xcalloc(n + 1, sizeof *order);
	struct op *sorted = xcalloc(n + 1, sizeof *sorted);
	uint32_t next = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		order[i] = &table->ops.items[i];
	sort_items(order, n, by_rank);
	for (size_t i = 0; i < n && r == 0; i++) {
		sorted[i] = *order[i];
		if (sorted[i].rank > next)
			r = op_table_fail(table, &sorted[i], err,
					  "rank %u has no operations; expected all "
					  "ranks from 0 on",
					  next);
		next = sorted[i].rank + 1;
	}
	if (r == 0)
		memcpy(table->ops.items, sorted, n * sizeof *sorted);
	table->n_ranks = next;
	free(order);
	free(sorted);
	return r;
}

static int
resolve_needs(struct op_table *table, struct op **by_ids, const struct op *op,
	      struct err *err)
{
	for (uint32_t k = 0; k < op->n_needs; k++) {
		uint64_t *need = &table->needs.items[op->first + k];
		const struct op key = { .id = *need, .rank = op->rank };
		const struct op *wanted = &key;
		struct op **found =
			bsearch(&wanted, by_ids, table->ops.n, sizeof *by_ids, by_id);

		if (!found)
			return op_table_fail(table, op, err,
					     "it depends on node %" PRIu64
					     ", which this rank does not have",
					     *need);
		*need = (uint64_t)(*found - table->ops.items);
	}
	return 0;
}

int
op_table_finish(struct op_table *table, struct err *err)
{
	size_t n = table->ops.n;
	struct op **by_ids;
	int r;

	if (!n)
		return err_set(err,
			       strtab_n(table->files) ? strtab_name(table->files, 0)
						      : NULL,
			       0, 0, "no operations; expected at least one");
	r = sort_ranks(table, err);
	if (r < 0)
		return r;
	by_ids = xcalloc(n, sizeof *by_ids);
	for (size_t i = 0; i < n; i++)
		by_ids[i] = &table->ops.items[i];
	sort_items(by_ids, n, by_id);
	for (size_t i = 1; i < n && r == 0; i++)
		if (by_id(&by_ids[i - 1], &by_ids[i]) == 0)
			r = op_table_fail(
				table, by_ids[i], err,
				"there is a node with this id already, '%s'",
				strtab_name(table->names, by_ids[i - 1]->name));
	for (size_t i = 0; i < n && r == 0; i++)
		r = resolve_needs(table, by_ids, &table->ops.items[i], err);
	free(by_ids);
	return r;
}
