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
/* The places that one line looks at, and what slots come in multiples of. */
#define GRID_SPAN 64

/* A job in slots. */
struct grid_job {
	uint16_t slot;                      /* How late it is. */
	uint16_t n_places;                  /* Slots after which it repeats, or more. */
	uint16_t n_pulses;                  /* Slots in which it sends. */
	uint16_t at[GRID_MAX_SLOTS];        /* Which these are, */
	uint16_t level[GRID_MAX_SLOTS];     /* and what it sends there. */
	int16_t demand[2 * GRID_MAX_SLOTS]; /* The same in each slot, twice. */
};

struct grid {
	size_t n_slots, n_jobs;
	struct grid_job *jobs; /* Owned. */
	double scale;          /* Levels in one unit of the demands. */
	int16_t capacity;
	bool has_avx2;
	int16_t total[GRID_MAX_SLOTS]; /* Of all jobs that are there. */
	/* For the job that was lifted: max(0, capacity - others), twice and more. */
	int16_t room[2 * GRID_MAX_SLOTS + GRID_SPAN];
	uint64_t work;            /* Pulses looked at so far. */
	uint16_t cost[GRID_SPAN]; /* Of the last line. */
};

/*
 * Makes a grid of 'n_slots' (a multiple of GRID_SPAN) on which none of the jobs
 * is yet.  All periods divide 'period_us'.
 */
void grid_init(struct grid *grid, const struct step_function *const *steps,
	       size_t n_jobs, size_t n_slots, int64_t period_us, int64_t capacity);
void grid_fini(struct grid *grid);

/* Puts job j on the link at its slot, or takes it off. */
void grid_put(struct grid *grid, size_t j, bool is_off);

/* Moves job j, which is there. */
void grid_move(struct grid *grid, size_t j, size_t slot);

/* Makes the room that job j, which is there, would have; before grid_line(). */
void grid_lift(struct grid *grid, size_t j);

/*
 * Fills 'cost' with what job j, just lifted, would add at slots 'first_slot'
 * (below n_slots) and the GRID_SPAN - 1 after that.
 */
void grid_line(struct grid *grid, size_t j, size_t first_slot);

/* The first of the cheapest of the last line, as an index into 'cost'. */
size_t grid_cheapest(const struct grid *grid);

/* The excess of the jobs that are there. */
int32_t grid_excess(const struct grid *grid);

#endif
