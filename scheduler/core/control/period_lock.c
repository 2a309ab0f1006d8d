/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/control/period_lock.h"

#include <math.h>

#include "scheduler/core/control/control_constants.h"

/* The multiple of 'base_us' that holds the period; 0: above the limit. */
static int64_t
multiple(int64_t period_us, int64_t base_us)
{
	double p =
		ceil((double)period_us / (double)base_us * (1 - PERIOD_LOCK_REL_TOL));

	return p <= PERIOD_LOCK_MAX_MULTIPLE ? (int64_t)fmax(p, 1) : 0;
}

static double
cost_of(const int64_t *period_us, size_t n, int64_t base_us)
{
	double sum = 0;

	for (size_t j = 0; j < n; j++) {
		int64_t p = multiple(period_us[j], base_us);

		if (!p)
			return INFINITY;
		sum += fmax(0, (double)(p * base_us) / (double)period_us[j] - 1);
	}
	return sum / (double)n;
}

/* The sum of the two longest bursts. */
static int64_t
least_base_us(const int64_t *busy_us, size_t n)
{
	int64_t first_us = 0, second_us = 0;

	for (size_t j = 0; j < n; j++) {
		if (busy_us[j] > first_us) {
			second_us = first_us;
			first_us = busy_us[j];
		} else if (busy_us[j] > second_us) {
			second_us = busy_us[j];
		}
	}
	return n > 1 ? first_us + second_us : first_us;
}

/* Rounds up even if the base is slightly too short, so that no job outruns its lock. */
static void
lock_to(const int64_t *period_us, size_t n, int64_t base_us, int64_t *ret_locked_us)
{
	int64_t room_us = base_us;

	for (size_t j = 0; j < n; j++) {
		int64_t p = multiple(period_us[j], base_us);

		ret_locked_us[j] = p;
		if ((period_us[j] + p - 1) / p > room_us)
			room_us = (period_us[j] + p - 1) / p;
	}
	for (size_t j = 0; j < n; j++)
		ret_locked_us[j] *= room_us;
}

double
period_lock_find(const int64_t *period_us, const int64_t *busy_us, size_t n,
		 int64_t *ret_locked_us)
{
	int64_t least_us = least_base_us(busy_us, n), best_us = 0;
	double best = INFINITY;

	/* At the cheapest base, a period is a multiple of it, or just fits. */
	for (size_t i = 0; i <= n; i++) {
		for (int64_t p = 1; p <= (i < n ? PERIOD_LOCK_MAX_MULTIPLE : 1); p++) {
			int64_t base_us = i < n ? (period_us[i] + p - 1) / p : least_us;
			double cost;

			if (base_us < least_us || base_us < 1)
				continue;
			cost = cost_of(period_us, n, base_us);
			if (cost < best) {
				best = cost;
				best_us = base_us;
			}
		}
	}
	if (best < INFINITY)
		lock_to(period_us, n, best_us, ret_locked_us);
	return best;
}

double
period_lock_contention(const int64_t *period_us, const int64_t *busy_us, size_t n)
{
	double sum = 0, squares = 0;

	for (size_t j = 0; j < n; j++) {
		double duty = (double)busy_us[j] / (double)period_us[j];

		sum += duty;
		squares += duty * duty;
	}
	return n ? (sum * sum - squares) / (double)n : 0;
}
