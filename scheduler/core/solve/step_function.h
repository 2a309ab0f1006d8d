/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_function.h - periodic step functions with integer times and levels.
 *
 * A job's demand on a link is such a function, and so is the sum of the demands
 * of jobs whose periods have a short common multiple.  Levels are integers, in
 * a unit that is a power of two of bits per second: sums are exact and do not
 * depend on their order, and rates that are whole bits per second lose nothing.
 */
#ifndef SCHEDULER_CORE_SOLVE_STEP_FUNCTION_H
#define SCHEDULER_CORE_SOLVE_STEP_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/solve/event.h"

struct profile;

/* Levels, and all sums of levels on one link, stay below 2^STEP_FUNCTION_LEVEL_BITS. */
#define STEP_FUNCTION_LEVEL_BITS 46
/* No common period longer than this (19 hours) is ever walked. */
#define STEP_FUNCTION_MAX_PERIOD_US (INT64_C(1) << 36)

struct step_function {
	int64_t period_us;
	size_t n;         /* Pieces; at least 1. */
	int64_t *from_us; /* Begin of each; ascending, in [0, period). */
	int64_t *level;   /* Until the next begins; the last one wraps. */
};

/* A step function delayed by a shift, as a term of a sum. */
struct step_function_term {
	const struct step_function *step;
	int64_t shift_us; /* Any. */
};

/* Memory for a step function that is computed repeatedly. */
struct step_function_room {
	struct step_function step;
	size_t capacity;
	struct event_list edges;
};

int64_t period_gcd(int64_t a_us, int64_t b_us);
/* The least common multiple, or 0 if it is above 'limit_us'. */
int64_t period_lcm(int64_t a_us, int64_t b_us, int64_t limit_us);
/* The remainder in [0, period). */
int64_t period_mod(int64_t t_us, int64_t period_us);

/* The unit for a link on which no sum of demands exceeds 'max_bps'. */
double step_function_unit_bps(double max_bps);

/* An upper bound of the pieces that step_function_from_profile() makes. */
size_t step_function_max_pieces(const struct profile *profile);

/*
 * Fills '*step', whose arrays have room for step_function_max_pieces(), with the
 * demand of 'profile' times 'factor'.
 */
void step_function_from_profile(const struct profile *profile, double factor,
				double unit_bps, struct step_function *step);

/* The level at time 't_us'.  O(log n). */
int64_t step_function_at(const struct step_function *step, int64_t t_us);

/* Sum of the absolute changes over a period. */
int64_t step_function_variation(const struct step_function *step);

/* Largest level. */
int64_t step_function_peak(const struct step_function *step);

/* Mean level. */
double step_function_mean(const struct step_function *step);

/*
 * Sums 'n' terms over 'period_us', a multiple of all their periods, into
 * 'room->step', which is valid until the next sum into the same room.
 * O(N log N) in the number of pieces over that period.
 */
void step_function_sum(const struct step_function_term *terms, size_t n,
		       int64_t period_us, struct step_function_room *room);
void
step_function_room_fini(struct step_function_room *room); /* Accepts a zeroed one. */

#endif
