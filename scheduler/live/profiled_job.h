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
 * Corrects the detection by the program's own events since 'from_ns': if the period of
 * the traffic is only a part of an iteration, several periods become one iteration.
 */
void profiled_job_use_events(const struct live *live, struct profiled_job *job,
			     struct detection *found, int64_t from_ns);

/*
 * Publishes the detection in the window that ends at 'at_ns' as the estimate; raises
 * the alarm if the job has changed.
 */
void profiled_job_publish(struct profiled_job *job, struct detection *found,
			  int64_t at_ns, uint32_t window_ms);

#endif
