/*
 * send_schedule.h - taking turns on what jobs share, ahead of time.
 *
 * A job that begins to send while another does gains nothing by it: two that share a
 * link for x ms are both x ms later, while if the second had waited those x ms it would
 * be done at the same time and the first x ms sooner.  So it is ordered not to begin
 * before the first is predicted to be done.  It never waits if it comes later than that
 * itself, so a link that somebody could use is not kept idle, and nobody is
 * interrupted.
 *
 * Plans for the next begin of a few jobs that meet: list scheduling in the order in
 * which they are predicted to come, where a later one may go before an earlier one if
 * it is out of its way by then.  Pure; O(n^3) for n jobs at worst.
 */
#ifndef SCHEDULER_CORE_CONTROL_SEND_SCHEDULE_H
#define SCHEDULER_CORE_CONTROL_SEND_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

#define SEND_SCHEDULE_MAX_JOBS 24 /* In one plan. */

struct send_schedule_job {
	double begin_ns; /* Of the iteration under way. */
	double next_ns;  /* When it is predicted to come again. */
	double limit_ns; /* It is not to wait longer; sharing is cheaper. */
};

/*
 * Plans 'n' jobs (at most SEND_SCHEDULE_MAX_JOBS).  hold_ns[i * n + j]: how long after i has
 * begun j may not begin; 0: they do not meet.  ret_start_ns[j] is when j can begin,
 * next_ns or later, or next_ns if it would have to wait longer than its limit.
 * ret_after[j] is whom it would follow most closely, n for none, and ret_clear_ns[j]
 * when that one is out of its way.
 */
void send_schedule_plan(const struct send_schedule_job *jobs, const double *hold_ns,
			size_t n, double *ret_start_ns, size_t *ret_after,
			double *ret_clear_ns);

#endif
