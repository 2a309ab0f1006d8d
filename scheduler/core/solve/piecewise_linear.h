/* SPDX-License-Identifier: Apache-2.0 */
/*
 * piecewise_linear.h - continuous piecewise-linear functions on a circle, by their
 * bends.
 *
 * The objective as a function of one job's shift is such a function: its second
 * derivative is a list of impulses (overlap.h), summed over links.  Its value at
 * 0 is not needed to find its minimum; all values here are relative to it.
 */
#ifndef SCHEDULER_CORE_SOLVE_PIECEWISE_LINEAR_H
#define SCHEDULER_CORE_SOLVE_PIECEWISE_LINEAR_H

#include "lib/base/rng.h"
#include "scheduler/core/solve/event.h"

struct piecewise_linear {
	struct event_list bends; /* As slopes; filled by the caller. */
	int64_t turn_us;         /* Length of the circle. */
	double tolerance;        /* Values closer than this are equal. */
	double *value;           /* Owned.  At each bend. */
	size_t value_capacity;
};

struct piecewise_linear_minimum {
	double gain;      /* f(0) - min f; at least 0. */
	int64_t at_us;    /* Center of the widest plateau at the minimum. */
	int64_t slack_us; /* Its half width. */
};

/* Empties it for a new function. */
void piecewise_linear_reset(struct piecewise_linear *f, int64_t turn_us);

/* Sorts the bends and computes the values.  Required by all functions below. */
void piecewise_linear_close(struct piecewise_linear *f);

/* Finds the minimum.  Of several widest plateaus, the first after 0. */
void piecewise_linear_minimize(const struct piecewise_linear *f,
			       struct piecewise_linear_minimum *ret_minimum);

/* Draws one of the lowest local minima; deterministic for a state of 'rng'. */
int64_t piecewise_linear_draw_minimum(const struct piecewise_linear *f,
				      struct rng *rng);

/* Largest s such that f does not exceed f(0) within [-s, s]. */
int64_t piecewise_linear_slack(const struct piecewise_linear *f);

void piecewise_linear_fini(struct piecewise_linear *f); /* Accepts a zeroed one. */

#endif
