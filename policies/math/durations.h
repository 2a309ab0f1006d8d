/* SPDX-License-Identifier: Apache-2.0 */
/*
 * durations.h - durations of ended jobs, and how likely a job is to end soon
 *
 * Kept sorted, for each size and for all.  durations_add() O(number), a move of memory;
 * durations_end_chance() O(log number + sizes).
 */
#ifndef POLICIES_MATH_DURATIONS_H
#define POLICIES_MATH_DURATIONS_H

#include <stdint.h>

#include "lib/base/vec.h"

struct durations_of_size;

/* All zero: none. */
struct durations {
	VEC(struct durations_of_size *) sizes; /* Owned; the first is of all jobs. */
};

void durations_free(struct durations *durations); /* What it has. */

void durations_add(struct durations *durations, uint32_t n_gpus, double duration_s);

/*
 * Of the jobs that took longer than 'executed_s', the share that took at most 'more_s'
 * more: of those with 'n_gpus' if there are at least 'least', else of all; 0 if there is
 * none.
 */
double durations_end_chance(const struct durations *durations, uint32_t n_gpus,
			    double executed_s, double more_s, size_t least);

#endif
