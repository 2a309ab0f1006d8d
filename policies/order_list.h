/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order_list.h - the jobs of an order, in order of arrival, and sorting by keys.
 */
#ifndef POLICIES_ORDER_LIST_H
#define POLICIES_ORDER_LIST_H

#include "lib/base/vec.h"
#include "policies/mechanism.h"

struct order_list {
	VEC(uint32_t) ids;
	VEC(double) keys; /* By id; see order_list_keys(). */
	VEC(uint32_t) scratch;
};

void order_list_fini(struct order_list *list);
/* POL_ARRIVED appends, POL_DONE takes out; others do nothing. */
void order_list_event(struct order_list *list, enum pol_event event, uint32_t id);
/* The same as a module's on_event; 'state' begins with its list. */
void order_list_on_event(void *state, const struct pol_view *view, enum pol_event event,
			 const struct pol_job *job);

/* Returns the keys, by id, with room for each id of the view; keeps their values. */
double *order_list_keys(struct order_list *list, const struct pol_view *view);
/* Sorts the list by its keys.  Later ties keep this order. */
void order_list_sort(struct order_list *list);
/* Sorts 'n' ids elsewhere by the list's keys. */
void order_list_sort_ids(struct order_list *list, uint32_t *ids, uint32_t n);
/* Copies the list; returns its length. */
uint32_t order_list_copy(const struct order_list *list, uint32_t *ret_ids);

/*
 * Sorts ids by keys[id], ascending; stable.  O(n log n), O(n) for few runs.  'scratch'
 * has room for n.
 */
void order_sort(uint32_t *ids, uint32_t n, const double *keys, uint32_t *scratch);

#endif
