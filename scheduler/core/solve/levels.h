/*
 * levels.h - how much of its time a demand spends at which level.
 *
 * Demands whose periods have no useful common multiple meet in every relative
 * phase, so that only the distribution of their levels counts (exact in the
 * limit gcd -> 0).  Seen from jobs with the demand x, the excess that they
 * suffer on average is then a convex, piecewise-linear function of x:
 *
 *	phi(x) = sum_s p_s max(0, x + s - C)
 */
#ifndef SCHEDULER_CORE_SOLVE_LEVELS_H
#define SCHEDULER_CORE_SOLVE_LEVELS_H

#include <stddef.h>
#include <stdint.h>

struct step;

/* More levels than that are merged in pairs that keep the mean. */
#define LEVELS_MAX 512

struct levels {
	size_t n;
	int64_t *level;    /* Owned, with the memory of the others.  Ascending. */
	double *share;     /* Of the time; sums to 1. */
	double *tail;      /* Sum of 'share' from here on. */
	double *tail_mean; /* Sum of 'share' times 'level' from here on. */
};

/* Makes '*ret_levels' those of one step function. */
void levels_of_step(const struct step *step, struct levels *ret_levels);

/* Replaces '*levels' by those of its sum with independent 'other'. */
void levels_add(struct levels *levels, const struct levels *other);

void levels_fini(struct levels *levels); /* Accepts a zeroed one. */

/* What excess a demand costs. */
struct overlap_cost {
	int64_t capacity;
	const struct levels *rest; /* Borrowed.  Independent demand; NULL: none. */
};

/* The mean excess if the demand is 'x', in units.  O(log levels). */
static inline int64_t overlap_cost_at(const struct overlap_cost *cost, int64_t x);

int64_t levels_excess(const struct levels *levels, int64_t room);

static inline int64_t
overlap_cost_at(const struct overlap_cost *cost, int64_t x)
{
	int64_t over = x - cost->capacity;

	if (cost->rest)
		return levels_excess(cost->rest, -over);
	return over > 0 ? over : 0;
}

#endif
