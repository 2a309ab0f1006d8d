/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiled_job.h - one job's estimates over time: events, alarms and trends.
 *
 * job_profiler.h defines these.  For job_profiler.c only.
 */
#ifndef SCHEDULER_LIVE_PROFILED_JOB_H
#define SCHEDULER_LIVE_PROFILED_JOB_H

#include "scheduler/live/job_profiler.h"

void profiled_job_free(struct profiled_job *job); /* Accepts NULL. */

/* Takes 'why' there is no newer estimate; NULL: there is one. */
void profiled_job_refuse(struct profiled_job *job, char *why);

/*
 * Lets the program's own events since 'from_ns' overrule what a part of an iteration
 * looks like: makes several iterations of what was found one.
 */
void profiled_job_use_events(const struct live *live, struct profiled_job *job,
			     struct detection *found, int64_t from_ns);

/*
 * Takes what was found in the window that ends at 'at_ns': it is the estimate, and the
 * alarm is raised if the job is not what it was.
 */
void profiled_job_publish(struct profiled_job *job, struct detection *found,
			  int64_t at_ns, uint32_t window_ms);

#endif
