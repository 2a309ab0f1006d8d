/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demand_levels.h - distribution of a demand over its levels.
 *
 * Demands whose periods have no useful common multiple take every relative
 * phase, so that only the distribution of their levels counts (exact in the
 * limit gcd -> 0).  Seen from jobs with the demand x, the excess that they
 * suffer on average is then a convex, piecewise-linear function of x:
 *
 *	phi(x) = sum_s p_s max(0, x + s - C)
 */
#ifndef SCHEDULER_CORE_SOLVE_DEMAND_LEVELS_H
#define SCHEDULER_CORE_SOLVE_DEMAND_LEVELS_H

#include <stddef.h>
#include <stdint.h>

struct step_function;

/* More levels are merged in pairs that keep the mean. */
#define DEMAND_LEVELS_MAX 512

struct demand_levels {
	size_t n;
	int64_t *level;    /* Owned, in one allocation with the others.  Ascending. */
	double *share;     /* Of the time; sums to 1. */
	double *tail;      /* Sum of 'share' from here on. */
	double *tail_mean; /* Sum of 'share' times 'level' from here on. */
};

/* Makes the levels of one step function. */
void demand_levels_of_step(const struct step_function *step,
			   struct demand_levels *ret_levels);

/* Replaces '*levels' by those of the sum with an independent 'other'. */
void demand_levels_add(struct demand_levels *levels, const struct demand_levels *other);

void demand_levels_fini(struct demand_levels *levels); /* Accepts a zeroed one. */

/* The excess caused by a demand. */
struct overlap_cost {
	int64_t capacity;
	const struct demand_levels
		*rest; /* Borrowed.  Independent demand; NULL: none. */
};

/* The mean excess if the demand is 'x', in units.  O(log levels). */
static inline int64_t overlap_cost_at(const struct overlap_cost *cost, int64_t x);

int64_t demand_levels_excess(const struct demand_levels *levels, int64_t room);

static inline int64_t
overlap_cost_at(const struct overlap_cost *cost, int64_t x)
{
	int64_t over = x - cost->capacity;

	if (cost->rest)
		return demand_levels_excess(cost->rest, -over);
	return over > 0 ? over : 0;
}

#endif
