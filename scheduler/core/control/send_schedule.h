/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send_schedule.h - planned turns of jobs on the links that they share.
 *
 * A job that begins to send while another sends gains nothing: if two jobs overlap on a
 * link for x ms, both end x ms later.  If the second had waited these x ms, it would
 * end at the same time, and the first x ms sooner.  So the second is ordered not to
 * begin before the predicted end of the first.  A job that arrives after that does not
 * wait, so no link is kept idle, and no burst is interrupted.
 *
 * The plan is for the next begin of each job: list scheduling in the order of predicted
 * begins, where a later job may go before an earlier one if it is done by then.  Pure;
 * O(n^3) for n jobs at worst.
 */
#ifndef SCHEDULER_CORE_CONTROL_SEND_SCHEDULE_H
#define SCHEDULER_CORE_CONTROL_SEND_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

#define SEND_SCHEDULE_MAX_JOBS 24 /* In one plan. */

struct send_schedule_job {
	double begin_ns; /* Of the present iteration. */
	double next_ns;  /* Predicted begin of the next one. */
	double limit_ns; /* The longest wait; beyond it sharing is cheaper. */
};

/*
 * Plans 'n' jobs (at most SEND_SCHEDULE_MAX_JOBS). hold_ns[i * n + j]: time after the
 * begin of i in which j may not begin; 0: they share no link. ret_start_ns[j] is the
 * planned begin of j: next_ns or later, or next_ns if it would wait longer than its
 * limit. ret_after[j] is the job that it follows most closely, n for none, and
 * ret_clear_ns[j] the end of that job.
 */
void send_schedule_plan(const struct send_schedule_job *jobs, const double *hold_ns,
			size_t n, double *ret_start_ns, size_t *ret_after,
			double *ret_clear_ns);

#endif
