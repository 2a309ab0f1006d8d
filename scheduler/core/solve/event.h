/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - lists of changes at integer times, and their sort.
 *
 * The edges of a step function and the bends of a piecewise-linear function are
 * both lists of (time, change).  They are short (tens to thousands), their
 * times have 20 or so significant bits, and they are sorted in the innermost
 * loop of the solver: so by insertion when few, into buckets when spread out, else
 * by radix.  Sorting is stable, so equal input gives equal bytes.
 */
#ifndef SCHEDULER_CORE_SOLVE_EVENT_H
#define SCHEDULER_CORE_SOLVE_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct event {
	int64_t at_us; /* At least 0. */

	union {
		int64_t level; /* Change of a level or slope, exactly. */
		double slope;  /* The same as a real number. */
	};
};

struct event_list {
	struct event *items; /* Owned. */
	struct event *spare; /* Owned.  Room for sorting. */
	size_t n;
	size_t capacity;       /* Of 'items'. */
	size_t spare_capacity; /* Of 'spare'. */
};

/* Accepts a zeroed one. */
void event_list_fini(struct event_list *list);

/* Makes room for 'more' further events. */
void event_list_reserve(struct event_list *list, size_t more);

/*
 * Sorts by time; all times are below 'bound_us'.  Stable; O(n) if
 * they are spread out, else O(n log bound).
 */
void event_list_sort(struct event_list *list, int64_t bound_us);

#endif
