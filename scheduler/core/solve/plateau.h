/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plateau.h - the widest interval in which a piecewise-linear function stays low.
 *
 * Between two bends the function is at most as high as at the higher one, so only runs
 * of low bends are considered.  Inline, as the caller's own numbers define "low", in
 * the innermost loop of the solver.
 */
#ifndef SCHEDULER_CORE_SOLVE_PLATEAU_H
#define SCHEDULER_CORE_SOLVE_PLATEAU_H

#include <stdbool.h>

#include "scheduler/core/solve/event.h"

struct plateau {
	int64_t at_us;    /* Its middle, from 0 to the turn. */
	int64_t slack_us; /* Half its width. */
};

/*
 * The widest plateau; among equals, the first after the first bend that is not low; if
 * all are low, it is at 0 and spans everything.  'bends' are sorted, and before
 * 'turn_us'; is_low() takes the index of a bend.  O(bends).
 */
static inline struct plateau
plateau_widest(const struct event_list *bends, int64_t turn_us,
	       bool (*is_low)(const void *ctx, size_t bend), const void *ctx)
{
	const struct event *at = bends->items;
	size_t n = bends->n, first = 0;
	int64_t best_us = -1, best_from_us = 0, from_us = 0;
	bool is_inside = false;

	/* Begins after a bend that is not low, so that no run wraps. */
	while (first < n && is_low(ctx, first))
		first++;
	if (first == n)
		return (struct plateau){ 0, turn_us / 2 };
	for (size_t i = 1; i < n; i++) {
		bool is_wrapped = first + i >= n;
		size_t k = is_wrapped ? first + i - n : first + i;
		int64_t to_us = at[k].at_us + (is_wrapped ? turn_us : 0);

		if (!is_low(ctx, k)) {
			is_inside = false;
			continue;
		}
		if (!is_inside)
			from_us = to_us;
		is_inside = true;
		if (to_us - from_us > best_us) {
			best_us = to_us - from_us;
			best_from_us = from_us;
		}
	}
	return (struct plateau){ (best_from_us + best_us / 2) % turn_us, best_us / 2 };
}

#endif
