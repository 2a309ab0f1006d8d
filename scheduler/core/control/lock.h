/*
 * lock.h - periods that are nearly in a small ratio, made so.
 *
 * Windows (edges.h) repeat with the gcd of the periods, so jobs of 250 and 258 ms have
 * none worth the name.  If each is made to take a whole multiple of one base instead,
 *
 *	locked_j = p_j g >= T_j,	p_j = 1 .. LOCK_MAX_MULTIPLE,
 *
 * they have, at the price of idle time, mean over j of p_j g / T_j - 1.  Worth it if
 * that is less than what contention costs without; for two jobs that send at full rate
 * a share d of their time each and meet by chance, that is d_a d_b for both.
 *
 * Jobs that take turns (regime.h) need none of this: turns lock the quicker job by
 * themselves.  It is for those with several bursts, which can only be kept in phase.
 */
#ifndef SCHEDULER_CORE_CONTROL_LOCK_H
#define SCHEDULER_CORE_CONTROL_LOCK_H

#include <stddef.h>
#include <stdint.h>

#define LOCK_MAX_MULTIPLE 4

/*
 * The cheapest locked periods of 'n' jobs.  busy_us[]: how long each sends in a period;
 * of any two the sum fits into the base.  Returns the cost, 0 or more, or INFINITY if
 * there is none ('ret_locked_us' is then left alone).  O(n^2).
 */
double lock_find(const int64_t *period_us, const int64_t *busy_us, size_t n,
		 int64_t *ret_locked_us);

/*
 * What meeting by chance costs n jobs of one link on the mean: the sum over others of d
 * d.
 */
double lock_contention(const int64_t *period_us, const int64_t *busy_us, size_t n);

#endif
