/* SPDX-License-Identifier: Apache-2.0 */
/*
 * knapsack.h - multiple-choice knapsack problem with one or several sacks.
 *
 *	largest sum of the values of the taken choices, where
 *	at most one choice of each class is taken, and
 *	the weights of the choices taken into a sack are at most its capacity
 *
 * A choice names its class, a sack, and its weight there: a number of GPUs of a type for
 * a job, or more servers for a job.
 *
 * Exact to a relative 1e-9, by dynamic programming over the used capacities, class by
 * class: O(choices x product of (capacity + 1)) time and, for each class, as many states
 * of memory at worst.  A Lagrangian bound (Everett, Operations Research 11, 1963) drops
 * states that cannot beat the best solution known, which are most.  Deterministic.
 */
#ifndef POLICIES_MATH_KNAPSACK_H
#define POLICIES_MATH_KNAPSACK_H

#include <stdint.h>

#define KNAPSACK_NONE       UINT32_MAX
#define KNAPSACK_MAX_STATES (8u << 20) /* In all; 16 bytes each. */

struct knapsack_choice {
	uint32_t class, sack, weight;
	double value; /* Finite.  Choices of 0 or less are never taken. */
};

/*
 * Choices of a class are consecutive, and classes ascend.  ret_taken[class]: the index
 * of its choice, or KNAPSACK_NONE.  Returns 0; or -ENOSPC if the problem needs more than
 * KNAPSACK_MAX_STATES states: then the result is possible, but may not be the best.
 */
int knapsack_solve(const struct knapsack_choice *choices, uint32_t n_choices,
		   uint32_t n_classes, const uint32_t *capacities, uint32_t n_sacks,
		   uint32_t *ret_taken);

#endif
