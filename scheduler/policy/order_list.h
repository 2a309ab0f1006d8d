/*
 * order_list.h - the jobs that an order has been told of, in the order in which they came.
 *
 * What most orders keep.  Taking out is by compaction at the next walk, so that many
 * completions at once cost no more than one.
 */
#ifndef SCHEDULER_POLICY_ORDER_LIST_H
#define SCHEDULER_POLICY_ORDER_LIST_H

#include "lib/base/vec.h"
#include "scheduler/policy/mechanism.h"

struct order_list {
	VEC(uint32_t) ids;
};

void order_list_fini(struct order_list *list);
/* POL_ARRIVED appends, POL_DONE takes out; others do nothing. */
void order_list_event(struct order_list *list, enum pol_event event, uint32_t id);

/*
 * Sorts ids by keys[id], ascending, and otherwise leaves them as they are.  O(n log n);
 * O(n) for few runs.  'scratch' has room for n.
 */
void order_sort(uint32_t *ids, uint32_t n, const double *keys, uint32_t *scratch);

#endif
