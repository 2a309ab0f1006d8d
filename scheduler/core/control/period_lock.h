/* SPDX-License-Identifier: Apache-2.0 */
/*
 * period_lock.h - lengthening of periods to small multiples of a common base.
 *
 * Windows (phase_constraints.h) repeat with the gcd of the periods, so jobs of 250 and
 * 258 ms have no usable window.  If each job takes a whole multiple of one base
 * instead,
 *
 *	locked_j = p_j g >= T_j,	p_j = 1 .. PERIOD_LOCK_MAX_MULTIPLE,
 *
 * they have windows, at the price of idle time: the mean over j of p_j g / T_j - 1.
 * That pays if it is less than the cost of contention: for two jobs that send at full
 * rate for shares d_a and d_b of their time at random phases, that is d_a d_b for both.
 *
 * Jobs that take turns (rollout.h) need no lock: a turn holds the faster job back.
 * Locks are for jobs with several bursts, which can only be kept in phase.  Pure.
 */
#ifndef SCHEDULER_CORE_CONTROL_LOCK_H
#define SCHEDULER_CORE_CONTROL_LOCK_H

#include <stddef.h>
#include <stdint.h>

#define PERIOD_LOCK_MAX_MULTIPLE 4

/*
 * Finds the cheapest locked periods of 'n' jobs. busy_us[]: how long each job sends in
 * a period; the base holds the sum of any two.  Returns the cost, 0 or more, or
 * INFINITY if there is no lock ('ret_locked_us' is then unchanged).  O(n^2).
 */
double period_lock_find(const int64_t *period_us, const int64_t *busy_us, size_t n,
			int64_t *ret_locked_us);

/*
 * The mean cost of contention at random phases of n jobs that share a link: the mean
 * over jobs of the sum of d_a d_b over the others.
 */
double period_lock_contention(const int64_t *period_us, const int64_t *busy_us,
			      size_t n);

#endif
