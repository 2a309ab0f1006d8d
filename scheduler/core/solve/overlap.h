/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlap.h - the excess of two step functions, as a function of their shift.
 *
 * Let A and B be step functions of periods Ta and Tb, e(x, y) = phi(x + y) the
 * excess of a demand, g = gcd(Ta, Tb) and P = lcm(Ta, Tb).  The mean excess
 *
 *	E(d) = 1/P * integral over P of e(A(t), B(t - d)) dt
 *
 * has period g, because the differences of multiples of Ta and Tb are the
 * multiples of g.  It is continuous and piecewise linear; its slope bends where
 * an edge u of A meets an edge v of B:
 *
 *	P E''(d) = sum_{u,v} J(u,v) delta(d - (u - v) mod g)
 *	J(u,v)   = e(a+,b-) - e(a+,b+) - e(a-,b-) + e(a-,b+)
 *
 * with a-, a+ the level of A before and after u, and b-, b+ that of B at v.
 * The bends sum to 0, and E has the mean
 *
 *	mu = sum_{i,k} e(a_i, b_k) len_i len_k / (Ta Tb)
 *
 * so that, with y = (d - u + v) mod g,
 *
 *	2 Ta Tb E(d) = 2 sum_{i,k} e(a_i, b_k) len_i len_k + sum_{u,v} J(u,v) y (g - y)
 *
 * (twice integrated; derived and checked for this project).  All terms are
 * integers, so E is exact and no common multiple is ever built.
 */
#ifndef SCHEDULER_CORE_SOLVE_OVERLAP_H
#define SCHEDULER_CORE_SOLVE_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/solve/demand_levels.h"
#include "scheduler/core/solve/event.h"
#include "scheduler/core/solve/step_function.h"

__extension__ typedef __int128 wide_int;

/* Scratch for rows of the excess. */
struct overlap_room {
	int64_t *rows; /* Owned. */
	size_t capacity;
	struct event_list bends;
};

void overlap_room_fini(struct overlap_room *room); /* Accepts a zeroed one. */

/*
 * Appends the bends of P E(d) for B later by 'shift_us' + d, with d and their
 * times in [0, gcd), to 'bends' (as exact levels), without those that are 0.
 * O(Na Nb).
 */
void overlap_bends(const struct step_function *a, const struct step_function *b,
		   int64_t shift_us, const struct overlap_cost *cost,
		   struct overlap_room *room, struct event_list *bends);

/* sum_{i,k} e(a_i, b_k) len_i len_k, that is Ta Tb mu.  O(Na Nb). */
wide_int overlap_mean(const struct step_function *a, const struct step_function *b,
		      const struct overlap_cost *cost);

/* The mean excess E in units if B is later by 'shift_us'.  O(Na Nb). */
double overlap_excess(const struct step_function *a, const struct step_function *b,
		      int64_t shift_us, const struct overlap_cost *cost,
		      struct overlap_room *room);

/* The mean excess of one step function.  O(N). */
double overlap_excess_alone(const struct step_function *a,
			    const struct overlap_cost *cost);

#endif
