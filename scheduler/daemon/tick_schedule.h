/*
 * tick_schedule.h - what is done once in a while, one part after another instead of all at once.
 *
 * In each period part i of n has its turn i steps after the beginning, in their order, and
 * never two at one time: a part that is late is not followed by the next one at once, but
 * when it is asked again.  Periods that went by whole are left out.  Pure.
 */
#ifndef SCHEDULER_DAEMON_TICK_SCHEDULE_H
#define SCHEDULER_DAEMON_TICK_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tick_schedule {
	size_t n;
	int64_t step_ns, period_ns; /* n * step_ns <= period_ns. */
	int64_t begin_ns;           /* Of this period, */
	size_t next;                /* and whose turn is next in it. */
};

/* Whose turn it is at 'now_ns'; false: nobody's. */
bool tick_schedule_next(struct tick_schedule *turns, int64_t now_ns, size_t *ret_part);

#endif
