/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid.h - the excess of one link in time slots, for all places of a job at once.
 *
 * The common period of the jobs of a link is cut into slots, a demand is its
 * mean over each slot, as a small whole number, and jobs are late by whole slots.
 * With 'total' the sum of all jobs but one, whose demand is d, that job adds
 *
 *	sum_t max(0, d(t) - max(0, C - total(t + s)))
 *
 * to the excess if it is late by s slots: one saturating subtraction a slot in which
 * it sends, for many s at once.  Costs are in levels, summed over slots.
 */
#ifndef SCHEDULER_CORE_GRID_H
#define SCHEDULER_CORE_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/solve/step_function.h"

#define GRID_MAX_SLOTS 2048
/* Places evaluated in one line; the number of slots is a multiple of it. */
#define GRID_SPAN 64

/* A job's demand in slots. */
struct grid_job {
	uint16_t slot;                      /* Its delay. */
	uint16_t n_places;                  /* Slots after which it repeats, or more. */
	uint16_t n_pulses;                  /* Slots in which it sends. */
	uint16_t at[GRID_MAX_SLOTS];        /* These slots. */
	uint16_t level[GRID_MAX_SLOTS];     /* Its demand in these. */
	int16_t demand[2 * GRID_MAX_SLOTS]; /* By slot, stored twice. */
};

struct grid {
	size_t n_slots, n_jobs;
	struct grid_job *jobs; /* Owned. */
	double scale;          /* Levels in one unit of the demands. */
	int16_t capacity;
	bool has_avx2;
	int16_t total[GRID_MAX_SLOTS]; /* Sum of the jobs on the link. */
	/* For the lifted job: max(0, capacity - others), stored more than twice. */
	int16_t room[2 * GRID_MAX_SLOTS + GRID_SPAN];
	uint64_t work;            /* Pulses evaluated so far. */
	uint16_t cost[GRID_SPAN]; /* Of the last line. */
};

/*
 * Makes an empty grid of 'n_slots' (a multiple of GRID_SPAN).  All periods divide
 * 'period_us'.
 */
void grid_init(struct grid *grid, const struct step_function *const *steps,
	       size_t n_jobs, size_t n_slots, int64_t period_us, int64_t capacity);
void grid_fini(struct grid *grid);

/* Adds job j at its slot, or removes it. */
void grid_put(struct grid *grid, size_t j, bool is_off);

/* Moves job j, which is on the grid. */
void grid_move(struct grid *grid, size_t j, size_t slot);

/* Computes the room for job j, which is on the grid; required before grid_line(). */
void grid_lift(struct grid *grid, size_t j);

/*
 * Fills 'cost' with the excess that job j, just lifted, would add at slots 'first_slot'
 * (below n_slots) and the GRID_SPAN - 1 after it.
 */
void grid_line(struct grid *grid, size_t j, size_t first_slot);

/* The first of the cheapest places of the last line, as an index into 'cost'. */
size_t grid_cheapest(const struct grid *grid);

/* The excess of the jobs on the grid. */
int32_t grid_excess(const struct grid *grid);

#endif
