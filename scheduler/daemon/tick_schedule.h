/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tick_schedule.h - a schedule of periodic work in parts, one after another instead of
 * all at once.
 *
 * In each period part i of n is due i steps after the beginning. Each call takes one
 * part, in order; a late part is followed by the next one in the next call. Periods
 * without a call are skipped. Pure.
 */
#ifndef SCHEDULER_DAEMON_TICK_SCHEDULE_H
#define SCHEDULER_DAEMON_TICK_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tick_schedule {
	size_t n;
	int64_t step_ns, period_ns; /* n * step_ns <= period_ns. */
	int64_t begin_ns;           /* Of this period. */
	size_t next;                /* The next part in it. */
};

/* The part that is due at 'now_ns'; false: none is. */
bool tick_schedule_next(struct tick_schedule *schedule, int64_t now_ns,
			size_t *ret_part);

#endif
