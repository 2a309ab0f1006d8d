/*
 * bend.h - a continuous, piecewise-linear function on a circle, by its bends.
 *
 * The objective as a function of one job's shift is such a function: its second
 * derivative is a list of impulses (overlap.h), summed over links.  Its value at
 * 0 is not needed to find its minimum; all values here are relative to it.
 */
#ifndef SCHEDULER_CORE_SOLVE_BEND_H
#define SCHEDULER_CORE_SOLVE_BEND_H

#include "lib/base/rng.h"
#include "scheduler/core/solve/event.h"

struct bend_function {
	struct event_list bends; /* As slopes; filled by the user of this. */
	int64_t turn_us;         /* Length of the circle. */
	double tolerance;        /* Values closer than that are equal. */
	double *value;           /* Owned.  At each bend. */
	size_t value_capacity;
};

struct bend_minimum {
	double gain;      /* f(0) - min f; at least 0. */
	int64_t at_us;    /* Centre of the widest plateau at the minimum. */
	int64_t slack_us; /* Its half width. */
};

/* Empties it for a new function. */
void bend_function_reset(struct bend_function *f, int64_t turn_us);

/* Sorts the bends and computes the values.  Before any of the below. */
void bend_function_close(struct bend_function *f);

/* Finds the minimum.  Of several widest plateaus, the first after 0. */
void bend_function_minimize(const struct bend_function *f,
			    struct bend_minimum *ret_minimum);

/* One of the lowest local minima, the same for the same state of 'rng'. */
int64_t bend_function_draw_minimum(const struct bend_function *f, struct rng *rng);

/* Largest s such that f is nowhere above f(0) within [-s, s]. */
int64_t bend_function_slack(const struct bend_function *f);

void bend_function_fini(struct bend_function *f); /* Accepts a zeroed one. */

#endif
